package agentcore_test

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
	"github.com/braidrun/braid/wire/agentcore"
)

var update = flag.Bool("update", false, "write the wires in testdata anew")

// story is a run that is told for a golden wire.
type story []event.Event

func (s *story) tell(step string, attempt int, bodies ...event.Body) {
	for _, b := range bodies {
		*s = append(*s, event.Event{Header: event.Header{Run: "r1", Step: step, Attempt: attempt}, Body: b})
	}
}

func begun() story {
	var s story
	s.tell("", 0, &event.RunStarted{Agent: "guide"}, &event.UserMessage{Content: says("3 + 5?")})
	return s
}

func says(text string) []event.Block { return []event.Block{&event.Text{Text: text}} }

func model() *event.StepBegun { return &event.StepBegun{Step: event.StepModel} }

func answer(stop event.StopReason, blocks ...event.Block) *event.AssistantMessage {
	return &event.AssistantMessage{
		Content: blocks, Stop: stop, Usage: event.Usage{Input: 1643, Output: 117, Total: 1760}, Latency: 2617 * time.Millisecond,
	}
}

func search(id, phrase string) *event.ToolCall {
	return &event.ToolCall{ID: id, Name: "aws___search_documentation", Args: json.RawMessage(`{"search_phrase":"` + phrase + `","limit":10,"boost":1.0}`)}
}

func result(id, text string) *event.StepEnded {
	return &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: id, Content: says(text)}}
}

func completed() *event.RunEnded {
	return &event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn}
}

func failed(err *event.Error) *event.RunEnded {
	return &event.RunEnded{Status: event.RunFailed, Stop: event.StopError, Why: event.WhyFailed, Err: err}
}

var stories = map[string]func() story{
	"text": func() story {
		s := begun()
		s.tell("m1", 1, model(), &event.TextDelta{Text: "Bedrock "}, &event.TextDelta{Text: "エージェント 🔍 <b>"}, answer(event.StopEndTurn, says("Bedrock エージェント 🔍 <b>")...))
		s.tell("", 0, completed())
		return s
	},
	"not-streamed": func() story {
		s := begun()
		s.tell("m1", 1, model(), answer(event.StopToolUse, &event.Text{Text: "hm"}, search("t1", "a")))
		s.tell("t1", 1, result("t1", "8"))
		s.tell("m2", 1, model(), &event.TextDelta{Text: "8"}, answer(event.StopEndTurn, says("8です")...))
		s.tell("", 0, completed())
		return s
	},
	"tools-over-two-cycles": func() story {
		s := begun()
		s.tell("m1", 1, model(), &event.TextDelta{Text: "Let me see."},
			&event.ToolInputDelta{Call: "t1", Tool: "aws___search_documentation", Block: 1},
			&event.ToolInputDelta{Call: "t1", Tool: "aws___search_documentation", JSON: `{"search_phrase":"Bedrock AgentCore",`, Block: 1},
			&event.ToolInputDelta{Call: "t1", Tool: "aws___search_documentation", JSON: `"limit":10,"boost":1.0}`, Block: 1},
			answer(event.StopToolUse, &event.Text{Text: "Let me see."}, search("t1", "Bedrock AgentCore")))
		s.tell("t1", 1, &event.StepBegun{Step: event.StepTool, Call: "t1", Tool: "aws___search_documentation"},
			&event.ToolProgress{Call: "t1", Tool: "aws___search_documentation", Text: "half"}, result("t1", "見つかった"))
		s.tell("m2", 1, model(), &event.TextDelta{Text: "Here."}, answer(event.StopEndTurn, says("Here.")...))
		s.tell("", 0, completed())
		return s
	},
	"parallel-tools": func() story {
		s := begun()
		s.tell("m1", 1, model(), answer(event.StopToolUse, search("t1", "a"), search("t2", "b"), &event.ToolCall{ID: "t3", Name: "no", Fault: "no JSON"}))
		s.tell("t2", 1, result("t2", "second"))
		s.tell("t3", 1, &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeCancelled, Result: &event.ToolResult{Call: "t3", Content: says("stopped"), IsError: true}})
		s.tell("t1", 1, &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: "t1", Structured: json.RawMessage(`{"n":8,"x":1e-7}`)}})
		s.tell("m2", 1, model(), &event.TextDelta{Text: "8"}, answer(event.StopEndTurn, says("8")...))
		s.tell("", 0, completed())
		return s
	},
	"thinking": func() story {
		s := begun()
		m := answer(event.StopEndTurn, &event.Thinking{Text: "まず", Signature: "c2ln"}, &event.RedactedThinking{Data: "b3BhcXVl"}, &event.Text{Text: "8"})
		m.Usage.CacheRead, m.Usage.CacheWrite, m.TimeToFirstByte = 3, 4, 400*time.Millisecond
		s.tell("m1", 1, model(), &event.ThinkingDelta{Text: "まず"}, &event.TextDelta{Text: "8", Block: 2}, m)
		s.tell("", 0, completed())
		return s
	},
	"throttled": func() story {
		s := begun()
		s.tell("m1", 1, model(), &event.TextDelta{Text: "Hel"}, &event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: time.Unix(4, 0), Err: &event.Error{Kind: event.ErrThrottled, RetryAfter: 4 * time.Second},
		})
		s.tell("m1", 2, model(), &event.TextDelta{Text: "Hello"}, answer(event.StopEndTurn, says("Hello")...))
		s.tell("", 0, completed())
		return s
	},
	"agent-as-tool": func() story {
		s := begun()
		s.tell("m1", 1, model(), answer(event.StopToolUse, &event.ToolCall{ID: "t1", Name: "helper", Args: json.RawMessage(`{"input":"look"}`)}))
		s.tell("t1", 1, &event.ScopeOpened{ID: "t1", Call: "t1", Agent: "helper", Depth: 1})
		child := story{}
		child.tell("t1/m1", 1, model(), &event.TextDelta{Text: "found"}, answer(event.StopEndTurn, says("found")...))
		for i := range child {
			child[i].Scope = "t1"
		}
		s = append(s, child...)
		s.tell("t1", 1, result("t1", "found"))
		s.tell("m2", 1, model(), &event.TextDelta{Text: "8"}, answer(event.StopEndTurn, says("8")...))
		s.tell("", 0, completed())
		return s
	},
	"interrupt-and-output": func() story {
		s := begun()
		s.tell("m1", 1, model(), answer(event.StopToolUse, search("t1", "a")))
		s.tell("t1", 1, &event.Asked{Token: "q1", Ask: event.AskApproval, Prompt: "Sure?", Call: "t1", Tool: "aws___search_documentation"})
		s.tell("t1", 2, result("t1", "8"))
		end := completed()
		end.Output = json.RawMessage(`{"n":8}`)
		s.tell("", 0, end)
		return s
	},
	"guardrail": func() story {
		s := begun()
		s.tell("m1", 1, model(), &event.TextDelta{Text: "bad"}, &event.AnswerReplaced{Text: "no"}, answer(event.StopGuardrail, says("no")...))
		end := completed()
		end.Stop = event.StopGuardrail
		s.tell("", 0, end)
		return s
	},
	"limit": func() story {
		s := begun()
		s.tell("m1", 1, model(), &event.TextDelta{Text: "8"}, answer(event.StopEndTurn, says("8")...))
		end := completed()
		end.Stop, end.Why = event.StopLimitCycles, event.WhyLimit
		s.tell("", 0, end)
		return s
	},
	"error-after-the-start": func() story {
		s := begun()
		s.tell("m1", 1, model(), &event.TextDelta{Text: "Hel"})
		s.tell("", 0, failed(&event.Error{Kind: event.ErrModel, Message: "Read timed out", Code: "ReadTimeoutError"}))
		return s
	},
	"internal-error": func() story {
		s := begun()
		s.tell("", 0, failed(&event.Error{Kind: event.ErrInternal, Message: "nil map in pricing"}))
		return s
	},
}

