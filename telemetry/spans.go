package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// drive is what is known of one drive of a run: its open spans. It belongs to the driver's
// goroutine.
type drive struct {
	*telemetry

	run, conversation string
	links             []trace.Link
	// ctx has the span of the root agent.
	ctx    context.Context //nolint:containedctx // a drive's span lives as long as its context
	scopes map[string]*agentSpan
	// newest is the time of the last event: ends that no event tells have it.
	newest time.Time
	// ended is the run's last event; nil where the drive ended before.
	ended *event.RunEnded
}

// agentSpan is one agent at work: the root's, or that of one that is used as a tool.
type agentSpan struct {
	span  trace.Span
	ctx   context.Context //nolint:containedctx // the parent of the cycles
	begun time.Time
	name  string
	// model is the one that was asked last, as users write it.
	model string

	cycle    trace.Span
	cycleCtx context.Context //nolint:containedctx // the parent of the steps
	number   int
	steps    map[string]*step
	talk     talk
}

// step is an open model or tool call.
type step struct {
	span  trace.Span
	ctx   context.Context //nolint:containedctx // the parent of an agent that is used as a tool
	begun time.Time
	model string
	tool  string
	args  []byte
}

// begin begins the span of the root agent.
func (d *drive) begin(ctx context.Context, e *braid.BeforeDrive) {
	a := &agentSpan{begun: time.Now(), name: e.Agent.Name(), model: e.Agent.Model().Info().Name}
	attributes := append(modelOf(a.model),
		attribute.String(keyOperation, opAgent), attribute.String(keyAgent, a.name),
		attribute.String(keyConversation, d.conversation), attribute.String(keyRun, d.run),
	)
	if e.Resumed {
		attributes = append(attributes, attribute.Bool(keyResumed, true))
	}
	a.ctx, a.span = d.tracer.Start(ctx, //nolint:spancheck // finish ends it
		opAgent+" "+a.name,
		trace.WithTimestamp(a.begun), trace.WithAttributes(attributes...), trace.WithLinks(d.links...))
	d.ctx, d.newest = a.ctx, a.begun
	d.scopes = map[string]*agentSpan{"": a}
}

// event takes in what happens. Pieces of text, which are most of what does, say nothing here.
func (d *drive) event(sent *braid.EventSent) {
	e := &sent.Event
	if e.Live() {
		return
	}
	d.newest = e.Time
	a := d.scopes[e.Scope]
	if a == nil {
		// An agent that began to work in an earlier drive goes on in this one.
		a = d.agent(d.ctx, e.Scope, e.Author, e.Time)
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		a.span.SetAttributes(attribute.Int(keyTurn, b.Turn))
	case *event.UserMessage:
		d.heard(a, e, b.Content)
	case *event.Redacted:
		d.redacted(b)
	case *event.StepBegun:
		switch b.Step {
		case event.StepModel:
			sent.Context = d.beginModel(sent.Context, a, e, b)
		case event.StepCompaction:
			sent.Context = d.beginCompaction(sent.Context, a, e, b)
		default:
			sent.Context = d.beginTool(a, e, b, sent)
		}
	case *event.AssistantMessage:
		if !b.Piece {
			d.endModel(a, e, b)
		}
	case *event.StepEnded:
		d.endStep(a, e, b)
	case *event.Asked:
		if s := a.steps[e.Step]; s != nil {
			s.span.SetAttributes(attribute.String(keyOutcome, string(event.RunWaiting)))
			a.close(e.Step, e.Time)
		}
	case *event.ScopeOpened:
		parent := d.ctx
		if p := d.scopes[b.Parent]; p != nil {
			parent = p.ctx
			if s := p.steps[e.Step]; s != nil {
				parent = s.ctx
			}
		}
		child := d.agent(parent, b.ID, b.Agent, e.Time)
		d.heard(child, e, b.Input)
	case *event.ScopeClosed:
		d.closeScope(b, e.Time)
	case *event.RunEnded:
		d.ended = b
	}
}

