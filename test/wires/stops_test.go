package wires_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

// modelStops are the reasons that a model's answer can have, and what a run says that ends so. The set
// is open: the last are words of vendors that nobody has described, and of other frameworks.
var modelStops = []struct {
	stop, want event.StopReason
	why        event.Why
	err        error
}{
	{event.StopEndTurn, event.StopEndTurn, event.WhyEndTurn, nil},
	{event.StopSequence, event.StopSequence, event.WhyEndTurn, nil},
	{event.StopToolUse, event.StopToolUse, event.WhyEndTurn, nil}, // and no call in it: some packages of providers say end_turn then
	{event.StopMaxTokens, event.StopMaxTokens, event.WhyMaxTokens, event.ErrMaxTokens},
	{event.StopRefusal, event.StopRefusal, event.WhyModelStop, nil},
	{event.StopContentFiltered, event.StopContentFiltered, event.WhyModelStop, nil},
	{event.StopGuardrail, event.StopGuardrail, event.WhyModelStop, nil},
	{event.StopPause, event.StopEndTurn, event.WhyEndTurn, nil}, // the loop goes on by itself
	{event.StopContextOverflow, event.StopContextOverflow, event.WhyModelStop, nil},
	{"something_new", "something_new", event.WhyModelStop, nil},
	{"checkpoint", "checkpoint", event.WhyModelStop, nil},
	{"SOMETHING NEW.", "SOMETHING NEW.", event.WhyModelStop, nil},
}

// runStops are those that a run alone can have.
var runStops = []event.StopReason{
	event.StopQuestion, event.StopCancelled, event.StopTimeout, event.StopError, event.StopLimitCycles, event.StopLimitToolCalls,
	event.StopLimitInputTokens, event.StopLimitOutputTokens, event.StopLimitTotalTokens, event.StopLimitCost, event.StopLimitRepeats,
	event.StopLimitDepth, event.StopLimitScopes, event.StopLimitAnswers,
}

// Every reason that the source declares is one of those.
func TestEveryStopReasonIsTried(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../event/message.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Stop") || len(spec.Values) != 1 {
			return true
		}
		word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		stop := event.StopReason(word)
		ofModels := slices.ContainsFunc(modelStops, func(c struct {
			stop, want event.StopReason
			why        event.Why
			err        error
		},
		) bool {
			return c.stop == stop
		})
		if ofModels == slices.Contains(runStops, stop) {
			t.Errorf("%s is tried as a model's: %v", stop, ofModels)
		}
		return true
	})
	if n != len(runStops)+9 {
		t.Errorf("%d reasons are declared", n)
	}
}

