package native_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

var update = flag.Bool("update", false, "write the wires in testdata anew")

// story is a conversation that is told for a golden wire.
type story struct {
	events []event.Event
	seq    int64
	n      int64
	run    string
	author string
	sim    bool
}

func newStory() *story {
	s := &story{run: "r1", author: "guide"}
	s.durable("", 0, &event.RunStarted{Agent: "guide", Model: "haiku", Turn: 1, Session: 1, Tools: []string{"add", "ask"}})
	s.durable("", 0, &event.UserMessage{Content: text("What is 3 + 5?")})
	return s
}

func text(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }

func (s *story) header(step string, attempt int) event.Header {
	h := event.Header{Conversation: "c1", Run: s.run, Step: step, Attempt: attempt, Author: s.author, Simulated: s.sim}
	if scope, _, in := strings.Cut(step, "/"); in {
		h.Scope = scope
	}
	return h
}

func (s *story) durable(step string, attempt int, b event.Body) {
	s.seq++
	h := s.header(step, attempt)
	h.Seq = s.seq
	s.events = append(s.events, event.Event{Header: h, Body: b})
}

func (s *story) live(step string, attempt int, b event.Body) {
	s.n++
	h := s.header(step, attempt)
	h.Epoch, h.N = 2, s.n
	s.events = append(s.events, event.Event{Header: h, Body: b})
}

func (s *story) begin(step string, attempt int) {
	s.durable(step, attempt, &event.StepBegun{Step: event.StepModel, Model: "haiku"})
}

func (s *story) say(step string, attempt int, pieces ...string) {
	for _, p := range pieces {
		s.live(step, attempt, &event.TextDelta{Text: p})
	}
}

func (s *story) answer(step string, attempt int, blocks ...event.Block) {
	m := &event.AssistantMessage{
		Content: blocks, Stop: event.StopEndTurn, Model: "haiku", Usage: event.Usage{Input: 120, Output: 30, Total: 150},
	}
	if len(event.CallsOf(blocks)) > 0 {
		m.Stop = event.StopToolUse
	}
	s.durable(step, attempt, m)
}

func (s *story) call(step, id, tool string) {
	s.durable(step, 1, &event.StepBegun{Step: event.StepTool, Call: id, Tool: tool, Effect: event.EffectPure})
}

func (s *story) result(step string, attempt int, id, tool, says string, isError bool) {
	s.durable(step, attempt, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, Duration: 2 * time.Millisecond,
		Result: &event.ToolResult{Call: id, Name: tool, Content: text(says), IsError: isError},
	})
}

func (s *story) end(change func(*event.RunEnded)) {
	cost := int64(810_000)
	b := &event.RunEnded{
		Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn, Cycles: 1, Duration: 80 * time.Millisecond,
		Usage: event.Usage{Input: 120, Output: 30, Total: 150}, CostNanoUSD: &cost,
	}
	if change != nil {
		change(b)
	}
	s.durable("", 0, b)
}

func use(id, tool, args string) *event.ToolCall {
	return &event.ToolCall{ID: id, Name: tool, Args: json.RawMessage(args)}
}

