package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
)

// drive holds the open spans of one drive of a run. It belongs to the driver's goroutine.
type drive struct {
	*telemetry

	run, conversation string
	links             []trace.Link
	// ctx has the span of the root agent.
	ctx     context.Context //nolint:containedctx // a drive's span lives as long as its context
	outline fold.Outline[*agentSpan, *step]
	// newest is the time of the last event. Spans that end without an event end at this time.
	newest time.Time
	// ended is the run's last event. It is nil if the drive ended before.
	ended *event.RunEnded
}

// agentSpan is the span of the root agent or of a sub-agent.
type agentSpan struct {
	span  trace.Span
	ctx   context.Context //nolint:containedctx // the parent of the cycles
	begun time.Time
	name  string
	// model is the last model of the agent, by its reference.
	model string

	cycle    trace.Span
	cycleCtx context.Context //nolint:containedctx // the parent of the steps
	number   int
	contents contents
}

type (
	thread   = fold.Thread[*agentSpan]
	openStep = fold.Step[*agentSpan, *step]
)

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
func (d *drive) begin(ctx context.Context, e *hook.BeforeDrive) {
	a := &agentSpan{begun: time.Now(), name: e.Agent, model: e.Model}
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
	d.outline.Begin(d.run)
	d.outline.Thread("").Own = a
}

// event handles an event. It ignores deltas, which are most events.
func (d *drive) event(sent *hook.EventSent) {
	e := &sent.Event
	if e.Live() || e.Run != d.run {
		return
	}
	d.newest = e.Time
	if d.outline.Thread(e.Scope) == nil {
		// An agent that began in an earlier drive continues in this one.
		d.agent(d.ctx, d.outline.Join(e.Scope, e.Author), e.Time)
	}
	at := d.outline.Add(e)
	a := at.Thread.Own
	switch b := e.Body.(type) {
	case *event.RunStarted:
		a.span.SetAttributes(attribute.Int(keyTurn, b.Turn))
	case *event.UserMessage:
		d.input(a, e, b.Content)
	case *event.Redacted:
		d.redacted(b)
	case *event.StepBegun:
		switch b.Step {
		case event.StepModel:
			sent.Context = d.beginModel(sent.Context, at.Step, e, b)
		case event.StepCompaction:
			sent.Context = d.beginCompaction(sent.Context, at.Step, e, b)
		default:
			sent.Context = d.beginTool(at.Step, e, b, sent)
		}
	case *event.AssistantMessage:
		if !b.Piece {
			d.endModel(a, at.Step, e, b)
		}
	case *event.StepEnded:
		d.endStep(a, at.Step, e, b)
	case *event.Asked:
		if s := spanOf(at.Step); s != nil {
			s.span.SetAttributes(attribute.String(keyOutcome, string(event.RunWaiting)))
			end(at.Step, e.Time)
		}
	case *event.ScopeOpened:
		parent := d.ctx
		if at.Opened == nil {
			if at.Opened = d.outline.Join(b.ID, b.Agent); at.Opened == nil {
				return
			}
		} else if parent = at.Opened.Parent.Own.ctx; spanOf(at.Step) != nil {
			parent = spanOf(at.Step).ctx
		}
		d.input(d.agent(parent, at.Opened, e.Time), e, b.Input)
	case *event.ScopeClosed:
		if at.Closed != nil {
			d.closeScope(at.Closed.Own, b, e.Time)
		}
	case *event.RunEnded:
		d.ended = b
	}
}

// agent begins the span of a sub-agent.
func (d *drive) agent(parent context.Context, t *thread, at time.Time) *agentSpan {
	name := t.Agent
	a := &agentSpan{begun: at, name: name}
	a.ctx, a.span = d.tracer.Start(parent, //nolint:spancheck // finish ends it
		opAgent+" "+name, trace.WithTimestamp(at), trace.WithAttributes(
			attribute.String(keyOperation, opAgent), attribute.String(keyAgent, name),
			attribute.String(keyConversation, d.conversation), attribute.String(keyRun, d.run), attribute.String(keyScope, t.ID),
		))
	t.Own = a
	return a
}

// asks records the model of the agent.
func (a *agentSpan) asks(model string) {
	if model == "" || a.model == model {
		return
	}
	a.model = model
	a.span.SetAttributes(modelOf(model)...)
}

// modelOf returns the attributes of a model.
func modelOf(model string) []attribute.KeyValue {
	provider, name := providerOf(model)
	return []attribute.KeyValue{attribute.String(keyProvider, provider), attribute.String(keyRequestModel, name)}
}

// beginModel begins the span of a model call, and with its first attempt the span of a cycle.
func (d *drive) beginModel(in context.Context, open *openStep, e *event.Event, b *event.StepBegun) context.Context {
	a, model := open.Thread.Own, fold.ModelOf(b)
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
	return d.start(in, open, e, s, opChat+" "+name, trace.SpanKindClient, attributes)
}

// beginCompaction begins the span of a summary call. It belongs to no cycle, because it decides
// nothing.
func (d *drive) beginCompaction(in context.Context, open *openStep, e *event.Event, b *event.StepBegun) context.Context {
	a := open.Thread.Own
	a.endCycle(e.Time)
	provider, name := providerOf(b.Model)
	return d.start(in, open, e, &step{begun: e.Time, model: b.Model}, opChat+" "+name, trace.SpanKindClient, []attribute.KeyValue{
		attribute.String(keyOperation, opChat), attribute.String(keyProvider, provider), attribute.String(keyRequestModel, name),
		attribute.String(keyConversation, d.conversation), attribute.String(keyAgent, a.name), attribute.Int(keyAttempt, e.Attempt),
		attribute.String(keyWhy, string(b.Why)), attribute.Bool(keyCompaction, true),
	})
}

