package story_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
	"github.com/braidrun/braid/wire/story"
	"github.com/braidrun/braid/wire/wiretest"
)

func text(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }

// teller gives a story events that it numbers.
type teller struct {
	story.Story
	seq, n int64
}

func (w *teller) tell(h event.Header, body event.Body) *story.Item {
	e := &event.Event{Header: h, Body: body}
	if e.Run == "" {
		e.Run = "r"
	}
	if e.Live() {
		w.n++
		e.Epoch, e.N = 1, w.n
	} else {
		w.seq++
		e.Seq = w.seq
	}
	return w.Add(e)
}

func at(step string) event.Header { return event.Header{Step: step, Attempt: 1} }

// An answer that comes in pieces is whole in each of its items, and the run has it at the end.
func TestPiecesAreJoined(t *testing.T) {
	t.Parallel()
	var w teller
	w.tell(event.Header{}, &event.RunStarted{Turn: 3, Session: 2})
	w.tell(at("m1"), &event.StepBegun{Step: event.StepModel})
	if a := w.tell(at("m1"), &event.TextDelta{Text: "Let "}).Answer; a == nil || a.Text() != "" || !a.Whole {
		t.Errorf("a piece of the stream belongs to %+v", a)
	}
	w.tell(at("m1"), &event.AssistantMessage{Content: text("Let "), Piece: true})
	in := &event.Snapshot{
		Header: event.Header{Run: "r", Step: "m1", Attempt: 1}, Kind: event.StepModel, Truncated: true,
		Blocks: []event.SnapshotBlock{{Block: 1, Kind: event.BlockText, Text: "me "}},
	}
	if it := w.Snapshot(in); it == nil || !it.Answer.Lost {
		t.Errorf("after a snapshot with gaps nothing is lost: %+v", it)
	} else if text, _ := it.Answer.Shown(in); text != "Let me " {
		t.Errorf("%q is shown", text)
	}
	it := w.tell(at("m1"), &event.AssistantMessage{Content: append(text("see."), &event.Thinking{Text: "so"})})
	if it.Answer.Text() != "Let see." || it.Answer.Thinking() != "so" {
		t.Errorf("the whole answer is %q with %q", it.Answer.Text(), it.Answer.Thinking())
	}
	if it.Run.Answer != "Let see." || it.Run.Turn != 3 || it.Run.Session != 2 || it.Ends {
		t.Errorf("the run is %+v, and ends: %t", it.Run, it.Ends)
	}
	w.Run = "r"
	if it := w.tell(event.Header{}, &event.RunEnded{Status: event.RunCompleted}); !it.Ends || it.Run.End == nil {
		t.Error("the run's end does not end the stream of it")
	}
}

// Results are told together, in the order of the calls.
func TestResultsAreTogether(t *testing.T) {
	t.Parallel()
	var w teller
	w.tell(at("m1"), &event.StepBegun{Step: event.StepModel})
	w.tell(at("m1"), &event.AssistantMessage{Content: []event.Block{
		&event.ToolCall{ID: "a", Name: "add", Args: json.RawMessage(`{"n":1}`)}, &event.ToolCall{ID: "b", Name: "sub"},
	}})
	end := func(step, call string) *story.Item {
		w.tell(at(step), &event.StepBegun{Step: event.StepTool, Call: call})
		return w.tell(at(step), &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{Call: call}})
	}
	if it := end("m1.1", "b"); it.Results != nil || it.Call.Name != "sub" {
		t.Errorf("the first result is told as %+v of %+v", it.Results, it.Call)
	}
	it := end("m1.0", "a")
	if len(it.Results) != 2 || it.Results[0].Call != "a" || it.Results[1].Call != "b" || string(it.Call.Args) != `{"n":1}` {
		t.Errorf("the last result is told as %+v of %+v", it.Results, it.Call)
	}
	if it := w.tell(at("x"), &event.ToolProgress{Call: "c", Tool: "other"}); it.Call.ID != "c" || it.Call.Name != "other" {
		t.Errorf("a call that was not seen is %+v", it.Call)
	}
}

// Questions are open until they are answered or nobody waits for the answer any more.
func TestOpenQuestions(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]func(*teller){
		"the answer":           func(w *teller) { w.tell(at("t1"), &event.Answered{Token: "q"}) },
		"the call's end":       func(w *teller) { w.tell(at("t1"), &event.StepEnded{Step: event.StepTool, Result: &event.ToolResult{}}) },
		"the end of its agent": func(w *teller) { w.tell(event.Header{}, &event.ScopeClosed{ID: "s"}) },
		"the end of the run":   func(w *teller) { w.tell(event.Header{}, &event.RunEnded{}) },
	} {
		var w teller
		h := at("t1")
		w.tell(event.Header{Scope: "s"}, &event.ScopeOpened{ID: "s"})
		h.Scope = "s"
		w.tell(h, &event.StepBegun{Step: event.StepTool, Call: "c"})
		if w.tell(h, &event.Asked{Token: "q", Call: "c"}); len(w.Now().Open) != 1 {
			t.Fatalf("%d questions are open", len(w.Now().Open))
		}
		if closes(&w); len(w.Now().Open) != 0 {
			t.Errorf("%s leaves the question open", name)
		}
	}
}

