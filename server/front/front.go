// Package front has what the routes of all wires share, from the first byte of a request to the line in the log: who may
// ask from where, the credential, the body's bounds, panics, refusals for the audit, and metrics. A wire adds the form of
// its errors and what it does with the body.
package front

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
)

// Options configure the routes of a wire. Service and Door must be set.
type Options struct {
	// Service executes the runs. Its owner starts and drains it.
	Service *service.Service
	// Door checks credentials.
	Door *door.Door
	// Next answers requests for other paths.
	Next http.Handler
	// Base is the path below which the wire's paths are, such as "/braid"; empty is none.
	Base string
	// Hosts are the names under which the server answers, beside those of this machine. Origins are the sites whose pages may
	// ask, beside its own.
	Hosts, Origins []string
	// BodyBytes bounds a body; 0 means [DefaultBodyBytes].
	BodyBytes int64
	// BodyTime bounds how long a body takes to arrive; 0 means [DefaultBodyTime].
	BodyTime time.Duration
	// WriteTime bounds one write to a reader; 0 means [DefaultWriteTime].
	WriteTime time.Duration
	// Heartbeat is how long a stream is silent before a heartbeat; 0 means [DefaultHeartbeat].
	Heartbeat time.Duration
	// Observe is called after each request; nil calls nothing. The route is never what the caller wrote.
	Observe func(method, route string, status int, took time.Duration)
	// Refused is called with each error that a request is answered with; nil calls nothing.
	Refused func(err error)
	// Log gets one line for each request; nil logs nothing.
	Log *slog.Logger
}

// The defaults of [Options].
const (
	DefaultBodyBytes = 8 << 20
	DefaultBodyTime  = 30 * time.Second
	DefaultWriteTime = 60 * time.Second
	DefaultHeartbeat = 15 * time.Second
)

// MaxID bounds an id that a client chooses, in bytes.
const MaxID = 200

// WithDefaults returns the options with a value for everything that was left out.
func (o Options) WithDefaults() Options {
	o.BodyBytes = cmp.Or(max(o.BodyBytes, 0), DefaultBodyBytes)
	o.BodyTime = cmp.Or(max(o.BodyTime, 0), DefaultBodyTime)
	o.WriteTime = cmp.Or(max(o.WriteTime, 0), DefaultWriteTime)
	o.Heartbeat = cmp.Or(max(o.Heartbeat, 0), DefaultHeartbeat)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Foreign refuses what reaches no route: a name of the server that is not its own, and pages of other sites. It answers a
// browser that asks what pages may do, and reports that with answered.
func Foreign(w http.ResponseWriter, r *http.Request, hosts, origins []string, cross *hostcheck.Cross) (answered bool, err error) {
	if !hostcheck.Host(r.Host, hosts) {
		return false, Refusal(event.ErrPermission, "this server does not answer under that name",
			"ask it under its own address, or let the operator add the name")
	}
	if cross.Answer(w, r) {
		return true, nil
	}
	if !hostcheck.Origin(r.Header.Get("Origin"), r.Host, origins) {
		return false, Refusal(event.ErrPermission, "pages of that site may not ask this server", "let the operator add the site")
	}
	return false, nil
}

// Bad returns the error for a request that is not of its form.
func Bad(message, hint string) error { return Refusal(event.ErrInvalid, message, hint) }

// Refusal returns the error for a request that is refused.
func Refusal(kind event.ErrorKind, message, hint string) error {
	return &event.Error{Kind: kind, Message: message, Hint: hint}
}
