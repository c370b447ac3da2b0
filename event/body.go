package event

import (
	"encoding/json"
	"time"
)

// Kind names a body in JSON. The list is append-only: kinds are stored.
type Kind string

// Body is what an event says. The interface is sealed; a kind that this
// version does not know is kept as [Unknown].
type Body interface {
	// Kind is the body's name in JSON.
	Kind() Kind
	info() *BodyInfo
	size() int
}

// The structs below declare their kinds themselves, in the line //event:body, and their tags say how fields are
// written and redacted: internal/gen/codec explains both. After a change: go generate ./event.

// RunStarted is the first event of a run. The user messages that follow it
// are the run's input.
//
//event:body run_started
type RunStarted struct {
	// Agent is the name of the root agent, Model the model it starts with.
	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
	// Turn numbers the runs of the conversation from 1; failed and cancelled
	// runs keep theirs.
	Turn int `json:"turn,omitempty"`
	// Session numbers the stretches of the log that the model sees, from 1.
	// A number above the last one begins a new, empty stretch.
	Session int `json:"session,omitempty"`
	// Executor is a label of the caller for logs and usage, never an identity (seed 4).
	Executor string `json:"executor,omitempty"`
	// Tools and Servers are what the model may use, for the wires that announce it.
	Tools   []string     `json:"tools,omitempty"`
	Servers []ToolServer `json:"servers,omitempty"`
	// Found are those of Tools that the session's earlier runs have found by looking for
	// them, where the agent does not show its model all of them.
	Found []string `json:"found,omitempty"`
	// Metadata is the caller's own.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Spent is what the conversation's earlier runs have used. It stands here only where
	// the run's agent bounds that, so that a log which is read from a later run on still
	// tells it; nil says nothing.
	Spent *Spent `json:"spent,omitempty"`
	// Continues names the failed run whose work this run takes over, and From is the Seq of that
	// work's first event. Both are empty for every other run.
	Continues string `json:"continues,omitempty"`
	From      int64  `json:"from,omitempty"`
}

// Spent is what runs have used, sub-agents included.
type Spent struct {
	// Cycles counts model calls, without their repetitions; ToolCalls those that models asked
	// for; Scopes the calls of agents that were used as tools.
	Cycles    int   `json:"cycles,omitempty"`
	ToolCalls int   `json:"tool_calls,omitempty"`
	Scopes    int   `json:"scopes,omitempty"`
	Usage     Usage `json:"usage,omitzero"`
	// CostNanoUSD is in 1e-9 US dollars. A call of which nobody knows what it cost counts as
	// much as the dearest of its model in the same run: it is for limits, not for bills.
	CostNanoUSD int64 `json:"cost_nano_usd,omitempty"`
	// Active is how long steps ran.
	Active time.Duration `json:"active_ns,omitempty"`
}

// Add sums two of them field by field.
func (s Spent) Add(t Spent) Spent {
	return Spent{
		Cycles: s.Cycles + t.Cycles, ToolCalls: s.ToolCalls + t.ToolCalls, Scopes: s.Scopes + t.Scopes,
		Usage: s.Usage.Add(t.Usage), CostNanoUSD: AddCounts(s.CostNanoUSD, t.CostNanoUSD), Active: s.Active + t.Active,
	}
}

// ToolServer is a source of tools and how the connection to it stands.
type ToolServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	// Reason says why it is not connected; empty if it is connected, or if the reason is unknown.
	Reason string `json:"reason,omitempty"`
	// Skipped are tools of it that are left out, at most some.
	Skipped []SkippedTool `json:"skipped,omitempty"`
}

// SkippedTool is a tool that is left out, and why. One without a name stands for others.
type SkippedTool struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
}

