package braid

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// work is a step that has begun in the log and is to be run beside the driver.
type work struct {
	// addressee is whom a model call is for; nil for a tool's.
	*addressee

	scope *fold.Scope
	// call is set for a tool, nil for a model.
	call    *runningCall
	entry   *fold.Call
	agent   *Agent
	step    string
	attempt int
	begun   time.Time
	// ctx is what it runs in where a hook says so; nil for the driver's.
	ctx context.Context //nolint:containedctx // a step lives for one call
	// bound is how long a tool may run before it is left behind; zero means for ever.
	bound time.Duration
	// end is how a tool ends; nil for a model.
	end *toolEnd
}

// due is when a tool that runs is left behind; zero means never.
func (w *work) due() time.Time {
	if w.bound <= 0 {
		return time.Time{}
	}
	return w.begun.Add(w.bound)
}

// modelWork is a model call in one piece of memory.
type modelWork struct {
	work
	whom addressee
	own  ModelRequest
	end  modelEnd
}

// free gives a work's memory back that came to nothing.
func (w *modelWork) free() { *w = modelWork{} }

// addressee is the model that a call goes to.
type addressee struct {
	// model is the one of the agent's that is called, info what it says of itself.
	model Model
	info  ModelInfo
	// request is what it is asked, answer how it ends.
	request *ModelRequest
	answer  *modelEnd
	// sum is what a call for a summary is about; nil for one that answers.
	sum *summing
	// turn guards a call that the driver may leave behind while it sends by itself.
	turn *turn
	// left is what a call that was left behind had used, as far as the model reported it.
	left event.Usage
}

// arrival is what a running step sends the driver: a live body, or its end.
type arrival struct {
	call *runningCall
	work *work
	live event.Body
}

// modelEnd is how a model call ended: with a message, or with an error.
type modelEnd struct {
	message *event.AssistantMessage
	err     error
	took    time.Duration
	// usage is what is known to have been used, where known is set; partial is
	// what had been said before an error.
	usage   event.Usage
	known   bool
	partial []event.Block
	// faults name what was impossible in the usage and the cost that the model reported.
	faults []string
	// again and wait say that a hook wants the call made once more, and when.
	again bool
	wait  time.Duration
	// begun says that something of an answer came; taken is what a guardrail puts
	// in place of the person's newest message, empty for nothing.
	begun bool
	taken string
	// guardedBy names the guardrails that have taken something out of the answer.
	guardedBy []string
}

// modelAnswer is a model's message and what it cost in one piece of memory.
type modelAnswer struct {
	event.AssistantMessage
	cost int64
}

// runTool runs one tool call to its end, which it leaves in w. It never panics.
func runTool(w *work) {
	c, end := w.call, w.end
	back := false
	defer func() {
		end.took = time.Since(w.begun)
		if v := recover(); v != nil {
			end.fail(panicked("tool "+c.Name, "the tool", v))
		} else if !back {
			end.fail(endedGoroutine("tool "+c.Name, "the tool"))
		}
	}()
	if c.traits.Timeout > 0 {
		ctx, cancel := context.WithTimeout(c.Context, c.traits.Timeout)
		defer cancel()
		c.Context = ctx
	}
	if c.reconcile {
		out, known, err := c.traits.Reconcile(c, c.Args)
		err = sound(err)
		if known || err != nil {
			if end.out, end.err, end.unknown = out, err, !known; end.unknown {
				end.skip = skipUnknown
			}
			back = true
			return
		}
		// The outside knows nothing of it: it never happened, so it may run.
	}
	end.out, end.err = c.tool.Call(c, c.Args)
	end.err = sound(end.err)
	back = true
}

// callID names a call that the model gave no usable id.
func (w *work) callID(i int) string {
	step := strings.NewReplacer("/", "_", ".", "_").Replace(w.step)
	return "call_" + w.request.Run + "_" + step + "_" + strconv.Itoa(i)
}

// runModel calls the model once and puts its answer together; the end is left in
// w. Each live body goes to send, which says whether to go on. A panic of the model is its
// end; one of send is the reader's, and goes on. instead is [Work.Models].
func runModel(ctx context.Context, w *work, a *assembler, instead func(Model) Model, send func(event.Body) bool) {
	end := w.answer
	a.begin(w.begun, &w.agent.limits)
	defer func() {
		if a.sending {
			return
		}
		if v := recover(); v != nil {
			end.err = panicked("model "+w.info.Name, "the model", v)
			end.message = nil
			end.heard(a)
		}
	}()
	stopped, model := false, w.model
	if instead != nil {
		model = instead(model)
	}
	for chunk, err := range model.Stream(ctx, w.request) {
		if err != nil {
			end.err = sound(err)
			break
		}
		if !w.take(a, &chunk, send) {
			stopped = true
			break
		}
		if a.full() {
			a.blocks = a.blocks[:0] // so large a part of an answer is of no use to anybody
			end.err = &event.Error{
				Op: "model " + w.info.Name, Kind: event.ErrModel,
				Message: fmt.Sprintf("the model's answer is larger than %d bytes", w.agent.limits.AnswerBytes),
				Hint:    "ask for less at once, or raise Limits.AnswerBytes",
			}
			break
		}
	}
	w.turn.over()
	end.took = time.Since(w.begun)
	end.heard(a)
	switch {
	case stopped:
		end.err = context.Canceled
	case end.err == nil && a.stop == "":
		end.err = &event.Error{
			Op: "model " + w.info.Name, Kind: event.ErrStreamCut,
			Message: "the model's answer ended without its terminal signal",
		}
		if ctx.Err() != nil {
			end.err = ctx.Err()
		}
	case end.err == nil && a.fault != nil:
		end.err = &event.Error{
			Op: "model " + w.info.Name, Kind: event.ErrModel, Message: "the model gave a block that cannot be kept", Err: a.fault,
		}
	}
	if end.err != nil {
		a.stop = event.StopCancelled
		end.partial = a.content(w)
		return
	}
	// The order counts: content may change the stop reason.
	m := &modelAnswer{}
	m.Content = a.content(w)
	m.Stop, m.Usage, m.Response, m.Model = a.stop, end.usage, a.response, a.model
	m.ThinkingDropped, m.ThinkingRefused = a.dropped, a.refused
	if m.Model == "" {
		m.Model = w.info.Name
	}
	m.Latency, m.TimeToFirstByte = end.took, a.first
	if end.known || w.info.Simulated {
		nano, known, fault := priceOf(&w.info, end.usage)
		if end.doubt(fault); known {
			m.cost = nano
			m.CostNanoUSD = &m.cost
		}
	}
	end.message = &m.AssistantMessage
}

// fail ends the call with err alone.
func (e *modelEnd) fail(err error) { e.message, e.err, e.again = nil, err, false }

// heard takes over what is known of a call however it ended.
func (e *modelEnd) heard(a *assembler) {
	e.usage, e.known, e.faults = a.used(), a.hasUsage, a.faults
	e.begun, e.taken = a.heard(), a.taken
}

// modelError makes a model's error one of ours. The text of a plain Go error stays in the cause: it may
// name addresses and keys, and events and streams go to others than the operator.
func modelError(name string, err error) *event.Error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	kind := event.KindOf(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind = event.ErrTimeout
	case errors.Is(err, context.Canceled):
		kind = event.ErrCancelled
	case kind == event.ErrInternal:
		kind = event.ErrModel
	}
	return &event.Error{Op: "model " + name, Kind: kind, Message: "the model failed", Err: err}
}
