package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// When calls that bring nothing new are noted, and when they end the run.
func TestAModelThatMakesNoHeadway(t *testing.T) {
	t.Parallel()
	same := func(int) []string { return []string{"look", `{"at":"a"}`} }
	for _, c := range []struct {
		name string
		// asks gives the calls of an answer.
		asks func(cycle int) []string
		// gives is what the tool "look" says in its nth call; "same" where it is nil.
		gives  func(n int64) string
		opts   []tool.Option
		limits braid.Limits
		// note is the cycle whose request has the first note, 0 for none; tools is how many
		// calls were made of at most 24.
		note, tools int
		stop        event.StopReason
	}{
		{"the same call", same, nil, nil, braid.Limits{}, 4, 5, event.StopLimitRepeats},
		{"other numbers", same, nil, nil, braid.Limits{RepeatNote: 2, Repeats: 8}, 3, 8, event.StopLimitRepeats},
		{"no end", same, nil, nil, braid.Limits{Repeats: -1}, 4, 12, event.StopEndTurn},
		{"no note", same, nil, nil, braid.Limits{RepeatNote: -1}, 0, 5, event.StopLimitRepeats},
		{"neither", same, nil, nil, braid.Limits{RepeatNote: -1, Repeats: -1}, 0, 12, event.StopEndTurn},
		{"a polling tool", same, nil, []tool.Option{tool.Polling()}, braid.Limits{}, 0, 12, event.StopEndTurn},
		{"other arguments", func(n int) []string { return []string{"look", fmt.Sprintf(`{"at":"%d"}`, n)} }, nil, nil, braid.Limits{}, 0, 12, event.StopEndTurn},
		{"other results", same, func(n int64) string { return fmt.Sprint(n) }, nil, braid.Limits{}, 0, 12, event.StopEndTurn},
		{"two in turn", func(n int) []string { return []string{"look", fmt.Sprintf(`{"at":"%d"}`, n%2)} }, nil, nil, braid.Limits{}, 7, 10, event.StopLimitRepeats},
		{
			"something new now and then", func(n int) []string {
				if n%3 == 0 {
					return []string{"look", fmt.Sprintf(`{"at":"%d"}`, n)}
				}
				return same(n)
			}, nil, nil, braid.Limits{}, 0, 12, event.StopEndTurn,
		},
		{
			"something new beside", func(n int) []string { return append(same(n), "look", fmt.Sprintf(`{"at":"%d"}`, n)) },
			nil, nil,
			braid.Limits{},
			0, 24, event.StopEndTurn,
		},
		{"twice in one answer counts once", func(n int) []string { return append(same(n), same(n)...) }, nil, nil, braid.Limits{}, 4, 10, event.StopLimitRepeats},
		{"a tool that there is not", func(int) []string { return []string{"lok", `{}`} }, nil, nil, braid.Limits{}, 4, 5, event.StopLimitRepeats},
		{"arguments that are none", func(int) []string { return []string{"look", `{"at":`} }, nil, nil, braid.Limits{}, 4, 5, event.StopLimitRepeats},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			look := braid.Func("look", "Looks.", func(context.Context, struct {
				At string `json:"at"`
			},
			) (string, error) {
				n := ran.Add(1)
				if c.gives != nil {
					return c.gives(n), nil
				}
				return "same", nil
			}, c.opts...)
			note, notes := 0, 0
			m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				if text := req.Messages[len(req.Messages)-1].Text(); strings.Contains(text, "with the same arguments") {
					notes++
					if note == 0 {
						note = req.Cycle
					}
				}
				if req.Cycle > 12 {
					return chunks(says("done"))
				}
				return chunks(asksFor(c.asks(req.Cycle)...))
			}}
			conv := braid.NewConversation()
			result, err := braid.New("a", m, look, braid.Limit(c.limits)).Run(t.Context(), "go", braid.In(conv))
			if result.Stop != c.stop || note != c.note || notes > 1 || result.Metrics.ToolCalls != c.tools {
				t.Errorf("%s after %d calls, noted %d times, first in cycle %d", result.Stop, result.Metrics.ToolCalls, notes, note)
			}
			if stopped := c.stop == event.StopLimitRepeats; stopped != errors.Is(err, event.ErrLimit) || stopped && result.Why != event.WhyLimit {
				t.Errorf("%v, %s", err, result.Why)
			}
			// The conversation stays usable, and begins to count anew.
			if r, err := braid.New("a", answers(asksFor("look", `{"at":"a"}`), says("ok")), look).Run(t.Context(), "again", braid.In(conv)); err != nil || r.Text() != "ok" {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

// A person's word during the run begins the count anew.
func TestAMessageEndsALoop(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	var agent *braid.Agent
	agent = braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		switch req.Cycle {
		case 4:
			if _, err := agent.Send(context.Background(), conv, "look again", braid.During(braid.Steer)); err != nil {
				t.Error(err)
			}
		case 9:
			return chunks(says("done"))
		}
		return chunks(asksFor("add", `{"a":1,"b":2}`))
	}}, braid.Func("add", "Adds.", add))
	if result, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil || result.Metrics.ToolCalls != 8 {
		t.Errorf("%v: %+v", err, result)
	}
}

// The note is the model's own business: it is in the log for operators, in its place
// behind the results, and whoever takes the run over finds it there and counts the same.
func TestTheNoteStandsInTheLog(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	model := answers(asksFor("add", `{"a":1,"b":2}`))
	if _, err := braid.New("a", model, braid.Func("add", "Adds.", add, tool.Pure())).Run(t.Context(), "go", braid.In(conv)); !errors.Is(err, event.ErrLimit) {
		t.Fatal(err)
	}
	var kinds []string
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		b, ok := e.Body.(*event.UserMessage)
		if ok && e.Author != event.UserAuthor {
			kinds = append(kinds, fmt.Sprint("note for the ", e.Audience, " in cycle ", e.Cycle, ", ", b.Why))
			if !strings.Contains(event.TextOf(b.Content), `called "add" with the same arguments 3 times`) {
				t.Errorf("the note is %q", event.TextOf(b.Content))
			}
		}
	}
	if got := strings.Join(kinds, "; "); got != "note for the operator in cycle 3, repeats" {
		t.Error(got)
	}
}