// RunEnded is the last event of a run.
//
//event:body run_ended
type RunEnded struct {
	// Status is RunCompleted, RunFailed or RunCancelled.
	Status RunStatus `json:"status"`
	// Stop is why the run ended in the model's words, Why in the loop's.
	Stop StopReason `json:"stop,omitempty"`
	Why  Why        `json:"why,omitempty"`
	// Err is set unless the run completed; for a limit it stands beside a
	// completed result.
	Err *Error `json:"err,omitempty"`
	// Usage is the sum over all model calls of the run, also the failed ones.
	Usage Usage `json:"usage,omitzero"`
	// Models splits Usage by model, sorted by name. It stands here, and not only
	// in the messages, because an engine beside ours tells the truth about its
	// sub-agents nowhere else (seed 4 wants usage by model).
	Models []ModelUsage `json:"models,omitempty"`
	// Agents splits Models by scope, the root first, in a run in which a Task tool opened a scope.
	Agents   []AgentUsage  `json:"agents,omitempty"`
	Cycles   int           `json:"cycles,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	// CostNanoUSD is in 1e-9 US dollars, because a small call costs less than a
	// micro-dollar; nil where no price is known: unknown is not zero.
	CostNanoUSD *int64 `json:"cost_nano_usd,omitempty"`
	// Estimated says that Usage and CostNanoUSD hold an estimate for a call that was cut.
	Estimated bool `json:"estimated,omitempty"`
	// Output is the structured result, where one was asked for.
	Output json.RawMessage `json:"output,omitempty" redacted:"drop"`
	// Partial is the text of an answer that a cancellation or the end of the run's time cut
	// off: what people had seen of it. The next run's model sees it, with a note.
	Partial string `json:"partial,omitempty" redacted:"drop"`
	// Keep says of a failed run that later runs see its messages and results. Without it they see a note
	// of its tools' effects alone.
	Keep bool `json:"keep,omitempty"`
	// Files are what the run's tools did to the files of a workspace, in the order of the paths and at most
	// [MaxFileChanges]; MoreFiles counts the others.
	Files     []FileChange `json:"files,omitempty"      redacted:"drop"`
	MoreFiles int          `json:"more_files,omitempty"`
}

// RunStatus is where a run stands.
type RunStatus string

// The states of a run.
const (
	RunQueued    RunStatus = "queued"
	RunRunning   RunStatus = "running"
	RunWaiting   RunStatus = "waiting"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// Ended reports whether a run in this state is over.
func (s RunStatus) Ended() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}

// UserMessage is what a person, or a caller on a person's behalf, said.
//
//event:body user_message erased
type UserMessage struct {
	Content []Block `json:"content" redacted:"shown"`
	// Mail is the id of the letter by which it came while the run was open; empty
	// for what the run began with.
	Mail string `json:"mail,omitempty"`
	// Why is set where no person says it, but the loop itself, in the agent's name:
	// [WhyAnswer], [WhyRepeats] or [WhyTask]. Such a message is for the model, and no client is shown it.
	Why Why `json:"why,omitempty"`
}

// AssistantMessage is a model's whole answer. It ends the model step that it
// names in its header, and repeats everything that was streamed.
//
//event:body assistant_message erased
type AssistantMessage struct {
	Content []Block    `json:"content"         redacted:"calls"`
	Stop    StopReason `json:"stop,omitempty"`
	Usage   Usage      `json:"usage,omitzero"`
	Model   string     `json:"model,omitempty"`
	// CostNanoUSD is what the call cost in 1e-9 US dollars, by the prices of its time;
	// nil where no price is known: unknown is not zero.
	CostNanoUSD *int64 `json:"cost_nano_usd,omitempty"`
	// Estimated says that the call was cut, as in [StepEnded].
	Estimated bool `json:"estimated,omitempty"`
	// Response is the provider's own id of the answer.
	Response string `json:"response,omitempty"`
	// Piece marks a part of an answer that an engine beside ours hands over
	// block by block, while the tools of the first blocks already run. The
	// pieces of one answer share Step and Response; the message of that step
	// without Piece ends it with the rest of the content, which may be none,
	// the stop reason and the usage.
	Piece bool `json:"piece,omitempty"`
	// LongRunning lists the calls of this message whose tools answer later,
	// from outside (ADK's longRunningToolIds).
	LongRunning []string `json:"long_running,omitempty"`
	// Hook says that no model was asked: a hook answered in its place.
	Hook bool `json:"hook,omitempty"`
	// ThinkingDropped counts the thinking blocks of the history that the request for
	// this answer left out, because the model accepts none behind a request that has
	// changed since. ThinkingRefused says that the provider had refused them first.
	ThinkingDropped int  `json:"thinking_dropped,omitempty"`
	ThinkingRefused bool `json:"thinking_refused,omitempty"`
	// Latency is the whole call; TimeToFirstByte ends with the first piece
	// of content.
	Latency         time.Duration `json:"latency_ns,omitempty"`
	TimeToFirstByte time.Duration `json:"time_to_first_byte_ns,omitempty"`
}

// StepKind says what a step does.
type StepKind string

// The kinds of steps.
const (
	StepModel StepKind = "model"
	StepTool  StepKind = "tool"
	// StepCompaction asks a model for the summary of a stretch of the log. What it
	// gives is not an answer: it stands in the [Compacted] that follows.
	StepCompaction StepKind = "compaction"
)

// StepBegun is written before a model or tool call starts.
//
//event:body step_begun
type StepBegun struct {
	Step StepKind `json:"step_kind"`
	// Why says, on a model step, why the loop went on to this cycle, and on a
	// compaction what made it necessary.
	Why Why `json:"why,omitempty"`
	// Model names the model that is called.
	Model string `json:"model,omitempty"`
	// Tools names what the scope's model may use from this model call on, in the order of the
	// request, where that is not what the log last said: [RunStarted].Tools for the root agent, and
	// nothing for an agent that is used as a tool, whose first call says it. nil is as before; a list
	// without names says that it may use none any more.
	Tools []string `json:"tools,omitzero"`
	// Call and Tool name the tool call; Effect is what repeating it would do.
	Call   string `json:"call,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Effect Effect `json:"effect,omitempty"`
	// Reconcile is set where this attempt asks the outside what became of an
	// earlier one instead of acting.
	Reconcile bool `json:"reconcile,omitempty"`
	// Args are the arguments of a tool call, as the tool gets them: those of the model's call, or what a hook
	// or a user made of them. Only a call whose arguments are not JSON has none, and logs of earlier versions,
	// which have them only where they differ from the model's.
	Args json.RawMessage `json:"args,omitempty" redacted:"drop"`
	// Runs is the tool, or the model, that a hook put in the place of Tool or Model for this attempt; empty
	// where no hook did. Effect is that of the tool which runs.
	Runs string `json:"runs,omitempty"`
}

