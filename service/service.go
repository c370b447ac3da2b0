package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
)

// Options are what a service is made of. Journal, Rows and Agent must be set.
type Options struct {
	// Journal keeps the logs, Rows what stands beside them. The service closes neither.
	Journal journal.Store
	Rows    Rows
	// Bus carries events to watchers; nil means a hub in this process.
	Bus live.Bus
	// Agent makes the agent that answers a run. Its error is the caller's: a model
	// that does not exist is [event.ErrModelNotFound]. It is asked when a run is
	// accepted and again when it is driven, maybe by another process, and must give
	// the same agent for the same request, as far as there is still one.
	Agent func(ctx context.Context, r AgentRequest) (*braid.Agent, error)
	// Models lists what Agent takes; nil means that nobody knows.
	Models func(ctx context.Context) []Model
	// Forget removes what a conversation has beside its log and its row, such as files. It
	// is called between the two, and again where it failed and somebody tries again. nil
	// means that there is nothing.
	Forget func(ctx context.Context, tenant, conversation string) error
	// Engine are the settings of the engine that drives the runs.
	Engine engine.Options
	// LockWait is how long a run that may not wait behind another one waits all the
	// same before it is refused; 0 means [DefaultLockWait], less means not at all.
	LockWait time.Duration
	// RunTime bounds the active time of a run; 0 means [DefaultRunTime].
	RunTime time.Duration
	// Observe sees every durable event of every run, after its commit. It is called
	// by the run's driver and must be quick; nil means nobody.
	Observe func(tenant string, e *event.Event)
	// Log gets what nobody is told otherwise; nil means nobody.
	Log *slog.Logger
}

// What a service does where nothing else was said (DESIGN section 9).
const (
	DefaultLockWait = 5 * time.Second
	DefaultRunTime  = 300 * time.Second
)

// Service executes runs for many tenants. All methods are safe for concurrent use and
// answer *[event.Error]s. Make it with [New].
type Service struct {
	options Options
	engine  *engine.Local
	bus     live.Bus
	// alone says that the bus is this process's own: whatever is committed is told on it.
	alone bool
	log   *slog.Logger
	warm  warm
	// tokens are those of the runs that this process has accepted.
	tokens tokenBox
	doors  doors
	// changes counts what was done to conversations that a run on its way in must know
	// of, removed those that were deleted.
	changes, removed atomic.Int64
}

// New makes a service. It starts nothing.
func New(o Options) (*Service, error) {
	if o.Journal == nil || o.Rows == nil || o.Agent == nil {
		return nil, invalid("service", "a service needs a journal, rows and agents", "set Journal, Rows and Agent")
	}
	if _, ok := o.Journal.(journal.Queuer); !ok {
		return nil, invalid("service", "the journal cannot say which runs are open", "use one that implements journal.Queuer")
	}
	if o.LockWait == 0 {
		o.LockWait = DefaultLockWait
	}
	if o.RunTime <= 0 {
		o.RunTime = DefaultRunTime
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	alone := o.Bus == nil
	if alone {
		o.Bus = live.NewHub(live.HubOptions{})
	}
	if o.Engine.Log == nil {
		o.Engine.Log = o.Log
	}
	s := &Service{options: o, bus: o.Bus, alone: alone, log: o.Log}
	s.engine = engine.NewLocal(o.Journal, s.drive, o.Engine)
	return s, nil
}

// Start begins to drive: what was left over first.
func (s *Service) Start(ctx context.Context) error { return s.engine.Start(ctx) }

// Drain ends the driving: runs are handed back where they stand and go on when the
// service starts again. Watchers are told last, so that they see what was committed.
func (s *Service) Drain(ctx context.Context) error {
	return errors.Join(s.engine.Drain(ctx), s.bus.Close())
}

// Ready says why the service cannot do its work: its stores do not answer. nil is that they do.
func (s *Service) Ready(ctx context.Context) error {
	if _, err := s.options.Rows.List(ctx, "", Query{Limit: 1}); err != nil {
		return err
	}
	_, err := s.options.Journal.Read(ctx, conversationPrefix+"none", 0, 1)
	return err
}

// drive is the engine's way to a run.
func (s *Service) drive(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	row := w.Run
	if row.Metadata[keyBody] == "" { // all that somebody who woke it knew of it
		var err error
		if row, err = s.head(ctx, w.Run.Conversation, w.Run.ID); err != nil {
			return engine.Outcome{}, err
		}
	}
	agent := s.agentOf(ctx, &row)
	publisher := s.bus.Publisher(live.Key{Tenant: row.Tenant, Conversation: row.Conversation})
	defer publisher.Close()
	h, done := s.warm.take(s.options.Journal, row.Conversation)
	defer done()
	sink := func(e event.Event) {
		publisher.Publish(e)
		if e.Live() {
			return
		}
		h.seen.Store(e.Seq)
		if s.options.Observe != nil {
			durable := e // so that live events stay off the heap
			s.options.Observe(row.Tenant, &durable)
		}
	}
	r, err := agent.Drive(ctx, h.conv, row.ID, braid.Work{Sink: sink, Mail: w.Mail, Draining: w.Draining})
	if err != nil {
		return engine.Outcome{}, err
	}
	if r.Status.Ended() {
		s.tokens.drop(row.ID)
		if r.Status == event.RunCompleted && !h.titled.Load() {
			s.ended(context.WithoutCancel(ctx), &row, h)
		}
	}
	return engine.Outcome{Status: r.Status, WakeAt: r.WakeAt}, nil
}

// head finds an open run's row.
func (s *Service) head(ctx context.Context, conversation, run string) (journal.Run, error) {
	open, err := s.queue(ctx, conversation)
	if err != nil {
		return journal.Run{}, err
	}
	for i := range open {
		if open[i].ID == run {
			return open[i], nil
		}
	}
	return journal.Run{}, &event.Error{Op: "drive", Kind: event.ErrConflict, Message: "the run has ended"}
}

func (s *Service) queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	return s.options.Journal.(journal.Queuer).Queue(ctx, conversation) //nolint:forcetypeassert // New has looked
}

