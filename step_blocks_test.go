package braid_test

import (
	"context"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// A result of very many blocks is an error that says so, also where the blocks are empty.
func TestAResultOfManyBlocks(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{1000: true, 1001: false, 200_000: false} {
		tl := braid.Func("many", "", func(context.Context, nothing) (tool.Output, error) {
			out := tool.Output{Content: make([]event.Block, n)}
			for i := range out.Content {
				out.Content[i] = &event.Text{}
			}
			return out, nil
		})
		conv := braid.NewConversation()
		if _, err := braid.New("a", answers(asksFor("many", `{}`), says("done")), braid.Tools(tl)).Run(t.Context(), "go", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
		for _, e := range logOfConversation(t, conv) {
			b, ok := e.Body.(*event.StepEnded)
			if !ok || b.Result == nil {
				continue
			}
			text := event.TextOf(b.Result.Content)
			if b.Result.IsError == fits || !fits && !strings.Contains(text, "blocks, the limit is 1000") || len(b.Result.Content) > 1000 {
				t.Errorf("%d blocks: %d are kept, %q", n, len(b.Result.Content), text)
			}
		}
	}
}
