package service

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/directory"
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
	settings, err := r.settings()
	if err != nil {
		return nil, err
	}
	if settings != "" {
		m[journal.SettingsLabel] = settings
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

// limitsOf returns the limits of a stored run, within the service's own.
func limitsOf(row *journal.Run, o *Options) braid.Limits {
	var l keptLimits
	if raw := row.Metadata[keyLimits]; raw != "" {
		_ = json.Unmarshal([]byte(raw), &l) // the caller's limit is ignored if it cannot be read
	}
	limits := braid.Limits{
		Cycles: l.Cycles, ToolCalls: l.ToolCalls, InputTokens: l.InputTokens, OutputTokens: l.OutputTokens, TotalTokens: l.Tokens,
		AllCycles: l.Cycles, AllToolCalls: l.ToolCalls,
		CostNanoUSD: l.CostNanoUSD, Conversation: braid.Budget(l.Conversation), Active: o.RunTime,
		LostDrivers: o.LostDrivers,
	}
	lower(&limits.Active, l.Active)
	return limits
}

// pinnedIn writes the agent of a run into its metadata.
func pinnedIn(metadata map[string]string, a *directory.Agent) {
	if a.ID != "" {
		metadata[keyAgent] = a.ID + "@" + strconv.Itoa(a.Version)
	}
}

func pinnedOf(metadata map[string]string) (agent string, version int) {
	agent, number, _ := strings.Cut(metadata[keyAgent], "@")
	version, _ = strconv.Atoi(number) // 0 if there is none
	return agent, version
}

// inputBytes returns the size of a run's input. Small inputs are not noted and count as 0.
func inputBytes(run *journal.Run) int64 {
	n, err := strconv.ParseInt(run.Metadata[keyBytes], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// noteInput notes the size of a large input in the run's metadata.
func noteInput(metadata map[string]string, content []event.Block) {
	if n := sizeOfBlocks(content); n > freeBytes {
		metadata[keyBytes] = strconv.FormatInt(n, 10)
	}
}
