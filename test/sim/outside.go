package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// modelCall is a call of a model as its provider has seen it.
type modelCall struct {
	begun, ended int
	proc         *process
	agent, model string
	run, scope   string
	step         string
	cycle        int
	attempt      int
	// texts holds the text blocks of the request's user side, and results the tool results by
	// call.
	texts   []string
	results map[string]string
	// said is the streamed output, and usage the reported usage.
	said  string
	usage *event.Usage
	whole bool
	err   error
	// sum is set if the request asks for a summary.
	sum bool
}

// toolCall is a call of a tool as the outside world has seen it.
type toolCall struct {
	begun, effect, ended int
	proc                 *process
	run, step, id, key   string
	tool                 string
	class                event.Effect
	attempt              int
	reconciled           bool
	asks                 bool
	answered             bool
	// zombie is set if the effect came after the driver had lost its lease, whether it knew that
	// or not.
	zombie bool
}

// askRecord records that a tool received its answer.
type askRecord struct {
	run, step string
	value     string
}

// reply is a model's output in one cycle of an agent's script.
type reply struct {
	// text is streamed in two pieces.
	text string
	// calls are made after the text: tool and arguments.
	calls []want
	// errs are the errors of the first attempts.
	errs []*event.Error
	// slow is the provider's delay before the first piece.
	slow time.Duration
	// fails is the number of runs that fail here permanently.
	fails int
}

type want struct {
	tool string
	args string
}

// simModel follows a script: its output depends on the cycle only, so every driver gets the same.
type simModel struct {
	agent  string
	script []reply
	// nth is its index in the agent's list of models.
	nth int
}

// Info implements [braid.Model].
func (m *simModel) Info() model.Info {
	return model.Info{Name: "sim:" + m.agent + strings.Repeat("+", m.nth), Simulated: true, Cost: priceOf}
}

// priceOf is the price of every simulated model.
func priceOf(u event.Usage) (nanoUSD int64, known bool) { return 3 * u.Total, true }

// Stream implements [braid.Model].
func (m *simModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := m.stream(ctx, req, func(c model.Chunk) bool { return yield(c, nil) }); err != nil &&
			!errors.Is(err, errLeft) {
			yield(model.Chunk{}, err)
		}
	}
}

var errLeft = errors.New("the driver does not listen any more")

func (m *simModel) stream(ctx context.Context, req *model.Request, yield func(model.Chunk) bool) error {
	p := processOf(ctx)
	w := p.w
	c := m.begin(p, req)
	where := who(ctx) + " " + c.step
	pass := func(s Seam) error {
		if _, err := call(p, s, where, func() (struct{}, error) { return struct{}{}, nil }); err != nil {
			if event.KindOf(err) == event.ErrUnavailable {
				return &event.Error{Op: "model", Kind: event.ErrOverloaded, Message: "the provider gave up"}
			}
			return err
		}
		w.holds(ctx, p, c.run, c.step)
		return ctx.Err()
	}
	if err := pass(ModelBegin); err != nil {
		return m.end(c, err)
	}
	w.starts(p, c)
	say := reply{text: "done"}
	switch {
	case c.sum:
		say = reply{text: "in short"}
	case req.Cycle <= len(m.script):
		say = m.script[req.Cycle-1]
	}
	if say.fails > 0 && w.failsNow(req.Cycle, say.fails) {
		return m.end(c, &event.Error{Op: "model", Kind: event.ErrModelAuth, Message: "no such account"})
	}
	if req.Attempt <= len(say.errs) {
		return m.end(c, say.errs[req.Attempt-1])
	}
	if say.slow > 0 {
		select {
		case <-time.After(say.slow):
		case <-ctx.Done():
			return m.end(c, ctx.Err())
		}
	}
	// Each attempt has a different output, so that attempts can be distinguished.
	whole := fmt.Sprintf("<%s %s/%d %s> %s", m.agent, c.step, c.attempt, p.name, say.text)
	half := len(whole) / 2
	for _, piece := range []string{whole[:half], whole[half:]} {
		if err := pass(ModelChunk); err != nil {
			return m.end(c, err)
		}
		w.mu.Lock()
		c.said += piece
		w.mu.Unlock()
		if !yield(model.Chunk{Kind: model.ChunkText, Text: piece}) {
			return m.end(c, errLeft)
		}
	}
	stop := event.StopEndTurn
	for i, t := range say.calls {
		stop = event.StopToolUse
		id := fmt.Sprintf("c%d.%d", req.Cycle, i)
		if !yield(model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: id, Text: t.tool}) ||
			!yield(model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: t.args}) {
			return m.end(c, errLeft)
		}
	}
	if err := pass(ModelEnd); err != nil {
		return m.end(c, err)
	}
	usage := &event.Usage{Input: int64(100 + c.begun), Output: int64(len(whole)), Total: int64(100 + c.begun + len(whole))}
	w.mu.Lock()
	c.usage, c.whole = usage, true
	w.mu.Unlock()
	if !yield(model.Chunk{Kind: model.ChunkUsage, Usage: usage}) || !yield(model.Chunk{Kind: model.ChunkStop, Stop: stop}) {
		return m.end(c, errLeft)
	}
	return m.end(c, nil)
}

