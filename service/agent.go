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
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// AgentRequest describes the agent that a run needs. The [OptionsBuilder] makes it.
type AgentRequest struct {
	Principal
	AgentOptions

	// Place is the run's place in the service.
	Place RunPlace
	// OutputSchema is the JSON schema of the answer; nil means free text.
	OutputSchema json.RawMessage
	// Skills are the skills that the caller prefers.
	Skills []string
	// Tokens are the caller's tokens for this run. They exist only in memory: if another process
	// continues the run, there are none.
	Tokens map[string]secret.Secret
	// MCPStore has the documents and secret headers of MCP servers. nil means that there are none.
	MCPStore directory.MCPStore
}

// RunPlace says where a run belongs.
type RunPlace struct {
	// Life distinguishes tenants that reuse one id. Data that outlives the run must be kept by the
	// tenant's id and its life. It is empty without a directory.
	Life         string
	Conversation string
	// Run is the run's id. It is empty until the run is accepted.
	Run string
}

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

// These metadata keys of a run hold what its agent needs after a restart. They are never shown to
// callers.
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

// keptLimits is the stored form of limits.
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

// keptBudget is the stored form of a [braid.Budget].
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

// keep returns the run's metadata with the data that its agent needs after a restart.
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

// limitsOf returns the limits of a stored run.
func (s *Service) limitsOf(row *journal.Run) braid.Limits {
	var l keptLimits
	if raw := row.Metadata[keyLimits]; raw != "" {
		_ = json.Unmarshal([]byte(raw), &l) // the caller's limit is ignored if it cannot be read
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
			s.log.Error("making an agent panicked", "tenant", r.Tenant, "conversation", r.Place.Conversation, "run", r.Place.Run,
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

// agentOf makes the agent of an accepted run. If the agent is gone, or its tenant or model is
// inactive, it returns an agent whose model fails with that error, so that the run still ends. It
// returns an error if the directory cannot be read now.
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
		return braid.New(row.Agent, goneModel{err}), nil //nolint:nilerr // the run ends with it
	}
	return agent, nil
}

// goneModel replaces a model that was there when the run was accepted. It fails each call with err.
type goneModel struct{ err error }

func (goneModel) Info() model.Info { return model.Info{Name: "gone"} }

func (m goneModel) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, m.err) }
}

// tokenBox holds the tokens of open runs.
type tokenBox struct {
	mu   sync.Mutex
	runs map[string]runTokens
}

// runTokens are the tokens of a run.
type runTokens struct {
	values map[string]secret.Secret
	// shown are the names of the tokens that are not secret.
	shown []string
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

// hidden returns metadata without the reserved keys.
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

// unusable returns the error of an accepted run whose agent cannot be made.
func unusable(err error) error {
	if e, ok := err.(*event.Error); ok { //nolint:errorlint // an error of the caller's function is passed on unchanged
		return e
	}
	return &event.Error{Op: "run", Kind: event.ErrInternal, Message: "the agent cannot be made", Err: err}
}
