package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// AgentRequest is what a run wants of its agent, as the [OptionsBuilder] has made it.
type AgentRequest struct {
	Principal
	AgentOptions

	// Life is the tenant's: what is kept for longer than a run is bound to it, and not to the tenant's id
	// alone. It is empty without a directory.
	Life         string
	Conversation string
	// Run is the run's id; empty while it is not accepted yet.
	Run string
	// OutputSchema is the JSON schema of the answer; nil means free text.
	OutputSchema json.RawMessage
	// Skills are those that the caller prefers.
	Skills []string
	// Tokens are the caller's for this run. They are in memory only: a run that
	// another process goes on with has none.
	Tokens map[string]secret.Secret
}

// Model is what a list of models says about one.
type Model struct {
	// Name is what a run names.
	Name string
	// Aliases are other names of it.
	Aliases   []string
	Simulated bool
	// Why says why it cannot be used now; empty means that it can.
	Why string
}

// The reserved keys of a run's metadata: what its agent must know after a restart.
// They are never shown.
const (
	reserved    = "braid."
	keyAgent    = reserved + "agent"
	keyModel    = reserved + "model"
	keyLimits   = reserved + "limits"
	keySchema   = reserved + "schema"
	keySkills   = reserved + "skills"
	keyBody     = reserved + "body"
	keyLife     = reserved + "life"
	keyTokens   = reserved + "tokens"
	keyBytes    = reserved + "bytes"
	agentOnTurn = "assistant"
)

// keptLimits is how limits are written.
type keptLimits struct {
	Cycles    int           `json:"cycles,omitempty"`
	ToolCalls int           `json:"tool_calls,omitempty"`
	Tokens    int64         `json:"tokens,omitempty"`
	Active    time.Duration `json:"active_ns,omitempty"`

	InputTokens  int64      `json:"input_tokens,omitempty"`
	OutputTokens int64      `json:"output_tokens,omitempty"`
	CostNanoUSD  int64      `json:"cost_nano_usd,omitempty"`
	Conversation keptBudget `json:"conversation,omitzero"`
}

// keptBudget is a [braid.Budget].
type keptBudget struct {
	Cycles       int           `json:"cycles,omitempty"`
	ToolCalls    int           `json:"tool_calls,omitempty"`
	InputTokens  int64         `json:"input_tokens,omitempty"`
	OutputTokens int64         `json:"output_tokens,omitempty"`
	TotalTokens  int64         `json:"total_tokens,omitempty"`
	CostNanoUSD  int64         `json:"cost_nano_usd,omitempty"`
	Scopes       int           `json:"scopes,omitempty"`
	Active       time.Duration `json:"active_ns,omitempty"`
}

// keep writes what the agent must know into the run's metadata.
func (r *RunRequest) keep(body string) (map[string]string, error) {
	m := maps.Clone(r.Metadata)
	if m == nil {
		m = make(map[string]string)
	}
	if r.Model != "" {
		m[keyModel] = r.Model
	}
	limits, err := json.Marshal(keptLimits{
		Cycles: r.Limits.Cycles, ToolCalls: r.Limits.ToolCalls, Tokens: r.Limits.TotalTokens, Active: r.Limits.Time,
		InputTokens: r.Limits.InputTokens, OutputTokens: r.Limits.OutputTokens, CostNanoUSD: r.Limits.CostNanoUSD,
		Conversation: keptBudget(r.Limits.Conversation),
	})
	if err != nil {
		return nil, err
	}
	if string(limits) != "{}" {
		m[keyLimits] = string(limits)
	}
	if len(r.OutputSchema) > 0 {
		m[keySchema] = string(r.OutputSchema)
	}
	if len(r.Skills) > 0 {
		skills, err := json.Marshal(r.Skills)
		if err != nil {
			return nil, err
		}
		m[keySkills] = string(skills)
	}
	if r.Trace != "" {
		m[hook.TraceLabel] = r.Trace
	}
	if len(r.Tokens) > 0 {
		m[keyTokens] = strconv.Itoa(len(r.Tokens))
	}
	m[keyBody] = body
	return m, nil
}

