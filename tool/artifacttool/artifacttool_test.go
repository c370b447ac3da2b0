package artifacttool_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool/artifacttool"
)

// script is a model that makes one call after the other.
type script struct{ calls []event.ToolCall }

func (*script) Info() model.Info { return model.Info{Name: "test:script"} }

func (m *script) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		n := len(req.Messages) / 2
		if n >= len(m.calls) {
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "done"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
			return
		}
		c := m.calls[n]
		_ = yield(model.Chunk{Kind: model.ChunkCall, ID: c.ID, Text: c.Name}, nil) &&
			yield(model.Chunk{Kind: model.ChunkCallInput, Text: string(c.Args)}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
	}
}

// The tools save versions, show them, and the log names each once its bytes are there.
func TestTools(t *testing.T) {
	t.Parallel()
	var j journal.Memory
	files := artifact.NewStore(j.Blobs()).Of(artifact.Owner{Tenant: "t", User: "ann", Conversation: "c"})
	call := func(name, args string) event.ToolCall {
		return event.ToolCall{ID: "c", Name: name, Args: json.RawMessage(args)}
	}
	m := &script{[]event.ToolCall{
		call(artifacttool.Load, `{}`),
		call(artifacttool.Save, `{"filename":"a.txt","text":"one"}`),
		call(artifacttool.Save, `{"filename":"a.txt","text":"two"}`),
		call(artifacttool.Save, `{"filename":"user:b.png","data":"iVBORw==","mime_type":"image/png"}`),
		call(artifacttool.Save, `{"filename":"../c","text":"x"}`),
		call(artifacttool.Save, `{"filename":"c","text":"x","data":"eA=="}`),
		call(artifacttool.Save, `{"filename":"c","data":"?"}`),
		call(artifacttool.Load, `{}`),
		call(artifacttool.Load, `{"artifact_names":["a.txt","user:b.png"]}`),
		call(artifacttool.Load, `{"artifact_names":["nothing"]}`),
	}}
	open := func(context.Context) (artifact.Files, error) { return files, nil }
	agent := braid.New("a", m, braid.Tools(artifacttool.ForEach(open)...))
	var told []string
	for e, err := range agent.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.ArtifactSaved:
			_, r, err := files.Load(t.Context(), b.Name, b.Version)
			if err != nil {
				t.Fatalf("the log names %s %d before it is there: %v", b.Name, b.Version, err)
			}
			data, _ := io.ReadAll(r)
			_ = r.Close()
			told = append(told, "saved "+b.Name+" "+string(rune('0'+b.Version))+" "+b.MIME+" "+string(data[:3]))
		case *event.StepEnded:
			if b.Result == nil {
				continue
			}
			text := event.RawText(b.Result.Content)
			for _, c := range b.Result.Content {
				if image, ok := c.(*event.Image); ok {
					text += " image " + image.MIME
				}
			}
			if b.Result.IsError {
				text, _, _ = strings.Cut("error: "+text, " (")
			}
			told = append(told, text)
		}
	}
	want := []string{
		"There are no artifacts yet.",
		"saved a.txt 0 text/plain one", `{"filename":"a.txt","version":0}`,
		"saved a.txt 1 text/plain two", `{"filename":"a.txt","version":1}`,
		"saved user:b.png 0 image/png \x89PN", `{"filename":"user:b.png","version":0}`,
		"error: Error: an artifact cannot have this name", "error: Error: both text and data are given", "error: Error: data is no base64",
		"a.txt (version 1, text/plain, 3 bytes)\nuser:b.png (version 0, image/png, 4 bytes)\n",
		"Artifact a.txt (version 1, text/plain, 3 bytes):\ntwoArtifact user:b.png (version 0, image/png, 4 bytes) image image/png",
		"error: Error: there is no such artifact",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}