// ended gives a conversation its title once a run of it has completed.
func (s *Service) ended(ctx context.Context, row *journal.Run, h *warmth) {
	title, err := s.Title(ctx, Principal{Tenant: row.Tenant}, row.Conversation)
	if err != nil && !errors.Is(err, event.ErrNotFound) {
		s.log.Warn("a conversation got no title", "tenant", row.Tenant, "conversation", row.Conversation, "error", err)
	}
	h.titled.Store(err == nil && title != "")
}

// warm keeps the folds of the conversations that are in use, so that a turn costs
// the same however long the log is.
type warm struct {
	mu   sync.Mutex
	used map[string]*warmth
	// order is a clock: the least recently used one goes.
	clock int64
}

type warmth struct {
	conv *braid.Conversation
	// seen is the Seq of the last event that a drive here has sent, 0 if none.
	seen atomic.Int64
	// titled says that the conversation has a title.
	titled atomic.Bool
	// drives is how many use it now.
	drives int
	last   int64
}

// mostWarm bounds the folds that are kept.
const mostWarm = 1024

// take gives what is kept of a conversation; done gives it back.
func (w *warm) take(store journal.Store, id string) (h *warmth, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used == nil {
		w.used = make(map[string]*warmth)
	}
	h = w.used[id]
	if h == nil {
		w.trim()
		h = &warmth{conv: braid.Open(store, id)}
		w.used[id] = h
	}
	w.clock++
	h.drives++
	h.last = w.clock
	return h, func() {
		w.mu.Lock()
		h.drives--
		w.mu.Unlock()
	}
}

// seen is the Seq of the last event that a drive here has sent; 0 if it is not known.
func (w *warm) seen(id string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		return h.seen.Load()
	}
	return 0
}

// retitled says that somebody may have taken a conversation's title away.
func (w *warm) retitled(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		h.titled.Store(false)
	}
}

// trim makes room: the eighth that was used longest ago goes.
func (w *warm) trim() {
	if len(w.used) < mostWarm {
		return
	}
	bound := w.clock - mostWarm + mostWarm/8
	for id, h := range w.used {
		if h.drives == 0 && h.last <= bound {
			delete(w.used, id)
		}
	}
}

// forget drops a conversation's fold.
func (w *warm) forget(id string) {
	w.mu.Lock()
	delete(w.used, id)
	w.mu.Unlock()
}

// Models lists what a run may name as its model.
func (s *Service) Models(ctx context.Context) []Model {
	if s.options.Models == nil {
		return nil
	}
	return s.options.Models(ctx)
}
