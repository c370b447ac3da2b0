package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire/native"
)

// stream is one reader of a conversation, or of one run of it. The request's own
// goroutine does everything: it takes all that is ready, makes one piece of bytes of
// it and writes that, so that what is there is never held back and a burst costs one
// write. Whoever reads too slowly is cut back to a snapshot by the bus, and nobody
// waits for them.
type stream struct {
	server       *Server
	who          service.Principal
	conversation string
	// run is the one to be shown; empty shows all of them and never ends.
	run    string
	cursor native.Cursor
	// complete is for readers that begin with the run and know the seed's frames alone.
	complete bool

	follower *live.Follower
	// early is what was read of the follower before the stream began.
	early   []live.Item
	encoder *native.Encoder
	// titled says that the conversation has a title; untitled is until when a stream of all runs looks for
	// one that is being made.
	titled   bool
	untitled time.Time
	// notices says why nothing comes of the run.
	notices service.RunNotices
	// over is set once the run's terminal frame was sent, and where the server itself ends
	// the stream: then its reader did not leave.
	over bool
}

// streamPage is how many events are taken from the follower at a time; what is ready behind
// them goes into the same write until that has about streamBytes.
const (
	streamPage  = 16
	streamBytes = 32 << 10
)

func (s *Server) streamConversation(w http.ResponseWriter, r *http.Request) error {
	st := &stream{server: s, who: who(r), conversation: r.PathValue("id")}
	return st.attach(w, r)
}

func (s *Server) streamRun(w http.ResponseWriter, r *http.Request) error {
	run, err := s.service.GetRun(r.Context(), who(r), r.PathValue("id"), r.PathValue("run"))
	if err != nil {
		return err
	}
	st := &stream{server: s, who: who(r), conversation: r.PathValue("id"), run: run.ID}
	return st.attach(w, r)
}

// attach begins a stream where its reader was, or at the beginning.
func (st *stream) attach(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "after")
	if err != nil {
		return err
	}
	at, err := lastEventID(r)
	if after, ok := values["after"]; ok && at == nil && err == nil {
		st.cursor, err = native.ParseCursor(after)
	}
	if err != nil {
		return err
	}
	if at != nil {
		st.cursor = *at
	}
	if err := st.prepare(r.Context()); err != nil {
		return err
	}
	return st.send(w, r)
}

// begin takes the place of prepare where the follower was there before the run: the
// reader has nothing of it.
func (st *stream) begin(f *live.Follower, titled bool) {
	st.encoder = native.NewEncoder(st.conversation)
	st.encoder.SkipTo(st.cursor.Seq)
	st.follower, st.titled = f, titled
}

// prepare finds out everything that can go wrong before the first byte is sent.
func (st *stream) prepare(ctx context.Context) error {
	st.encoder = native.NewEncoder(st.conversation)
	if st.cursor.Epoch > 0 {
		if err := st.server.service.CheckEpoch(ctx, st.who, st.conversation, st.cursor.Epoch); err != nil {
			return err
		}
	}
	var err error
	st.follower, st.titled, err = st.server.service.Attach(ctx, st.who, st.conversation, st.cursor.Seq)
	if err != nil {
		return err
	}
	if err = st.skip(ctx); err == nil {
		err = st.ahead(ctx)
	}
	if err != nil {
		st.follower.Close()
	}
	return err
}

// ahead reads what is there, so that a conversation that cannot be read is refused before the stream begins.
func (st *stream) ahead(ctx context.Context) error {
	items := make([]live.Item, streamPage)
	n, err := st.follower.ReadBy(ctx, items, time.Now())
	st.early = items[:n]
	return err
}

// skip tells the encoder of what the reader has of the run that is under way there.
func (st *stream) skip(ctx context.Context) error {
	const page = 512
	for after := int64(0); after < st.cursor.Seq; {
		events, err := st.server.service.Events(ctx, st.who, st.conversation, after, page)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Seq > st.cursor.Seq {
				return nil
			}
			after = e.Seq
			if st.shows(e) {
				st.encoder.Skip(e)
			}
			if _, ok := e.Body.(*event.RunEnded); ok && e.Run == st.run {
				st.over = true
			}
		}
		if len(events) == 0 {
			break
		}
	}
	st.encoder.SkipTo(st.cursor.Seq)
	return nil
}

func (st *stream) shows(e *event.Event) bool { return st.run == "" || e.Run == st.run }