// Each wire in testdata holds a story twice: as it is sent, and with everything that
// is sent on request.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := encoders()
			got := "-- sent --\n" + string(encode(all["plain"], tell())) + "-- on request --\n" + string(encode(all["requested"], tell()))
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
		})
	}
	wires, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(wires) != len(stories) {
		t.Errorf("there are %d wires for %d stories (%v)", len(wires), len(stories), err)
	}
}

// The frames that the seed shows come out as they stand there.
func TestTheSeedsFramesByteForByte(t *testing.T) {
	t.Parallel()
	var s story
	use := &event.ToolCall{ID: seedCall, Name: "aws___search_documentation", Args: json.RawMessage(`{"search_phrase":"Bedrock AgentCore","limit":10}`)}
	s.tell("", 0, &event.RunStarted{})
	s.tell("m1", 1, model(), &event.TextDelta{Text: "Bedrock Agent"}, answer(event.StopToolUse, &event.Text{Text: "Bedrock Agent"}, use))
	got := "\n" + string(encode(&agentcore.Encoder{Announce: true}, s))
	for _, frame := range []string{seedInit, seedStart, seedStartLoop, seedMessage, seedDelta, seedStop, seedMetadata, seedToolUse, seedWhole} {
		i := strings.Index(got, "\n"+frame+"\n\n")
		if i < 0 {
			t.Fatalf("there is no\n%s\nin\n%s", frame, got)
		}
		got = got[i+len(frame)+1:]
	}
}

// A run that waits ends its stream with the result that says so.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	enc := &agentcore.Encoder{}
	stream := enc.AppendInterrupted(encode(enc, stories["interrupt-and-output"]()[:5]), nil)
	if want := `"stop_reason": "interrupt"}}` + "\n\n"; !strings.HasSuffix(string(stream), want) {
		t.Errorf("the stream ends %s", stream)
	}
}
