package printer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// timelineOf prints events as braid show does, for a terminal only if width is given.
func timelineOf(t *testing.T, events []*event.Event, width int) string {
	t.Helper()
	var b strings.Builder
	out := term.NewOutput(&b)
	l := Look{Screen: term.Screen{Width: term.PlainWidth}, Thinking: true}
	if width > 0 {
		l.Screen = term.Screen{Terminal: true, Colour: true, Symbols: true, Width: width}
	}
	line := NewTimeline(out, l)
	line.zone = time.UTC
	for i, e := range events {
		e.Seq = int64(i + 1)
		if r, ok := e.Body.(*event.Redacted); ok {
			line.Hidden[r.Target] = r
		}
	}
	line.Title(&journal.Summary{ID: "k7f2m9qdabcd", Turns: 2, Last: int64(len(events))})
	for _, e := range events {
		if err := line.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	line.Stands(&journal.Run{Conversation: "k7f2m9qdabcd", Status: event.RunRunning}, 0, false)
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func attempt(n int, e *event.Event) *event.Event {
	e.Attempt = n
	return e
}

// everything is a log with every kind of event.
func everything() []*event.Event {
	cost := int64(1_234_000)
	var events []*event.Event
	for _, e := range tour() {
		if !e.Live() { // live events are not in logs
			events = append(events, e)
		}
	}
	events = append(events,
		ev(0, "", &event.RunStarted{Agent: "assistant", Model: "demo:approval", Turn: 2, Session: 2, Executor: "cron"}),
		ev(0, "", &event.UserMessage{Content: text(strings.TrimSpace(strings.Repeat("one line\n", 12)) + "\n\x1b[31mred")}),
		ev(1, "m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "demo:approval"}),
		ev(1, "m1", &event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: noon.Add(4 * time.Second), Duration: time.Second,
			Err: &event.Error{Kind: event.ErrThrottled, Message: "the provider is throttling", Hint: "wait"},
		}),
		attempt(2, ev(1, "m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyRetry, Model: "demo:approval"})),
		attempt(2, ev(1, "m1", &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeLost})),
		attempt(3, ev(1, "m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyTakenOver, Model: "demo:approval"})),
		attempt(3, ev(1, "m1", &event.AssistantMessage{
			Stop: event.StopToolUse, Model: "demo:approval",
			Content: []event.Block{
				call("p", "pay", `{"to":"Ann","amount":5}`), call("d", "delete_file", `{"name":"a.txt"}`), call("s", "sign_in", `{}`),
				call("h", "helper", `{"input":"look"}`),
			},
		})),
		ev(1, "t-p", &event.StepBegun{Step: event.StepTool, Call: "p", Tool: "pay"}),
		ev(1, "t-d", &event.StepBegun{Step: event.StepTool, Call: "d", Tool: "delete_file", Effect: event.EffectReconcilable}),
		ev(1, "t-d", &event.Asked{Token: "1", Ask: event.AskApproval, Prompt: "Delete a.txt?", Call: "d", Tool: "delete_file"}),
		ev(1, "t-s", &event.Asked{Token: "2", Ask: event.AskCredential, Prompt: "Your key?", Call: "s", Tool: "sign_in", Expires: noon.Add(time.Hour)}),
		ev(0, "", &event.Answered{Token: "1", Value: json.RawMessage("true"), By: "ann"}),
		ev(0, "", &event.Answered{Token: "2", Value: json.RawMessage(`"do-not-show-this"`)}),
		ev(1, "", &event.UserMessage{Content: text("hurry up"), Mail: "m"}),
		attempt(2, ev(1, "t-d", &event.StepBegun{Step: event.StepTool, Call: "d", Tool: "delete_file", Effect: event.EffectReconcilable, Reconcile: true})),
		attempt(2, ev(1, "t-d", &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeDone, Duration: time.Millisecond,
			Result: &event.ToolResult{Call: "d", Name: "delete_file", Content: text("a.txt is deleted.")},
		})),
		ev(1, "t-p", &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeInDoubt, Result: &event.ToolResult{Call: "p", Name: "pay", Content: text("who knows"), IsError: true},
		}),
		ev(1, "t-h", &event.ScopeOpened{ID: "t-h", Call: "h", Agent: "helper", Depth: 1, Input: text("look")}),
		inScope("t-h", "helper", ev(1, "t-h.m1", &event.AssistantMessage{Content: text("I looked."), Stop: event.StopEndTurn})),
		ev(1, "t-h", &event.ScopeClosed{ID: "t-h", Stop: event.StopEndTurn, Why: event.WhyEndTurn}),
		ev(1, "", &event.StateChanged{Set: map[string]json.RawMessage{"b": json.RawMessage("1"), "a": json.RawMessage("2")}, Delete: []string{"c"}}),
		ev(1, "", &event.ArtifactSaved{Name: "plan.md", Version: 2, Size: 10}),
		ev(1, "", &event.Transferred{From: "assistant", To: "other"}),
		ev(1, "", &event.Escalated{Reason: "done"}),
		ev(1, "", &event.Fault{Err: &event.Error{Kind: event.ErrUnavailable, Message: "a server is gone"}}),
		ev(1, "", &event.Notice{Code: "api_retry", Text: "again"}),
		ev(1, "", &event.Compacted{From: 1, To: 9, Summary: text("They talked.")}),
		ev(1, "", &event.UserMessage{Content: text("my-secret-number")}),
		ev(1, "", &event.Redacted{Target: int64(len(events)) + 29, Reason: "private"}),
		ev(1, "", &event.Unknown{Name: "hologram", Raw: json.RawMessage(`{}`)}),
		ev(0, "", &event.RunEnded{
			Status: event.RunFailed, Why: event.WhyFailed, Stop: event.StopError, Cycles: 1, Duration: 5 * time.Second, CostNanoUSD: &cost,
			Err: &event.Error{Kind: event.ErrModel, Message: "the provider gave up", Hint: "try another"},
			Models: []event.ModelUsage{
				{Model: "a", Usage: event.Usage{Input: 1, Output: 2, Total: 3}}, {Model: "b", Usage: event.Usage{Input: 4, Output: 5, Total: 9}},
			},
			Usage: event.Usage{Input: 5, Output: 7, Total: 12},
		}),
	)
	for _, e := range events {
		if _, ok := e.Body.(*event.UserMessage); ok {
			e.Author = event.UserAuthor
		}
	}
	return events
}

func TestTimelineInAPipe(t *testing.T) {
	t.Parallel()
	got := timelineOf(t, everything(), 0)
	golden(t, "timeline-pipe", got)
	for _, secret := range []string{"do-not-show-this", "my-secret-number", "\x1b"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is shown", secret)
		}
	}
}

func TestTimelineOnATerminal(t *testing.T) {
	t.Parallel()
	got := timelineOf(t, everything(), 72)
	golden(t, "timeline-terminal", got)
	if want := "\x1b[1;31m  IN DOUBT"; !strings.Contains(got, want) {
		t.Error("what is in doubt does not stand out")
	}
	for line := range strings.Lines(got) {
		if plain := uncoloured(line); term.Width(strings.TrimRight(plain, "\n")) > 72 && !strings.Contains(plain, "run was interrupted") && !strings.HasPrefix(plain, "turn") {
			t.Errorf("%d columns: %q", term.Width(plain), plain)
		}
	}
}

func uncoloured(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}

func TestHowAnOpenRunStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  event.RunStatus
		working bool
		want    string
	}{
		{event.RunWaiting, false, "waits for an answer: braid chat --continue k7f2m9qd asks again"},
		{event.RunWaiting, true, "waits for an answer in process 7"},
		{event.RunRunning, true, "process 7 has the data folder"},
		{event.RunRunning, false, "was interrupted"},
		{event.RunQueued, false, "was interrupted"},
	} {
		var b strings.Builder
		line := NewTimeline(term.NewOutput(&b), Look{})
		line.Stands(&journal.Run{Conversation: "k7f2m9qdabcd", Status: c.status}, 7, c.working)
		_ = line.out.Flush()
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s, %t: %q", c.status, c.working, b.String())
		}
	}
}