// send writes the stream. Once its head is out no error is returned: what goes wrong is
// told on the stream itself.
func (st *stream) send(w http.ResponseWriter, r *http.Request) error {
	defer st.follower.Close()
	s := st.server
	ctx, unwatch := s.door.Watch(r.Context(), callerOf(r))
	defer unwatch()
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	st.encoder.RequestID = idOf(r)
	st.encoder.Complete = st.complete

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold back what is there
	w.WriteHeader(http.StatusOK)
	if a, ok := w.(*answer); ok {
		w = a.ResponseWriter // what there was to remember has been said
	}
	control := http.NewResponseController(w)
	out := writer{w: w, control: control, time: s.options.WriteTime, metrics: s.metrics}
	defer out.count()
	if err := out.write(nil); err != nil {
		return nil
	}

	var items [streamPage]live.Item
	var buf []byte
	for !st.over {
		n, err := st.read(ctx, &out, items[:])
		switch ended := door.Ended(ctx); {
		case ended != nil:
			_ = out.write(st.shut(buf[:0], ended, idOf(r))) // it is the last thing that can be said
			return nil
		case err == nil && n == 0:
			continue
		case err != nil && ctx.Err() != nil:
			return nil // the reader has gone
		case err != nil:
			buf = st.interrupted(buf[:0], err, idOf(r))
			_ = out.write(buf) // it is the last thing that can be said
			return nil
		}
		buf = buf[:0]
		for n > 0 && !st.over {
			for i := range items[:n] {
				if buf = st.append(ctx, buf, &items[i]); st.over {
					break
				}
			}
			clear(items[:n]) // an event must not be kept for as long as nothing comes
			if n == len(items) && len(buf) < streamBytes {
				n = st.follower.Ready(items[:])
			} else {
				n = 0
			}
		}
		if len(buf) == 0 {
			continue
		}
		if err := out.write(buf); err != nil {
			return nil
		}
		if cap(buf) > 1<<20 {
			buf = nil // one large event must not be paid for as long as the stream lives
		}
	}
	return nil
}

// read waits for items, and says that the stream is alive while there are none.
func (st *stream) read(ctx context.Context, out *writer, items []live.Item) (int, error) {
	if n := copy(items, st.early); n > 0 {
		st.early = nil
		st.notices.Came()
		return n, nil
	}
	beat := out.last.Add(st.server.options.Heartbeat)
	by := beat
	if due := st.notices.Due(); st.run != "" && due.Before(by) {
		by = due
		if due.IsZero() {
			by = time.Now() // a run that is queued says so at once
		}
	}
	if look := time.Now().Add(titleLook); !st.untitled.IsZero() && look.Before(by) {
		by = look
	}
	n, err := st.follower.ReadBy(ctx, items, by)
	if n > 0 || err != nil {
		st.notices.Came()
		return n, err
	}
	if !st.untitled.IsZero() {
		if buf := st.late(ctx); len(buf) > 0 {
			return 0, out.write(buf)
		}
		if time.Now().Before(beat) {
			return 0, nil
		}
	}
	var buf []byte
	if by != beat {
		if code, says := st.notices.Look(st.server.service, st.run); code != "" {
			buf = native.AppendFrame(buf, &native.Notice{Code: code, Message: says})
		}
	} else {
		buf = sse.AppendComment(buf, "keep-alive")
	}
	if len(buf) == 0 {
		return 0, nil
	}
	return 0, out.write(buf)
}

// append makes the bytes of one item.
func (st *stream) append(ctx context.Context, buf []byte, item *live.Item) []byte {
	if item.Sync != nil {
		if item.Sync.Missed > 0 {
			st.server.metrics.cuts.Inc()
		}
		for i := range item.Sync.Steps {
			if step := &item.Sync.Steps[i]; st.run == "" || step.Run == st.run {
				buf = st.encoder.AppendSnapshot(buf, step)
			}
		}
		return buf
	}
	e := item.Event
	if !st.shows(e) {
		if !e.Live() {
			st.encoder.SkipTo(e.Seq)
		}
		return buf
	}
	if b, ok := e.Body.(*event.RunEnded); ok {
		buf = st.title(ctx, buf, b)
		st.over = st.run != ""
	}
	return st.encoder.Append(buf, e)
}

// title tells of the title that the first completed run gives its conversation. The result does not wait for one that a
// model is making.
func (st *stream) title(ctx context.Context, buf []byte, b *event.RunEnded) []byte {
	if st.titled || b.Status != event.RunCompleted {
		return buf
	}
	title, err := st.server.service.Title(ctx, st.who, st.conversation)
	if err != nil || title == "" {
		if st.run == "" { // the stream goes on: it reports the title once it is there
			st.untitled = time.Now().Add(titlePatience)
		}
		return buf
	}
	st.titled, st.untitled = true, time.Time{}
	return native.AppendFrame(buf, &native.Title{Title: title})
}

// How often, and for how long after a run's end, a stream of all runs looks for a title that is being made.
const (
	titleLook     = time.Second
	titlePatience = 30 * time.Second
)

// late gives the frame of a title that was made after the run's end.
func (st *stream) late(ctx context.Context) []byte {
	title, err := st.server.service.Title(ctx, st.who, st.conversation)
	if err == nil && title != "" {
		st.titled, st.untitled = true, time.Time{}
		return native.AppendFrame(nil, &native.Title{Title: title})
	}
	if time.Now().After(st.untitled) {
		st.untitled = time.Time{}
	}
	return nil
}

