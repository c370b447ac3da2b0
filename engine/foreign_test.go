package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// panicText is what panics say: it may stand in no event.
const panicText = "CANARY-4111"

// badBlocks are contents that hold no usable block.
func badBlocks() map[string][]event.Block {
	return map[string][]event.Block{
		"nil":         {nil},
		"text":        {(*event.Text)(nil)},
		"thinking":    {(*event.Thinking)(nil)},
		"image":       {&event.Text{Text: "fine"}, (*event.Image)(nil)},
		"document":    {(*event.Document)(nil)},
		"media":       {(*event.Media)(nil)},
		"call":        {(*event.ToolCall)(nil)},
		"result":      {(*event.ToolResult)(nil)},
		"citation":    {(*event.Citation)(nil)},
		"code":        {(*event.Code)(nil)},
		"code result": {(*event.CodeResult)(nil)},
		"unknown":     {(*event.UnknownBlock)(nil)},
		"in a result": {&event.ToolResult{Call: "c0", Content: []event.Block{(*event.Image)(nil)}}},
	}
}

// misdeed is what foreign code does instead of working: it gives bad blocks, or does not come back.
type misdeed struct {
	name   string
	blocks []event.Block
	do     func()
	err    error
}

// endless wraps itself, so that errors.Is would look at it for ever.
type endless struct{}

func (endless) Error() string   { return "endless" }
func (e endless) Unwrap() error { return e }

// branching does so twice at each level.
type branching struct{}

func (branching) Error() string     { return "branching" }
func (e branching) Unwrap() []error { return []error{e, e} }

// untold panics when it is asked what it says, unasked when it is asked what it is.
type untold struct{}

func (untold) Error() string { panic(panicText) }

type unasked struct{}

func (unasked) Error() string { return "unasked" }
func (unasked) Is(error) bool { panic(panicText) }
func (unasked) As(any) bool   { panic(panicText) }
func (unasked) Unwrap() error { return nil }

// badErrors are errors that cannot be read.
func badErrors() map[string]error {
	return map[string]error{
		"a nil":        (*event.Error)(nil),
		"wraps a nil":  fmt.Errorf("calling: %w", (*event.Error)(nil)),
		"joins a nil":  errors.Join(errors.New("calling"), (*event.Error)(nil)),
		"wraps itself": fmt.Errorf("calling: %w", endless{}),
		"branches":     branching{},
		"has no text":  untold{},
		"cannot be Is": &event.Error{Kind: event.ErrInvalid, Message: "calling", Err: unasked{}},
	}
}

func misdeeds() []misdeed {
	list := []misdeed{
		{name: "panics", do: func() { panic(panicText) }},
		{name: "panics with an error", do: func() { panic(errors.New(panicText)) }},
		{name: "nil map", do: func() { count(nil) }},
		{name: "ends its goroutine", do: runtime.Goexit},
	}
	for name, err := range badErrors() {
		list = append(list, misdeed{name: "error: " + name, err: err})
	}
	for name, blocks := range badBlocks() {
		list = append(list, misdeed{name: "nil block: " + name, blocks: blocks})
	}
	return list
}

// odd is a tool that is not made with Func.
type odd struct{ call func() (tool.Output, error) }

