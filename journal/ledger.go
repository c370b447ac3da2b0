package journal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Ledger is what a journal keeps beside the logs: usage of models, tool calls and messages, as
// rows that can be listed and summed without reading a log (seed 4's usage_logs,
// tool_execution_logs and message_logs).
//
// Usage and tool rows come with a [Batch] and are written in the transaction of its events: a
// commit writes both or neither, and a repeated commit writes them once. Messages are a
// projection of the log and can be rebuilt from a run's events at any time.
//
// All methods are safe for concurrent use and return *[event.Error]s as those of [Store] do. A
// row is visible to its own tenant only.
type Ledger interface {
	// UsageLog lists usage, newest first. Rows with the same time have a stable order. It
	// ignores [LedgerQuery].Tool.
	UsageLog(ctx context.Context, q LedgerQuery) ([]UsageEntry, error)
	// UsageSums sums the same rows in groups, ordered by their keys. after is the key of the
	// previous page's last group, nil for the first page. It ignores [LedgerQuery].Before. An
	// unknown by is ErrInvalid. A sum that overflows is clamped.
	UsageSums(ctx context.Context, q LedgerQuery, by UsageBy, after *string) ([]UsageSum, error)
	// ToolLog lists tool calls, the one that began last first. It ignores [LedgerQuery].Model.
	ToolLog(ctx context.Context, q LedgerQuery) ([]ToolEntry, error)
	// AddUsage records usage outside a run's log, such as for the title of its conversation.
	// u.Run names the run; an unknown run is ErrNotFound. A second entry with the same run, Step
	// and Attempt changes nothing. An empty Run or Step is ErrInvalid.
	AddUsage(ctx context.Context, u UsageEntry) error
	// KeepMessages replaces a run's messages in one transaction. Each message has a unique Seq
	// and Part. An unknown run is ErrNotFound.
	KeepMessages(ctx context.Context, run string, list []MessageEntry) error
	// Messages lists a conversation's messages in order. An unknown conversation, or one of
	// another tenant, has none. An empty id is ErrInvalid.
	Messages(ctx context.Context, q MessageQuery) ([]MessageEntry, error)
	// Unkept lists the conversation's ended runs whose messages have not been kept, by turn:
	// those without a message for their first event. A conversation of another tenant has none.
	Unkept(ctx context.Context, tenant, conversation string) ([]string, error)
}

// LedgerQuery filters rows. Empty fields do not restrict the result.
type LedgerQuery struct {
	// Tenant is the owner of the rows. The empty tenant is a tenant too.
	Tenant       string
	Conversation string
	Run          string
	Executor     string
	// User is the user of the run. Tool calls ignore it.
	User string
	// Model is the model of a call.
	Model string
	// Tool is the name of a tool.
	Tool string
	// From and To are the time range: From is included, To is not. The zero time is unbounded.
	From, To time.Time
	// Before is the last row of the previous page; the zero value starts at the newest.
	Before LedgerPlace
	// Limit is the maximum number of rows or sums; 0 or less means all.
	Limit int
}

// LedgerPlace identifies a row by its time and the store's key.
type LedgerPlace struct {
	Time time.Time
	Key  int64
}

// Tokens are the four counts that providers charge for. Input excludes cache reads and writes;
// Output includes thinking.
type Tokens struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
}

// TokensOf returns the counts of a usage.
func TokensOf(u event.Usage) Tokens {
	return Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// Add returns the sum field by field. A sum that overflows is clamped.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{
		Input: event.AddCounts(t.Input, u.Input), Output: event.AddCounts(t.Output, u.Output),
		CacheRead: event.AddCounts(t.CacheRead, u.CacheRead), CacheWrite: event.AddCounts(t.CacheWrite, u.CacheWrite),
	}
}

// UsageKind is the purpose of a model call.
type UsageKind string

// The kinds of usage.
const (
	// UsageModel is a cycle of an agent, with or without an answer.
	UsageModel UsageKind = "model"
	// UsageCompaction is a summary of a part of the conversation.
	UsageCompaction UsageKind = "compaction"
	// UsageTitle is a title of the conversation. It does not count as the run's own usage.
	UsageTitle UsageKind = "title"
)

