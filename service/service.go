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

// Options configure a service. Journal, Rows and Agent are required.
type Options struct {
	// Journal stores the logs. The service does not close it.
	Journal journal.Journal
	// Rows store the other data of conversations. The service does not close them.
	Rows Rows
	// Bus carries events to followers. nil means a hub in this process.
	Bus live.Bus
	// Shared says that other processes serve the same journal and rows. Then every process's
	// followers see all durable events, runs of dead processes are taken over, and messages reach
	// the process that drives the run. Live events stay in the process that drives the run.
	Shared bool
	// Agent makes the agent that answers a run. Its error is the caller's error; for a model that
	// does not exist it is [event.ErrModelNotFound]. It is called when a run is accepted. It is
	// called again if the run is driven later, after a change, or by another process, and must
	// return the same agent for the same request if it still can.
	//
	// It must apply the request's Model and OutputSchema, or refuse them with
	// [event.ErrUnsupported]: the service cannot check that.
	Agent func(ctx context.Context, r AgentRequest) (*braid.Agent, error)
	// Directory has the tenants with their agents and models. nil means that every tenant exists,
	// that the server's own agent answers, and that Agent knows every model. The service does not
	// close it.
	Directory *directory.Directory
	// Instructions are the instructions of the server's own agent. They follow the tenant's system
	// prompt.
	Instructions string
	// Workspace returns the files that a run works with. nil means that there are none. It is
	// called before each call of Agent.
	Workspace func(ctx context.Context, x *ExecutionContext) (*Workspace, error)
	// ToolServers reaches the MCP servers of tenants. nil means that they are not connected.
	ToolServers ToolServers
	// OpenModel opens the light model that generates titles. own is its entry in the directory. nil
	// means that a title is the first words of the conversation.
	OpenModel func(ctx context.Context, ref string, own *OwnModel) (braid.Model, error)
	// Models lists the models that Agent accepts by name without the directory. nil means that the
	// list is unknown.
	Models func(ctx context.Context) []Model
	// Forget removes data of a conversation beside its log and its row, such as files. It is called
	// between the removals of these two, and again if the removal is repeated after a failure. nil
	// means that there is no such data.
	Forget func(ctx context.Context, key ConversationKey) error
	// ForgetTenant removes data of an erased tenant outside the journal and the rows: grants, open
	// models, files. It is called again if the erasure is repeated. nil means that there is no such
	// data.
	ForgetTenant func(ctx context.Context, tenant directory.Tenant) error
	// Engine configures the engine that drives the runs.
	Engine engine.Options
	// LockWait is how long a run with the policy reject waits for an open run before it is refused.
	// 0 means [DefaultLockWait]. Negative means not at all.
	LockWait time.Duration
	// LostDrivers bounds how many drivers a run may lose in a row ([braid.Limits]). 0 means the
	// library's default. Negative means no bound.
	LostDrivers int
	// Memory bounds the bytes that are worked on at once. nil means [NewMemory] of [DefaultMemory].
	Memory *Memory
	// FailedRuns is the default for tenants that have not chosen. Empty means
	// [directory.ForgetFailedRuns].
	FailedRuns directory.FailedRuns
	// RunTime bounds the active time of a run. 0 means [DefaultRunTime].
	RunTime time.Duration
	// Observe is called with every durable event of every run, after its commit. life distinguishes
	// tenants that reuse one id; it is empty without a directory. The run's driver calls it, so it
	// must be quick. nil means that nothing is called.
	Observe func(tenant, life string, e *event.Event)
	// Log receives what no caller learns. nil discards it.
	Log *slog.Logger
}

// These are the defaults of [Options].
const (
	DefaultLockWait = 5 * time.Second
	DefaultRunTime  = 300 * time.Second
)

