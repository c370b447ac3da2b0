package cassette_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
	"github.com/braidrun/braid/secret"
)

// said is a model that says the same to each attempt of a cycle.
type said func(req *model.Request) ([]model.Chunk, error)

func (said) Info() model.Info { return model.Info{Name: "said"} }

func (s said) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		chunks, err := s(req)
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

var stop = model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}

// cut cuts a text at drawn places.
func cut(rt *rapid.T, kind model.ChunkKind, index int, text string) (out []model.Chunk) {
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(rt, "piece")
		out = append(out, model.Chunk{Kind: kind, Index: index, Text: text[:n]})
		text = text[n:]
	}
	return out
}

// No secret can be read in a recording: neither as it is, nor put together from the
// pieces of an answer, nor behind the escapes of JSON or in base64.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	canaries := []string{"correct horse/battery", `pa"ss\word<é>`, "sk-canary-0123456789abcdefgh", "90125551234"}
	rapid.Check(t, func(rt *rapid.T) {
		canary := rapid.SampledFrom(canaries).Draw(rt, "canary")
		around := rapid.SampledFrom([]string{"", " ", "日本", "x=", `"`, "\n"})
		text := around.Draw(rt, "before") + canary + around.Draw(rt, "behind") + canary
		args, err := json.Marshal(map[string]any{"input": text, canary: canary + "!"})
		if err != nil {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "escaped") { // as \u…, which reads the same
			var b strings.Builder
			b.WriteString(`{"input":"`)
			for _, r := range "a " + canary {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
			b.WriteString(`"}`)
			args = []byte(b.String())
		}
		if canary == canaries[3] && rapid.Bool().Draw(rt, "number") {
			args = []byte(`{"input":"x","n":` + canary + `}`)
		}
		end := rapid.IntRange(0, 3).Draw(rt, "end")
		inner := said(func(req *model.Request) ([]model.Chunk, error) {
			if req.Cycle > 1 {
				return []model.Chunk{{Kind: model.ChunkText, Text: "fine"}, stop}, nil
			}
			var out []model.Chunk
			out = append(out, cut(rt, model.ChunkThinking, 0, text)...)
			out = append(out, cut(rt, model.ChunkSignature, 0, text)...)
			out = append(out, cut(rt, model.ChunkText, 1, text)...)
			out = append(out, model.Chunk{Kind: model.ChunkBlock, Index: 2, Block: &event.Document{Data: []byte(text), Text: text}})
			out = append(out, model.Chunk{Kind: model.ChunkBlock, Index: 3, Block: &event.Image{Data: append([]byte{0xff}, text...)}})
			out = append(out, model.Chunk{Kind: model.ChunkResponse, ID: canary, Text: text}, model.Chunk{Kind: model.ChunkRedactInput, Text: text})
			if end == 0 {
				return out, &event.Error{Kind: event.ErrModel, Message: "bad key " + canary, Hint: canary, Code: canary, Op: canary}
			}
			if end == 1 {
				return out, errors.New("bad key " + canary)
			}
			out = append(out, model.Chunk{Kind: model.ChunkCall, Index: 4, ID: "c." + canary, Text: "echo"})
			out = append(out, cut(rt, model.ChunkCallInput, 4, string(args))...)
			return append(out, stop), nil
		})
		var tape bytes.Buffer
		agent := func(m model.Model) *braid.Agent {
			return braid.New("a", m, braid.Instructions("Use "+text), braid.Func("echo", "Not "+text, func(_ context.Context, f struct {
				Input string `json:"input"`
			},
			) (string, error) {
				return f.Input + canary, nil
			}))
		}
		known := cassette.Secrets(secret.New(canary))
		if canary == canaries[2] && rapid.Bool().Draw(rt, "by its form") {
			known = cassette.Secrets()
		}
		rec := cassette.Record(inner, &tape, known)
		_, ran := agent(rec).Run(t.Context(), "I am "+text)
		if err := rec.Err(); err != nil {
			rt.Fatal(err)
		}
		look(rt, tape.Bytes(), canary)

		// Nobody needs the secret for a replay.
		player, err := cassette.Replay(bytes.NewReader(tape.Bytes()))
		if err != nil {
			rt.Fatal(err)
		}
		result, again := agent(player).Run(t.Context(), "I am "+text)
		if (ran == nil) != (again == nil) || event.KindOf(ran) != event.KindOf(again) {
			rt.Fatalf("recorded %v, replayed %v\n%s", ran, again, &tape)
		}
		if ran == nil && result.Text() != "fine" {
			rt.Fatalf("the replay says %q", result.Text())
		}
	})
}

