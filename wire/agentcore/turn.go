package agentcore

import (
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/story"
)

// A request and a run are not the same: an interrupted run continues in another request, and a
// stream may break off before its run ends.

// AppendResumed begins the stream of a request that answers the questions of a waiting run. The
// encoder must have the run's events so far, whose bytes are not sent again.
func (enc *Encoder) AppendResumed(dst []byte) []byte {
	enc.dst = dst
	s := enc.main()
	enc.plain(s, `{"init_event_loop": true}`)
	enc.plain(s, `{"start": true}`)
	enc.plain(s, `{"start_event_loop": true}`)
	s.cycles = max(s.cycles, 1)
	dst, enc.dst = enc.dst, nil
	return dst
}

// AppendInterrupted appends the result of a run that waits for answers. Strands ends the stream
// there and continues in another request.
func (enc *Encoder) AppendInterrupted(dst []byte, _ []event.Question) []byte {
	enc.dst = dst
	enc.result(enc.main(), event.StopQuestion)
	dst, enc.dst = enc.dst, nil
	return dst
}

// AppendNotice appends why the run makes no progress for now: {"notice": {"code", "message"}}.
// Strands has no such event, and its clients ignore unknown keys.
func (enc *Encoder) AppendNotice(dst []byte, code, message string) []byte {
	enc.dst = dst
	s := enc.main()
	enc.begin(s, `{"notice": {"code": `)
	enc.str(code)
	enc.raw(`, "message": `)
	enc.str(message)
	enc.end(s, `}}`)
	dst, enc.dst = enc.dst, nil
	return dst
}

// Skip records an item that an earlier stream has sent.
func (enc *Encoder) Skip(it *story.Item) { enc.Append(nil, it) }

// Idle appends nothing, because the Python program sends nothing while it waits.
func (*Encoder) Idle(dst []byte) []byte { return dst }

// Fail ends a stream whose run continues, as AppendBroken does.
func (enc *Encoder) Fail(dst []byte, err error) []byte {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.Kind != event.ErrUnauthenticated {
		e = Kept(err)
	}
	return enc.AppendBroken(dst, e)
}

// Kept returns the error for a reader whose stream ends because of err while the run continues.
func Kept(err error) *event.Error {
	return &event.Error{Kind: event.ErrUnavailable, Message: "the server ends the stream; the run is kept", Err: err}
}

// AppendBroken ends a stream that breaks off before the end of its run, with the frame that the
// Python program sends when it fails.
func (enc *Encoder) AppendBroken(dst []byte, err *event.Error) []byte {
	enc.dst = dst
	message, class := faultOf(err)
	enc.fault(enc.main(), message, class)
	dst, enc.dst = enc.dst, nil
	return dst
}

// AppendResult appends the result of a run as one JSON value without a line end, for a request
// that wants no stream. It is {"result": …} as in the stream's last frame, with the structured
// output and the open questions. The encoder must have the run's events, whose bytes are not
// needed. end is nil for a waiting run.
func (enc *Encoder) AppendResult(dst []byte, end *event.RunEnded, open []event.Question) []byte {
	enc.dst = dst
	stop := event.StopQuestion
	if end != nil {
		stop = end.Stop
	}
	enc.raw(`{"result": `)
	enc.agentResult(enc.main(), stop)
	if end != nil && len(end.Output) > 0 {
		enc.raw(`, "structured_output": `)
		enc.value(end.Output)
	}
	for i := range open {
		if i == 0 {
			enc.raw(`, "interrupts": [`)
		} else {
			enc.raw(", ")
		}
		enc.interrupt(&open[i].Asked)
		if i == len(open)-1 {
			enc.raw("]")
		}
	}
	enc.raw("}}")
	dst, enc.dst = enc.dst, nil
	return dst
}
