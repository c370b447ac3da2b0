package printer

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, or updates the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "transcript", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update to accept:\n%s", path, diff)
	}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ev makes an event of the root scope.
func ev(cycle int, step string, body event.Body) *event.Event {
	return &event.Event{Header: event.Header{Run: "r", Cycle: cycle, Step: step, Attempt: 1, Author: "assistant", Time: noon, Simulated: true}, Body: body}
}

func inScope(scope, author string, e *event.Event) *event.Event {
	e.Scope, e.Author = scope, author
	return e
}

func text(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }

func call(id, name, args string) *event.ToolCall {
	return &event.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

func toolBegun(cycle int, id, name string) *event.Event {
	return ev(cycle, "t-"+id, &event.StepBegun{Step: event.StepTool, Call: id, Tool: name})
}

func toolEnded(cycle int, id, name, result string, isError bool) *event.Event {
	return ev(cycle, "t-"+id, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, Duration: 1200 * time.Microsecond,
		Result: &event.ToolResult{Call: id, Name: name, Content: text(result), IsError: isError},
	})
}

// tour returns a run with thinking, two parallel tools, a failure, a second attempt and the answer.
func tour() []*event.Event {
	usage := func(in, out int64) event.Usage { return event.Usage{Input: in, Output: out, Total: in + out} }
	begun := func(cycle int, why event.Why) *event.Event {
		return ev(cycle, stepID(cycle), &event.StepBegun{Step: event.StepModel, Why: why, Model: "demo:tour"})
	}
	return []*event.Event{
		ev(0, "", &event.RunStarted{Agent: "assistant", Model: "demo:tour"}),
		ev(0, "", &event.UserMessage{Content: text("今日の計算")}),
		begun(1, event.WhyInput),
		ev(1, "m1", &event.ThinkingDelta{Text: "Two things are asked.\nI call both tools "}),
		ev(1, "m1", &event.ThinkingDelta{Text: "at once."}),
		ev(1, "m1", &event.TextDelta{Text: "計算しながら、", Block: 1}),
		ev(1, "m1", &event.TextDelta{Text: "時計を見ます。", Block: 1}),
		ev(1, "m1", &event.ToolInputDelta{Call: "a", Tool: "calculator", Block: 2}),
		ev(1, "m1", &event.AssistantMessage{
			Content: []event.Block{
				&event.Thinking{Text: "Two things are asked.\nI call both tools at once."},
				&event.Text{Text: "計算しながら、時計を見ます。"},
				call("a", "calculator", `{"expression":"12 * (7 + 3"}`),
				call("b", "clock", `{"zone":"Asia/Tokyo","format":{"seconds":false}}`),
			},
			Stop: event.StopToolUse, Usage: usage(680, 79), Latency: 1299 * time.Millisecond, TimeToFirstByte: 969 * time.Millisecond,
		}),
		toolBegun(1, "a", "calculator"),
		toolBegun(1, "b", "clock"),
		ev(1, "t-b", &event.ToolProgress{Call: "b", Tool: "clock", Text: "asking the satellite"}),
		toolEnded(1, "b", "clock", "2026-11-20 21:00", false),
		toolEnded(1, "a", "calculator", "there is a parenthesis too few", true),
		begun(2, event.WhyToolResults),
		ev(2, "m2", &event.AssistantMessage{
			Content: []event.Block{&event.Text{Text: "Once more."}, call("c", "calculator", `{"expression":"12 * (7 + 3)"}`)},
			Stop:    event.StopToolUse, Usage: usage(772, 15), Latency: 814 * time.Millisecond, TimeToFirstByte: 708 * time.Millisecond,
		}),
		toolBegun(2, "c", "calculator"),
		toolEnded(2, "c", "calculator", "120", false),
		begun(3, event.WhyToolResults),
		ev(3, "m3", &event.TextDelta{Text: "It costs 120.\n\n1. first\n2. second\n"}),
		ev(3, "m3", &event.AssistantMessage{
			Content: text("It costs 120.\n\n1. first\n2. second\n"), Stop: event.StopEndTurn, Usage: usage(800, 20),
			Latency: 500 * time.Millisecond, TimeToFirstByte: 100 * time.Millisecond,
		}),
		ev(3, "", &event.RunEnded{
			Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn, Cycles: 3,
			Usage: usage(2252, 114), Duration: 2613 * time.Millisecond,
		}),
	}
}