func (odd) Spec() model.ToolSpec {
	return model.ToolSpec{Name: "odd", Description: "Odd.", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (o odd) Call(context.Context, json.RawMessage) (tool.Output, error) { return o.call() }
func (odd) Traits() tool.Traits                                          { return tool.Traits{Effect: event.EffectPure} }

// entries are the ways by which foreign values come into a run. Each makes an agent whose one entry does it.
var entries = map[string]func(m misdeed, ran *atomic.Int64) *braid.Agent{
	"tool": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return braid.New("a", answers(asksFor("odd", `{}`), says("done")), braid.Tools(odd{func() (tool.Output, error) {
			ran.Add(1)
			if m.do != nil {
				m.do()
			}
			return tool.Output{Content: m.blocks}, m.err
		}}))
	},
	"two tools at once": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return braid.New("a", answers(asksFor("odd", `{}`, "odd", `{}`), says("done")), braid.Tools(odd{func() (tool.Output, error) {
			ran.Add(1)
			if m.do != nil {
				m.do()
			}
			return tool.Output{Content: m.blocks}, m.err
		}}))
	},
	"function": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return braid.New("a", answers(asksFor("odd", `{}`), says("done")),
			braid.Func("odd", "", func(context.Context, struct{}) ([]event.Block, error) {
				ran.Add(1)
				if m.do != nil {
					m.do()
				}
				return m.blocks, m.err
			}, tool.Pure()))
	},
	"streaming tool": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return braid.New("a", answers(asksFor("odd", `{}`), says("done")),
			braid.StreamFunc("odd", "", func(context.Context, struct{}) iter.Seq2[[]event.Block, error] {
				return func(yield func([]event.Block, error) bool) {
					ran.Add(1)
					if m.do != nil {
						m.do()
					}
					yield(m.blocks, m.err)
				}
			}, tool.Pure()))
	},
	"sub-agent's tool": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		child := braid.New("child", answers(asksFor("odd", `{}`), says("done")), braid.Tools(odd{func() (tool.Output, error) {
			ran.Add(1)
			if m.do != nil {
				m.do()
			}
			return tool.Output{Content: m.blocks}, m.err
		}}))
		return braid.New("a", answers(asksFor("child", `{"input":"go"}`), says("done")), braid.AsTool(child, ""))
	},
	"model": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return braid.New("a", badModel(m, ran))
	},
	"sub-agent's model": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return braid.New("a", answers(asksFor("child", `{"input":"go"}`), says("done")), braid.AsTool(braid.New("child", badModel(m, ran)), ""))
	},
	"before run": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(_ context.Context, e *hook.BeforeRun) error {
			misbehave(m, ran)
			e.Input = append(e.Input, event.Message{Role: event.RoleUser, Content: m.blocks})
			return m.err
		}))
	},
	"after run": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(_ context.Context, e *hook.AfterRun) error {
			misbehave(m, ran)
			e.GoOn = m.blocks
			return m.err
		}))
	},
	"before model": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(_ context.Context, e *hook.BeforeModel) error {
			misbehave(m, ran)
			e.Request.Messages = append(e.Request.Messages, event.Message{Role: event.RoleUser, Content: m.blocks})
			return m.err
		}))
	},
	"after model": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(_ context.Context, e *hook.AfterModel) error {
			misbehave(m, ran)
			e.Message.Content = m.blocks
			return m.err
		}))
	},
	"before tools": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(context.Context, *hook.BeforeTools) error { misbehave(m, ran); return bad(m) }))
	},
	"before tool": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(_ context.Context, e *braid.BeforeTool) error {
			misbehave(m, ran)
			e.Tool = (*braid.FuncTool)(nil)
			return bad(m)
		}))
	},
	"after tool": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(_ context.Context, e *braid.AfterTool) error {
			misbehave(m, ran)
			e.Result.Content = m.blocks
			return m.err
		}))
	},
	"after tools": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(context.Context, *hook.AfterTools) error { misbehave(m, ran); return bad(m) }))
	},
	"message added": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.On(func(context.Context, *hook.MessageAdded) error { misbehave(m, ran); return bad(m) }))
	},
	"input guardrail": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, guardThat(m, ran, braid.GuardInput))
	},
	"output guardrail": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, guardThat(m, ran, braid.GuardOutput))
	},
	"result guardrail": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, guardThat(m, ran, braid.GuardResult))
	},
	"grants": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		return hooked(ran, braid.Permit(braid.Permissions{Ask: []string{"odd"}, Grants: badGrants{m, ran}}))
	},
	"model's name": func(m misdeed, ran *atomic.Int64) *braid.Agent {
		a := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] { return chunks(says("hello")) }}
		return braid.New("a", &nameless{script: a, after: 3, m: m, ran: ran})
	},
}

func misbehave(m misdeed, ran *atomic.Int64) {
	ran.Add(1)
	if m.do != nil {
		m.do()
	}
}

// bad is the error of what can give no blocks.
func bad(m misdeed) error {
	if m.err != nil {
		return m.err
	}
	if m.blocks != nil {
		return (*event.Error)(nil)
	}
	return nil
}

func guardThat(m misdeed, ran *atomic.Int64, place braid.GuardPlace) braid.Part {
	return braid.Guard("g", func(context.Context, string) (string, error) {
		misbehave(m, ran)
		return "", cmp.Or(m.err, errors.New("no"))
	}, place)
}

func badModel(m misdeed, ran *atomic.Int64) braid.Model {
	return &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			ran.Add(1)
			if !yield(model.Chunk{Kind: model.ChunkText, Text: "so far"}, nil) {
				return
			}
			if m.do != nil {
				m.do()
			}
			for i, b := range m.blocks {
				if !yield(model.Chunk{Kind: model.ChunkBlock, Index: i + 1, Block: b}, nil) {
					return
				}
			}
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, m.err)
		}
	}}
}