// look fails where the secret can be read in a recording.
func look(rt *rapid.T, tape []byte, canary string) {
	joined := map[string]string{}
	check := func(where, text string) {
		if strings.Contains(text, canary) {
			rt.Fatalf("%s shows the secret: %s\n%s", where, text, tape)
		}
	}
	var deep func(where string, v any)
	deep = func(where string, v any) {
		switch v := v.(type) {
		case string:
			check(where, v)
			if b, err := base64.StdEncoding.DecodeString(v); err == nil {
				check(where+" in base64", string(b))
			}
			var inner any
			if json.Unmarshal([]byte(v), &inner) == nil {
				if _, same := inner.(string); !same {
					deep(where+" as JSON", inner)
				}
			}
		case json.Number:
			check(where, v.String())
		case []any:
			for _, e := range v {
				deep(where, e)
			}
		case map[string]any:
			for k, e := range v {
				check("a key", k)
				deep(k, e)
			}
		}
	}
	check("the file", string(tape))
	for line := range strings.Lines(string(tape)) {
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		var v map[string]any
		if err := dec.Decode(&v); err != nil {
			rt.Fatal(err)
		}
		deep("line", v)
		if v["kind"] == "chunk" {
			text, _ := v["text"].(string)
			if b, ok := v["base64"].(string); ok {
				raw, err := base64.StdEncoding.DecodeString(b)
				if err != nil {
					rt.Fatal(err)
				}
				text = string(raw)
			}
			joined[fmt.Sprint(v["n"], v["chunk"], v["index"])] += text
		}
	}
	for where, text := range joined {
		deep("chunks "+where, text)
	}
}

// What was cut off inside a secret shows no more of it than it must.
func TestTheBeginningOfASecret(t *testing.T) {
	t.Parallel()
	const key = "abcdefghijklmnopqrstuvwxyz-secret"
	var tape bytes.Buffer
	inner := said(func(*model.Request) ([]model.Chunk, error) {
		return []model.Chunk{{Kind: model.ChunkText, Text: "it is " + key[:4]}, {Kind: model.ChunkText, Text: key[4:20]}},
			&event.Error{Kind: event.ErrModel, Message: "gone"}
	})
	_, _ = braid.New("a", cassette.Record(inner, &tape, cassette.Secrets(secret.New(key)))).Run(t.Context(), "go")
	if strings.Contains(tape.String(), key[:4]) || strings.Contains(tape.String(), key[4:20]) || !strings.Contains(tape.String(), secret.Redacted) {
		t.Errorf("written: %s", &tape)
	}
}

// A function of the caller's hides what only he knows, at a replay as well.
func TestRedactBySomebodyElse(t *testing.T) {
	t.Parallel()
	hide := cassette.Redact(func(text string) string { return strings.ReplaceAll(text, "Mallory", "<name>") })
	inner := said(func(*model.Request) ([]model.Chunk, error) {
		return []model.Chunk{{Kind: model.ChunkText, Text: "Hello Mal"}, {Kind: model.ChunkText, Text: "lory, "}, {Kind: model.ChunkText, Text: "bye Mallory"}, stop}, nil
	})
	var tape bytes.Buffer
	if _, err := braid.New("a", cassette.Record(inner, &tape, hide)).Run(t.Context(), "I am Mallory"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(tape.String(), "allory") || strings.Contains(tape.String(), "lory") {
		t.Errorf("written: %s", &tape)
	}
	for _, c := range []struct {
		name string
		opts []cassette.Option
		want event.ErrorKind
	}{{"with it", []cassette.Option{hide}, ""}, {"without it", nil, event.ErrConflict}} {
		player, err := cassette.Replay(bytes.NewReader(tape.Bytes()), c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		result, err := braid.New("a", player).Run(t.Context(), "I am Mallory")
		if event.KindOf(err) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && result.Text() != "Hello <name>, bye <name>" {
			t.Errorf("%s: %q", c.name, result.Text())
		}
	}
}