// Usage is what was used since the stream began: what the reader has from an earlier one does not count.
func TestUsageOfAStream(t *testing.T) {
	t.Parallel()
	var w teller
	u := event.Usage{Input: 10, CacheRead: 90, Output: 5, Total: 105}
	w.Skip(&event.Event{Header: event.Header{Seq: 1, Run: "r", Step: "m1"}, Body: &event.AssistantMessage{Model: "a", Usage: u}})
	w.seq = 1
	w.tell(at("m2"), &event.StepBegun{Step: event.StepModel, Model: "b"})
	w.tell(at("m2"), &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed, Usage: event.Usage{Input: 1, Output: 2}})
	w.tell(at("m3"), &event.AssistantMessage{Model: "b", Usage: u})
	if got := w.Now().Usage; len(got) != 1 || got[0].Model != "b" || got[0].Usage.Total != 108 || got[0].Usage.Input != 11 {
		t.Errorf("the stream has used %+v", got)
	}
}

// What begins and ends before the stream does, or is for the operator, or another run's, is no item.
func TestWhatIsNotTold(t *testing.T) {
	t.Parallel()
	w := teller{Story: story.Story{Run: "r"}}
	w.SkipTo(1)
	for name, it := range map[string]*story.Item{
		"an event that the reader has": w.Add(&event.Event{Header: event.Header{Seq: 1, Run: "r"}, Body: &event.UserMessage{}}),
		"another run's":                w.Add(&event.Event{Header: event.Header{Seq: 2, Run: "other"}, Body: &event.UserMessage{}}),
		"the operator's": w.Add(&event.Event{
			Header: event.Header{Seq: 3, Run: "r", Audience: event.Operator}, Body: &event.UserMessage{},
		}),
		"a snapshot of another run": w.Snapshot(&event.Snapshot{Header: event.Header{Run: "other"}}),
	} {
		if it != nil {
			t.Errorf("%s is told: %+v", name, it)
		}
	}
	if w.Last() != 3 {
		t.Errorf("the last event is %d", w.Last())
	}
}

// A redacted answer is shown as its replacement at the end of the run, too.
func TestARedactedAnswer(t *testing.T) {
	t.Parallel()
	var w teller
	w.tell(at("m1"), &event.StepBegun{Step: event.StepModel})
	w.tell(at("m1"), &event.AssistantMessage{Content: text("the secret")})
	w.tell(event.Header{}, &event.Redacted{Target: w.seq, Clean: true})
	if w.Now().Answer != "the secret" {
		t.Errorf("a guardrail that found nothing leaves %q", w.Now().Answer)
	}
	if w.tell(event.Header{}, &event.Redacted{Target: w.seq - 1}); w.Now().Answer != "[redacted]" || w.Now().Said != "[redacted]" {
		t.Errorf("it stands as %q and %q", w.Now().Answer, w.Now().Said)
	}
}

// In a conversation as drivers write it, the whole answer begins with what was streamed of its attempt, and every item of a
// sub-agent names the call that waits for it, but for the agents of a flow, for which no call waits.
func TestConversations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s story.Story
		events := wiretest.Conversation().Draw(t, "events")
		said := map[*story.Answer]string{}
		for i := range events {
			it := s.Add(&events[i])
			if it == nil {
				continue
			}
			scope := it.Head().Scope
			if (scope != "" && !strings.HasPrefix(scope, "f")) != (it.Agent.Call != "") {
				t.Fatalf("an event of %q works for the call %q", scope, it.Agent.Call)
			}
			switch b := it.Event.Body.(type) {
			case *event.StepBegun:
				delete(said, it.Answer)
			case *event.TextDelta:
				said[it.Answer] += b.Text
			case *event.AssistantMessage:
				if whole := it.Answer.Text(); !b.Piece && !strings.HasPrefix(whole, said[it.Answer]) || !it.Answer.Whole {
					t.Fatalf("%q was streamed of the answer %q", said[it.Answer], whole)
				}
			case *event.RunEnded:
				if len(it.Run.Open) > 0 || it.Run.ID != it.Event.Run {
					t.Fatalf("at its end the run is %+v", it.Run)
				}
			}
		}
	})
}

// Any events, in any order, give items without a fault.
func TestAnyEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := story.Story{Run: rapid.SampledFrom([]string{"", "r"}).Draw(t, "one run")}
		for i, e := range rapid.SliceOfN(eventtest.Event(), 1, 40).Draw(t, "events") {
			e.Run = rapid.SampledFrom([]string{"r", "s"}).Draw(t, "run")
			e.Scope, e.Step = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "scope"), rapid.SampledFrom([]string{"", "m1", "t1.0"}).Draw(t, "step")
			if !e.Live() {
				e.Seq = int64(i) + 1
			}
			it := s.Add(&e)
			if it == nil {
				continue
			}
			_, answers := e.Body.(*event.AssistantMessage)
			if it.Agent == nil || it.Run.ID != e.Run || e.Audience != event.Everyone || answers && it.Answer == nil {
				t.Fatalf("%T is told as %+v", e.Body, it)
			}
		}
	})
}

func TestStreamed(t *testing.T) {
	t.Parallel()
	var s story.Streamed
	if s.Add("日"); !s.Begins("日本") || !s.Begins("日") || s.Begins("月本") || s.Begins("") {
		t.Errorf("after %d bytes another text begins with what was sent", s.N)
	}
	if (&story.Streamed{}).Begins("") != true {
		t.Error("nothing does not begin with nothing")
	}
}
