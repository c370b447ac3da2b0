package worker

import (
	"context"
	"iter"
	"regexp"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/failpoint"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/test/kill/ledger"
)

// model is a scripted model behind which the ledger stands as its provider: it
// writes down what was shown, and what was billed.
type model struct {
	*demo.Model

	world *ledger.Client
	lie   Lie
}

func newModel(name string, world *ledger.Client, lie Lie) *model {
	return &model{Model: demo.Answer(name, answer), world: world, lie: lie}
}

// Stream implements [braid.Model].
func (m *model) Stream(ctx context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
	return func(yield func(braid.Chunk, error) bool) {
		e := ledger.Entry{
			Op: ledger.Shown, Run: req.Run, Scope: req.Scope, Cycle: req.Cycle, Attempt: req.Attempt,
			Doubts: doubtsIn(req.Messages), Marks: marksIn(req.Messages),
		}
		if _, err := m.world.Enter(ctx, e); err != nil {
			yield(braid.Chunk{}, err)
			return
		}
		e.Doubts, e.Marks = nil, nil
		for chunk, err := range m.Model.Stream(ctx, req) {
			switch chunk.Kind {
			case braid.ChunkText:
				failpoint.Hit("worker/streams")
			case braid.ChunkUsage:
				e.Usage = *chunk.Usage
				if m.lie == LieBill {
					continue
				}
			case braid.ChunkStop:
				// The provider has said its last word, and sends the bill.
				e.Op = ledger.Billed
				if _, failed := m.world.Enter(ctx, e); failed != nil {
					yield(braid.Chunk{}, failed)
					return
				}
				failpoint.Hit("worker/billed")
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// doubtsIn lists the calls whose result says that nobody knows what became of it.
func doubtsIn(messages []event.Message) (calls []string) {
	for _, m := range messages {
		for _, b := range m.Content {
			r, ok := b.(*event.ToolResult)
			if ok && r.IsError && strings.HasPrefix(event.TextOf(r.Content), "In doubt") {
				calls = append(calls, r.Call)
			}
		}
	}
	return calls
}

// markPattern finds the name that each message of a test carries.
var markPattern = regexp.MustCompile(`<([a-z0-9.-]+)>`)

// marksIn lists the marks that people's messages carry.
func marksIn(messages []event.Message) (marks []string) {
	for _, m := range messages {
		if m.Role != event.RoleUser {
			continue
		}
		for _, b := range m.Content {
			if text, ok := b.(*event.Text); ok {
				marks = append(marks, MarksOf(text.Text)...)
			}
		}
	}
	return marks
}

// MarksOf lists the marks in a text, such as "<c1-7>".
func MarksOf(text string) (marks []string) {
	for _, m := range markPattern.FindAllStringSubmatch(text, -1) {
		marks = append(marks, m[1])
	}
	return marks
}
