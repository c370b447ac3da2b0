package front

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/stream"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/wire"
)

// Exchange is one request and its answer.
type Exchange struct {
	// Options are the handler's.
	Options *Options

	W http.ResponseWriter
	R *http.Request
	// Who shows the credential; zero before it was checked.
	Who door.Caller
	// Hold counts the memory of the body; nil for none.
	Hold *service.Hold
	// Status is what was answered, 0 for nothing yet. Refusal is the code of the error that was answered.
	Status  int
	Refusal string
	// ID names the request, Route its route; the log has both, and what Session, Conversation and Run the request is about,
	// where that is known.
	ID, Route, Session, Conversation, Run string
	// level is that of the line in the log.
	level slog.Level
}

// Quiet makes the request's line in the log one for debugging.
func (x *Exchange) Quiet() { x.level = slog.LevelDebug }

// Serve answers the request with serve, and its error, or its panic, with refuse. Then it counts the request and logs it.
func (x *Exchange) Serve(serve func() error, refuse func(error)) {
	begun := time.Now()
	defer func() { x.Hold.Release() }()
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v) //nolint:forbidigo // net/http's own way to cut an answer off
			}
			x.Options.Log.LogAttrs(x.R.Context(), slog.LevelError, "a request panicked",
				append(x.About(), slog.String("panic", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))...)
			refuse(&event.Error{Kind: event.ErrInternal, Message: "something went wrong inside the server"})
		}
		x.note(time.Since(begun))
	}()
	if err := serve(); err != nil {
		refuse(err)
	}
}

// Head sends the status, once.
func (x *Exchange) Head(status int) {
	x.Status = status
	_ = http.NewResponseController(x.W).SetWriteDeadline(time.Now().Add(x.Options.WriteTime)) // where there are no deadlines, TCP's are left
	x.W.WriteHeader(status)
}

// Body reads the request's body. A client that sends slowly shows its credential again, because it may have ended since:
// again checks it.
func (x *Exchange) Body(again func() error) ([]byte, error) {
	begun := time.Now()
	control := http.NewResponseController(x.W)
	_ = control.SetReadDeadline(begun.Add(x.Options.BodyTime)) // a connection that has none is bounded otherwise
	x.Hold = x.Options.Service.Memory().Hold(x.Who.Tenant)
	data, err := door.ReadBody(x.W, x.R, x.Hold, x.Options.BodyBytes)
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		if x.Who.Tenant != "" && time.Since(begun) > directory.Stale {
			err = again()
		}
	}
	return data, err
}

// Watch returns a context that ends with the caller's credential.
func (x *Exchange) Watch() (ctx context.Context, stop func()) {
	return x.Options.Door.Watch(x.R.Context(), &x.Who)
}

// Named finds the conversation that the clients of a wire know by an id, or makes it. kind is the wire's word for it,
// and hint is for a caller whose id is another user's.
func (x *Exchange) Named(ctx context.Context, wire, kind, id, hint string) (service.Conversation, error) {
	conv, err := x.Options.Service.OpenConversation(ctx, x.Who.Principal, wire+" "+kind+" "+id, service.NewConversation{
		Metadata: map[string]string{wire + "_" + kind: id},
	})
	if errors.Is(err, event.ErrNotFound) {
		err = &event.Error{Kind: event.ErrNotFound, Message: "there is no such " + kind, Hint: hint}
	}
	return conv, err
}

// Stream answers with a stream of server-sent events. Once its head is out no error is returned: what goes wrong is told on
// the stream itself.
func (x *Exchange) Stream(ctx context.Context, s *stream.Stream, w wire.Wire) {
	s.Heartbeat = x.Options.Heartbeat
	stream.Head(x.W.Header(), w)
	x.Head(http.StatusOK)
	x.Interrupted(ctx, s.Serve(ctx, &stream.Writer{Response: x.W, Time: x.Options.WriteTime}))
}

// Interrupted logs why the server has ended a stream, unless the credential's end is why. err is what [stream.Stream.Send]
// returned.
func (x *Exchange) Interrupted(ctx context.Context, err error) {
	if err != nil && door.Ended(ctx) == nil {
		x.Options.Log.LogAttrs(ctx, slog.LevelWarn, "a stream was interrupted", append(x.About(), slog.Any("error", err))...)
	}
}

// Refuse counts a refusal for the audit and the log, and sets the headers that every wire's refusals have. The caller
// writes the error in its own form. If an answer has begun, only cutting it off is left.
func (x *Exchange) Refuse(err error, status int, code string) {
	if x.Status != 0 {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own way to cut an answer off
	}
	x.Count(err, status, code)
	if status >= http.StatusInternalServerError {
		x.Options.Log.LogAttrs(x.R.Context(), slog.LevelError, "a request failed",
			append(x.About(), slog.Any("error", err), slog.Any("cause", errors.Unwrap(err)))...)
	}
	if e, ok := errors.AsType[*event.Error](err); ok && e.RetryAfter > 0 {
		x.W.Header().Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	door.Exhausted(x.W.Header(), err)
}

// Count counts a refusal for the audit and the log.
func (x *Exchange) Count(err error, status int, code string) {
	if x.Refusal = code; x.Options.Refused != nil {
		x.Options.Refused(err)
	}
	x.Options.Door.Refused(&x.Who, err, directory.Refused{
		Status: status, Code: code, Route: x.Method() + " " + x.Route, Request: x.ID, Path: x.R.URL.Path,
	})
}

// note counts the request and writes its line in the log.
func (x *Exchange) note(took time.Duration) {
	if x.Options.Observe != nil {
		x.Options.Observe(x.Method(), x.Route, x.Status, took)
	}
	x.Options.Log.LogAttrs(x.R.Context(), x.level, "request", append(x.About(), slog.String("method", x.Method()),
		slog.String("route", x.Route), slog.Int("status", x.Status), slog.Duration("took", took))...)
}

// Method returns the request's method for logs and metrics.
func (x *Exchange) Method() string {
	if m := x.R.Method; m == http.MethodGet || m == http.MethodPost {
		return m
	}
	return "other"
}

// About returns what a line of the log says of the request. It holds no credential and nothing that the caller chose freely.
func (x *Exchange) About() []slog.Attr {
	by := x.Who.Named()
	return About(
		"request", x.ID, "tenant", by.Tenant, "key", by.Key, "user", by.User, "session", x.Session,
		"conversation", x.Conversation, "run", x.Run, "code", x.Refusal,
	)
}

// About returns names and values for a line of the log, without those that have no value.
func About(pairs ...string) (list []slog.Attr) {
	for pair := range slices.Chunk(pairs, 2) {
		if len(pair) == 2 && pair[1] != "" {
			list = append(list, slog.String(pair[0], pair[1]))
		}
	}
	return list
}
