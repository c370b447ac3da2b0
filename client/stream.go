package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/wire/native"
)

// stream is the stream of a run or of a whole conversation, over any number of connections.
type stream struct {
	client       *Client
	ctx          context.Context //nolint:containedctx // a stream lives for one loop of its reader
	conversation string
	// run is known once the run has begun.
	run string
	// body starts the run.
	body []byte
	// key is the idempotency key of that request.
	key string
	// continues names the run that the new one continues; empty means none.
	continues string
	// endless streams show one run after another.
	endless bool
	ask     func(context.Context, *native.Question) (any, error)
	place   *string
	yield   func(native.Frame, error) bool

	// last is the id of the last frame that was yielded.
	last string
	// held are the frames after it whose id has not come yet.
	held []native.Frame
	// refused is set if the server refused to repeat the request of an accepted run.
	refused bool
	// failures counts the connections in a row that brought nothing.
	failures int
}

// follow connects until the run has ended, the reader leaves, or nothing helps.
func (s *stream) follow() {
	for {
		over, brought, err := s.connect()
		switch {
		case over:
			return
		case s.ctx.Err() != nil:
			s.yield(nil, broken(s.ctx, s.ctx.Err()))
			return
		case err != nil && !passes(err):
			s.yield(nil, err)
			return
		case brought:
			s.failures = 0
		default:
			s.failures++
		}
		if err == nil && !brought && s.body == nil && !s.endless {
			// The stream was closed and not cut. It may have nothing more to send.
			if over, err = s.behind(); over {
				return
			}
		}
		if s.failures >= s.client.options.Tries {
			if err == nil {
				err = broken(s.ctx, io.ErrUnexpectedEOF)
			}
			s.yield(nil, err)
			return
		}
		if !s.pause(err) {
			s.yield(nil, broken(s.ctx, s.ctx.Err()))
			return
		}
	}
}

// passes reports whether an error may be temporary.
func passes(err error) bool {
	switch event.KindOf(err) {
	case event.ErrUnavailable, event.ErrLeaseLost, event.ErrOverloaded:
		return true
	default:
		return false
	}
}

// behind reports whether the reader started after the end of its run. It yields an error that is
// not temporary.
func (s *stream) behind() (over bool, err error) {
	run, err := s.client.GetRun(s.ctx, s.conversation, s.run)
	if err == nil && !run.Status.Ended() {
		return false, nil
	}
	at := native.Cursor{}
	if err == nil && s.last != "" {
		at, err = native.ParseCursor(s.last)
	}
	if err == nil {
		for e, bad := range s.client.Events(s.ctx, s.conversation, at.Seq) {
			if bad == nil && e.Run == s.run {
				return false, nil
			}
			err = bad
		}
	}
	if err != nil && (passes(err) || s.ctx.Err() != nil) {
		return false, err
	}
	if err != nil {
		s.yield(nil, err)
	}
	return true, nil
}