// hooked is an agent that calls a tool once.
func hooked(_ *atomic.Int64, part braid.Part) *braid.Agent {
	return braid.New("a", answers(asksFor("odd", `{}`), says("done")),
		braid.Tools(odd{func() (tool.Output, error) { return tool.Text("result"), nil }}), part)
}

// badGrants keep no permission.
type badGrants struct {
	m   misdeed
	ran *atomic.Int64
}

func (g badGrants) Granted(context.Context, grant.Grant) (bool, error) {
	misbehave(g.m, g.ran)
	return false, cmp.Or(g.m.err, errors.New("no"))
}

func (g badGrants) Grant(context.Context, grant.Grant) error { return nil }

// nameless is a model whose Info misbehaves after some calls.
type nameless struct {
	*script
	after int64
	calls atomic.Int64
	m     misdeed
	ran   *atomic.Int64
}

func (n *nameless) Info() model.Info {
	if n.calls.Add(1) > n.after {
		misbehave(n.m, n.ran)
	}
	return n.script.Info()
}

// script is a model that answers as told, by cycle.
type script struct {
	next func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error]
}

func (s *script) Info() model.Info { return model.Info{Name: "test:script"} }

func (s *script) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return s.next(ctx, req)
}

func answers(list ...[]model.Chunk) *script {
	return &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		return chunks(list[min(req.Cycle, len(list))-1])
	}}
}

func chunks(list []model.Chunk) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func says(text string) []model.Chunk {
	return []model.Chunk{{Kind: model.ChunkText, Text: text}, {Kind: model.ChunkStop, Stop: event.StopEndTurn}}
}

// asksFor is an answer with tool calls: name, arguments, name, arguments.
func asksFor(pairs ...string) []model.Chunk {
	var list []model.Chunk
	for i := 0; i < len(pairs); i += 2 {
		list = append(list,
			model.Chunk{Kind: model.ChunkCall, Index: i, ID: fmt.Sprintf("c%d", i/2), Text: pairs[i]},
			model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: pairs[i+1]})
	}
	return append(list, model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse})
}

// Whatever foreign code gives or does is an error of its call or its run: never the end of the process, and
// never more than a few calls. What a panic says stands in no event.
func TestForeignCodeIsAnErrorOfItsCall(t *testing.T) {
	t.Parallel()
	for name, begin := range entries {
		for _, m := range misdeeds() {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				t.Run("run", func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						var ran atomic.Int64
						conv := braid.NewConversation()
						done := make(chan struct{})
						go func() { // the code may end the goroutine
							defer close(done)
							_, _ = begin(m, &ran).Run(t.Context(), "go", braid.In(conv))
						}()
						<-done
						check(t, conv, &ran)
					})
				})
				t.Run("engine", func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { underAnEngine(t, m, begin) })
				})
			})
		}
	}
}

func userSays(text string) []event.Message {
	return []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text}}}}
}

// underAnEngine drives a run until it has ended or waits.
func underAnEngine(t *testing.T, m misdeed, agentOf func(misdeed, *atomic.Int64) *braid.Agent) {
	t.Helper()
	var ran atomic.Int64
	store := journal.NewMemory(journal.MemoryOptions{})
	conv := braid.Open(store, "c")
	agent := agentOf(m, &ran)
	local := engine.NewLocal(store, func(ctx context.Context, w engine.Work) (engine.Outcome, error) {
		r, err := agent.Drive(ctx, conv, w.Run.ID, braid.Work{Mail: w.Mail, Draining: w.Draining})
		if err != nil {
			return engine.Outcome{}, err
		}
		return engine.Outcome{Status: r.Status, WakeAt: r.WakeAt}, nil
	}, engine.Options{})
	if err := local.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Submit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
		t.Fatal(err)
	}
	var status event.RunStatus
	for range 30 {
		time.Sleep(time.Minute)
		runs, err := store.Runs(t.Context(), "c", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if status = runs[0].Status; status.Ended() || status == event.RunWaiting {
			break
		}
	}
	if !status.Ended() && status != event.RunWaiting {
		t.Errorf("after half an hour the run is %s, and the code was called %d times", status, ran.Load())
	}
	if err := local.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	check(t, conv, &ran)
}

func check(t *testing.T, conv *braid.Conversation, ran *atomic.Int64) {
	t.Helper()
	if n := ran.Load(); n == 0 || n > 8 {
		t.Errorf("the foreign code was called %d times", n)
	}
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), panicText) {
			t.Errorf("the panic's text stands in the log: %s", text)
		}
	}
}

// count panics where there is no map.
func count(in map[string]int) { in[panicText]++ }
