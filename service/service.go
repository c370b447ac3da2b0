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
	"github.com/braidrun/braid/service/directory"
)

// Options are what a service is made of. Journal, Rows and Agent must be set.
type Options struct {
	// Journal keeps the logs, Rows what stands beside them. The service closes neither.
	Journal journal.Journal
	Rows    Rows
	// Bus carries events to watchers; nil means a hub in this process.
	Bus live.Bus
	// Shared says that other processes serve the same journal and rows. Then a reader of any
	// of them sees each durable event, wherever its run is driven; runs whose process died are
	// taken over; and what is left for a run here reaches it there. Live events stay in the
	// process that drives the run.
	Shared bool
	// Agent makes the agent that answers a run. Its error is the caller's: a model
	// that does not exist is [event.ErrModelNotFound]. It is called when a run is
	// accepted, and again when the run is driven later than at once, after a change, or by
	// another process. It must give
	// the same agent for the same request, as far as there is still one. It has to apply the request's Model and
	// OutputSchema, or refuse them with [event.ErrUnsupported]: the service cannot see whether it did.
	Agent func(ctx context.Context, r AgentRequest) (*braid.Agent, error)
	// Directory knows the tenants, with their agents and models; nil means that every tenant is
	// there, that the server's own agent answers, and that Agent knows every model. The service
	// does not close it.
	Directory *directory.Directory
	// Instructions are those of the server's own agent, below the tenant's system prompt.
	Instructions string
	// Workspace tells of the files that a run works with; nil means that there are none. It is called before each call of
	// Agent.
	Workspace func(ctx context.Context, x *ExecutionContext) (*Workspace, error)
	// OpenModel opens the light model that gives conversations their titles: own is the
	// directory's entry of it. nil means that no model is asked: a title is then the first words
	// that were said.
	OpenModel func(ctx context.Context, ref string, own *OwnModel) (braid.Model, error)
	// Models lists the models that Agent takes by name without the directory; nil means that nobody
	// knows.
	Models func(ctx context.Context) []Model
	// Forget removes what a conversation has beside its log and its row, such as files. It
	// is called between the two, and again where it failed and somebody tries again. nil
	// means that there is nothing.
	Forget func(ctx context.Context, key ConversationKey) error
	// ForgetTenant removes what a tenant that is being erased has outside the journal and the rows: what
	// was allowed for it, open models, files. It is called again where an erasure is repeated. nil means
	// that there is nothing.
	ForgetTenant func(ctx context.Context, tenant directory.Tenant) error
	// Engine are the settings of the engine that drives the runs.
	Engine engine.Options
	// LockWait is how long a run that may not wait behind another one waits all the
	// same before it is refused; 0 means [DefaultLockWait], less means not at all.
	LockWait time.Duration
	// LostDrivers bounds how many drivers a run may lose in a row ([braid.Limits]); 0 means the library's default, less
	// means no bound.
	LostDrivers int
	// Memory bounds the bytes that are worked on at once; nil means [NewMemory] of [DefaultMemory].
	Memory *Memory
	// FailedRuns is what becomes of failed runs in tenants that have not chosen; empty means
	// [directory.ForgetFailedRuns].
	FailedRuns directory.FailedRuns
	// RunTime bounds the active time of a run; 0 means [DefaultRunTime].
	RunTime time.Duration
	// Observe sees every durable event of every run, after its commit. life tells the tenant from others that
	// had its id before; it is empty without a directory. It is called
	// by the run's driver and must be quick; nil means nobody.
	Observe func(tenant, life string, e *event.Event)
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
	// alone says that whatever is committed is told on the bus, because nobody else drives
	// runs; where others do, heads says what they have committed.
	alone bool
	heads *heads
	log   *slog.Logger
	warm  warm
	// memory is what the doors count their bodies in, too.
	memory *Memory
	// stalled has the error of the store for each run that is driven here and waits because the store refuses to write.
	stalled sync.Map
	// tokens are those of the runs that this process has accepted.
	tokens tokenBox
	// prepared are the agents of runs that this process has accepted and is about to drive.
	prepared preparedAgents
	doors    doors
	counts   counts
	// stops cancels the runs of tenants that are not active any more.
	stops stops
	// builder makes the options of agents, titles the titles of conversations.
	builder OptionsBuilder
	purse   purse
	storage storage
	titles  *TitleGenerator
	mends   *mender
	// changes counts what was done to conversations that a run on its way in must know
	// of, removed those that were deleted.
	changes, removed atomic.Int64
	// started is set by Start.
	started atomic.Bool
	// unscrubbed says that files may hold what was deleted or redacted.
	unscrubbed atomic.Bool
}

