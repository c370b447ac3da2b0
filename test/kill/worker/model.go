package worker

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/test/instrument/failpoint"
	"github.com/braidrun/braid/test/kill/ledger"
)

// model is a scripted model behind which the ledger stands as its provider: it
// writes down what was shown, and what was billed.
type scriptedModel struct {
	*demo.Model

	world *ledger.Client
	lie   Lie
	// kind is what it is called for, and most how many messages it takes; 0 is any number.
	kind event.StepKind
	most int
}

func newModel(name string, world *ledger.Client, lie Lie) *scriptedModel {
	return &scriptedModel{Model: demo.Answer(name, answer), world: world, lie: lie, kind: event.StepModel}
}

// Stream implements [braid.Model].
func (m *scriptedModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		e := ledger.Entry{
			Op: ledger.Shown, Run: req.Run, Scope: req.Scope, Cycle: req.Cycle, Attempt: req.Attempt,
			Kind: m.kind, Doubts: doubtsIn(req.Messages),
		}
		if m.kind == event.StepModel {
			e.Marks, e.Sums, e.Broken = namesIn(req.Messages, MarksOf), namesIn(req.Messages, sumsOf), wrongWith(req.Messages)
		}
		if _, err := m.world.Enter(ctx, e); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		e.Doubts, e.Marks, e.Sums, e.Broken = nil, nil, nil, ""
		if m.most > 0 && len(req.Messages) > m.most {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrContextOverflow, Message: "That is too much."})
			return
		}
		for chunk, err := range m.Model.Stream(ctx, req) {
			switch chunk.Kind {
			case model.ChunkText:
				failpoint.Hit("worker/streams")
			case model.ChunkUsage:
				e.Usage = *chunk.Usage
				if m.lie == LieBill {
					continue
				}
			case model.ChunkStop:
				// The provider has said its last word, and sends the bill.
				e.Op = ledger.Billed
				if _, failed := m.world.Enter(ctx, e); failed != nil {
					yield(model.Chunk{}, failed)
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

// namesIn lists what the user's messages carry.
func namesIn(messages []event.Message, of func(string) []string) (names []string) {
	for _, m := range messages {
		if m.Role != event.RoleUser {
			continue
		}
		for _, b := range m.Content {
			if text, ok := b.(*event.Text); ok {
				names = append(names, of(text.Text)...)
			}
		}
	}
	return names
}

// MarksOf lists the marks in a text, such as "<c1-7>".
func MarksOf(text string) (marks []string) {
	for _, m := range markPattern.FindAllStringSubmatch(text, -1) {
		marks = append(marks, m[1])
	}
	return marks
}

// sumPattern finds the name that each summary carries.
var sumPattern = regexp.MustCompile(`\{([^{}]+)\}`)

func sumsOf(text string) (sums []string) {
	for _, m := range sumPattern.FindAllStringSubmatch(text, -1) {
		sums = append(sums, m[1])
	}
	return sums
}

// SumsOf lists the summaries that blocks are, such as "{run.scope.3}".
func SumsOf(blocks []event.Block) []string { return sumsOf(event.TextOf(blocks)) }

// wrongWith says why a provider would refuse a history, "" for not at all: a call has its result in the
// very next message, and a result its call in the one before.
func wrongWith(messages []event.Message) string {
	open := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if want := []event.Role{event.RoleUser, event.RoleAssistant}[i%2]; m.Role != want {
			return fmt.Sprintf("message %d is the %s's", i, m.Role)
		}
		calls := map[string]bool{}
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.ToolCall:
				calls[b.ID] = true
			case *event.ToolResult:
				if !open[b.Call] {
					return fmt.Sprintf("message %d has a result of %q, and no call before it", i, b.Call)
				}
				delete(open, b.Call)
			}
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d leaves %d calls without a result", i, len(open))
		}
		open = calls
	}
	if len(open) > 0 || len(messages)%2 == 0 {
		return "the last message is not the user's"
	}
	return ""
}