func stepID(cycle int) string { return "m" + string(rune('0'+cycle)) }

// nasty returns events of a hostile model and a broken provider.
func nasty() []*event.Event {
	retry := ev(1, "m1", &event.StepEnded{
		Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: noon.Add(4 * time.Second), Duration: time.Second,
		Err: &event.Error{Kind: event.ErrThrottled, Message: "the provider is throttling"},
	})
	again := ev(1, "m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyRetry, Model: "m"})
	again.Attempt = 2
	return []*event.Event{
		ev(1, "m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "m"}),
		ev(1, "m1", &event.TextDelta{Text: "half an ans"}),
		retry, again,
		ev(1, "m1", &event.TextDelta{Text: "\x1b]0;owned\aand \u202eback\r"}),
		ev(1, "m1", &event.TextDelta{Text: "\nnext \xe3\x81"}),
		ev(1, "m1", &event.AssistantMessage{Stop: event.StopMaxTokens, Content: []event.Block{
			&event.Text{Text: "…"},
			&event.ToolCall{ID: "x", Name: "evil\x1b[2J\nname", Invalid: "{\"a\": \x1b"},
			call("y", "long", `{"text":"`+strings.Repeat("長い文", 60)+`","tabs":"a\tb"}`),
			call("z", "many", `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`),
			call("w", "list", `[1,2]`),
			call("v", "none", `{}`),
		}}),
		toolEnded(1, "x", "evil\x1b[2J\nname", "\x1b[31mred", true),
		toolEnded(1, "y", "long", strings.Repeat("一行目の長い結果", 20)+"\nsecond\tline", false),
		toolEnded(1, "z", "many", strings.Repeat("line\n", 20), false),
		ev(1, "t-w", &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeInDoubt, Result: &event.ToolResult{Call: "w", Name: "list"}}),
		ev(1, "t-v", &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeStraggler, Result: &event.ToolResult{Call: "v", Name: "none"}}),
		ev(1, "", &event.Notice{Code: "n", Text: "two\nlines"}),
		ev(1, "", &event.Fault{Err: &event.Error{Kind: event.ErrInternal, Message: "a fault"}}),
		ev(1, "", &event.Unknown{Name: "later", Raw: json.RawMessage(`{}`)}),
		ev(1, "m2", &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed, Err: &event.Error{Kind: event.ErrModelAuth, Message: "the key is refused", Hint: "check it"}}),
		ev(1, "", &event.RunEnded{Status: event.RunFailed, Why: event.WhyFailed, Stop: event.StopError, Err: &event.Error{Kind: event.ErrModelAuth}}),
	}
}

// team returns a run with a sub-agent.
func team() []*event.Event {
	return []*event.Event{
		ev(1, "m1", &event.AssistantMessage{Content: []event.Block{call("a", "billing", `{"input":"refund 7"}`)}, Stop: event.StopToolUse}),
		toolBegun(1, "a", "billing"),
		ev(1, "", &event.ScopeOpened{ID: "s1", Call: "a", Agent: "billing", Depth: 1}),
		inScope("s1", "billing", ev(1, "s1m1", &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "m"})),
		inScope("s1", "billing", ev(1, "s1m1", &event.TextDelta{Text: "I lo"})),
		inScope("s1", "billing", ev(1, "s1m1", &event.AssistantMessage{
			Content: []event.Block{&event.Text{Text: "I look\nat it."}, call("b", "lookup", `{"id":7}`)}, Stop: event.StopToolUse,
		})),
		inScope("s1", "billing", toolEnded(1, "b", "lookup", "found\nit", false)),
		inScope("s1", "billing", ev(2, "s1m2", &event.AssistantMessage{Content: text("Refunded."), Stop: event.StopEndTurn})),
		ev(1, "", &event.ScopeClosed{ID: "s1", Stop: event.StopEndTurn, Why: event.WhyEndTurn}),
		toolEnded(1, "a", "billing", "Refunded.", false),
		ev(2, "m2", &event.TextDelta{Text: "Done."}),
		ev(2, "m2", &event.AssistantMessage{Content: text("Done."), Stop: event.StopEndTurn}),
	}
}

var (
	inPipe     = Look{Screen: term.Screen{Width: term.PlainWidth}, Thinking: true}
	onTerminal = Look{Screen: term.Screen{Terminal: true, Colour: true, Symbols: true, Width: 60}, Thinking: true}
)