// StepEnded ends a tool call, or a model call that gave no message.
//
//event:body step_ended erased
type StepEnded struct {
	Step    StepKind `json:"step_kind"`
	Outcome Outcome  `json:"outcome"`
	// Result is what a tool call gave, and what the model is shown of it unless
	// Shown is set: the result was too large for that, and Shown stands for its content.
	Result *ToolResult `json:"result,omitempty" redacted:"shown"`
	Shown  []Block     `json:"shown,omitempty"  redacted:"drop"`
	// Err is why the step failed.
	Err *Error `json:"err,omitempty"`
	// Usage is what a failed model call used; see Estimated. UsageUnknown says that the
	// provider reported nothing.
	Usage        Usage `json:"usage,omitzero"`
	UsageUnknown bool  `json:"usage_unknown,omitempty"`
	// CostNanoUSD is what a model call is known to have cost in 1e-9 US dollars, by the prices of its time;
	// nil where no price is known: unknown is not zero.
	CostNanoUSD *int64 `json:"cost_nano_usd,omitempty"`
	// Estimated says that a model call was cut: Usage has the tokens that the provider
	// reported before, or else an estimate of what was sent and received, and CostNanoUSD
	// is the price of that. The provider may charge more.
	Estimated bool `json:"estimated,omitempty"`
	// RetryAt is when the next attempt may begin; zero means that there is none. A
	// tool call has one only where a hook wants it made again, and no Result then.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// ByHook is set where a hook asked for the next attempt. It does not count against the retry policy.
	ByHook bool `json:"by_hook,omitempty"`
	// Fallback names the model that the next attempt asks instead, at once; empty
	// where it is the same one, or where there is none.
	Fallback string `json:"fallback,omitempty"`
	// EndTurn is set where the tool asked the loop to stop after this batch
	// and the model is not to sum the result up (ADK's skip_summarization,
	// Strands' stop_event_loop).
	EndTurn bool `json:"end_turn,omitempty"`
	// Found are tools that the call has found: the model is shown them from its next
	// call on.
	Found []string `json:"found,omitempty"`
	// ReturnDirect is set where the tool asked for its result to be the agent's answer:
	// after this batch the loop stops with it, unless it is an error.
	ReturnDirect bool          `json:"return_direct,omitempty"`
	Duration     time.Duration `json:"duration_ns,omitempty"`
	// Files are what a tool call did to the files of a workspace, at most [MaxFileChanges]; MoreFiles counts the others.
	Files     []FileChange `json:"files,omitempty"      redacted:"drop"`
	MoreFiles int          `json:"more_files,omitempty"`
}

