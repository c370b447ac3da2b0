package braid_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// worked is a turn with so many cycles of a tool, as a program hands it in; without an answer if that is empty.
func worked(name string, cycles int, answer string) []event.Message {
	list := []event.Message{said(event.RoleUser, &event.Text{Text: "task " + name})}
	for i := range cycles {
		id := fmt.Sprint(name, i)
		list = append(list,
			said(event.RoleAssistant, &event.ToolCall{ID: id, Name: "add", Args: []byte(`{"a":1,"b":2}`)}),
			said(event.RoleUser, &event.ToolResult{Call: id, Name: "add", Content: []event.Block{&event.Text{Text: "result " + id}}}))
	}
	if answer != "" {
		list = append(list, said(event.RoleAssistant, &event.Text{Text: answer}))
	}
	return list
}

func said(role event.Role, content ...event.Block) event.Message {
	return event.Message{Role: role, Content: content}
}

// A shortened history begins with the task of a turn, also if the turn's oldest cycles are left out.
func TestAWindowBeginsWithATurn(t *testing.T) {
	t.Parallel()
	three := said(event.RoleUser, &event.Text{Text: "task three"})
	both := append(worked("one", 1, "1"), worked("two", 1, "2")...)
	const gone = "user:[Earlier messages of this conversation are left out here.]"
	for _, c := range []struct {
		name  string
		input []event.Message
		by    braid.Strategy
		fails int
		want  string
	}{
		{
			name: "the only task is the first message", input: worked("one", 6, ""), by: braid.SlidingWindow(4),
			want: gone + "task one assistant:[one5] user:(one5 result one5)",
		},
		{
			name: "a turn that does not fit", input: append(both, three), by: braid.SlidingWindow(4),
			want: gone + "task two assistant:2 user:task three",
		},
		{
			name: "a turn that fits", input: append(both, three), by: braid.SlidingWindow(8),
			want: gone + "task two assistant:[two0] user:(two0 result two0) assistant:2 user:task three",
		},
		{
			name: "after a refusal", input: append(both, three), by: braid.SlidingWindow(99), fails: 1,
			want: gone + "task two assistant:2 user:task three",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &recorder{answer: func(n int, _ *model.Request) iter.Seq2[model.Chunk, error] {
				if n < c.fails {
					return failing(overflow)
				}
				return chunks(says("done"))
			}}
			a := braid.New("a", m, braid.Func("add", "Adds.", add), braid.Manage(braid.Management{By: c.by}))
			if _, err := a.Run(t.Context(), "", braid.History(c.input...)); err != nil {
				t.Fatal(err)
			}
			req := m.seen[len(m.seen)-1]
			if err := braid.ValidMessages(req.Messages); err != nil {
				t.Error(err)
			}
			if got := strings.TrimSpace(brief(req.Messages)); got != c.want {
				t.Errorf("the model is shown\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