// beginTool begins the span of a tool call. A name that is not a tool of the agent is the model's
// text and is on no span.
func (d *drive) beginTool(open *openStep, e *event.Event, b *event.StepBegun, sent *hook.EventSent) context.Context {
	a := open.Thread.Own
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
		s.args = a.contents.arguments(b.Call)
	}
	return d.start(sent.Context, open, e, s, opTool+" "+s.tool, trace.SpanKindInternal, attributes)
}

// unknownTool replaces names that models have made up.
const unknownTool = "_unknown"

// start begins a step's span below its cycle's. It returns the context for the step: in with the
// span.
func (d *drive) start(
	in context.Context, open *openStep, e *event.Event, s *step, name string, kind trace.SpanKind, attributes []attribute.KeyValue,
) context.Context {
	a := open.Thread.Own
	parent := a.cycleCtx
	if parent == nil {
		parent = a.ctx // the cycle began in an earlier drive
	}
	s.ctx, s.span = d.tracer.Start(parent, name, //nolint:spancheck // close ends it
		trace.WithTimestamp(e.Time), trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	end(open, e.Time) // an attempt whose end nobody wrote
	open.Own = s
	return trace.ContextWithSpan(in, s.span)
}

// endModel ends the span of a model call with an answer.
func (d *drive) endModel(a *agentSpan, open *openStep, e *event.Event, b *event.AssistantMessage) {
	if d.content {
		defer a.contents.answered(b.Content)
	}
	s := spanOf(open)
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
			s.span.SetAttributes(a.contents.newInput(), answered(b))
		}
	}
	d.instruments.model(s.ctx, s.model, b.Model, b.Usage, b.CostNanoUSD, took(b.Latency, s, e), b.TimeToFirstByte, nil)
	end(open, e.Time)
}

// took returns the measured duration of a step, or else the time between its events.
func took(measured time.Duration, s *step, e *event.Event) time.Duration {
	if measured > 0 {
		return measured
	}
	return max(e.Time.Sub(s.begun), 0)
}

// endStep ends the span of a tool call, or of a model call without an answer.
func (d *drive) endStep(a *agentSpan, open *openStep, e *event.Event, b *event.StepEnded) {
	if b.Outcome == event.OutcomeStraggler {
		d.instruments.straggler(a.ctx, b.Step)
	}
	if d.content && b.Result != nil {
		a.contents.result(e.Seq, b.Result)
	}
	s := spanOf(open)
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
			s.span.SetAttributes(a.contents.newInput())
		}
		d.instruments.model(s.ctx, s.model, "", b.Usage, b.CostNanoUSD, took(b.Duration, s, e), 0, fault)
	} else {
		if d.content && s.span.IsRecording() {
			s.span.SetAttributes(called(s.args, b.Result)...)
		}
		d.instruments.tool(s.ctx, a.model, s.tool, took(b.Duration, s, e), fault)
	}
	end(open, e.Time)
}

// spanOf returns a step's open span; nil if there is none.
func spanOf(open *openStep) *step {
	if open == nil {
		return nil
	}
	return open.Own
}

// end ends a step's span if it is open.
func end(open *openStep, at time.Time) {
	if open.Own != nil {
		open.Own.span.End(trace.WithTimestamp(at))
		open.Own = nil
	}
}

func (a *agentSpan) endCycle(at time.Time) {
	if a.cycle != nil {
		a.cycle.End(trace.WithTimestamp(at))
		a.cycle, a.cycleCtx = nil, nil
	}
}

// finish ends the agent's open spans and its own.
func (d *drive) finish(a *agentSpan, at time.Time) {
	for open := range d.outline.Open() {
		if open.Thread.Own == a {
			end(open, at)
		}
	}
	a.endCycle(at)
	a.span.End(trace.WithTimestamp(at))
}

// closeScope ends the span of a sub-agent.
func (d *drive) closeScope(a *agentSpan, b *event.ScopeClosed, at time.Time) {
	a.span.SetAttributes(attribute.String(keyStop, string(b.Stop)), attribute.String(keyWhy, string(b.Why)))
	if b.Err != nil {
		a.span.SetAttributes(errorType(b.Err))
		a.span.SetStatus(codes.Error, "")
	}
	if d.content && a.span.IsRecording() {
		a.span.SetAttributes(a.contents.whole()...)
	}
	d.instruments.agent(a.ctx, a.model, at.Sub(a.begun), b.Err)
	d.finish(a, at)
}

// end ends the drive's spans.
func (d *drive) end(e *hook.AfterDrive) {
	root := d.outline.Thread("").Own
	now := time.Now()
	if d.ended == nil && now.After(d.newest) {
		d.newest = now
	}
	for t := range d.outline.Threads() {
		if t.Parent != nil {
			d.finish(t.Own, d.newest) // it goes on in a later drive, or nobody knows
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
		root.span.SetAttributes(root.contents.whole()...)
	}
	d.instruments.agent(root.ctx, root.model, d.newest.Sub(root.begun), fault)
	d.finish(root, d.newest)
}
