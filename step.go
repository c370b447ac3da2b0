package braid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
)

// work is a step that has begun in the log and is to be run beside the driver.
type work struct {
	// addressee is whom a model call is for; nil for a tool's.
	*addressee

	scope *fold.Scope
	// call is set for a tool, nil for a model.
	call    *Call
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

// toolWork and modelWork are what a work is made of, in one piece of memory.
type toolWork struct {
	work
	own   Call
	ended toolEnd
}

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
	call *Call
	work *work
	live event.Body
}

// toolEnd is how a tool call ended.
type toolEnd struct {
	out  Output
	err  error
	took time.Duration
	// made and failure are the result that hooks have seen, and the error that stands
	// beside it; again says that one wants the call made once more.
	made    *toolEnded
	failure *event.Error
	again   bool
	// unknown is set where the outside could not tell what became of an earlier
	// attempt, so that this one was not made.
	unknown bool
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
	// siftedBy are the guardrails that have taken something out of the answer.
	siftedBy []string
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
			end.out, end.err, end.unknown = out, err, !known
			back = true
			return
		}
		// The outside knows nothing of it: it never happened, so it may run.
	}
	end.out, end.err = c.tool.Call(c, c.Args)
	end.err = sound(end.err)
	back = true
}

// fail makes err the call's only result.
func (e *toolEnd) fail(err error) {
	e.out, e.err, e.made, e.failure, e.again = Output{}, err, nil, nil, false
}

// result turns a tool's end into what the model is shown. Failures are results
// too: they never end the run.
func (e *toolEnd) result(c *Call, limit int, r *event.ToolResult) *event.Error {
	return c.sift(r, e.raw(c, limit, r))
}

// raw is the result before guardrails have seen it.
func (e *toolEnd) raw(c *Call, limit int, r *event.ToolResult) *event.Error {
	r.Call, r.Name = c.ID, c.Name
	if e.err != nil {
		kind, text := toolFailure(c, e.err, e.took)
		r.IsError = true
		r.Content = []event.Block{&event.Text{Text: text}}
		if bad := fit(c, limit, r); bad != nil {
			return bad
		}
		return &event.Error{Op: "tool " + c.Name, Kind: kind, Message: strings.TrimPrefix(text, "Error: "), Err: e.err}
	}
	r.Content, r.Structured, r.IsError = e.out.Content, e.out.Structured, e.out.IsError
	if len(r.Content) == 0 {
		text := "done"
		if len(r.Structured) > 0 {
			text = string(r.Structured)
		}
		r.Content = []event.Block{&event.Text{Text: text}}
	}
	return fit(c, limit, r)
}

// maxResultBlocks bounds the blocks of one result: each costs memory, rows and bytes on the wire, also an empty one.
const maxResultBlocks = 1000

// fit makes a result one that the model can be shown and every log keep, and gives the
// error where it was none.
func fit(c *Call, limit int, r *event.ToolResult) *event.Error {
	if hasNil(r.Content) {
		return unkept(c, r, errNilBlock)
	}
	text := ""
	if n := bytesOf(r.Content) + len(r.Structured); limit > 0 && n > limit {
		text = fmt.Sprintf("Error: the result is %s long, the limit is %s. Ask for less.", size(n), size(limit))
	} else if len(r.Content) > maxResultBlocks {
		text = fmt.Sprintf("Error: the result has %d blocks, the limit is %d. Ask for less.", len(r.Content), maxResultBlocks)
	}
	if text != "" {
		r.IsError, r.Structured = true, nil
		r.Content = []event.Block{&event.Text{Text: text}}
		return &event.Error{Op: "tool " + c.Name, Kind: event.ErrTooLarge, Message: strings.TrimPrefix(text, "Error: ")}
	}
	if err := keepable(r); err != nil {
		return unkept(c, r, err)
	}
	return nil
}

var errNilBlock = errors.New("one of its blocks is nil")

// unkept puts an error in the place of a result that no log can keep.
func unkept(c *Call, r *event.ToolResult, err error) *event.Error {
	text := "Error: the tool's result cannot be kept: " + err.Error() + "."
	r.IsError, r.Structured = true, nil
	r.Content = []event.Block{&event.Text{Text: text}}
	return &event.Error{Op: "tool " + c.Name, Kind: event.ErrInvalid, Message: strings.TrimPrefix(text, "Error: "), Err: err}
}

// keepable makes a result one that every log can keep: bad UTF-8 is replaced, and
// what has no JSON is told. The tool's own slice is left as it is.
func keepable(r *event.ToolResult) error {
	if len(r.Structured) > 0 {
		if err := strictjson.Check(r.Structured, strictjson.DefaultDepth); err != nil {
			return err
		}
	}
	own := true
	for i, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			v := validText(b.Text)
			if v == b.Text {
				continue
			}
			if own {
				r.Content, own = slices.Clone(r.Content), false
			}
			r.Content[i] = &event.Text{Text: v, Signature: b.Signature}
		case *event.Image, *event.Document, *event.Media:
		default:
			if _, err := event.AppendBlock(nil, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// toolFailure finds the kind of a tool's error and the words for the model.
func toolFailure(c *Call, err error, took time.Duration) (event.ErrorKind, string) {
	var args *argumentsError
	switch {
	case errors.As(err, &args):
		return event.ErrInvalid, "Error: " + validText(args.Error())
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(c.Err(), context.DeadlineExceeded):
		if c.traits.Timeout <= 0 || took < c.traits.Timeout {
			return event.ErrTimeout, "Error: the run's time was over before the tool had finished."
		}
		return event.ErrTimeout, fmt.Sprintf("Error: the tool did not finish within %v.", c.traits.Timeout)
	case errors.Is(err, context.Canceled):
		return event.ErrCancelled, "Error: the tool was cancelled."
	}
	kind := event.KindOf(err)
	var e *event.Error
	if errors.As(err, &e) && e.Message != "" {
		text := "Error: " + e.Message
		if e.Hint != "" {
			text += " (" + e.Hint + ")"
		}
		return kind, validText(text)
	}
	return kind, "Error: " + strings.TrimPrefix(validText(err.Error()), "Error: ")
}

// bytesOf is the size of the blocks' payload.
func bytesOf(blocks []event.Block) int {
	n := 0
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += len(b.Text)
		case *event.Image:
			n += len(b.Data)
		case *event.Document:
			n += len(b.Data) + len(b.Text)
		case *event.UnknownBlock:
			n += len(b.Raw)
		}
	}
	return n
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