// pause waits before the next attempt. It returns false if the reader has left.
func (s *stream) pause(err error) bool {
	wait := min(s.client.options.Wait<<min(s.failures, 16), MostWait)
	wait -= rand.N(wait/2 + 1) //nolint:gosec // spreads the clients
	if e, ok := errors.AsType[*event.Error](err); ok {
		wait = max(wait, min(e.RetryAfter, time.Minute))
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// connect reads one connection to its end. over reports that nothing more is to be yielded, brought
// that the connection delivered something. err is nil if the server closed the stream.
func (s *stream) connect() (over, brought bool, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	alarm := time.AfterFunc(s.client.options.Timeout, cancel)
	defer alarm.Stop()
	res, err := s.open(ctx)
	if err != nil {
		if s.ctx.Err() == nil && ctx.Err() != nil { // the alarm
			err = broken(s.ctx, err)
		}
		return false, false, err
	}
	defer res.Body.Close()
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		return false, false, foreign(err)
	}
	if id := res.Header.Get("X-Run-Id"); s.run == "" && !s.endless {
		s.run = id
	}
	begun := time.Now()
	s.held = s.held[:0]
	r := sse.NewReader(&watched{from: res.Body, alarm: alarm, silence: s.client.options.Silence}, sse.Limits{})
	for {
		e, err := r.Next()
		if err != nil {
			brought = brought || time.Since(begun) > MostWait
			if errors.Is(err, io.EOF) {
				return false, brought, nil
			}
			if large, ok := errors.AsType[*sse.TooLargeError](err); ok {
				return false, brought, &event.Error{
					Op: "client", Kind: event.ErrTooLarge, Message: large.Error(), Hint: "look at what the server sends",
				}
			}
			return false, brought, broken(s.ctx, err)
		}
		f, err := native.Decode(e.Name, e.Data)
		if err != nil {
			return false, brought, err
		}
		if f != nil {
			s.held = append(s.held, f)
		}
		if !e.Fresh {
			continue
		}
		brought = true
		if s.deliver(e.ID) {
			return true, true, nil
		}
	}
}

// open requests the stream: it starts the run, or continues where the stream was.
func (s *stream) open(ctx context.Context) (*http.Response, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	// Until something was delivered, send the same request again. Its stream is complete, so that
	// the deltas of every answer add up.
	begins := s.body != nil && (s.run == "" || s.last == "" && !s.refused)
	if !plain(s.conversation) || !begins && !s.endless && !plain(s.run) {
		return nil, nothing()
	}
	if begins {
		header.Set("Idempotency-Key", s.key)
		to := path("conversations", s.conversation, "runs")
		if s.continues != "" {
			to = path("conversations", s.conversation, "runs", s.continues, "retry")
		}
		res, err := s.client.send(ctx, http.MethodPost, to, nil, s.body, header)
		if err == nil || s.run == "" || passes(err) || ctx.Err() != nil {
			return res, err
		}
		s.refused = true // for example, its conversation was archived; the run exists
	}
	if s.last != "" {
		header.Set("Last-Event-ID", s.last)
	}
	to := path("conversations", s.conversation, "stream")
	if !s.endless {
		to = path("conversations", s.conversation, "runs", s.run, "stream")
	}
	return s.client.send(ctx, http.MethodGet, to, url.Values{}, nil, header)
}

// start starts the run without a stream.
func (s *stream) start() (RunState, error) {
	if !plain(s.conversation) {
		return RunState{}, nothing()
	}
	for {
		run, err := s.accept()
		if err == nil || !passes(err) || s.ctx.Err() != nil {
			return run, err
		}
		if s.failures++; s.failures >= s.client.options.Tries || !s.pause(err) {
			return run, err
		}
	}
}

func (s *stream) accept() (RunState, error) {
	ctx, stop := context.WithTimeout(s.ctx, s.client.options.Timeout)
	defer stop()
	header := http.Header{"Accept": {"application/json"}, "Prefer": {"respond-async"}, "Idempotency-Key": {s.key}}
	res, err := s.client.send(ctx, http.MethodPost, path("conversations", s.conversation, "runs"), nil, s.body, header)
	if err != nil {
		return RunState{}, err
	}
	defer res.Body.Close()
	var run RunState
	if err := json.NewDecoder(io.LimitReader(res.Body, mostError)).Decode(&run); err != nil {
		return RunState{}, foreign(err)
	}
	return run, nil
}

// deliver yields the frames of an event that is complete now. It returns true if there is nothing
// more to do.
func (s *stream) deliver(id string) bool {
	held := slices.Clone(s.held)
	s.held = s.held[:0]
	for _, f := range held {
		var err error
		switch f := f.(type) {
		case *native.Init:
			if s.run == "" && !s.endless {
				s.run = f.RunID
			}
		case *native.Error:
			if !s.endless {
				e := f.Err()
				e.Op = "run"
				err = e
			}
		}
		if !s.yield(f, err) || err != nil {
			return true
		}
	}
	s.last = id
	if s.place != nil {
		*s.place = id
	}
	for _, f := range held {
		if native.Terminal(f) && !s.endless {
			return true
		}
		if q, ok := f.(*native.Question); ok && s.ask != nil && s.answer(q) {
			return true
		}
	}
	return false
}

// answer calls Ask for a question that is still open. It returns true if that failed.
func (s *stream) answer(q *native.Question) bool {
	open, err := s.client.Questions(s.ctx, s.conversation)
	if err == nil && !slices.ContainsFunc(open, func(o native.Question) bool { return o.QuestionID == q.QuestionID }) {
		return false
	}
	var value any
	if err == nil {
		value, err = s.ask(s.ctx, q)
	}
	if err == nil {
		err = s.client.Answer(s.ctx, s.conversation, q.QuestionID, value)
	}
	switch event.KindOf(err) {
	case "", event.ErrGone, event.ErrConflict: // another client was faster
		return false
	}
	s.yield(nil, err)
	return true
}

// watched is a reader that triggers the alarm after a long silence.
type watched struct {
	from    io.Reader
	alarm   *time.Timer
	silence time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.alarm.Reset(w.silence)
	n, err := w.from.Read(p)
	w.alarm.Stop() // a slow reader is not the server's fault
	return n, err
}