// Outcome is how a step ended.
type Outcome string

// The outcomes.
const (
	// OutcomeDone is a finished call; its result may still be an error for the model.
	OutcomeDone Outcome = "done"
	// OutcomeFailed is a model call that gave an error.
	OutcomeFailed Outcome = "failed"
	// OutcomeCancelled is a call that a hook cancelled, or that was stopped, or never begun, because the
	// run was cancelled or reached a limit.
	OutcomeCancelled Outcome = "cancelled"
	// OutcomeStraggler is a call that did not stop within the grace period
	// and was left behind.
	OutcomeStraggler Outcome = "straggler"
	// OutcomeInDoubt is an unsafe call that was in flight when its driver
	// died: it may or may not have happened.
	OutcomeInDoubt Outcome = "in_doubt"
	// OutcomeLost is a model call that was in flight when its driver died.
	OutcomeLost Outcome = "lost"
)

// Effect is what repeating a tool call would do.
type Effect string

// The effects. The zero value counts as unsafe.
const (
	EffectPure         Effect = "pure"
	EffectIdempotent   Effect = "idempotent"
	EffectReconcilable Effect = "reconcilable"
	EffectUnsafe       Effect = "unsafe"
)

// ScopeOpened begins an agent's thread of work inside a run.
//
//event:body scope_opened erased
type ScopeOpened struct {
	// ID names the scope within its run; Parent is the scope that opened it.
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	// Call is the tool call of the parent that waits for it, Node the place
	// in a workflow.
	Call  string `json:"call,omitempty"`
	Node  string `json:"node,omitempty"`
	Agent string `json:"agent"`
	// Depth is 0 for the root.
	Depth int     `json:"depth,omitempty"`
	Input []Block `json:"input,omitempty" redacted:"shown"`
	// Background is set where the parent does not wait: the result of Call is
	// only a receipt, and the scope may outlive the answer that asked for it.
	Background bool `json:"background,omitempty"`
	// Dependent is set where the run may end while the scope works in the background: the scope is cancelled then.
	Dependent bool `json:"dependent,omitempty"`
	// Task is set where a Task tool opened the scope. Description is what its call said of the work in a few
	// words, Asked the model or alias that it named, and Model the model that the scope starts with.
	Task        bool   `json:"task,omitempty"`
	Description string `json:"description,omitempty" redacted:"drop"`
	Asked       string `json:"asked_model,omitempty"`
	Model       string `json:"model,omitempty"`
}