var stories = map[string]func() *story{
	"text": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.say("m1", 1, "3 + 5 = ", "8です。\n")
		s.answer("m1", 1, &event.Text{Text: "3 + 5 = 8です。\n"})
		s.end(nil)
		return s
	},
	"thinking": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.live("m1", 1, &event.ThinkingDelta{Text: "まず"})
		s.live("m1", 1, &event.ThinkingDelta{Text: "考える"})
		s.live("m1", 1, &event.TextDelta{Text: "8", Block: 1})
		s.answer("m1", 1, &event.Thinking{Text: "まず考える", Signature: "c2ln"}, &event.Text{Text: "8"})
		s.end(nil)
		return s
	},
	"parallel-tools": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.say("m1", 1, "Let me see.")
		s.live("m1", 1, &event.ToolInputDelta{Call: "t1", Tool: "add", JSON: `{"a":`, Block: 1})
		s.answer("m1", 1, &event.Text{Text: "Let me see."}, use("t1", "add", `{"a": 3, "b": 5}`), use("t2", "add", `{"a":1,"b":1}`))
		s.call("t1.1", "t1", "add")
		s.call("t1.2", "t2", "add")
		s.live("t1.2", 1, &event.ToolProgress{Call: "t2", Tool: "add", Text: "half", Data: json.RawMessage(`{"done": 0.5}`)})
		s.result("t1.2", 1, "t2", "add", "2", false)
		s.result("t1.1", 1, "t1", "add", "8", false)
		s.begin("m2", 1)
		s.say("m2", 1, "8 and 2")
		s.answer("m2", 1, &event.Text{Text: "8 and 2"})
		s.end(func(b *event.RunEnded) {
			b.Cycles = 2
			cost := int64(810_000)
			b.Models = []event.ModelUsage{{Model: "haiku", Usage: b.Usage, CostNanoUSD: &cost}}
		})
		return s
	},
	"tool-error": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, use("t1", "add", `{"a":"x"}`), &event.ToolCall{ID: "t2", Name: "add", Invalid: `{"a"`, Fault: "the arguments end too early"})
		s.call("t1.1", "t1", "add")
		s.call("t1.2", "t2", "add")
		s.result("t1.1", 1, "t1", "add", "Error: a must be a number", true)
		s.durable("t1.2", 1, &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeDone, Err: &event.Error{Kind: event.ErrInternal, Message: "a pointer is nil"},
			Result: &event.ToolResult{Call: "t2", Name: "add", Structured: json.RawMessage(`{"code": 3}`), IsError: true},
		})
		s.begin("m2", 1)
		s.answer("m2", 1, &event.Text{Text: "That did not work."})
		s.end(nil)
		return s
	},
	"in-doubt": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, use("t1", "pay", `{}`))
		s.call("t1.1", "t1", "pay")
		s.durable("t1.1", 1, &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeInDoubt,
			Result: &event.ToolResult{Call: "t1", Name: "pay", Content: text("In doubt: it may have happened."), IsError: true},
		})
		s.begin("m2", 1)
		s.answer("m2", 1, &event.Text{Text: "Please check your bank."})
		s.end(nil)
		return s
	},
	"child-agent": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, use("t1", "auditor", `{"input":"look"}`))
		s.call("t1.1", "t1", "auditor")
		s.author = "auditor"
		s.durable("t1.1/", 0, &event.ScopeOpened{ID: "t1.1", Call: "t1", Agent: "auditor", Depth: 1, Input: text("look")})
		s.begin("t1.1/m1", 1)
		s.say("t1.1/m1", 1, "cle", "an")
		s.answer("t1.1/m1", 1, &event.Text{Text: "clean"})
		s.durable("t1.1/", 0, &event.ScopeClosed{ID: "t1.1", Output: text("clean"), Stop: event.StopEndTurn})
		s.author = "guide"
		s.result("t1.1", 1, "t1", "auditor", "clean", false)
		s.begin("m2", 1)
		s.answer("m2", 1, &event.Text{Text: "It is clean."})
		s.end(nil)
		return s
	},
	"question": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, use("t1", "refund", `{"id":"17"}`))
		s.call("t1.1", "t1", "refund")
		s.durable("t1.1", 1, &event.Asked{
			Token: "k7", Ask: event.AskApproval, Prompt: "Refund order 17?", Call: "t1", Tool: "refund",
			Args: json.RawMessage(`{"id":"17"}`), Schema: json.RawMessage(`{"type":"boolean"}`),
			Expires: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		})
		s.durable("t1.1", 1, &event.Answered{Token: "k7", Value: json.RawMessage(`"a password"`), By: "ann"})
		s.durable("t1.1", 2, &event.StepBegun{Step: event.StepTool, Call: "t1", Tool: "refund"})
		s.result("t1.1", 2, "t1", "refund", "refunded", false)
		s.begin("m2", 1)
		s.answer("m2", 1, &event.Text{Text: "Done."})
		s.end(nil)
		return s
	},
	"retry": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.say("m1", 1, "3 + ")
		s.durable("m1", 1, &event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: time.Date(2026, 11, 20, 12, 0, 4, 0, time.UTC),
			Err: &event.Error{Kind: event.ErrThrottled, Message: "too many requests", Hint: "wait"},
		})
		s.begin("m1", 2)
		s.say("m1", 2, "8", "")
		s.durable("m1", 2, &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeLost, UsageUnknown: true})
		s.begin("m1", 3)
		s.say("m1", 3, "8")
		s.answer("m1", 3, &event.Text{Text: "8"})
		s.end(func(b *event.RunEnded) { b.CostNanoUSD = nil })
		return s
	},
	"fallback": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.say("m1", 1, "3 + ")
		s.durable("m1", 1, &event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Fallback: "sonnet",
			Err: &event.Error{Kind: event.ErrOverloaded, Message: "busy"},
		})
		s.durable("m1", 2, &event.StepBegun{Step: event.StepModel, Why: event.WhyFallback, Model: "sonnet"})
		s.say("m1", 2, "8")
		s.answer("m1", 2, &event.Text{Text: "8"})
		s.end(func(b *event.RunEnded) {
			none, some := int64(0), int64(1)
			b.CostNanoUSD = &some
			b.Models = []event.ModelUsage{{Model: "haiku", CostNanoUSD: &none}, {Model: "other", Usage: b.Usage}, {Model: "sonnet", CostNanoUSD: &some}}
		})
		return s
	},
	"guardrail": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.live("m1", 1, &event.ThinkingDelta{Text: "how does one"})
		s.live("m1", 1, &event.TextDelta{Text: "Take the ", Block: 1})
		s.live("m1", 1, &event.AnswerReplaced{Text: "[blocked]", Block: 1})
		s.live("m1", 1, &event.TextDelta{Text: " Ask another.", Block: 1})
		s.durable("m1", 1, &event.Redacted{Target: 2, Replacement: text("(hidden)"), Reason: "guardrail"})
		s.answer("m1", 1, &event.Text{Text: "[blocked] Ask another."})
		s.end(func(b *event.RunEnded) { b.Stop, b.Why = event.StopGuardrail, event.WhyModelStop })
		return s
	},
	"limit": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, &event.Text{Text: "Let me look."}, use("t1", "add", `{}`))
		s.call("t1.1", "t1", "add")
		s.result("t1.1", 1, "t1", "add", "8", false)
		s.end(func(b *event.RunEnded) {
			b.Stop, b.Why = event.StopLimitCycles, event.WhyLimit
			b.Err = &event.Error{Kind: event.ErrLimit, Message: "the run reached its limit of 1 cycle", Hint: "raise the limit"}
		})
		return s
	},
	"timeout": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, &event.Text{Text: "途中まで"}, use("t1", "add", `{}`))
		s.call("t1.1", "t1", "add")
		s.durable("t1.1", 1, &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeCancelled,
			Result: &event.ToolResult{Call: "t1", Name: "add", Content: text("The tool call was cancelled."), IsError: true},
		})
		s.end(func(b *event.RunEnded) {
			b.Status, b.Stop, b.Why, b.CostNanoUSD = event.RunCancelled, event.StopTimeout, event.WhyDeadline, nil
			b.Err = &event.Error{Kind: event.ErrTimeout, Message: "The run took longer than 300 s."}
		})
		return s
	},
	"cancelled": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.say("m1", 1, "3 + ")
		s.durable("m1", 1, &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeCancelled, UsageUnknown: true})
		s.end(func(b *event.RunEnded) {
			b.Status, b.Stop, b.Why = event.RunCancelled, event.StopCancelled, event.WhyCancelled
			b.Err = &event.Error{Kind: event.ErrCancelled, Message: "the run was cancelled"}
		})
		return s
	},
	"failed": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.say("m1", 1, "3 + ")
		failed := &event.Error{
			Kind: event.ErrModel, Message: "the provider answered 400", Hint: "look at the request", Code: "invalid_request_error",
			RetryAfter: 1500 * time.Millisecond,
		}
		s.durable("m1", 1, &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed, Err: failed})
		s.end(func(b *event.RunEnded) {
			b.Status, b.Stop, b.Why, b.Err = event.RunFailed, event.StopError, event.WhyFailed, failed
		})
		return s
	},
	"internal-error": func() *story {
		s := newStory()
		s.durable("", 0, &event.Fault{Err: &event.Error{Kind: event.ErrInternal, Message: "nil map in pricing"}})
		s.end(func(b *event.RunEnded) {
			b.Status, b.Stop, b.Why, b.Cycles = event.RunFailed, event.StopError, event.WhyFailed, 0
			b.Err = &event.Error{Kind: event.ErrInternal, Message: "nil map in pricing", Hint: "fix it"}
		})
		return s
	},
	"task": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, use("t1", "Task", `{"subagent_type":"finder","prompt":"look"}`), use("t2", "Task", `{"subagent_type":"writer","prompt":"write"}`))
		cost, more := int64(270_001), int64(810_000)
		used := event.Usage{Input: 120, Output: 30, Total: 150}
		s.call("t1.1", "t1", "Task")
		s.durable("t1.1", 1, &event.ScopeOpened{
			ID: "t1.1", Call: "t1", Agent: "finder", Depth: 1, Input: text("look"), Task: true, Description: "Look around", Asked: "haiku", Model: "claude-haiku",
		})
		s.call("t1.2", "t2", "Task")
		s.durable("t1.2", 1, &event.ScopeOpened{ID: "t1.2", Call: "t2", Agent: "writer", Depth: 1, Input: text("write"), Task: true, Model: "claude"})
		s.begin("t1.1/m1", 1)
		s.say("t1.1/m1", 1, "clean")
		s.answer("t1.1/m1", 1, &event.Text{Text: "clean"}, use("t3", "Task", `{"subagent_type":"deep","prompt":"dig"}`))
		s.call("t1.1/t1.0", "t3", "Task")
		s.durable("t1.1/t1.0", 1, &event.ScopeOpened{
			ID: "t1.1/t1.0", Parent: "t1.1", Call: "t3", Agent: "deep", Depth: 2, Input: text("dig"), Task: true, Background: true,
		})
		s.events[len(s.events)-1].Scope = "t1.1"
		s.durable("", 0, &event.ScopeClosed{ID: "t1.1/t1.0", Output: text("dug"), Stop: event.StopEndTurn})
		s.events[len(s.events)-1].Scope = "t1.1/t1.0"
		s.durable("", 0, &event.ScopeClosed{
			ID: "t1.1", Output: text("clean"), Stop: event.StopEndTurn, Models: []event.ModelUsage{{Model: "claude-haiku", Usage: used, CostNanoUSD: &cost}},
		})
		s.events[len(s.events)-1].Scope = "t1.1"
		s.result("t1.1", 1, "t1", "Task", "clean", false)
		s.durable("", 0, &event.ScopeClosed{
			ID: "t1.2", Why: event.WhyCancelled, Err: &event.Error{Kind: event.ErrCancelled, Message: "the run was cancelled"},
			Models: []event.ModelUsage{{Model: "claude", Usage: used}, {Model: "claude-haiku", CostNanoUSD: &cost}},
		})
		s.events[len(s.events)-1].Scope = "t1.2"
		s.result("t1.2", 1, "t2", "Task", "Error: cancelled", true)
		s.end(func(b *event.RunEnded) {
			b.Agents = []event.AgentUsage{
				{Agent: "guide", Models: []event.ModelUsage{{Model: "haiku", Usage: used, CostNanoUSD: &more}}},
				{Scope: "t1.1", Call: "t1", Agent: "finder", Models: []event.ModelUsage{{Model: "claude-haiku", Usage: used, CostNanoUSD: &cost, Estimated: true}}},
				{Scope: "t1.2", Call: "t2", Agent: "writer", Models: []event.ModelUsage{{Model: "claude", Usage: used}}},
			}
		})
		return s
	},
	"steer": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, &event.Text{Text: "Let me look."}, use("t1", "add", `{}`))
		s.call("t1.1", "t1", "add")
		s.result("t1.1", 1, "t1", "add", "8", false)
		s.durable("", 0, &event.UserMessage{Mail: "k1", Content: []event.Block{
			&event.Text{Text: "In words, like here."}, &event.Document{Name: "style.txt", MIME: "text/plain", Text: "words!"},
		}})
		s.begin("m2", 1)
		s.say("m2", 1, "Eight")
		s.answer("m2", 1, &event.Text{Text: "Eight"})
		s.end(nil)
		return s
	},
	"new-session": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, &event.Text{Text: "8"})
		s.end(nil)
		s.run, s.sim = "r2", true
		s.durable("", 0, &event.RunStarted{
			Agent: "guide", Model: "demo", Turn: 2, Session: 2, Servers: []event.ToolServer{{Name: "files", Status: "connected"}},
			Metadata: map[string]string{"mine": "1", "braid.limits": "{}"},
		})
		s.durable("", 0, &event.UserMessage{Content: text("And now?")})
		s.begin("m1", 1)
		s.say("m1", 1, "Hello")
		s.answer("m1", 1, &event.Text{Text: "Hello"})
		s.end(func(b *event.RunEnded) { b.Output = json.RawMessage(`{ "word": "Hello" }`) })
		return s
	},
	"operator": func() *story {
		s := newStory()
		s.begin("m1", 1)
		s.answer("m1", 1, &event.Text{Text: "8"})
		hide := func(b event.Body) {
			s.durable("", 0, b)
			s.events[len(s.events)-1].Audience = event.Operator
		}
		hide(&event.UserMessage{Content: text("a reminder of the program to its model")})
		hide(&event.Notice{Code: "trace", Text: "not for clients"})
		hide(&event.AssistantMessage{Content: text("not for clients")})
		s.durable("", 0, &event.StateChanged{Set: map[string]json.RawMessage{"sum": json.RawMessage(`8`)}})
		s.durable("", 0, &event.Notice{Code: "model_fallback", Text: "Another model answers."})
		s.end(nil)
		return s
	},
}