func (m *simModel) begin(p *process, req *model.Request) *modelCall {
	c := &modelCall{
		proc: p, agent: m.agent, model: m.Info().Name, run: req.Run, scope: req.Scope, cycle: req.Cycle, attempt: req.Attempt,
		step: stepName(req.Scope, req.Cycle), results: map[string]string{},
	}
	if c.sum = req.Instructions == summing; c.sum {
		c.step = strings.Replace(c.step, "m", "c", 1)
		return c
	}
	for _, msg := range req.Messages {
		for _, b := range msg.Content {
			switch b := b.(type) {
			case *event.Text:
				if msg.Role == event.RoleUser {
					c.texts = append(c.texts, b.Text)
				}
			case *event.ToolResult:
				c.results[b.Call] = event.TextOf(b.Content)
			}
		}
	}
	return c
}

func stepName(scope string, cycle int) string {
	name := fmt.Sprintf("m%d", cycle)
	if scope != "" {
		name = scope + "/" + name
	}
	return name
}

func (m *simModel) end(c *modelCall, err error) error {
	w := c.proc.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.proc.over() {
		c.ended, c.err = w.record.tick(), err
	}
	return err
}

// simTool has an effect on the outside world according to its class.
type simTool struct {
	name  string
	class event.Effect
	// ask is a question before the effect; takes is the duration of the effect.
	ask   string
	takes time.Duration
	// kills is the number of times that a call ends its process.
	kills int
}

// Spec implements [braid.Tool].
func (t *simTool) Spec() model.ToolSpec {
	return model.ToolSpec{Name: t.name, Description: t.name, Schema: json.RawMessage(`{"type":"object"}`)}
}

// Traits returns the effect of repeating the tool.
func (t *simTool) Traits() tool.Traits {
	tr := tool.Traits{Effect: t.class}
	if t.class == event.EffectReconcilable {
		tr.Reconcile = t.reconcile
	}
	return tr
}