// agent begins the span of an agent that is used as a tool.
func (d *drive) agent(parent context.Context, scope, name string, at time.Time) *agentSpan {
	a := &agentSpan{begun: at, name: name}
	a.ctx, a.span = d.tracer.Start(parent, //nolint:spancheck // finish ends it
		opAgent+" "+name, trace.WithTimestamp(at), trace.WithAttributes(
			attribute.String(keyOperation, opAgent), attribute.String(keyAgent, name),
			attribute.String(keyConversation, d.conversation), attribute.String(keyRun, d.run), attribute.String(keyScope, scope),
		))
	d.scopes[scope] = a
	return a
}

// asks notes which model the agent works with.
func (a *agentSpan) asks(model string) {
	if model == "" || a.model == model {
		return
	}
	a.model = model
	a.span.SetAttributes(modelOf(model)...)
}

// modelOf says which model is asked.
func modelOf(model string) []attribute.KeyValue {
	provider, name := providerOf(model)
	return []attribute.KeyValue{attribute.String(keyProvider, provider), attribute.String(keyRequestModel, name)}
}

// beginModel begins the span of a model call, and with its first attempt that of a cycle.
func (d *drive) beginModel(in context.Context, a *agentSpan, e *event.Event, b *event.StepBegun) context.Context {
	model := b.Model
	if b.Runs != "" {
		model = b.Runs
	}
	a.asks(model)
	if a.cycle == nil || e.Cycle != a.number {
		a.endCycle(e.Time)
		a.number = e.Cycle
		a.cycleCtx, a.cycle = d.tracer.Start(a.ctx, "cycle", //nolint:spancheck // endCycle ends it
			trace.WithTimestamp(e.Time), trace.WithAttributes(
				attribute.String(keyRun, d.run), attribute.Int(keyCycle, e.Cycle), attribute.String(keyWhy, string(b.Why)),
			))
	}
	s := &step{begun: e.Time, model: model}
	provider, name := providerOf(model)
	attributes := []attribute.KeyValue{
		attribute.String(keyOperation, opChat), attribute.String(keyProvider, provider), attribute.String(keyRequestModel, name),
		attribute.Bool(keyRequestStream, true), attribute.String(keyConversation, d.conversation), attribute.String(keyAgent, a.name),
		attribute.Int(keyAttempt, e.Attempt), attribute.String(keyWhy, string(b.Why)),
	}
	if e.Simulated {
		attributes = append(attributes, attribute.Bool(keySimulated, true))
	}
	return d.start(in, a, e, s, opChat+" "+name, trace.SpanKindClient, attributes)
}

// beginCompaction begins the span of a model call that sums up what is too long. It belongs to no
// cycle: nothing is decided by it.
func (d *drive) beginCompaction(in context.Context, a *agentSpan, e *event.Event, b *event.StepBegun) context.Context {
	a.endCycle(e.Time)
	provider, name := providerOf(b.Model)
	return d.start(in, a, e, &step{begun: e.Time, model: b.Model}, opChat+" "+name, trace.SpanKindClient, []attribute.KeyValue{
		attribute.String(keyOperation, opChat), attribute.String(keyProvider, provider), attribute.String(keyRequestModel, name),
		attribute.String(keyConversation, d.conversation), attribute.String(keyAgent, a.name), attribute.Int(keyAttempt, e.Attempt),
		attribute.String(keyWhy, string(b.Why)), attribute.Bool(keyCompaction, true),
	})
}

// beginTool begins the span of a tool call. A name that the agent has no tool of is the model's
// own word, and stands on no span.
func (d *drive) beginTool(a *agentSpan, e *event.Event, b *event.StepBegun, sent *braid.EventSent) context.Context {
	s := &step{begun: e.Time, tool: unknownTool, args: b.Args}
	if sent.Tool != nil {
		s.tool = b.Tool
	}
	attributes := []attribute.KeyValue{
		attribute.String(keyOperation, opTool), attribute.String(keyTool, s.tool), attribute.String(keyToolCall, b.Call),
		attribute.String(keyToolType, "function"), attribute.String(keyConversation, d.conversation), attribute.String(keyAgent, a.name),
		attribute.Int(keyAttempt, e.Attempt), attribute.String(keyEffect, string(b.Effect)),
	}
	if s.args == nil {
		s.args = a.talk.arguments(b.Call)
	}
	return d.start(sent.Context, a, e, s, opTool+" "+s.tool, trace.SpanKindInternal, attributes)
}