func tell(t *testing.T, l Look, events []*event.Event) string {
	t.Helper()
	var b strings.Builder
	s := NewTranscript(term.NewOutput(&b), l)
	for _, e := range events {
		if err := s.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	sum := &Summary{
		Usage: event.Usage{Input: 2252, Output: 114}, Simulated: true,
		Counts: Counts{Cycles: 3, ToolCalls: 3, ToolErrors: 1, Duration: 2613 * time.Millisecond},
	}
	if err := s.End(sum); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	traced := inPipe
	traced.Trace = true
	quietMind := inPipe
	quietMind.Thinking = false
	narrow := onTerminal
	narrow.Width, narrow.Colour = 24, false
	for name, c := range map[string]struct {
		look   Look
		events []*event.Event
	}{
		"tour-pipe":        {inPipe, tour()},
		"tour-terminal":    {onTerminal, tour()},
		"tour-trace":       {traced, tour()},
		"tour-no-thinking": {quietMind, tour()},
		"tour-narrow":      {narrow, tour()},
		"nasty-pipe":       {traced, nasty()},
		"nasty-terminal":   {narrow, nasty()},
		"team-pipe":        {traced, team()},
		"team-terminal":    {onTerminal, team()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, tell(t, c.look, c.events))
		})
	}
}

// A message looks the same whether it was streamed or not.
func TestStoryIsTheSameWithoutDeltas(t *testing.T) {
	t.Parallel()
	var durable []*event.Event
	for _, e := range tour() {
		if _, progress := e.Body.(*event.ToolProgress); progress || !e.Live() {
			durable = append(durable, e)
		}
	}
	black := onTerminal
	black.Colour = false // each piece ends its colours
	if diff := cmp.Diff(tell(t, black, tour()), tell(t, black, durable)); diff != "" {
		t.Error(diff)
	}
}

// No line of a card is wider than the screen, whatever its content, and only the program's own
// colours move the cursor.
func TestCardsStayInsideTheScreen(t *testing.T) {
	t.Parallel()
	for width := 12; width < 130; width++ {
		l := Look{Screen: term.Screen{Terminal: true, Symbols: true, Width: width}}
		for _, e := range append(tour(), nasty()...) {
			switch b := e.Body.(type) {
			case *event.StepEnded, *event.ToolProgress:
			case *event.AssistantMessage:
				b.Content = b.Content[1:]
			default:
				continue
			}
			var out strings.Builder
			s := NewTranscript(term.NewOutput(&out), l)
			if e.Body.Kind() == event.KindStepEnded && e.Body.(*event.StepEnded).Step == event.StepModel {
				continue
			}
			if err := s.Event(e); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if strings.ContainsAny(line, "\x1b\r\a") {
					t.Fatalf("width %d: a control got through: %q", width, line)
				}
				room := max(width, 30) // names and numbers are not cut
				if w := term.Width(line); w > room && strings.HasPrefix(line, "│") {
					t.Errorf("width %d: %d columns: %q", width, w, line)
				}
			}
		}
	}
}

// All text is on the screen after its event.
func TestStoryHoldsNothingBack(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := NewTranscript(term.NewOutput(&b), inPipe)
	for _, piece := range []string{"a", "b ", "c", "日本"} {
		before := b.Len()
		if err := s.Event(ev(1, "m1", &event.TextDelta{Text: piece})); err != nil {
			t.Fatal(err)
		}
		if got := b.String()[before:]; got != piece {
			t.Errorf("%q was shown as %q", piece, got)
		}
	}
}

type brokenWriter struct{ after int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.after--; w.after < 0 {
		return 0, errGone
	}
	return len(p), nil
}

var errGone = errors.New("gone")

func TestStoryReportsALostOutput(t *testing.T) {
	t.Parallel()
	s := NewTranscript(term.NewOutput(&brokenWriter{after: 1}), inPipe)
	if err := s.Event(ev(1, "m1", &event.TextDelta{Text: "a"})); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Event(ev(1, "m1", &event.TextDelta{Text: "b"})); !errors.Is(err, errGone) {
			t.Errorf("got %v", err)
		}
	}
}

func TestTracerTellsTheTraceAlone(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	tr := NewTracer(term.NewOutput(&b), term.Screen{Width: term.PlainWidth})
	for _, e := range tour() {
		if err := tr.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "tracer", b.String())
}