func (t *simTool) pass(ctx context.Context, s Seam, c *toolCall, do func()) error {
	_, err := call(c.proc, s, who(ctx)+" "+c.step, func() (struct{}, error) {
		if do != nil && ctx.Err() == nil {
			do()
		}
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	c.proc.w.holds(ctx, c.proc, c.run, c.step)
	return ctx.Err()
}

// Call implements [braid.Tool].
func (t *simTool) Call(ctx context.Context, _ json.RawMessage) (tool.Output, error) {
	c := t.entry(ctx)
	w := c.proc.w
	if err := t.pass(ctx, ToolBegin, c, func() { w.enters(c.proc, c) }); err != nil {
		return tool.Output{}, err
	}
	if t.ask != "" {
		c.asks = true
		said, err := braid.Ask[string](ctx, t.ask)
		if err != nil {
			return tool.Output{}, err
		}
		w.mu.Lock()
		c.answered = true
		w.record.asks = append(w.record.asks, askRecord{c.run, c.step, said})
		w.mu.Unlock()
	}
	if t.takes > 0 {
		select {
		case <-time.After(t.takes):
		case <-ctx.Done():
			return tool.Output{}, ctx.Err()
		}
	}
	if t.dies(ctx, c, false) {
		return tool.Output{}, gone(ToolEffect)
	}
	if err := t.pass(ctx, ToolEffect, c, func() { w.affects(c.proc, c) }); err != nil {
		return tool.Output{}, err
	}
	if t.dies(ctx, c, true) {
		return tool.Output{}, gone(ToolEffect)
	}
	if err := t.pass(ctx, ToolEnd, c, func() { w.leaves(c) }); err != nil {
		return tool.Output{}, err
	}
	return tool.Text(t.name + " did it"), nil
}

// reconcile queries the outside world for the outcome of a call.
func (t *simTool) reconcile(ctx context.Context, _ json.RawMessage) (tool.Output, bool, error) {
	c := t.entry(ctx)
	w := c.proc.w
	c.reconciled = true
	known := false
	if err := t.pass(ctx, ToolReconcile, c, func() {
		w.enters(c.proc, c)
		known = w.happened(c.key)
	}); err != nil {
		return tool.Output{}, false, err
	}
	return tool.Text(t.name + " had done it"), known, nil
}

func (t *simTool) entry(ctx context.Context) *toolCall {
	c := tool.CallOf(ctx)
	return &toolCall{
		proc: processOf(ctx), run: c.Run, step: c.Step, id: c.ID, key: c.Key(), tool: t.name, class: t.class, attempt: c.Attempt,
	}
}

// starts records the start of a model call.
func (w *world) starts(p *process, c *modelCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.record
	c.begun = r.tick()
	r.models = append(r.models, c)
	w.beginning(p, c.run, c.step, c.attempt)
	for _, o := range r.models[:len(r.models)-1] {
		if o.run == c.run && o.step == c.step && o.attempt == c.attempt {
			w.failLocked("P2", "the model call %s/%d of %s was made twice", c.step, c.attempt, w.aliasLocked(c.run))
		}
	}
}

// enters records the start of a tool call.
func (w *world) enters(p *process, c *toolCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.record
	for _, o := range r.tools {
		if o.run == c.run && o.step == c.step && o.attempt == c.attempt && !o.reconciled {
			w.failLocked("P2", "the tool call %s/%d of %s was made twice", c.step, c.attempt, w.aliasLocked(c.run))
		}
	}
	c.begun = r.tick()
	r.tools = append(r.tools, c)
	w.beginning(p, c.run, c.step, c.attempt)
}

// beginning checks that the journal knows the step that begins, and that the step has not ended.
func (w *world) beginning(p *process, run, step string, attempt int) {
	g := w.record.log(w.record.run(run, "").row.Conversation)
	begun := false
	for _, e := range g.entries {
		if e.Run != run || e.Step != step {
			continue
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			begun = begun || e.Attempt == attempt
		case *event.AssistantMessage:
			if !w.superseded(p, g, run) {
				w.failLocked("P2", "%s/%d of %s began after it had ended", step, attempt, w.aliasLocked(run))
			}
		case *event.StepEnded:
			// A call that was abandoned before it got here begins late.
			left := b.Outcome == event.OutcomeStraggler && e.Attempt == attempt
			if b.Step == event.StepTool && !left && !w.superseded(p, g, run) {
				w.failLocked("P2", "%s/%d of %s began after it had ended", step, attempt, w.aliasLocked(run))
			}
		}
	}
	if !begun {
		w.failLocked("P3", "%s/%d of %s began before that was in the journal", step, attempt, w.aliasLocked(run))
	}
}

// superseded reports whether the process has lost the conversation to another one, which it may
// not know yet.
func (w *world) superseded(p *process, g *log, run string) bool {
	return g.proc != p || g.holder != run
}

// affects records the effect of a tool call.
func (w *world) affects(p *process, c *toolCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.record.log(w.record.run(c.run, "").row.Conversation)
	c.effect = w.record.tick()
	c.zombie = w.superseded(p, g, c.run)
	w.gate.tell(fmt.Sprintf("effect of %s %s/%d of %s", c.class, c.step, c.attempt, w.aliasLocked(c.run)))
}

func (w *world) leaves(c *toolCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.ended = w.record.tick()
}

// happened reports whether a call has had its effect.
func (w *world) happened(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.record.tools {
		if o.key == key && o.effect > 0 {
			return true
		}
	}
	return false
}

// holds checks that no step continues after its driver was told that the lease is lost.
func (w *world) holds(ctx context.Context, p *process, run, step string) {
	if ctx.Err() != nil || !p.living() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.record.log(w.record.run(run, "").row.Conversation)
	told, sure := false, time.Time{}
	for _, a := range w.record.acquires {
		if a.run == run && a.proc == p {
			told = w.record.lost[leaseKey{run, a.epoch}] > 0
			sure = w.record.sure[leaseKey{run, a.epoch}]
		}
	}
	if late := time.Since(sure); !sure.IsZero() && late > time.Second {
		w.failLocked("P15", "%s goes on %v after %s could be sure of its lease", step, late, p.name)
	}
	if told {
		w.failLocked("P4", "%s goes on in %s, though %s was told that its lease is lost", step, strings.TrimSpace(g.conv), p.name)
	}
}