// unknownTool stands for names that models have made up.
const unknownTool = "_unknown"

// start begins a step's span below its cycle's and gives the context that the step runs in: the
// one that it was to run in, with the span.
func (d *drive) start(
	in context.Context, a *agentSpan, e *event.Event, s *step, name string, kind trace.SpanKind, attributes []attribute.KeyValue,
) context.Context {
	parent := a.cycleCtx
	if parent == nil {
		parent = a.ctx // the cycle began in an earlier drive
	}
	s.ctx, s.span = d.tracer.Start(parent, name, //nolint:spancheck // close ends it
		trace.WithTimestamp(e.Time), trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	if a.steps == nil {
		a.steps = make(map[string]*step)
	}
	a.close(e.Step, e.Time) // an attempt whose end nobody wrote
	a.steps[e.Step] = s
	return trace.ContextWithSpan(in, s.span)
}

// endModel ends the span of a model call that gave an answer.
func (d *drive) endModel(a *agentSpan, e *event.Event, b *event.AssistantMessage) {
	if d.content {
		defer a.talk.said(b.Content)
	}
	s := a.steps[e.Step]
	if s == nil {
		return // a history that was handed in, or a hook's words
	}
	if s.span.IsRecording() {
		s.span.SetAttributes(
			attribute.String(keyResponseModel, b.Model), attribute.StringSlice(keyFinish, []string{finishReason(b.Stop)}),
			attribute.String(keyStop, string(b.Stop)),
		)
		s.span.SetAttributes(usageOf(b.Usage)...)
		s.span.SetAttributes(costOf(b.CostNanoUSD)...)
		if b.Response != "" {
			s.span.SetAttributes(attribute.String(keyResponseID, b.Response))
		}
		if b.TimeToFirstByte > 0 {
			s.span.SetAttributes(attribute.Float64(keyFirstChunk, b.TimeToFirstByte.Seconds()))
		}
		if d.content {
			s.span.SetAttributes(a.talk.asked(), answered(b))
		}
	}
	d.instruments.model(s.ctx, s.model, b.Model, b.Usage, b.CostNanoUSD, took(b.Latency, s, e), b.TimeToFirstByte, nil)
	a.close(e.Step, e.Time)
}

// took is how long a step was measured to have run, or else the time between its events.
func took(measured time.Duration, s *step, e *event.Event) time.Duration {
	if measured > 0 {
		return measured
	}
	return max(e.Time.Sub(s.begun), 0)
}

// endStep ends the span of a tool call, or of a model call that gave no answer.
func (d *drive) endStep(a *agentSpan, e *event.Event, b *event.StepEnded) {
	if b.Outcome == event.OutcomeStraggler {
		d.instruments.straggler(a.ctx, b.Step)
	}
	if d.content && b.Result != nil {
		a.talk.result(e.Seq, b.Result)
	}
	s := a.steps[e.Step]
	if s == nil {
		return
	}
	fault := b.Err
	switch {
	case fault != nil:
	case b.Outcome == event.OutcomeCancelled, b.Outcome == event.OutcomeStraggler:
		fault = &event.Error{Kind: event.ErrCancelled}
	case b.Result != nil && b.Result.IsError:
		fault = &event.Error{Kind: toolError}
	}
	s.span.SetAttributes(attribute.String(keyOutcome, string(b.Outcome)))
	if !b.RetryAt.IsZero() {
		s.span.SetAttributes(attribute.Bool(keyRetry, true))
	}
	if fault != nil {
		s.span.SetAttributes(errorType(fault))
		s.span.SetStatus(codes.Error, "")
	}
	if b.Step != event.StepTool {
		if !b.UsageUnknown {
			s.span.SetAttributes(usageOf(b.Usage)...)
			s.span.SetAttributes(costOf(b.CostNanoUSD)...)
		}
		if d.content && s.span.IsRecording() && b.Step == event.StepModel {
			s.span.SetAttributes(a.talk.asked())
		}
		d.instruments.model(s.ctx, s.model, "", b.Usage, b.CostNanoUSD, took(b.Duration, s, e), 0, fault)
	} else {
		if d.content && s.span.IsRecording() {
			s.span.SetAttributes(called(s.args, b.Result)...)
		}
		d.instruments.tool(s.ctx, a.model, s.tool, took(b.Duration, s, e), fault)
	}
	a.close(e.Step, e.Time)
}

// close ends a step's span.
func (a *agentSpan) close(name string, at time.Time) {
	if s := a.steps[name]; s != nil {
		s.span.End(trace.WithTimestamp(at))
		delete(a.steps, name)
	}
}

func (a *agentSpan) endCycle(at time.Time) {
	if a.cycle != nil {
		a.cycle.End(trace.WithTimestamp(at))
		a.cycle, a.cycleCtx = nil, nil
	}
}

// finish ends what the agent has open, and its own span.
func (a *agentSpan) finish(at time.Time) {
	for name := range a.steps {
		a.close(name, at)
	}
	a.endCycle(at)
	a.span.End(trace.WithTimestamp(at))
}

// closeScope ends the span of an agent that is used as a tool.
func (d *drive) closeScope(b *event.ScopeClosed, at time.Time) {
	a := d.scopes[b.ID]
	if a == nil {
		return
	}
	delete(d.scopes, b.ID)
	a.span.SetAttributes(attribute.String(keyStop, string(b.Stop)), attribute.String(keyWhy, string(b.Why)))
	if b.Err != nil {
		a.span.SetAttributes(errorType(b.Err))
		a.span.SetStatus(codes.Error, "")
	}
	if d.content && a.span.IsRecording() {
		a.span.SetAttributes(a.talk.whole()...)
	}
	d.instruments.agent(a.ctx, a.model, at.Sub(a.begun), b.Err)
	a.finish(at)
}

// end ends the drive's spans.
func (d *drive) end(e *braid.AfterDrive) {
	root := d.scopes[""]
	now := time.Now()
	if d.ended == nil && now.After(d.newest) {
		d.newest = now
	}
	for id, a := range d.scopes {
		if id != "" {
			a.finish(d.newest) // it goes on in a later drive, or nobody knows
		}
	}
	status := string(e.Result.Status)
	var fault *event.Error
	switch {
	case d.ended != nil:
		status, fault = string(d.ended.Status), d.ended.Err
		root.span.SetAttributes(
			attribute.String(keyStop, string(d.ended.Stop)), attribute.String(keyWhy, string(d.ended.Why)),
			attribute.Int(keyCycles, d.ended.Cycles), attribute.StringSlice(keyFinish, []string{finishReason(d.ended.Stop)}),
		)
		root.span.SetAttributes(usageOf(d.ended.Usage)...)
		root.span.SetAttributes(costOf(d.ended.CostNanoUSD)...)
		d.instruments.run(root.ctx, root.model, d.ended)
	case e.Err != nil:
		status, fault = "undriven", &event.Error{Kind: event.KindOf(e.Err)}
	}
	root.span.SetAttributes(attribute.String(keyStatus, status))
	if fault != nil {
		root.span.SetAttributes(errorType(fault))
		root.span.SetStatus(codes.Error, "")
	}
	if d.content && root.span.IsRecording() {
		root.span.SetAttributes(root.talk.whole()...)
	}
	d.instruments.agent(root.ctx, root.model, d.newest.Sub(root.begun), fault)
	root.finish(d.newest)
}
