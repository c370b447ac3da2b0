package anthropic_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// thinks thinks, calls the tools that it is told to call, thinks again and answers.
func thinks(told *anthropictest.Told) []anthropictest.Part {
	parts := []anthropictest.Part{{Thinks: true, Text: fmt.Sprintf("Message %d.", told.Messages)}}
	calls := 0
	for word := range strings.FieldsSeq(told.Last) {
		if name, ok := strings.CutPrefix(word, "call:"); ok && told.Results == 0 && len(told.Tools) > 0 {
			args := fmt.Sprintf(`{"text":"a %d"}`, calls)
			if name == "find_tools" {
				args = fmt.Sprintf(`{"query":"tool %d"}`, told.Messages)
			}
			parts = append(parts, anthropictest.Part{Tool: name, Args: args})
			calls++
		}
	}
	switch {
	case calls > 0:
		return parts
	case told.Held || strings.Contains(told.System, "schema"):
		return append(parts, anthropictest.Part{Text: `{"name":"root","below":[]}`})
	case told.Results > 0: // thinking that is not shown, between two texts
		return []anthropictest.Part{{Text: "I have it."}, {Thinks: true}, {Text: "So it is done."}}
	}
	return append(parts, anthropictest.Part{Text: "This is what I say to " + fmt.Sprint(told.Messages) + "."})
}

// preserving opens a model with preserved thinking.
func preserving(tb testing.TB, name string, say func(*anthropictest.Told) []anthropictest.Part) (*anthropic.Model, *anthropictest.Server) {
	tb.Helper()
	server := anthropictest.StartPreserved(say)
	tb.Cleanup(server.Close)
	return preservingAt(tb, server, name), server
}