// Service executes runs for many tenants. All methods are safe for concurrent use and return
// *[event.Error]s. Make it with [New].
type Service struct {
	options Options
	engine  *engine.Local
	bus     live.Bus
	// alone reports that no other process drives runs, so that the bus carries every event.
	alone bool
	// poller asks the journal what other processes have committed. It is nil if there are none.
	poller *headPoller
	log    *slog.Logger
	folds  foldCache
	// memory also counts the request bodies of the server.
	memory *Memory
	// stalled has the store's error for each run here that waits because the store refuses to
	// write.
	stalled sync.Map
	// tokens are those of the runs that this process has accepted.
	tokens tokenBox
	// prepared are the agents of runs that this process has accepted and is about to drive.
	prepared preparedAgents
	locks    conversationLocks
	counts   counts
	// stops cancels the runs of inactive tenants.
	stops     stops
	builder   OptionsBuilder
	spending  spendStore
	storage   storage
	titles    *TitleGenerator
	completer *logCompleter
	// changes counts the changes to conversations that a run must know of while it is being admitted.
	changes atomic.Int64
	// removed counts the removed conversations.
	removed atomic.Int64
	// started is set by Start.
	started atomic.Bool
	// unscrubbed reports that files may hold deleted or redacted data.
	unscrubbed atomic.Bool
}

// New returns a service. It starts nothing: call [Service.Start]. It returns [event.ErrInvalid] if
// a required option is missing.
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
	s := &Service{options: o, bus: o.Bus, alone: alone, log: o.Log, memory: o.Memory, folds: foldCache{most: o.Memory.folds}}
	if o.Shared {
		s.poller = newHeadPoller(o.Journal, o.Log)
	}
	s.builder = OptionsBuilder{Directory: o.Directory, Instructions: o.Instructions, Workspace: o.Workspace}
	s.titles = newTitleGenerator(s)
	s.completer = newLogCompleter(s)
	s.spending = newSpendStore(&o)
	s.engine = engine.NewLocal(o.Journal, s.drive, o.Engine)
	return s, nil
}

// Start begins to drive runs, open ones first. No run is accepted before.
func (s *Service) Start(ctx context.Context) error {
	if err := s.engine.Start(ctx); err != nil {
		return err
	}
	s.started.Store(true)
	if s.poller != nil {
		s.poller.start(ctx)
	}
	s.stops.begin(ctx, s)
	return nil
}

// Shared reports whether other processes serve the same journal and rows; see [Options].
func (s *Service) Shared() bool { return s.options.Shared }

// Load returns how many runs are being driven here and how many are queued.
func (s *Service) Load() (running, queued int) { return s.engine.Load() }

// TenantLoad is the load of one tenant in this process.
type TenantLoad = engine.TenantLoad

// Tenants returns the load of each tenant that has runs in this process.
func (s *Service) Tenants() map[string]TenantLoad { return s.engine.Tenants() }

// Waits returns why a run of this process makes no progress: the error of [engine.Local.Waits], or
// the error with which the journal refuses to write the run's events. It returns nil if the run
// goes on, waits for an answer or behind another run, or is not known here.
func (s *Service) Waits(run string) error {
	if err := s.engine.Waits(run); err != nil {
		return err
	}
	if err, ok := s.stalled.Load(run); ok {
		return err.(error) //nolint:forcetypeassert // nothing else is stored
	}
	return nil
}

// Drain stops driving. It releases runs where they are, and they go on when a service starts again.
// Followers are closed last, so that they see everything that was committed. It returns the errors
// of the engine and the bus.
func (s *Service) Drain(ctx context.Context) error {
	s.stops.stop()
	err := s.engine.Drain(ctx)
	s.titles.end()
	s.completer.end()
	err = errors.Join(err, s.bus.Close())
	if s.poller != nil {
		s.poller.stop()
	}
	return err
}

// checker is implemented by rows that know whether they accept writes, as [journal.Catalog] does
// for a journal.
type checker interface {
	Check(ctx context.Context) error
}

// Ready returns nil if the service can work. It returns an error if it is not started, if a store
// does not answer, or if a store accepts no commits.
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

// begun returns an error before [Service.Start]. A run that nothing drives would be queued for
// ever.
func (s *Service) begun(op string) error {
	if s.started.Load() {
		return nil
	}
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the service is not started", Hint: "call Start on the service first",
	}
}

// Memory returns the bound on the bytes that are worked on at once. The server counts its request
// bodies in it.
func (s *Service) Memory() *Memory { return s.memory }

// head returns an open run's row.
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
