package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
	"github.com/braidrun/braid/workspace"
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
	// Workspaces is the quota of a conversation's files, which the journal's store of bytes keeps; see [Service.Files] and
	// [WorkspaceOf]. nil means that conversations have no files.
	Workspaces *workspace.Quota
	// WorkspaceBackend stores the files elsewhere than in the journal, with a quota of its own; Workspaces is not read then.
	// nil means the journal. The service does not close it.
	WorkspaceBackend workspace.Backend
	// ToolServers reaches the MCP servers of tenants. nil means that they are not connected.
	ToolServers ToolServers
	// Webhooks sends messages about runs to addresses of tenants. The service starts and stops it. nil
	// means that none are sent.
	Webhooks *webhooks.Outbox
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

// Model describes a model in a list of models.
type Model struct {
	// Name is the name by which a run chooses the model.
	Name string
	// Aliases are its other names.
	Aliases   []string
	Simulated bool
	// Why is the reason why the model cannot be used now. It is empty if it can.
	Why string
}