// interrupted says why a stream ends before its run does: the reader is to come again.
func (st *stream) interrupted(buf []byte, err error, request string) []byte {
	st.over = true
	status, detail := explain(err, request)
	if status == http.StatusNotFound && st.run != "" { // it was deleted, and the run's end with it
		return native.AppendFrame(buf, &detail)
	}
	if status == http.StatusNotFound {
		return native.AppendFrame(buf, &native.Notice{Code: detail.Code, Message: detail.Message + " any more"})
	}
	st.server.log.Warn("a stream was interrupted", "request", request, "error", err)
	return native.AppendFrame(buf, &native.Notice{Code: "STREAM_INTERRUPTED", Message: detail.Message + ": connect again with the last id"})
}

// shut ends the stream of a reader whose credential has ended. The run goes on: who may
// read it comes again, and who may not is told so.
func (st *stream) shut(buf []byte, why *event.Error, request string) []byte {
	st.over = true
	_, detail := explain(why, request)
	return native.AppendFrame(buf, &detail)
}

// collect waits for the run's end and answers with it as one JSON. A run that
// waits for a person is answered with 202 and what it asks.
func (st *stream) collect(w http.ResponseWriter, r *http.Request) error {
	ctx, unwatch := st.server.door.Watch(r.Context(), callerOf(r))
	defer unwatch()
	end, err := st.terminal(ctx)
	if ended := door.Ended(ctx); ended != nil {
		st.over = true // the server ends it, and its reader did not leave
		return ended
	}
	if err != nil {
		return err
	}
	switch end := end.(type) {
	case *native.Result:
		status := http.StatusOK
		if end.Error != nil && end.Error.Code == event.ErrTimeout.Info().Code {
			status = http.StatusGatewayTimeout
		}
		st.over = true
		writeJSON(w, status, end)
	case *native.Error:
		end.RequestID = idOf(r)
		status := http.StatusInternalServerError
		for _, c := range native.Codes() {
			if c.Code == end.Code {
				status = c.HTTP
			}
		}
		st.over = true
		if end.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(end.RetryAfter))
		}
		door.Exhausted(w.Header(), end.Err())
		writeJSON(w, status, native.ErrorBody{Error: *end})
	case *native.Question:
		st.over = true // it waits for a person, not for its reader
		w.Header().Set("Location", st.server.at("conversations", st.conversation, "questions"))
		writeJSON(w, http.StatusAccepted, waitingBody{st.run, event.RunWaiting, end})
	}
	return nil
}

// open reports whether a question still waits for its answer.
func (st *stream) open(ctx context.Context, q *native.Question) bool {
	open, err := st.server.service.Questions(ctx, st.who, st.conversation)
	for i := range open {
		if err == nil && open[i].Token == q.QuestionID {
			return true
		}
	}
	return false
}

// terminal reads on to the run's terminal frame, or to a question that nothing can go
// on without.
func (st *stream) terminal(ctx context.Context) (native.Frame, error) {
	if st.follower == nil {
		if err := st.prepare(ctx); err != nil {
			return nil, err
		}
	}
	defer st.follower.Close()
	var items [streamPage]live.Item
	for {
		n := copy(items[:], st.early)
		if st.early = nil; n == 0 {
			var err error
			if n, err = st.follower.Read(ctx, items[:]); err != nil {
				return nil, err
			}
		}
		for i := range items[:n] {
			e := items[i].Event
			if e == nil || e.Live() || !st.shows(e) {
				continue
			}
			for _, f := range st.encoder.Frames(e) {
				if native.Terminal(f) {
					return f, nil
				}
				if q, ok := f.(*native.Question); ok && st.open(ctx, q) {
					return q, nil
				}
			}
		}
	}
}

// writesCounted is how many writes are counted at a time.
const writesCounted = 16

// writer writes to a reader that may be slow, and knows when it last did.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	time    time.Duration
	// last is when it was written last, bound when the deadline was set.
	last    time.Time
	bound   time.Time
	metrics *Metrics
	// writes have not been counted in the metrics, which all streams share.
	writes int
}

// count tells the metrics of what was written.
func (o *writer) count() {
	o.metrics.frames.Add(float64(o.writes))
	o.writes = 0
}

// write sends b at once.
func (o *writer) write(b []byte) error {
	o.last = time.Now()
	if o.last.Sub(o.bound) >= o.time/8 { // moving it each time would cost a timer an event
		o.bound = o.last
		_ = o.control.SetWriteDeadline(o.last.Add(o.time)) // where there are no deadlines, TCP's are left
	}
	if len(b) > 0 {
		if _, err := o.w.Write(b); err != nil { //nolint:gosec // it is an event stream, and JSON
			return err
		}
		if o.writes++; o.writes == writesCounted {
			o.count()
		}
	}
	return o.control.Flush()
}
