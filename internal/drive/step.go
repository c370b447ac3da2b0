package drive

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Work is what the driver hands to a runner: a step that has begun in the log, or the work of a foreign program on a scope.
type Work struct {
	// modelCall is set for a call of a model.
	*modelCall
	// call is set for a call of a tool.
	call *runningCall

	scope *fold.Scope
	// entry is the tool call in the fold.
	entry   *fold.Call
	agent   *Agent
	step    string
	attempt int
	begun   time.Time
	// ctx is what the step runs in where a hook says so; nil for the driver's.
	ctx context.Context //nolint:containedctx // a step lives for one call
	// bound is how long a tool may run before it is abandoned; zero for any time.
	bound time.Duration
	// end is how a tool call ends; nil for a model call.
	end *toolEnd
}

// modelWork is a call of a model in one piece.
type modelWork struct {
	Work
	own modelCall
}

// of makes the work that of a call of m.
func (w *modelWork) of(m model.Model, info *model.Info) *Work {
	w.own.model, w.own.info = m, *info
	w.modelCall = &w.own
	return &w.Work
}

// newModelWork returns the work of a call of a model.
func newModelWork(m model.Model, info *model.Info) *Work { return new(modelWork).of(m, info) }

// due returns when a running tool is abandoned; zero for never.
func (w *Work) due() time.Time {
	if w.bound <= 0 {
		return time.Time{}
	}
	return w.begun.Add(w.bound)
}

// modelCall is what a call of a model needs besides.
type modelCall struct {
	// model is the one of the agent's models that is called.
	model model.Model
	// info is what the model says of itself.
	info model.Info
	// request is what the model is asked.
	request model.Request
	// answer is how the call ends.
	answer modelEnd
	// sum is what a call for a summary is about; nil for a call that answers.
	sum *summing
	// gate guards a call that the driver may abandon; nil for a call that reports to it.
	gate *streamGate
	// left is what an abandoned call had used, as far as the model reported it; nil for nothing.
	left *event.Usage
}

// runTool runs one tool call, and leaves its end in w. It never panics.
func runTool(w *Work) {
	c, end := w.call, w.end
	called := &c.Call
	back := false
	defer func() {
		end.took = time.Since(w.begun)
		if v := recover(); v != nil {
			end.fail(foreign.Panicked("tool "+c.Name, "the tool", v))
		} else if !back {
			end.fail(foreign.EndedGoroutine("tool "+c.Name, "the tool"))
		}
	}()
	if c.traits().Timeout > 0 {
		ctx, cancel := context.WithTimeout(c.Context, c.traits().Timeout)
		defer cancel()
		called = tool.NewCall(ctx, c, c.Call)
		c.times(ctx.Done())
		defer c.times(nil) // hooks after the tool report, too
	}
	if c.reconcile {
		out, known, err := c.traits().Reconcile(called, c.Args)
		err = foreign.Sound(err)
		if known || err != nil {
			if end.out, end.err, end.unknown = out, err, !known; end.unknown {
				end.skip = skipUnknown
			}
			back = true
			return
		}
		// The outside knows nothing of it: it never happened, so it may run.
	}
	end.out, end.err = c.tool.Call(called, c.Args)
	end.err = foreign.Sound(end.err)
	back = true
}

// usedUntilLeft returns what an abandoned call is known to have used.
func (c *modelCall) usedUntilLeft() event.Usage {
	if c.left == nil {
		return event.Usage{}
	}
	return *c.left
}

// callID returns an id for a call to which the model gave no usable one.
func (w *Work) callID(i int) string {
	step := strings.NewReplacer("/", "_", ".", "_").Replace(w.step)
	return "call_" + w.request.Run + "_" + step + "_" + strconv.Itoa(i)
}

// runModel calls the model once and puts its answer together in w. Each live body goes to send, which reports whether to
// go on. A panic of the model ends the call; a panic of send is the reader's, and goes on. instead is [Work.Models].
func runModel(ctx context.Context, w *Work, a *assembler, instead func(model.Model) model.Model, send func(event.Body) bool) {
	end := &w.answer
	a.begin(w.begun, w.agent.Limits)
	defer func() {
		if a.sending {
			return
		}
		if v := recover(); v != nil {
			end.err = foreign.Panicked("model "+w.info.Name, "the model", v)
			end.message = nil
			end.takeOver(a)
		}
	}()
	stopped, model := false, w.model
	if instead != nil {
		model = instead(model)
	}
	for chunk, err := range model.Stream(ctx, &w.request) {
		if err != nil {
			end.err = foreign.Sound(err)
			break
		}
		if !w.take(a, &chunk, send) {
			stopped = true
			break
		}
		if a.full() {
			a.blocks = a.blocks[:0] // nobody can use so large a part of an answer
			end.err = &event.Error{
				Op: "model " + w.info.Name, Kind: event.ErrModel,
				Message: fmt.Sprintf("the model's answer is larger than %d bytes", w.agent.Limits.AnswerBytes),
				Hint:    "ask for less at once, or raise Limits.AnswerBytes",
			}
			break
		}
	}
	w.gate.end()
	end.took = time.Since(w.begun)
	end.takeOver(a)
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
	whole := &struct { // one piece of memory for the message and its cost
		event.AssistantMessage
		nano int64
	}{}
	m := &whole.AssistantMessage
	m.Content = a.content(w)
	m.Stop, m.Usage, m.Response, m.Model = a.stop, end.usage, a.response, a.model
	m.ThinkingDropped, m.ThinkingRefused = a.dropped, a.refused
	if m.Model == "" {
		m.Model = w.info.Name
	}
	m.Latency, m.TimeToFirstByte = end.took, a.first
	if end.known || w.info.Simulated {
		nano, known, fault := cost.Of(&w.info, end.usage)
		if end.doubt(fault); known {
			whole.nano = nano
			m.CostNanoUSD = &whole.nano
		}
	}
	end.message = m
}

// take takes in a piece of a model's answer. It reports whether the model is to go on.
func (w *Work) take(a *assembler, c *model.Chunk, send func(event.Body) bool) bool {
	if w.gate == nil {
		return a.pass(c, send)
	}
	if !w.gate.enter() {
		return false
	}
	defer w.gate.release(a)
	return a.pass(c, send)
}

// pass takes in a piece and sends what the reader is to see of it.
func (a *assembler) pass(c *model.Chunk, send func(event.Body) bool) bool {
	body := a.take(c, time.Now)
	if body == nil {
		return true
	}
	a.sending = true
	more := send(body)
	a.sending = false
	return more
}
