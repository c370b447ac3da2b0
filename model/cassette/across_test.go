package cassette_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// A known secret in other forms, or begun in one block and ended in another, is in no recording, whether a model or a tool says it.
// A replay needs no secret.
func TestSecretsInFormsAndHalves(t *testing.T) {
	t.Parallel()
	const key = "canary/Kq7+w=81zT6mN"
	forms := "hex " + hex.EncodeToString([]byte(key)) + ", HEX " + strings.ToUpper(hex.EncodeToString([]byte(key))) + ", spaced " + strings.Join(strings.Split(key, ""), " ")
	var tape bytes.Buffer
	inner := said(func(req *model.Request) ([]model.Chunk, error) {
		if req.Cycle > 1 {
			return []model.Chunk{{Kind: model.ChunkText, Text: "fine, " + forms}, stop}, nil
		}
		return []model.Chunk{
			{Kind: model.ChunkText, Index: 0, Text: "It is " + key[:4]},
			{Kind: model.ChunkText, Index: 0, Text: key[4:9]},
			{Kind: model.ChunkText, Index: 1, Text: key[9:15]},
			{Kind: model.ChunkText, Index: 2, Text: key[15:] + ", as they say."},
			{Kind: model.ChunkCall, Index: 3, ID: "c1", Text: "halves"},
			{Kind: model.ChunkCallInput, Index: 3, Text: `{"q":"` + hex.EncodeToString([]byte(key)) + `"}`},
			{Kind: model.ChunkStop, Stop: event.StopToolUse},
		}, nil
	})
	agent := func(m model.Model) *braid.Agent {
		return braid.New("a", m, braid.Func("halves", "", func(context.Context, map[string]string) (tool.Output, error) {
			return tool.Output{Content: []event.Block{&event.Text{Text: "one " + key[:11]}, &event.Text{Text: key[11:]}, &event.Text{Text: forms}}}, nil
		}))
	}
	rec := cassette.Record(inner, &tape, cassette.Secrets(secret.New(key)))
	if _, err := agent(rec).Run(t.Context(), "go"); err != nil || rec.Err() != nil {
		t.Fatal(err, rec.Err())
	}
	for _, trace := range []string{key[:9], key[11:], key[15:], hex.EncodeToString([]byte(key))[:20], "c a n a r y"} {
		if strings.Contains(strings.ToLower(tape.String()), strings.ToLower(trace)) {
			t.Errorf("%q is in the recording: %s", trace, &tape)
		}
	}
	player, err := cassette.Replay(bytes.NewReader(tape.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	result, err := agent(player).Run(t.Context(), "go")
	if err != nil || !strings.HasPrefix(result.Text(), "fine, hex [redacted]") {
		t.Errorf("%v: %q", err, result.Text())
	}
}
