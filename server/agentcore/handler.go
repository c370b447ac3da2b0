package agentcore

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// Handler answers AgentCore's requests. It is safe for concurrent use.
type Handler struct {
	options Options
	front   front.Options
	service *service.Service
	log     *slog.Logger
	door    *servedRuntime
	entry   *door.Door
	cross   hostcheck.Cross
	health  health
	readers door.Readers
	// id distinguishes handlers that share a database.
	id string
	// own is set if [ForAgent] made the service.
	own bool
	// behind counts the runs that continue after their response.
	behind sync.WaitGroup
	// ends is cancelled when the handler is closed.
	ends context.Context //nolint:containedctx // it is the lifetime of the handler, not of a request
	end  context.CancelFunc
}

// New makes a handler over a service, which the caller starts and drains. The error is that an
// option is invalid.
func New(o Options) (*Handler, error) {
	if o.Service == nil {
		return nil, wrong("a handler needs a service", "set Service, or use ForAgent")
	}
	if o.TrustPlatform && (!o.Token.Empty() || o.Door != nil) {
		return nil, wrong("the handler is to ask for a token and to ask for none", "set either Token or TrustPlatform")
	}
	if o.Tenant == "" {
		o.Tenant = "default"
	}
	if o.BodyBytes <= 0 {
		o.BodyBytes = DefaultBodyBytes
	}
	if o.BodyTime <= 0 {
		o.BodyTime = DefaultBodyTime
	}
	if o.WriteTime <= 0 {
		o.WriteTime = DefaultWriteTime
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Door == nil {
		o.Door = door.New(o.Token, o.Tenant, nil)
	}
	h := &Handler{options: o, service: o.Service, log: o.Log, entry: o.Door, cross: crossing(o.Origins), id: newUUID()}
	h.front = front.Options{
		Service: o.Service, Door: o.Door, BodyBytes: o.BodyBytes, BodyTime: o.BodyTime, WriteTime: o.WriteTime,
		Observe: o.Observe, Refused: o.Refused, Log: o.Log,
	}
	h.health.custom = o.Health
	h.health.at = time.Now()
	if o.Runtime != "" {
		door, err := parseRuntime(o.Runtime)
		if err != nil {
			return nil, err
		}
		h.door = door
	}
	h.ends, h.end = context.WithCancel(context.Background())
	return h, nil
}

// Close waits for runs that continue after their response until ctx ends, and drains the service
// if [ForAgent] made it. It does not cancel a run whose reader may return.
func (h *Handler) Close(ctx context.Context) error {
	h.end()
	h.readers.Close()
	var err error
	if h.own {
		err = h.service.Drain(ctx)
	}
	h.behind.Wait()
	return err
}

// Task registers work that outlives its request. Until the caller calls done, /ping reports
// [Busy], so that the platform keeps the machine. It is safe for concurrent use, and further
// calls of done do nothing.
func (h *Handler) Task(name string) (done func()) {
	t := &Task{name, time.Now()}
	s := &h.health
	s.mu.Lock()
	if s.tasks == nil {
		s.tasks = make(map[*Task]struct{})
	}
	s.tasks[t] = struct{}{}
	s.mu.Unlock()
	s.look()
	return func() {
		s.mu.Lock()
		delete(s.tasks, t)
		s.mu.Unlock()
		s.look()
	}
}

// Tasks returns the registered tasks in no particular order. It is safe for concurrent use.
func (h *Handler) Tasks() []Task {
	h.health.mu.Lock()
	defer h.health.mu.Unlock()
	out := make([]Task, 0, len(h.health.tasks))
	for t := range h.health.tasks {
		out = append(out, *t)
	}
	return out
}

// Force makes /ping report a fixed status; "" ends this. It is safe for concurrent use.
func (h *Handler) Force(as Health) {
	h.health.mu.Lock()
	h.health.forced = as
	h.health.mu.Unlock()
	h.health.look()
}