// limitsOf reads back what a run may use.
func (s *Service) limitsOf(row *journal.Run) braid.Limits {
	var l keptLimits
	if raw := row.Metadata[keyLimits]; raw != "" {
		_ = json.Unmarshal([]byte(raw), &l) // what cannot be read is no limit of the caller's
	}
	limits := braid.Limits{
		Cycles: l.Cycles, ToolCalls: l.ToolCalls, InputTokens: l.InputTokens, OutputTokens: l.OutputTokens, TotalTokens: l.Tokens,
		AllCycles: l.Cycles, AllToolCalls: l.ToolCalls,
		CostNanoUSD: l.CostNanoUSD, Conversation: braid.Budget(l.Conversation), Active: s.options.RunTime,
		LostDrivers: s.options.LostDrivers,
	}
	lower(&limits.Active, l.Active)
	return limits
}

// make makes the agent of a run.
func (s *Service) make(ctx context.Context, r *AgentRequest) (agent *braid.Agent, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("making an agent panicked", "tenant", r.Tenant, "conversation", r.Conversation, "run", r.Run,
				"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			agent, err = nil, unusable(&event.Error{Op: "agent", Kind: event.ErrInternal, Message: "making the agent failed"})
		}
	}()
	agent, err = s.options.Agent(ctx, *r)
	if err == nil {
		err = agent.Err()
	}
	if err != nil {
		return nil, unusable(err)
	}
	return agent, nil
}

// agentOf makes the agent of a run that was accepted. Where there is none any more, or its tenant
// or model is switched off, the run must still come to an end: its agent then says why it cannot
// answer. An error means that nobody could tell.
func (s *Service) agentOf(ctx context.Context, x *ExecutionContext, row *journal.Run) (*braid.Agent, error) {
	var r AgentRequest
	err := s.verify(ctx, x, func(*directory.Tenant) (string, int) { return pinnedOf(row.Metadata) })
	if err == nil {
		r, err = s.builder.Build(ctx, x)
	}
	if errors.Is(err, event.ErrUnavailable) || errors.Is(err, event.ErrCancelled) {
		return nil, err
	}
	var agent *braid.Agent
	if err == nil {
		agent, err = s.make(ctx, &r)
	}
	if err != nil {
		return braid.New(row.Agent, goneModel{err}), nil //nolint:nilerr // it is the run's
	}
	return agent, nil
}

// goneModel stands for a model that was there when the run was accepted.
type goneModel struct{ err error }

func (goneModel) Info() braid.ModelInfo { return braid.ModelInfo{Name: "gone"} }

func (m goneModel) Stream(context.Context, *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
	return func(yield func(braid.Chunk, error) bool) { yield(braid.Chunk{}, m.err) }
}

// tokenBox holds the tokens of runs that are not over.
type tokenBox struct {
	mu   sync.Mutex
	runs map[string]runTokens
}

// runTokens are the tokens of a run, and the names of those that are no secrets.
type runTokens struct {
	values map[string]secret.Secret
	shown  []string
}

func (b *tokenBox) put(run string, tokens runTokens) {
	if len(tokens.values) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs = make(map[string]runTokens)
	}
	b.runs[run] = tokens
}

func (b *tokenBox) get(run string) runTokens {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[run]
}

func (b *tokenBox) drop(run string) {
	b.mu.Lock()
	delete(b.runs, run)
	b.mu.Unlock()
}

// hidden takes the reserved keys out of metadata.
func hidden(m map[string]string) map[string]string {
	shown := make(map[string]string, len(m))
	for k, v := range m {
		if !isReserved(k) {
			shown[k] = v
		}
	}
	return shown
}

func isReserved(key string) bool { return len(key) >= len(reserved) && key[:len(reserved)] == reserved }

// unusable says that the agent of an accepted run cannot be made.
func unusable(err error) error {
	if e, ok := err.(*event.Error); ok { //nolint:errorlint // what the caller's function gave is shown as it is
		return e
	}
	return &event.Error{Op: "run", Kind: event.ErrInternal, Message: "the agent cannot be made", Err: err}
}
