package journal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Ledger is what a journal keeps beside the logs: what models used, what tools did and what was said, in
// rows that can be listed and summed without reading a log (seed 4's usage_logs,
// tool_execution_logs and message_logs). Rows of usage and tools are those of [Batch]: they are written
// in the transaction of the events that they stem from, so that a commit has both or none, and a commit that
// comes again has them once. Messages are a projection of the log: whoever keeps a run's messages makes them
// from its events, and can make them anew at any time.
//
// All methods are safe for concurrent use and answer *[event.Error]s as [Store] does. A row
// is seen under its own tenant alone.
type Ledger interface {
	// UsageLog lists what models used, newest first, and what is of one time in an order that
	// does not change. [LedgerQuery].Tool is not asked for here.
	UsageLog(ctx context.Context, q LedgerQuery) ([]UsageEntry, error)
	// UsageSums adds the same rows up in groups, ordered by their keys; after is the key of the
	// last group of the page before, nil for the first page. [LedgerQuery].Before is ignored.
	// An unknown by is ErrInvalid. A sum that does not fit is the largest number.
	UsageSums(ctx context.Context, q LedgerQuery, by UsageBy, after *string) ([]UsageSum, error)
	// ToolLog lists tool calls, those that began last first. [LedgerQuery].Model is not
	// asked for here.
	ToolLog(ctx context.Context, q LedgerQuery) ([]ToolEntry, error)
	// AddUsage adds what was used for a run outside of its log, such as for the title of its
	// conversation: u.Run says which run, and that there is none is ErrNotFound. A second entry
	// of the same run, Step and Attempt changes nothing. An empty Run or Step is ErrInvalid.
	AddUsage(ctx context.Context, u UsageEntry) error
	// KeepMessages keeps a run's messages in the place of those that it has, in one transaction;
	// each has a Seq and Part of its own. ErrNotFound for an unknown run.
	KeepMessages(ctx context.Context, run string, list []MessageEntry) error
	// Messages lists a conversation's messages in their order. An unknown conversation, or
	// another tenant's, has none; an empty one is ErrInvalid.
	Messages(ctx context.Context, q MessageQuery) ([]MessageEntry, error)
	// Unkept lists the conversation's runs that have ended and of whose first event no message is
	// kept, by their turns: nobody has kept any of them. Another tenant's has none.
	Unkept(ctx context.Context, tenant, conversation string) ([]string, error)
}

// LedgerQuery says which rows are wanted. Fields that are empty do not narrow.
type LedgerQuery struct {
	// Tenant is whose rows; the empty one is a tenant, too.
	Tenant       string
	Conversation string
	Run          string
	Executor     string
	// User is the user whose run it was. It is not asked for of tool calls.
	User string
	// Model is that of a model call, Tool the name of a tool.
	Model string
	Tool  string
	// From is the first moment and To the one after the last; zero is unbounded.
	From, To time.Time
	// Before is the last row of the page before; the zero value begins.
	Before LedgerPlace
	// Limit is how many rows, or sums; 0 or less is all.
	Limit int
}

// LedgerPlace names a row: its time and the store's key of it.
type LedgerPlace struct {
	Time time.Time
	Key  int64
}

// Tokens are the four counts that providers charge for. Input holds neither what was read from
// a cache nor what was written to it; Output holds what was thought.
type Tokens struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
}

// TokensOf are the counts of a usage.
func TokensOf(u event.Usage) Tokens {
	return Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// Add sums two of them field by field. A sum that does not fit is the largest number.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{
		Input: event.AddCounts(t.Input, u.Input), Output: event.AddCounts(t.Output, u.Output),
		CacheRead: event.AddCounts(t.CacheRead, u.CacheRead), CacheWrite: event.AddCounts(t.CacheWrite, u.CacheWrite),
	}
}

// UsageKind says what models were called for.
type UsageKind string

// The kinds of usage.
const (
	// UsageModel is an agent's cycle, answered or not.
	UsageModel UsageKind = "model"
	// UsageCompaction is the summary of a stretch of the conversation.
	UsageCompaction UsageKind = "compaction"
	// UsageTitle is the title of the conversation. It is of no run's own usage.
	UsageTitle UsageKind = "title"
)