func preservingAt(tb testing.TB, server *anthropictest.Server, name string) *anthropic.Model {
	tb.Helper()
	m, err := anthropic.New(name, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

type echoIn struct {
	Text string `json:"text"`
}

func echo(name string) braid.Part {
	return braid.Func(name, "Says it again.", func(_ context.Context, in echoIn) (string, error) { return in.Text, nil }, tool.Pure())
}

func loud(name string, size int) braid.Part {
	return braid.Func(name, "Says much.", func(context.Context, echoIn) (string, error) { return strings.Repeat("so ", size), nil }, tool.Pure())
}

// thoughtsIn counts the thinking blocks in a request.
func thoughtsIn(body []byte) int {
	return strings.Count(string(body), `"type":"thinking"`) + strings.Count(string(body), `"type":"redacted_thinking"`)
}

// dropped adds up what the log says of thinking that was left out.
func dropped(t *testing.T, conv *braid.Conversation) (blocks int, refused bool) {
	t.Helper()
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Body.(*event.AssistantMessage); ok {
			blocks += m.ThinkingDropped
			refused = refused || m.ThinkingRefused
		}
	}
	return blocks, refused
}

// The vendor cannot hold an answer to a schema that refers to itself, and the model cannot be
// made to call a tool: the run ends before anything is asked.
func TestASchemaThatCannotBeHeld(t *testing.T) {
	t.Parallel()
	m, server := preserving(t, "claude-sonnet-5-5", thinks)
	a := braid.New("a", m, echo("echo"), braid.OutputSchema([]byte(`{"$defs":{"tree":{"type":"object","properties":{`+
		`"name":{"type":"string"},"below":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}},"$ref":"#/$defs/tree"}`)))
	if _, err := a.Run(t.Context(), "call:echo Answer as a tree."); event.KindOf(err) != event.ErrUnsupported {
		t.Errorf("it ends with %v", err)
	}
	if n := len(server.Asked()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Whatever changes before thinking, the vendor accepts the next request, and thinking
// whose prefix did not change goes back. Changes of instructions and tools stand inside the
// conversation, so that they change no prefix.
func TestThinkingBehindAChangedPrefix(t *testing.T) {
	t.Parallel()
	type turn struct {
		agent *braid.Agent
		say   string
	}
	many := func() []braid.Part {
		var list []braid.Part
		for i := range 6 {
			list = append(list, echo(fmt.Sprintf("tool_%d", i)))
		}
		return list
	}
	long := strings.Repeat("This is a long message. ", 40)
	for name, c := range map[string]struct {
		turns  func(t *testing.T, m braid.Model, server *anthropictest.Server) []turn
		window int
		// drops says that thinking must be left out, keeps that it must go back.
		drops, keeps bool
	}{
		"nothing changes": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"))
			return []turn{{a, "call:echo"}, {a, "Hello."}, {a, "call:echo"}, {a, "Bye."}}
		}},
		"parallel calls": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"), echo("other"))
			return []turn{{a, "call:echo call:other call:echo"}, {a, "Hello."}, {a, "Bye."}}
		}},
		"summaries": {drops: true, keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"), braid.Manage(braid.Management{Context: 900, By: braid.Summarize{Recent: 3}}))
			list := []turn{{a, "call:echo"}}
			for range 8 {
				list = append(list, turn{a, long + "call:echo"})
			}
			return list
		}},
		// What is kept begins with a turn's input, so no answer with thinking stays.
		"summaries that keep little": {turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"), braid.Manage(braid.Management{Context: 700, By: braid.Summarize{Recent: 1}}))
			list := []turn{{a, "call:echo"}}
			for range 8 {
				list = append(list, turn{a, long})
			}
			return list
		}},
		"a sliding window": {drops: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"), braid.Manage(braid.Management{By: braid.SlidingWindow(6)}))
			var list []turn
			for range 8 {
				list = append(list, turn{a, "call:echo"})
			}
			return list
		}},
		"an overflow": {drops: true, window: 1500, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, loud("loud", 400), braid.Manage(braid.Management{By: braid.Summarize{Recent: 2}, At: -1}))
			return []turn{{a, "Hello."}, {a, "call:loud"}, {a, "call:loud"}, {a, "call:loud"}, {a, "call:loud"}, {a, "call:loud"}, {a, "Bye."}, {a, "Bye."}}
		}},
		"an overflow of an agent that manages nothing": {drops: true, window: 1500, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, loud("loud", 400))
			return []turn{{a, "Hello."}, {a, "call:loud"}, {a, "call:loud"}, {a, "call:loud"}, {a, "call:loud"}, {a, "call:loud"}, {a, "Bye."}, {a, "Bye."}}
		}},
		"instructions that change": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			monday := braid.New("a", m, braid.Instructions("Today is Monday."), echo("echo"))
			tuesday := braid.New("a", m, braid.Instructions("Today is Tuesday."), echo("echo"))
			return []turn{{monday, "call:echo"}, {tuesday, "call:echo"}, {tuesday, "Hello."}, {monday, "And?"}, {tuesday, "Bye."}}
		}},
		"a tool more": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			one := braid.New("a", m, echo("echo"))
			two := braid.New("a", m, echo("echo"), echo("other"))
			return []turn{{one, "call:echo"}, {two, "call:other"}, {two, "Hello."}, {one, "Bye."}, {two, "Bye."}}
		}},
		"a tool search": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, append(many(), braid.SearchTools(braid.ToolSearch{Above: 3, Results: 2}))...)
			return []turn{{a, "call:find_tools"}, {a, "call:tool_1"}, {a, "Hello."}, {a, "call:find_tools"}, {a, "Bye."}}
		}},
		"large results": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, loud("loud", 9000), braid.Offload(braid.Offloading{}))
			return []turn{{a, "call:loud"}, {a, "Hello."}, {a, "call:loud"}, {a, "Bye."}}
		}},
		"an answer held to a schema": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"), braid.OutputSchema([]byte(`{"type":"object","properties":{"name":{"type":"string"}}}`)))
			return []turn{{a, "call:echo"}, {a, "Answer as a tree."}}
		}},
		"a guard that changes what is said": {keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"))
			b := braid.New("a", m, echo("echo"), braid.Guard("g", func(_ context.Context, text string) (string, error) {
				return strings.ReplaceAll(text, "Berlin", "[a town]"), nil
			}))
			return []turn{{a, "I live in Berlin. call:echo"}, {a, "Hello Berlin."}, {b, "Hello Berlin. call:echo"}, {b, "Bye Berlin."}, {b, "Bye."}}
		}},
		"a hook that changes what is asked": {drops: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			n := 0
			a := braid.New("a", m, echo("echo"), braid.On(func(_ context.Context, e *hook.BeforeModel) error {
				n++
				e.Request.Instructions = fmt.Sprint("Request ", n)
				return nil
			}))
			return []turn{{a, "call:echo"}, {a, "Hello."}, {a, "Bye."}}
		}},
		"a hook that changes what was said": {drops: true, keeps: true, turns: func(_ *testing.T, m braid.Model, _ *anthropictest.Server) []turn {
			a := braid.New("a", m, echo("echo"), braid.On(func(_ context.Context, e *hook.AfterModel) error {
				if e.Message == nil {
					return nil
				}
				for i, b := range e.Message.Content {
					if text, ok := b.(*event.Text); ok {
						e.Message.Content[i] = &event.Text{Text: strings.ToUpper(text.Text)}
					}
				}
				return nil
			}))
			return []turn{{a, "call:echo"}, {a, "Hello."}, {a, "Bye."}}
		}},
		"another model in between": {drops: true, keeps: true, turns: func(t *testing.T, m braid.Model, server *anthropictest.Server) []turn {
			t.Helper()
			a, b := braid.New("a", m, echo("echo")), braid.New("a", preservingAt(t, server, "claude-opus-5-5"), echo("echo"))
			return []turn{{a, "call:echo"}, {b, "Hello."}, {b, "call:echo"}, {a, "Bye."}, {a, "Bye."}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, server := preserving(t, "claude-sonnet-5-5", thinks)
			server.Window = c.window
			conv := braid.NewConversation()
			shortened := 0
			for i, turn := range c.turns(t, m, server) {
				result, err := turn.agent.Run(t.Context(), turn.say, braid.In(conv))
				if err != nil {
					t.Fatalf("turn %d: %v", i+1, err)
				}
				shortened += result.Metrics.Compactions
			}
			requests, with := 0, 0
			for i, r := range server.Asked() {
				if r.Refused != "" && !strings.HasPrefix(r.Refused, "prompt is too long") {
					t.Errorf("request %d is refused: %s\n%s", i+1, r.Refused, r.Body)
				}
				requests++
				if thoughtsIn(r.Body) > 0 {
					with++
				}
			}
			if c.keeps && with == 0 {
				t.Errorf("none of %d requests holds thinking", requests)
			}
			blocks, refused := dropped(t, conv)
			if (blocks > 0) != c.drops || refused {
				t.Errorf("the log says that %d blocks were left out (refused: %v); it was shortened %d times", blocks, refused, shortened)
			}
		})
	}
}