// New makes a service. It starts nothing.
func New(o Options) (*Service, error) {
	if o.Journal == nil || o.Rows == nil || o.Agent == nil {
		return nil, invalid("service", "a service needs a journal, rows and agents", "set Journal, Rows and Agent")
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
	if o.Memory == nil {
		o.Memory = NewMemory(DefaultMemory)
	}
	alone := o.Bus == nil && !o.Shared
	if o.Bus == nil {
		o.Bus = live.NewHub(live.HubOptions{Total: o.Memory.unread})
	}
	if o.Engine.Log == nil {
		o.Engine.Log = o.Log
	}
	o.Engine.Shared = o.Shared
	s := &Service{options: o, bus: o.Bus, alone: alone, log: o.Log, memory: o.Memory, warm: warm{most: o.Memory.warm}}
	if o.Shared {
		s.heads = newHeads(o.Journal, o.Log)
	}
	s.builder = OptionsBuilder{Directory: o.Directory, Instructions: o.Instructions, Workspace: o.Workspace}
	s.titles = newTitleGenerator(s)
	s.mends = newMender(s)
	s.purse = newPurse(&o)
	s.engine = engine.NewLocal(o.Journal, s.drive, o.Engine)
	return s, nil
}

// Start begins to drive: what was left over first. Before, no run is accepted.
func (s *Service) Start(ctx context.Context) error {
	if err := s.engine.Start(ctx); err != nil {
		return err
	}
	s.started.Store(true)
	if s.heads != nil {
		s.heads.start(ctx)
	}
	s.stops.begin(ctx, s)
	return nil
}

// Shared reports whether other processes serve the same journal and rows; see [Options].
func (s *Service) Shared() bool { return s.options.Shared }

// Load says how many runs are being driven here, and how many are queued behind them.
func (s *Service) Load() (running, queued int) { return s.engine.Load() }

// TenantLoad is what one tenant has in this process.
type TenantLoad = engine.TenantLoad

// Tenants says how much each tenant has in this process that has runs here.
func (s *Service) Tenants() map[string]TenantLoad { return s.engine.Tenants() }

// Waits returns why a run that this process was to drive does not go on: why it is not being driven (see
// [engine.Local.Waits]), or the error with which the journal refuses to write its events. It returns nil if the run goes on,
// waits for a person or behind another run, or is not known here.
func (s *Service) Waits(run string) error {
	if err := s.engine.Waits(run); err != nil {
		return err
	}
	if err, ok := s.stalled.Load(run); ok {
		return err.(error) //nolint:forcetypeassert // nothing else is stored
	}
	return nil
}

// Drain ends the driving: runs are handed back where they stand and go on when the
// service starts again. Watchers are told last, so that they see what was committed.
func (s *Service) Drain(ctx context.Context) error {
	s.stops.stop()
	err := s.engine.Drain(ctx)
	s.titles.end()
	s.mends.end()
	err = errors.Join(err, s.bus.Close())
	if s.heads != nil {
		s.heads.stop()
	}
	return err
}

// checker are rows that know whether they can be written, as [journal.Catalog] does of a journal.
type checker interface {
	Check(ctx context.Context) error
}

// Ready returns nil if the service can do its work. Otherwise the error says why: it is not started, its stores do not answer, or
// one of them takes no commits.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.begun("ready"); err != nil {
		return err
	}
	if _, err := s.options.Rows.List(ctx, "", Query{Limit: 1}); err != nil {
		return err
	}
	if _, err := s.options.Journal.Read(ctx, conversationPrefix+"none", 0, 1); err != nil {
		return err
	}
	if err := s.options.Journal.Check(ctx); err != nil {
		return err
	}
	if rows, ok := s.options.Rows.(checker); ok {
		return rows.Check(ctx)
	}
	return nil
}

// begun refuses to work before [Service.Start]: a run that nothing drives would be queued for ever.
func (s *Service) begun(op string) error {
	if s.started.Load() {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the service is not started", Hint: "let the program call Start on its service first",
	}
}

// Memory is what bounds the bytes that are worked on at once; each door counts its bodies in it.
func (s *Service) Memory() *Memory { return s.memory }

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
	return s.options.Journal.Queue(ctx, conversation)
}
