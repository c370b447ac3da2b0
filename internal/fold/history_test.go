package fold_test

import (
	"strconv"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// An agent that the scope is handed to begins with its own first model.
func TestATransferForgetsTheModel(t *testing.T) {
	t.Parallel()
	h := foldtest.Asked().Add(1, "m1", 1, &event.StepBegun{Step: event.StepModel, Model: "other"})
	v := fold.New(h.Log)
	if s := v.Run.Scopes[0]; s.LastModel != "other" {
		t.Errorf("it stays with %q", s.LastModel)
	}
	v = fold.New(h.Add(1, "", 0, &event.Transferred{To: "sub"}).Log)
	if s := v.Run.Scopes[0]; s.LastModel != "" || s.Agent != "sub" {
		t.Errorf("%s stays with %q", s.Agent, s.LastModel)
	}
}

// A driver replaces the newest message where it stands, and nothing else: for the rest the
// log is folded anew.
func TestWhatIsRedactedInPlace(t *testing.T) {
	t.Parallel()
	more := func() *foldtest.History {
		return foldtest.Asked().Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "and this"}}, Mail: "m"})
	}
	for _, c := range []struct {
		name   string
		log    *foldtest.History
		target int64
		stale  bool
		shown  string
	}{
		{"the newest", more(), 3, false, "go\n[redacted]"},
		{"the one before", more(), 2, true, "go\nand this"},
		{"nothing", more(), 0, true, "go\nand this"},
		{"one that brought results", foldtest.Asked().Calls(1, "a").Add(0, "", 0, &event.UserMessage{Content: []event.Block{
			&event.ToolResult{Call: "c0", Content: []event.Block{&event.Text{Text: "r"}}}, &event.Text{Text: "so"},
		}}), 5, true, "so"},
	} {
		v := fold.New(nil)
		for _, e := range c.log.Log {
			v.Add(e)
		}
		before := v.Run.Scopes[0].Transcript.Shared()
		prints := printed(t, before)
		c.log.Add(0, "", 0, &event.Redacted{Target: c.target})
		v.Add(c.log.Log[len(c.log.Log)-1])
		msgs := v.Run.Scopes[0].Transcript.Messages
		if got := msgs[len(msgs)-1].Text(); v.Stale != c.stale || got != c.shown || printed(t, before) != prints {
			t.Errorf("%s: stale %v, the model is shown %q", c.name, v.Stale, got)
		}
	}
}

// What a note tells of tool calls stands in the order in which they were asked for.
func TestNotesTellOfCallsAsTheyWereAskedFor(t *testing.T) {
	t.Parallel()
	notes := map[string]bool{}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		h := foldtest.Asked().Calls(1, "a", "b", "c")
		for _, i := range order {
			h.Add(1, fold.StepName("", 't', 1, i), 1, &event.StepBegun{Step: event.StepTool})
		}
		for _, i := range order {
			h.Add(1, fold.StepName("", 't', 1, i), 1, &event.StepEnded{
				Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: "c" + strconv.Itoa(i), Content: []event.Block{&event.Text{Text: "ok"}}},
			})
		}
		v := fold.New(h.Add(0, "", 0, &event.RunEnded{Status: event.RunFailed}).Log)
		notes[v.Past.Messages[0].Text()] = true
	}
	if len(notes) != 1 {
		t.Errorf("the note depends on the order in which they ended: %v", notes)
	}
}

// printed writes messages as JSON.
func printed(t *testing.T, messages []event.Message) string {
	t.Helper()
	var buf []byte
	for _, m := range messages {
		var err error
		if buf, err = event.AppendMessage(buf, m); err != nil {
			t.Fatal(err)
		}
	}
	return string(buf)
}
