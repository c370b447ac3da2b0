package agui

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/wire/native"
)

// Options are what a handler is made of. Service, Door and Next must be set.
type Options struct {
	// Service executes the runs; whoever made it starts and drains it.
	Service *service.Service
	// Door knows the credentials. A caller shows one with the scope to write.
	Door *door.Door
	// Next answers what is asked for under other paths.
	Next http.Handler
	// Base is the path below which the handler's own is, such as "/braid"; empty is none.
	Base string
	// Hosts are the names under which the handler may be asked beside those of this machine, and Origins the sites
	// whose pages may ask beside its own.
	Hosts, Origins []string
	// BodyBytes bounds a body; 0 means [DefaultBodyBytes].
	BodyBytes int64
	// Heartbeat is how long a stream is silent before a comment is sent; 0 means [DefaultHeartbeat].
	Heartbeat time.Duration
	// Observe is told of each request that was answered, and Refused of each error; nil means nobody.
	Observe func(method, route string, status int, took time.Duration)
	Refused func(err error)
	// Log gets one line for each request; nil means nobody.
	Log *slog.Logger
}

// What a handler does where nothing else was said.
const (
	DefaultBodyBytes = 8 << 20
	DefaultHeartbeat = 15 * time.Second

	bodyTime  = 30 * time.Second
	writeTime = 60 * time.Second
)

// path is the handler's own.
const path = "/agui"

// handler answers AG-UI's requests.
type handler struct {
	Options

	cross hostcheck.Cross
}

// New makes a handler, which is safe for concurrent use.
func New(o Options) http.Handler {
	o.BodyBytes, o.Heartbeat = cmp.Or(o.BodyBytes, DefaultBodyBytes), cmp.Or(o.Heartbeat, DefaultHeartbeat)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &handler{o, hostcheck.Cross{
		Origins: o.Origins, Methods: http.MethodPost, Headers: "Authorization, Content-Type, Traceparent, Tracestate",
		Expose: "RateLimit, RateLimit-Policy, Retry-After, X-Conversation-Id, X-Run-Id",
	}}
}

// exchange is one request and its answer.
type exchange struct {
	*handler

	w    http.ResponseWriter
	r    *http.Request
	who  door.Caller
	hold *service.Hold
	// status is what was answered, 0 for nothing yet; refusal is the code of an error.
	status  int
	refusal string
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != h.Base+path {
		h.Next.ServeHTTP(w, r)
		return
	}
	begun := time.Now()
	x := &exchange{handler: h, w: w, r: r}
	defer func() { x.hold.Release() }()
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			h.Log.Error("a request panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			x.refuse(&event.Error{Kind: event.ErrInternal})
		}
		x.note(time.Since(begun))
	}()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if err := x.serve(); err != nil {
		x.refuse(err)
	}
}

// serve is the way of a request: who asks from where, with which credential, for what.
func (x *exchange) serve() error {
	forbidden := func(message, hint string) error {
		return &event.Error{Kind: event.ErrPermission, Message: message, Hint: hint}
	}
	if !hostcheck.Host(x.r.Host, x.Hosts) {
		return forbidden("this server does not answer under that name", "ask it under its own address, or let the operator add the name")
	}
	if x.cross.Answer(x.w, x.r) {
		x.status = http.StatusNoContent
		return nil
	}
	if !hostcheck.Origin(x.r.Header.Get("Origin"), x.r.Host, x.Origins) {
		return forbidden("pages of that site may not ask this server", "let the operator add the site")
	}
	if x.r.Method != http.MethodPost {
		x.w.Header().Set("Allow", http.MethodPost)
		x.head(http.StatusMethodNotAllowed)
		return nil
	}
	if err := x.authenticate(); err != nil {
		return err
	}
	if err := x.Door.Pass(x.r.Context(), &x.who, x.w.Header()); err != nil {
		return err
	}
	x.hold = x.Service.Memory().Hold(x.who.Tenant)
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(bodyTime)) // a connection that has none is bounded otherwise
	begun := time.Now()
	data, err := door.ReadBody(x.w, x.r, x.hold, x.BodyBytes)
	if err == nil && time.Since(begun) > directory.Stale {
		err = x.authenticate() // who sends slowly shows the credential again, as it were: it may have ended since
	}
	if err != nil {
		return err
	}
	in, err := parse(data)
	if err != nil {
		return err
	}
	return x.answer(&in)
}

// authenticate finds out who asks, and whether they may.
func (x *exchange) authenticate() (err error) {
	token, _ := strings.CutPrefix(x.r.Header.Get("Authorization"), "Bearer ")
	if x.who, err = x.Door.OpenFor(x.r, secret.New(token)); err != nil {
		return err
	}
	return x.who.Require(service.ScopeWrite)
}

// head sends the status.
func (x *exchange) head(status int) {
	x.status = status
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(writeTime)) // where there are no deadlines, TCP's are left
	x.w.WriteHeader(status)
}

// refuse answers with an error, in the form of the native API: clients of AG-UI show their caller the body of such an answer.
func (x *exchange) refuse(err error) {
	if x.status != 0 {
		panic(http.ErrAbortHandler)
	}
	detail, status := native.ErrorOf(err)
	x.refusal = detail.Code
	if x.Refused != nil {
		x.Refused(err)
	}
	x.Door.Refused(&x.who, err, directory.Refused{Status: status, Code: detail.Code, Route: http.MethodPost + " " + path, Path: x.r.URL.Path})
	if status >= http.StatusInternalServerError {
		x.Log.Error("a request failed", "error", err)
	}
	head := x.w.Header()
	if status == http.StatusUnauthorized {
		head.Set("WWW-Authenticate", `Bearer realm="braid"`)
	}
	if detail.RetryAfter > 0 {
		head.Set("Retry-After", strconv.Itoa(detail.RetryAfter))
	}
	door.Exhausted(head, err)
	head.Set("Content-Type", "application/json")
	x.head(status)
	_ = json.NewEncoder(x.w).Encode(native.ErrorBody{Error: detail}) //nolint:errchkjson // who does not read it any more needs no error
}

// note counts a request and writes its line in the log, which holds no credential and nothing that the caller chose.
func (x *exchange) note(took time.Duration) {
	method := "other"
	if x.r.Method == http.MethodPost {
		method = x.r.Method
	}
	if x.Observe != nil {
		x.Observe(method, path, x.status, took)
	}
	by := x.who.Named()
	x.Log.Info("request", "tenant", by.Tenant, "key", by.Key, "user", by.User, "conversation", x.w.Header().Get("X-Conversation-Id"),
		"run", x.w.Header().Get("X-Run-Id"), "code", x.refusal, "method", method, "route", path, "status", x.status, "took", took)
}
