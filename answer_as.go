package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/partialjson"
)

// OutputOf reads a run's answer, which was to be JSON ([AnswerType], [AnswerSchema], [RunAs]), as
// a T. Where there is none, or it is no T, the error is an *[event.Error] of kind
// [event.ErrInvalid].
func OutputOf[T any](r *Result) (T, error) {
	var v T
	if r == nil || len(r.Output) == 0 {
		stop := event.StopReason("")
		if r != nil {
			stop = r.Stop
		}
		return v, &event.Error{
			Op: "output", Kind: event.ErrInvalid, Message: fmt.Sprintf("the run has no answer in the form of a schema (it ended with %q)", stop),
			Hint: "make the agent with AnswerType, or run it with RunAs; look at the error that Run gave",
		}
	}
	if err := json.Unmarshal(r.Output, &v); err != nil {
		return v, &event.Error{
			Op: "output", Kind: event.ErrInvalid, Message: fmt.Sprintf("the answer is no %s", reflect.TypeFor[T]()),
			Hint: "read it as the type whose schema it was asked for in", Err: err,
		}
	}
	return v, nil
}

// RunAs is [Agent.Run] with an answer that is a T: the agent is held to T's schema in this
// run, as [AnswerType] says, whatever its own answers are held to. Where the run parks or is
// cut off, T's zero value stands beside the result; go on with RunAs and an [Answer], or with
// [ResumeAs].
func RunAs[T any](ctx context.Context, a *Agent, input any, opts ...RunOption) (T, *Result, error) {
	return runAs[T](ctx, a, input, opts)
}

// ResumeAs is [Agent.Resume] with an answer that is a T; see [RunAs].
func ResumeAs[T any](ctx context.Context, a *Agent, conv *Conversation, opts ...RunOption) (T, *Result, error) {
	return runAs[T](ctx, a, resume{}, append([]RunOption{In(conv)}, opts...))
}

func runAs[T any](ctx context.Context, a *Agent, input any, opts []RunOption) (v T, r *Result, err error) {
	x, err := wanted[T](a)
	if err != nil {
		return v, &Result{}, err
	}
	r, err = a.collect(ctx, input, append(slices.Clip(opts), wants(x)))
	if err == nil && r.Status == event.RunCompleted {
		v, err = OutputOf[T](r)
	}
	return v, r, err
}

// wants holds the root's answers to x for one run.
func wants(x *answer) RunOption { return func(o *runOptions) { o.want = x } }

// wanted makes T's schema what an agent's answers can be held to.
func wanted[T any](a *Agent) (*answer, error) {
	x, err := answerFor[T](a.name)
	if err != nil {
		return nil, err
	}
	clash, err := x.clash(a.name, a.current())
	if err == nil && clash != "" {
		err = answerNamed(a.name)
	}
	if err == nil {
		err = a.canAnswer(x)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// StreamAs is [RunAs] while the answer comes in: it yields a T as far as it is known, again and
// again, and last the whole one, which keeps to the schema. Fields that are not known yet have their
// zero value; text is shown as far as it goes, numbers only when they are complete. Of a large
// answer not every piece is shown. Where a model begins its answer anew, because a call failed or
// its answer could not be used, so do the values. A type that reads its own JSON
// is left out until it can. An error is yielded last. [Into] gives the result, and a run
// that waits for a person ends without a whole value.
func StreamAs[T any](ctx context.Context, a *Agent, input any, opts ...RunOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		x, err := wanted[T](a)
		if err != nil {
			yield(zero, err)
			return
		}
		p := partial[T]{wrapped: x.tool != nil && x.tool.wrapped}
		for e, err := range a.stream(ctx, input, append(slices.Clip(opts), wants(x))) {
			if err != nil {
				yield(zero, err)
				return
			}
			v, ok, err := p.take(&e)
			if err != nil || ok {
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// partial puts the pieces of an answer together.
type partial[T any] struct {
	text partialjson.Text
	// step and attempt are the model call that the pieces are of, and block the one of its
	// blocks; called says that it is the call of the answer's tool.
	step    string
	attempt int
	block   int
	called  bool
	// wrapped says that the tool takes the answer under a key.
	wrapped bool
	// plain says that the text begins as no JSON does.
	plain bool
	// shown is how long the text was when it was shown last.
	shown int
	last  []byte
	buf   []byte
}

// take takes in an event, and gives the answer as far as it is known where that is more than before.
func (p *partial[T]) take(e *event.Event) (v T, ok bool, err error) {
	if e.Scope != "" {
		return v, false, nil
	}
	switch b := e.Body.(type) {
	case *event.TextDelta:
		p.at(e, b.Block, false)
		p.words(b.Text)
	case *event.ToolInputDelta:
		if b.Tool != AnswerTool {
			return v, false, nil
		}
		p.at(e, b.Block, true)
		p.text.Write(b.JSON)
	case *event.AnswerReplaced:
		p.step = ""
		return v, false, nil
	case *event.RunEnded:
		if len(b.Output) == 0 {
			return v, false, nil
		}
		if err := json.Unmarshal(b.Output, &v); err != nil {
			var none T
			return none, false, &event.Error{
				Op: "output", Kind: event.ErrInvalid, Message: fmt.Sprintf("the answer is no %s", reflect.TypeFor[T]()), Err: err,
			}
		}
		return v, true, nil
	default:
		return v, false, nil
	}
	// To look at a long text again for each of its pieces would cost its square.
	if n := p.text.Len(); n < p.shown+p.shown/64 || n == p.shown {
		return v, false, nil
	}
	p.shown = p.text.Len()
	v, ok = p.value()
	return v, ok, nil
}

// at begins anew where the piece is of another answer, or of another block.
func (p *partial[T]) at(e *event.Event, block int, called bool) {
	if p.step == e.Step && p.attempt == e.Attempt && p.block == block && p.called == called {
		return
	}
	p.text.Reset()
	p.step, p.attempt, p.block, p.called, p.plain, p.shown, p.last = e.Step, e.Attempt, block, called, false, 0, p.last[:0]
}

// words takes in text, which is the answer only where it begins as JSON does, but for a fence.
func (p *partial[T]) words(text string) {
	if p.plain {
		return
	}
	if p.text.Len() == 0 {
		for len(text) > 0 && p.text.Len() == 0 {
			switch c := text[0]; c {
			case ' ', '\n', '\r', '\t', '`':
			case '{', '[', '"':
				p.text.Write(text)
				return
			case 'j', 's', 'o', 'n':
				// The name of the fence.
			default:
				p.plain = true
				return
			}
			text = text[1:]
		}
		return
	}
	p.text.Write(text)
}

func (p *partial[T]) value() (v T, ok bool) {
	raw, known := p.text.Append(p.buf[:0])
	p.buf = raw[:0]
	if known && p.called && p.wrapped {
		var in map[string]json.RawMessage
		known = json.Unmarshal(raw, &in) == nil && len(in[wrapper]) > 0
		raw = in[wrapper]
	}
	if !known || bytes.Equal(raw, p.last) {
		return v, false
	}
	p.last = append(p.last[:0], raw...)
	err := json.Unmarshal(raw, &v)
	if _, mild := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mild {
		var none T
		return none, false
	}
	return v, true
}