// UsageEntry is what one attempt of a model call used.
type UsageEntry struct {
	// Tokens are what it used.
	Tokens

	// Step and Attempt tell the entries of a run apart; Seq is the event that says so, 0 where
	// none does.
	Step    string
	Attempt int
	Seq     int64
	Kind    UsageKind
	// Scope is the agent's thread of work inside the run. Call is the tool_use_id of the call
	// that opened it and Agent its subagent_type; both are empty for the main agent.
	Scope string
	Call  string
	Agent string
	Model string
	// CostNanoUSD is in 1e-9 US dollars; nil where nobody knows: unknown is not zero.
	CostNanoUSD *int64
	// Estimated says that the call was cut: Tokens and CostNanoUSD are what the provider had
	// reported by then, or an estimate.
	Estimated bool
	// Status is how the attempt ended: done where it gave an answer.
	Status event.Outcome
	// Time is when it ended; stores keep microseconds.
	Time time.Time

	// What follows is the store's: it is ignored in a [Batch].

	// Key is the row's own, the rest the run's. Of them AddUsage reads Run.
	Key          int64
	Tenant       string
	Conversation string
	Run          string
	Turn         int
	Executor     string
	// User is the run's; empty where it has none, and of entries that an earlier version wrote.
	User string
	// RunStatus is how the run stands now; of a conversation that was removed, how it ended.
	RunStatus event.RunStatus
}

// Place names the entry for the page behind it.
func (u *UsageEntry) Place() LedgerPlace { return LedgerPlace{u.Time, u.Key} }

// UsageBy says what sums are of.
type UsageBy string

// The groups of sums, and what is the Key of one.
const (
	UsageByModel        UsageBy = "model"
	UsageByConversation UsageBy = "conversation"
	UsageByRun          UsageBy = "run"
	// UsageByDay groups by day in UTC, as in 2026-11-21.
	UsageByDay      UsageBy = "day"
	UsageByExecutor UsageBy = "executor"
	// UsageByAgent groups by subagent_type; empty is the main agent.
	UsageByAgent UsageBy = "agent"
	UsageByKind  UsageBy = "kind"
	// UsageByUser groups by the user of the run; empty is none, or not known.
	UsageByUser UsageBy = "user"
)

// UsageSum is a group of entries.
type UsageSum struct {
	// Tokens are what they used.
	Tokens

	Key string
	// Calls counts the entries.
	Calls int64
	// KnownNanoUSD is what those cost whose cost is known, in 1e-9 US dollars, and Unpriced
	// counts the others.
	KnownNanoUSD int64
	Unpriced     int64
	// Estimated counts the entries that are estimates.
	Estimated int64
}

// CostNanoUSD is what all of them cost; nil where that is not known of one.
func (s *UsageSum) CostNanoUSD() *int64 {
	if s.Unpriced > 0 {
		return nil
	}
	return &s.KnownNanoUSD
}

// ToolStatus is where a tool call stands.
type ToolStatus string

// The states of a tool call.
const (
	ToolRunning ToolStatus = "running"
	// ToolWaiting waits for an answer, or to be made again.
	ToolWaiting   ToolStatus = "waiting"
	ToolDone      ToolStatus = "done"
	ToolError     ToolStatus = "error"
	ToolCancelled ToolStatus = "cancelled"
	// ToolInDoubt may or may not have happened: its driver died, or it did not stop.
	ToolInDoubt ToolStatus = "in_doubt"
)

// Ended reports whether a call in this state is over.
func (s ToolStatus) Ended() bool { return s != ToolRunning && s != ToolWaiting }

// ToolEntry is a tool call as it stands. A later entry of the same run and Step takes the place of
// the earlier one: its Attempt, Status, IsError, Output, Finished and End are the call's from then
// on; Input only where it has one, and what the call is called, and when it began, stays.
type ToolEntry struct {
	// Step tells the calls of a run apart; Attempt counts the tries, 0 for a call that
	// never began.
	Step    string
	Attempt int
	// Asked is the Seq of the message that asks for the call, End that of the event that has its
	// result; 0 for none. A redaction of one of them erases Input, or Output, here, too.
	Asked int64
	End   int64
	// Call is the tool_use_id, Parent that of the call whose agent makes this one; Agent is the
	// subagent_type of that agent. The last two are empty where it is the main agent.
	Call   string
	Parent string
	Scope  string
	Agent  string
	// Name is what the model called, and Source where that tool comes from, as in "builtin",
	// "agent" or "mcp:files"; empty where nobody knows.
	Name   string
	Source string
	// Input is what the tool was given, JSON; nil where that could not be read. Output is what it gave.
	Input   json.RawMessage
	Output  []event.Block
	IsError bool
	Status  ToolStatus
	// Began is when the first attempt began, or when a call that did not was closed; Finished is
	// zero while the call is not over. Stores keep microseconds.
	Began    time.Time
	Finished time.Time

	// What follows is the store's: it is ignored in a [Batch].

	Key          int64
	Tenant       string
	Conversation string
	Run          string
	Turn         int
	Executor     string
}

// Place names the entry for the page behind it.
func (t *ToolEntry) Place() LedgerPlace { return LedgerPlace{t.Began, t.Key} }
