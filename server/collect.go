package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/wire/native"
)

// collect waits for the run's end and responds with it as one JSON value. For a run that
// waits for the user it responds with 202 and the question.
func (rd *reading) collect(w http.ResponseWriter, r *http.Request) error {
	ctx, unwatch := rd.server.door.Watch(r.Context(), callerOf(r))
	defer unwatch()
	end, err := rd.terminal(ctx)
	if ended := door.Ended(ctx); ended != nil {
		rd.answered = true // the server ends it, and its reader did not leave
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
		rd.answered = true
		writeJSON(w, status, end)
	case *native.Error:
		end.RequestID = idOf(r)
		status := http.StatusInternalServerError
		for _, c := range native.Codes() {
			if c.Code == end.Code {
				status = c.HTTP
			}
		}
		rd.answered = true
		if end.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(end.RetryAfter))
		}
		door.Exhausted(w.Header(), end.Err())
		writeJSON(w, status, native.ErrorBody{Error: *end})
	case *native.Question:
		rd.answered = true // it waits for a person, not for its reader
		w.Header().Set("Location", rd.server.at("conversations", rd.conversation, "questions"))
		writeJSON(w, http.StatusAccepted, waitingBody{rd.Story.Run, event.RunWaiting, end})
	}
	return nil
}

// open reports whether a question still waits for its answer.
func (rd *reading) open(ctx context.Context, q *native.Question) bool {
	open, err := rd.server.service.Questions(ctx, rd.who, rd.conversation)
	for i := range open {
		if err == nil && open[i].Token == q.QuestionID {
			return true
		}
	}
	return false
}

// terminal reads to the run's terminal frame, or to a question that the run waits for.
func (rd *reading) terminal(ctx context.Context) (native.Frame, error) {
	if rd.Follower == nil {
		if err := rd.prepare(ctx); err != nil {
			return nil, err
		}
	}
	defer rd.Follower.Close()
	for {
		items, err := rd.Read(ctx, time.Time{})
		if err != nil {
			return nil, err
		}
		for i := range items {
			e := items[i].Event
			if e == nil || e.Live() {
				continue
			}
			it := rd.Story.Add(e)
			if it == nil {
				continue
			}
			for _, f := range rd.encoder.Frames(it) {
				if native.Terminal(f) {
					return f, nil
				}
				if q, ok := f.(*native.Question); ok && rd.open(ctx, q) {
					return q, nil
				}
			}
		}
	}
}
