package braid_test

import (
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// A log that other versions and engines wrote: compactions, redactions and
// answers in pieces, opened cold.
func TestWhatTheModelSeesOfCompactedAndRedactedEvents(t *testing.T) {
	t.Parallel()
	text := func(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }
	call := func(id string) event.Block {
		return &event.ToolCall{ID: id, Name: "add", Args: raw(map[string]int{"a": 1})}
	}
	ended := func(id string) *event.StepEnded {
		return &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeDone,
			Result: &event.ToolResult{Call: id, Name: "add", Content: text("r" + id)},
		}
	}
	run := func(bodies ...event.Body) []event.Body {
		return append(append([]event.Body{&event.RunStarted{Agent: "a", Session: 1}}, bodies...), &event.RunEnded{Status: event.RunCompleted})
	}
	talk := run(&event.UserMessage{Content: text("q1")}, &event.AssistantMessage{Content: text("a1"), Stop: event.StopEndTurn})
	tools := run(&event.UserMessage{Content: text("q2")},
		&event.StepBegun{Step: event.StepModel},
		&event.AssistantMessage{Content: []event.Block{call("x"), call("y")}, Stop: event.StopToolUse},
		ended("y"), ended("x"),
		&event.AssistantMessage{Content: text("a2"), Stop: event.StopEndTurn})
	for _, c := range []struct {
		name string
		log  []event.Body
		want string
	}{
		{"as it is", append(talk, tools...), "user:q1 assistant:a1 user:q2 assistant:[x][y] user:(x rx)(y ry) assistant:a2"},
		{"compacted", append(append(talk, tools...), run(&event.Compacted{From: 2, To: 3, Summary: text("S")})...), "user:Sq2 assistant:[x][y] user:(x rx)(y ry) assistant:a2"},
		{
			"a compaction that cuts a call from its results",
			append(append(talk, tools...), run(&event.Compacted{From: 2, To: 8, Summary: text("S")})...), "user:S assistant:a2",
		},
		{
			"results compacted, their calls not",
			append(append(talk, tools...), run(&event.Compacted{From: 9, To: 10})...),
			"user:q1 assistant:a1 user:q2 assistant:[x][y] user:(x [summarised])(y [summarised]) assistant:a2",
		},
		{
			"redacted", append(append(talk, tools...), run(&event.Redacted{Target: 2}, &event.Redacted{Target: 8}, &event.Redacted{Target: 10, Replacement: text("-")})...),
			"user:[redacted] assistant:a1 user:q2 assistant:[redacted][x][y] user:(x -)(y ry) assistant:a2",
		},
		{
			"in pieces", run(&event.UserMessage{Content: text("q")},
				&event.AssistantMessage{Content: text("one "), Piece: true}, &event.AssistantMessage{Content: text("two"), Stop: event.StopEndTurn}),
			"user:q assistant:one two",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conv := braid.Open(logOf(t, c.log), "c")
			messages, err := conv.Messages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(messages); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// logOf puts bodies into a store as the log of one conversation.
func logOf(t *testing.T, bodies []event.Body) journal.Store {
	t.Helper()
	store := &journal.Memory{}
	var lease journal.Lease
	run, turn, calls := "", 0, map[string]string{"x": "t0.0", "y": "t0.1"}
	for i, b := range bodies {
		status := event.RunStatus("")
		switch b := b.(type) {
		case *event.RunStarted:
			turn++
			run = string(rune('0' + turn))
			row, err := store.Admit(t.Context(), journal.Run{ID: run, Conversation: "c"})
			if err != nil {
				t.Fatal(err)
			}
			opened, err := store.Acquire(t.Context(), row.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			lease = opened.Lease
		case *event.RunEnded:
			status = b.Status
		}
		e := &event.Event{Header: event.Header{Seq: int64(i + 1), Conversation: "c", Run: run}, Body: b}
		if s, ok := b.(*event.StepEnded); ok {
			e.Step = calls[s.Result.Call]
		}
		if _, ok := b.(*event.StepBegun); ok {
			e.Step, e.Attempt = "m1", 1
		}
		if err := store.Commit(t.Context(), lease, journal.Batch{Events: []*event.Event{e}, Status: status}); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// brief writes messages for people: "user:hi assistant:[call] user:(call result)".
func brief(messages []event.Message) string {
	s := ""
	for _, m := range messages {
		if s != "" {
			s += " "
		}
		s += string(m.Role) + ":"
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				s += b.Text
			case *event.ToolCall:
				s += "[" + b.ID + "]"
			case *event.ToolResult:
				s += "(" + b.Call + " " + event.TextOf(b.Content) + ")"
			}
		}
	}
	return s
}