// ScopeClosed ends it.
//
//event:body scope_closed
type ScopeClosed struct {
	ID     string     `json:"id"`
	Output []Block    `json:"output,omitempty" redacted:"shown"`
	Stop   StopReason `json:"stop,omitempty"`
	Why    Why        `json:"why,omitempty"`
	// Route is the edge that a workflow took, decided once and written.
	Route string `json:"route,omitempty"`
	Err   *Error `json:"err,omitempty"`
	// Models is what the model calls of the scope itself used, without the scopes below it. It stands only in a
	// scope that a Task tool opened.
	Models []ModelUsage `json:"models,omitempty"`
}

// StateChanged merges into the state. A key's prefix is its scope: "app:" and
// "user:" are shared between conversations, no prefix is the conversation's.
// "temp:" keys never stand here: they live in the memory of one run.
//
//event:body state_changed final
type StateChanged struct {
	// Set holds JSON values; null is a value, not a removal.
	Set    map[string]json.RawMessage `json:"set,omitempty"    redacted:"null"`
	Delete []string                   `json:"delete,omitempty"`
}

// ArtifactSaved says that a version of an artifact exists.
//
//event:body artifact_saved final
type ArtifactSaved struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	MIME    string `json:"mime,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// Transferred hands the scope to another agent. If a tool of the scope asked for it, it holds once all calls of the answer have
// results.
//
//event:body transferred
type Transferred struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Policy says how long the agent has the scope: empty for as long as it wants and also in later runs, [TransferReturn] or
	// [TransferOnce].
	Policy string `json:"policy,omitempty"`
	// Sees says what its model sees of what was before: empty for everything, [TransferContext] or [TransferBrief].
	Sees string `json:"sees,omitempty"`
	// Brief is what the agent before wrote for it.
	Brief string `json:"brief,omitempty" redacted:"drop"`
}

// The values of Policy and Sees in [Transferred].
const (
	// TransferReturn lets the next run begin with the run's own agent.
	TransferReturn = "return"
	// TransferOnce gives the scope back once the agent has answered.
	TransferOnce = "once"
	// TransferContext shows what other agents said and did as context, in a user's message.
	TransferContext = "context"
	// TransferBrief shows the user's newest message and Brief.
	TransferBrief = "brief"
)

// Escalated asks the enclosing loop or parent to stop.
//
//event:body escalated final
type Escalated struct {
	Reason string `json:"reason,omitempty"`
}

// Decided is what Go code of the program has decided for an agent without a model: a condition, a way, a list of items. It
// was called once; a driver that resumes the run reads the value here.
//
//event:body decided
type Decided struct {
	// Name tells the decisions of a scope apart. One that is made again has the same name.
	Name string `json:"name"`
	// Value is JSON. It is empty if Err says why there is none.
	Value json.RawMessage `json:"value,omitempty" redacted:"null"`
	Err   *Error          `json:"err,omitempty"`
	// Duration is how long the code ran.
	Duration time.Duration `json:"duration_ns,omitempty"`
}

// QuestionKind says what kind of answer a question waits for.
type QuestionKind string

// The kinds of questions.
const (
	// AskInput wants a typed value.
	AskInput QuestionKind = "input"
	// AskApproval wants a yes or no to one call.
	AskApproval QuestionKind = "approval"
	// AskCredential wants the person to sign in somewhere.
	AskCredential QuestionKind = "credential"
	// AskExternal waits for a result from outside (ADK's long-running tool).
	AskExternal QuestionKind = "external"
)

// PermissionQuestion is the name of the question whether a tool may run, which an agent's permissions ask. Its answer is
// an [Approval]: yes or no, for how long, for which arguments, and why not. It is bound to the tool, its description and
// schema, the exact arguments in the question, and the run's user.
const PermissionQuestion = "braid.permission"

// Asked parks a tool call until somebody answers; without a step, what its scope would do next.
//
//event:body asked final
type Asked struct {
	// Token is random and good for one answer.
	Token string       `json:"token"`
	Ask   QuestionKind `json:"ask"`
	// Name tells questions of one call apart; Index is its place among them.
	Name  string `json:"name,omitempty"`
	Index int    `json:"index,omitempty"`
	// Hook is the place, from 1, of the hook that asks among those of its point; zero for a tool.
	Hook int `json:"hook,omitempty"`
	// Prompt is what the person is asked; Payload is for their program.
	Prompt  string          `json:"prompt,omitempty"  redacted:"shown"`
	Payload json.RawMessage `json:"payload,omitempty" redacted:"drop"`
	// Schema is the JSON schema of the answer.
	Schema json.RawMessage `json:"schema,omitempty" redacted:"keep"`
	// Call and Tool say who asks; Args is what an approval is bound to.
	Call string          `json:"call,omitempty"`
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty" redacted:"drop"`
	// ToolHash is a hash of what the tool said of itself when it asked. A permission is bound to it.
	ToolHash string `json:"tool_hash,omitempty"`
	// Expires is when the question closes by itself; zero means never.
	Expires time.Time `json:"expires,omitzero"`
}