// Each wire in testdata holds a story twice: as it is streamed, and as it is
// read again from the log by a reader who has nothing.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := tell().events
			var stream, replay []byte
			enc, again := newEncoder(), newEncoder()
			enc.RequestID, enc.Complete = "req1", true
			for i := range events {
				stream = enc.Append(stream, &events[i])
				if !events[i].Live() {
					replay = again.Append(replay, &events[i])
				}
			}
			got := "-- stream --\n" + string(stream) + "-- replay --\n" + string(replay)
			file := filepath.Join("testdata", name+".txtar")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the wire has changed (-want +got):\n%s", diff)
			}
			screens(t, stream, replay)
		})
	}
	wires, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(wires) != len(stories) {
		t.Errorf("there are %d wires for %d stories (%v)", len(wires), len(stories), err)
	}
}

// screens holds what a reader of the stream shows against what a reader of the
// replay does.
func screens(t *testing.T, streams ...[]byte) {
	t.Helper()
	var shown [][]string
	for _, stream := range streams {
		list, _, err := readFrames(stream)
		if err != nil {
			t.Fatal(err)
		}
		var screen native.Screen
		var lines []string
		for _, f := range list {
			screen.Apply(f.Frame)
			if native.Terminal(f.Frame) {
				for _, a := range screen.Answers {
					if !a.Void {
						lines = append(lines, a.Step+": "+a.Thinking()+"/"+a.Text())
					}
				}
			}
		}
		shown = append(shown, lines)
	}
	if diff := cmp.Diff(shown[0], shown[1]); diff != "" {
		t.Errorf("the stream and the replay show different things:\n%s", diff)
	}
}