// UsageEntry is the usage of one attempt of a model call.
type UsageEntry struct {
	// Tokens are the tokens that it used.
	Tokens

	// Step and Attempt identify the entry within the run.
	Step    string
	Attempt int
	// Seq is the event that reports the usage; 0 for none.
	Seq  int64
	Kind UsageKind
	// Scope is the agent's thread of work inside the run.
	Scope string
	// Call is the tool_use_id of the call that opened the scope; empty for the main agent.
	Call string
	// Agent is the agent's subagent_type; empty for the main agent.
	Agent string
	Model string
	// CostNanoUSD is in 1e-9 US dollars; nil means unknown, which is not zero.
	CostNanoUSD *int64
	// Estimated means that the call was interrupted: Tokens and CostNanoUSD are what the
	// provider had reported by then, or an estimate.
	Estimated bool
	// Status is the outcome of the attempt: done if it gave an answer.
	Status event.Outcome
	// Time is when the attempt ended; stores keep microseconds.
	Time time.Time

	// The store sets the fields below. It ignores them in a [Batch]; AddUsage reads only Run of
	// them.

	// Key is the store's key of the row.
	Key          int64
	Tenant       string
	Conversation string
	Run          string
	Turn         int
	Executor     string
	// User is the user of the run; empty if the run has none, and in entries of earlier
	// versions.
	User string
	// RunStatus is the current status of the run, or its last status if the conversation was
	// removed.
	RunStatus event.RunStatus
}

// Place returns the position of the entry, for [LedgerQuery].Before.
func (u *UsageEntry) Place() LedgerPlace { return LedgerPlace{u.Time, u.Key} }

// UsageBy is what sums are grouped by.
type UsageBy string

// The groupings of sums, and the Key of a group.
const (
	UsageByModel        UsageBy = "model"
	UsageByConversation UsageBy = "conversation"
	UsageByRun          UsageBy = "run"
	// UsageByDay groups by day in UTC, as in 2026-11-21.
	UsageByDay      UsageBy = "day"
	UsageByExecutor UsageBy = "executor"
	// UsageByAgent groups by subagent_type; an empty key is the main agent.
	UsageByAgent UsageBy = "agent"
	UsageByKind  UsageBy = "kind"
	// UsageByUser groups by the user of the run; an empty key is an unknown user or none.
	UsageByUser UsageBy = "user"
)

// UsageSum is the sum of a group of entries.
type UsageSum struct {
	// Tokens are the tokens that the group used.
	Tokens

	Key string
	// Calls counts the entries.
	Calls int64
	// KnownNanoUSD is the total of the known costs, in 1e-9 US dollars.
	KnownNanoUSD int64
	// Unpriced counts the entries without a known cost.
	Unpriced int64
	// Estimated counts the entries that are estimates.
	Estimated int64
}

// CostNanoUSD returns the total cost; nil if the cost of an entry is unknown.
func (s *UsageSum) CostNanoUSD() *int64 {
	if s.Unpriced > 0 {
		return nil
	}
	return &s.KnownNanoUSD
}

// ToolStatus is the state of a tool call.
type ToolStatus string

// The states of a tool call.
const (
	ToolRunning ToolStatus = "running"
	// ToolWaiting waits for an answer or for a retry.
	ToolWaiting   ToolStatus = "waiting"
	ToolDone      ToolStatus = "done"
	ToolError     ToolStatus = "error"
	ToolCancelled ToolStatus = "cancelled"
	// ToolInDoubt may or may not have happened: its driver died, or the tool did not stop.
	ToolInDoubt ToolStatus = "in_doubt"
)

// Ended reports whether the state is final.
func (s ToolStatus) Ended() bool { return s != ToolRunning && s != ToolWaiting }

// ToolEntry is the state of a tool call. A later entry of the same run and Step replaces Attempt,
// Status, IsError, Output, Finished and End, and Input if it has one. The names and Began stay.
type ToolEntry struct {
	// Step identifies the call within the run.
	Step string
	// Attempt counts the tries; 0 for a call that never began.
	Attempt int
	// Asked is the Seq of the message that asks for the call; 0 for none. Redacting it also
	// erases Input here.
	Asked int64
	// End is the Seq of the event with the result; 0 for none. Redacting it also erases Output here.
	End int64
	// Call is the tool_use_id.
	Call string
	// Parent is the tool_use_id of the call whose agent makes this one; empty for the main agent.
	Parent string
	// Scope is the agent's thread of work inside the run.
	Scope string
	// Agent is the subagent_type of the calling agent; empty for the main agent.
	Agent string
	// Name is the tool name that the model used.
	Name string
	// Source is the origin of the tool, such as "builtin", "agent" or "mcp:files"; empty if unknown.
	Source string
	// Input is the tool's input as JSON; nil if it could not be read.
	Input json.RawMessage
	// Output is the tool's output.
	Output  []event.Block
	IsError bool
	Status  ToolStatus
	// Began is when the first attempt began, or when a call that never began was closed. Stores
	// keep microseconds.
	Began time.Time
	// Finished is when the call ended; zero while it has not.
	Finished time.Time

	// The store sets the fields below and ignores them in a [Batch].

	Key          int64
	Tenant       string
	Conversation string
	Run          string
	Turn         int
	Executor     string
}

// Place returns the position of the entry, for [LedgerQuery].Before.
func (t *ToolEntry) Place() LedgerPlace { return LedgerPlace{t.Began, t.Key} }