// Answered is a person's answer. Value is JSON; null is an answer too. The
// answer to [AskApproval] is an [Approval].
//
//event:body answered
type Answered struct {
	Token string          `json:"token"`
	Value json.RawMessage `json:"value"        redacted:"null"`
	By    string          `json:"by,omitempty"`
}

// Fault is an error that is part of the conversation's history without ending it.
//
//event:body fault final
type Fault struct {
	Err *Error `json:"err"`
}

// Notice tells about the machinery: a retry, a status, a fallback. It changes
// no state and the model never sees it.
//
//event:body notice erased
type Notice struct {
	// Code is a stable word such as "api_retry".
	Code string `json:"code"`
	Text string `json:"text,omitempty" redacted:"shown"`
	// Data holds the details as JSON.
	Data json.RawMessage `json:"data,omitempty" redacted:"drop"`
}

// NoticeUsage is the Code of the [Notice] for the operator that follows a model call whose usage or cost cannot be, such
// as a count below zero. The call's own event has the usage as Braid counts it.
const NoticeUsage = "usage_clipped"

// NoticeRepaired is the Code of the [Notice] that says how the history that a program or a hook handed in was changed, so
// that models accept it. Its text has one line for each repair.
const NoticeRepaired = "history_repaired"

// Compacted replaces the events From to To of its scope, both included, by Summary in
// what the model sees. The log keeps them.
//
//event:body compacted final
type Compacted struct {
	From    int64   `json:"from"`
	To      int64   `json:"to"`
	Summary []Block `json:"summary,omitempty" redacted:"keep"`
	// Keep lists events between From and To that the model goes on seeing, in order.
	Keep []int64 `json:"keep,omitempty"`
	// Cut is set where the messages stay, and the model only sees less of what tools
	// gave: the beginning and the end of long text, and a word in place of a picture.
	Cut bool `json:"cut,omitempty"`
	// Trigger says who wanted it: "limit", "overflow", "manual".
	Trigger string `json:"trigger,omitempty"`
}

// Covered is the last of the events that nothing is shown of from From on, which is To
// where nothing between them is kept. It is less than From where that is nothing.
func (b *Compacted) Covered() int64 {
	to := b.To
	if b.Cut {
		return b.From - 1
	}
	for _, seq := range b.Keep {
		if seq >= b.From {
			to = min(to, seq-1)
		}
	}
	return to
}

// Redacted hides the content of an earlier event from models and clients.
//
//event:body redacted
type Redacted struct {
	Target int64 `json:"target"`
	// Replacement is shown instead.
	Replacement []Block `json:"replacement,omitempty" redacted:"keep"`
	Reason      string  `json:"reason,omitempty"`
	// Clean says that the target never held it: it was taken out before the target was
	// written, and this is the record of that.
	Clean bool `json:"clean,omitempty"`
}