// However an answer ends, and whatever is in it: the run says so, a next turn in the same conversation
// works, and its history is one that the vendor takes.
func TestStopReasonsAndTheNextTurn(t *testing.T) {
	t.Parallel()
	text := model.Chunk{Kind: model.ChunkText, Text: "So far."}
	call := []model.Chunk{{Kind: model.ChunkCall, Index: 1, ID: "call_x", Text: "look"}, {Kind: model.ChunkCallInput, Index: 1, Text: `{}`}}
	cut := slices.Clone(call)
	cut[1].Text = `{"a":[1,`
	plain := map[string][]model.Chunk{
		"a text": {text}, "nothing": nil, "blanks": {{Kind: model.ChunkText, Text: " \n"}},
		"a call": append([]model.Chunk{text}, call...), "a call that is cut": append([]model.Chunk{text}, cut...),
	}
	// A pause stands behind a tool that the vendor runs itself.
	served := model.Chunk{Kind: model.ChunkBlock, Block: &event.UnknownBlock{Raw: []byte(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`)}}
	paused := map[string][]model.Chunk{"a search": {served}, "a text and a search": {text, {Kind: model.ChunkBlock, Index: 1, Block: served.Block}}}
	for _, v := range vendors {
		for _, c := range modelStops {
			if _, says := v.stops[c.stop]; !says {
				continue
			}
			shapes := plain
			if c.stop == event.StopPause {
				shapes = paused
			}
			for shape, chunks := range shapes {
				calling := strings.HasPrefix(shape, "a call")
				if c.stop == event.StopRefusal && len(chunks) == 0 && strings.Contains(v.name, "OpenAI") {
					continue // it refuses in words, or not
				}
				if shape == "a call that is cut" && (c.stop != event.StopMaxTokens || strings.HasPrefix(v.name, "Gemini")) {
					continue // one vendor sends calls whole
				}
				t.Run(v.name+", "+string(c.stop)+", "+shape, func(t *testing.T) {
					t.Parallel()
					m, server := v.start(t, said{chunks, c.stop}, words("Then this."), words("And this."))
					conv := braid.NewConversation()
					agent := braid.New("guide", m, quick, braid.Func("look", "Looks.", look))
					r, err := agent.Run(t.Context(), "Go.", braid.In(conv))
					want, why, fails := c.want, c.why, c.err
					if calling && c.stop != event.StopMaxTokens && r.Metrics.ToolCalls == 1 {
						want, why, fails = event.StopEndTurn, event.WhyEndTurn, nil // a call counts, and was answered
					}
					if c.stop == event.StopToolUse && r.Stop == event.StopEndTurn {
						want = event.StopEndTurn
					}
					if !errors.Is(err, fails) || r.Stop != want || r.Why != why || r.Status != event.RunCompleted {
						t.Errorf("the run is %s, %s because %s, %v; want %s because %s", r.Status, r.Stop, r.Why, err, want, why)
					}
					if _, err := agent.Run(t.Context(), "And now?", braid.In(conv)); err != nil {
						t.Errorf("the next turn: %v", err)
					}
					taken(t, server)
				})
			}
		}
	}
}

// priced is a model with a price.
type priced struct{ braid.Model }

func (p priced) Unwrap() braid.Model { return p.Model }

func (p priced) Info() model.Info {
	i := p.Model.Info()
	i.Cost = func(u event.Usage) (int64, bool) { return u.Total * 1000, true }
	return i
}

// closed is how the newest scope below the root that failed has ended.
func closed(t *testing.T, conv *braid.Conversation) (stop event.StopReason, err error) {
	t.Helper()
	for e, fault := range conv.Events(t.Context(), 0) {
		if fault != nil {
			t.Fatal(fault)
		}
		if b, ok := e.Body.(*event.ScopeClosed); ok && b.Err != nil {
			stop, err = b.Stop, b.Err
		}
	}
	return stop, err
}

// However a run is ended by other than the model, by each limit too: the run says so, the next turn in
// the same conversation works, and its history is one that the vendor takes.
func TestEveryLimitLeavesAUsableConversation(t *testing.T) {
	t.Parallel()
	type trial struct {
		stop   event.StopReason
		status event.RunStatus
		err    error
		limits braid.Limits
		says   []said
		parts  func(t *testing.T, cancel func(), model braid.Model) []braid.Part
		fault  bool
	}
	on := []said{calls("look", `{"n":1}`, "look", `{"n":2}`), calls("look", `{"n":3}`), calls("look", `{"n":4}`)}
	same := slices.Repeat([]said{calls("look", `{"n":1}`)}, 5)
	child := func(name string) said { return calls(name, `{"input":"do it"}`) }
	below := func(depth int) func(*testing.T, func(), braid.Model) []braid.Part {
		return func(_ *testing.T, _ func(), model braid.Model) []braid.Part {
			sub := braid.New("below", model, quick)
			if depth > 0 {
				sub = braid.New("below", model, quick, braid.AsTool(braid.New("deeper", model, quick), "Does it."))
			}
			return []braid.Part{braid.AsTool(sub, "Does it.")}
		}
	}
	trials := map[string]trial{
		"a question": {
			stop: event.StopQuestion, status: event.RunWaiting, says: []said{calls("ask", `{}`, "look", `{"n":1}`)},
			parts: func(*testing.T, func(), braid.Model) []braid.Part {
				return []braid.Part{braid.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") })}
			},
		},
		"cancelled in a tool": {
			stop: event.StopCancelled, status: event.RunCancelled, err: event.ErrCancelled, says: []said{calls("stop", `{}`, "look", `{"n":1}`)},
			parts: func(_ *testing.T, cancel func(), _ braid.Model) []braid.Part {
				return []braid.Part{braid.Func("stop", "Stops.", func(ctx context.Context, _ struct{}) (string, error) {
					cancel()
					<-ctx.Done()
					return "", ctx.Err()
				})}
			},
		},
		"its time is over": {
			stop: event.StopTimeout, status: event.RunCancelled, err: event.ErrTimeout, limits: braid.Limits{Active: 20 * time.Millisecond, Grace: time.Millisecond},
			says: []said{calls("stop", `{}`, "look", `{"n":1}`)},
			parts: func(*testing.T, func(), braid.Model) []braid.Part {
				return []braid.Part{braid.Func("stop", "Stops.", func(ctx context.Context, _ struct{}) (string, error) {
					if _, bounded := ctx.Deadline(); !bounded {
						return "late", nil // the time was over before the model had answered: the next run calls it
					}
					<-ctx.Done()
					return "", ctx.Err()
				})}
			},
		},
		"the vendor fails":   {stop: event.StopError, status: event.RunFailed, err: event.ErrInvalid, says: on[:1], fault: true},
		"cycles":             {stop: event.StopLimitCycles, limits: braid.Limits{Cycles: 2}, says: on[:2]},
		"cycles in all":      {stop: event.StopLimitCycles, limits: braid.Limits{AllCycles: 2}, says: on[:2]},
		"tool calls":         {stop: event.StopLimitToolCalls, limits: braid.Limits{ToolCalls: 2}, says: on[:1]},
		"tool calls in all":  {stop: event.StopLimitToolCalls, limits: braid.Limits{AllToolCalls: 3}, says: on[:2]},
		"input tokens":       {stop: event.StopLimitInputTokens, limits: braid.Limits{InputTokens: 20}, says: on[:2]},
		"output tokens":      {stop: event.StopLimitOutputTokens, limits: braid.Limits{OutputTokens: 10}, says: on[:2]},
		"total tokens":       {stop: event.StopLimitTotalTokens, limits: braid.Limits{TotalTokens: 30}, says: on[:2]},
		"money":              {stop: event.StopLimitCost, limits: braid.Limits{CostNanoUSD: 30_000}, says: on[:2]},
		"a budget of cycles": {stop: event.StopLimitCycles, limits: braid.Limits{Conversation: braid.Budget{Cycles: 1}}, says: on[:1]},
		"a budget of money":  {stop: event.StopLimitCost, limits: braid.Limits{Conversation: braid.Budget{CostNanoUSD: 15_000}}, says: on[:1]},
		"the same again":     {stop: event.StopLimitRepeats, says: same},
		"too deep":           {stop: event.StopLimitDepth, limits: braid.Limits{Depth: 1}, says: []said{child("below"), child("deeper"), words("It was too deep.")}, parts: below(1)},
		"too many agents":    {stop: event.StopLimitScopes, limits: braid.Limits{Scopes: 1}, says: []said{calls("below", `{"input":"a"}`, "below", `{"input":"b"}`), words("Done.")}, parts: below(0)},
		"no such answer": {
			stop: event.StopLimitAnswers, err: event.ErrInvalid, limits: braid.Limits{OutputRetries: 1}, says: []said{words("No."), words("No.")},
			parts: func(*testing.T, func(), braid.Model) []braid.Part { return []braid.Part{braid.OutputType[city]()} },
		},
	}
	tried := map[event.StopReason]bool{}
	for name, c := range trials {
		tried[c.stop] = true
		if c.status == "" {
			c.status = event.RunCompleted
		}
		if c.err == nil && c.stop != event.StopQuestion {
			c.err = event.ErrLimit
		}
		for _, v := range vendors {
			t.Run(name+", "+v.name, func(t *testing.T) {
				t.Parallel()
				m, server := v.start(t, c.says...)
				model := priced{m}
				if c.fault {
					server.Add(anthropictest.Answer{Status: 400, Body: "no"})
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				parts := []braid.Part{quick, braid.Limit(c.limits), braid.Func("look", "Looks.", func(context.Context, map[string]int) (string, error) { return "It is there.", nil })}
				if c.parts != nil {
					parts = append(parts, c.parts(t, cancel, model)...)
				}
				conv := braid.NewConversation()
				r, err := braid.New("guide", model, parts...).Run(ctx, "Go.", braid.In(conv))
				if c.stop == event.StopLimitDepth && err == nil {
					r.Stop, err = closed(t, conv) // it ends the call of the agent that asked for too much
				}
				if !errors.Is(err, c.err) || c.err == nil && err != nil || r.Stop != c.stop {
					t.Fatalf("%s, %v", r.Stop, err)
				}
				if r.Status != c.status {
					t.Errorf("the run is %s", r.Status)
				}
				v.add(server, words("Gladly."), words("Again."))
				next := braid.New("guide", model, append(parts[:1:1], parts[2:]...)...) // without the limits
				if r.Status == event.RunWaiting {
					if _, err := next.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: r.Questions[0].Token, Value: false})); err != nil {
						t.Fatal(err)
					}
				}
				r, err = next.Run(t.Context(), "And now?", braid.In(conv))
				if c.stop != event.StopLimitAnswers && (err != nil || r.Text() == "") {
					t.Errorf("the next turn: %q, %v", r.Text(), err)
				}
				taken(t, server)
			})
		}
	}
	for _, stop := range runStops {
		if !tried[stop] {
			t.Errorf("no run ends with %s", stop)
		}
	}
}
