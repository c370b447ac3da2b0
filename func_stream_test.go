package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// progress is what the watchers of a tool are told.
func progress(e event.Event) (string, bool) {
	p, ok := e.Body.(*event.ToolProgress)
	if !ok {
		return "", false
	}
	return p.Text + string(p.Data), true
}

type found struct {
	Page int `json:"page"`
}

func TestAToolThatStreams(t *testing.T) {
	t.Parallel()
	pages := func(last int, err error) func(context.Context, nothing) iter.Seq2[found, error] {
		return func(_ context.Context, _ nothing) iter.Seq2[found, error] {
			return func(yield func(found, error) bool) {
				for i := 1; i <= last; i++ {
					if !yield(found{i}, nil) {
						return
					}
				}
				if err != nil {
					yield(found{99}, err)
				}
			}
		}
	}
	words := func(_ context.Context, _ nothing) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { _ = yield("half", nil) && yield("half and half", nil) }
	}
	blocks := func(_ context.Context, _ nothing) iter.Seq2[event.Block, error] {
		return func(yield func(event.Block, error) bool) {
			_ = yield(&event.Text{Text: "drawing"}, nil) && yield(&event.Image{MIME: "image/png", Data: []byte("png")}, nil)
		}
	}
	for _, c := range []struct {
		name     string
		tool     braid.Part
		progress []string
		result   event.ToolResult
	}{
		{
			"values", braid.StreamFunc("t", "", pages(3, nil)),
			[]string{`{"page":1}`, `{"page":2}`, `{"page":3}`},
			event.ToolResult{Content: text(`{"page":3}`), Structured: json.RawMessage(`{"page":3}`)},
		},
		{"text", braid.StreamFunc("t", "", words), []string{"half", "half and half"}, event.ToolResult{Content: text("half and half")}},
		{
			"blocks", braid.StreamFunc("t", "", blocks),
			[]string{"drawing"},
			event.ToolResult{Content: []event.Block{&event.Image{MIME: "image/png", Data: []byte("png")}}},
		},
		{"nothing", braid.StreamFunc("t", "", pages(0, nil)), nil, event.ToolResult{Content: text("done")}},
		{
			"an error", braid.StreamFunc("t", "", pages(1, errors.New("no more pages"))),
			[]string{`{"page":1}`},
			event.ToolResult{Content: text("Error: no more pages"), IsError: true},
		},
		{
			"a value that is no JSON", braid.StreamFunc("t", "", func(context.Context, nothing) iter.Seq2[any, error] {
				return func(yield func(any, error) bool) { yield(func() {}, nil) }
			}), nil,
			event.ToolResult{Content: text("Error: the tool's result cannot be written as JSON: json: unsupported type: func()"), IsError: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			var result *event.ToolResult
			for e, err := range braid.New("a", answers(asksFor("t", "{}"), says("done")), c.tool).Stream(t.Context(), "go") {
				if err != nil {
					t.Fatal(err)
				}
				if p, ok := progress(e); ok {
					got = append(got, p)
				}
				if b, ok := e.Body.(*event.StepEnded); ok && b.Result != nil {
					result = b.Result
				}
			}
			if !slices.Equal(got, c.progress) {
				t.Errorf("progress %q, want %q", got, c.progress)
			}
			want := c.result
			want.Call, want.Name = "c0", "t"
			if a, b := string(raw(result)), string(raw(&want)); a != b {
				t.Errorf("result %s, want %s", a, b)
			}
		})
	}
	if err := braid.New("a", answers(says("hi")), braid.StreamFunc[nothing, string]("t", "", nil)).Err(); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("no function: %v", err)
	}
}

// A slow reader slows the tool down, and one that leaves ends it.
func TestAStreamingToolWaitsForItsReader(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	stopped := make(chan bool, 1)
	tool := braid.StreamFunc("t", "", func(ctx context.Context, _ nothing) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for i := 0; ; i++ {
				made.Add(1)
				if !yield(fmt.Sprint(i), nil) {
					stopped <- ctx.Err() != nil
					return
				}
			}
		}
	})
	read := int64(0)
	for e, err := range braid.New("a", answers(asksFor("t", "{}"), says("done")), tool).Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		p, ok := progress(e)
		if !ok {
			continue
		}
		if p != fmt.Sprint(read) {
			t.Fatalf("piece %d is %q", read, p)
		}
		read++
		// The newest is being read, and the next one is not made before that is over.
		if ahead := made.Load() - read; ahead != 0 {
			t.Fatalf("the tool is %d pieces ahead", ahead)
		}
		if read == 1000 {
			break
		}
	}
	if !<-stopped {
		t.Error("the tool was not told that the run had been left")
	}
}

// The model is shown the last value alone.
func TestAModelSeesTheEndOfAStream(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	tool := braid.StreamFunc("t", "", func(context.Context, nothing) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range 5 {
				if !yield(i, nil) {
					return
				}
			}
		}
	})
	agent := braid.New("a", answers(asksFor("t", "{}"), says("done")), tool)
	if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if got := allResults(t, conv); !slices.Equal(got, []string{"4"}) {
		t.Errorf("%q", got)
	}
	// Outside of a run it is an ordinary function.
	out, err := tool.Call(t.Context(), json.RawMessage("{}"))
	if err != nil || event.TextOf(out.Content) != "4" {
		t.Errorf("%v, %+v", err, out)
	}
}