// Long texts are cut, and the rest is counted.
func TestTimelineCutsLongTexts(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "line %d %s\n", i, strings.Repeat("x", 1000))
	}
	got := timelineOf(t, []*event.Event{ev(0, "", &event.UserMessage{Content: text(long.String())})}, 0)
	if len(got) > 4000 || !strings.Contains(got, "… 992 more lines") {
		t.Errorf("%d bytes: %s", len(got), got[max(0, len(got)-200):])
	}
}

// An answer may come after the end of its call, for example when the run is being cancelled. A credential in it is still
// hidden.
func TestLateAnswersAreHidden(t *testing.T) {
	t.Parallel()
	got := timelineOf(t, []*event.Event{
		ev(0, "", &event.RunStarted{Agent: "assistant", Turn: 1}),
		ev(1, "t-s", &event.StepBegun{Step: event.StepTool, Call: "s", Tool: "sign_in"}),
		ev(1, "t-s", &event.Asked{Token: "1", Ask: event.AskCredential, Prompt: "Your key?", Call: "s", Tool: "sign_in"}),
		ev(1, "t-s", &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeCancelled, Result: &event.ToolResult{Call: "s", Name: "sign_in", IsError: true},
		}),
		ev(0, "", &event.Answered{Token: "1", Value: json.RawMessage(`"do-not-show-this"`)}),
	}, 0)
	if strings.Contains(got, "do-not-show-this") || !strings.Contains(got, "[run] answered tool=#1:sign_in: [hidden]") {
		t.Errorf("the late answer is shown as\n%s", got)
	}
}
