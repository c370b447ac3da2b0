package front

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// Settings are what a request sets for its run alone. All wires have them, under these names. The tenant's policy must allow
// Instructions, ModelOptions and ToolChoice; the service checks it.
type Settings struct {
	Model  string `json:"model,omitempty"`
	Limits Limits `json:"limits,omitzero"`
	// Instructions, ModelOptions and ToolChoice are for this run alone, where the tenant's policy
	// allows them.
	Instructions string             `json:"instructions,omitempty"`
	ModelOptions directory.Settings `json:"model_options,omitzero"`
	ToolChoice   service.ToolChoice `json:"tool_choice,omitzero"`
}

// Set puts the settings into a request for a run.
func (s *Settings) Set(r *service.RunRequest) {
	r.Model, r.Limits = s.Model, s.Limits.limits()
	r.Instructions, r.ModelOptions, r.ToolChoice = s.Instructions, s.ModelOptions, s.ToolChoice
}

// SettingsOf reads the settings in the member "braid" of an object that a protocol leaves to its clients. What is no object
// has none. Unlike the rest of the object, the member may have no unknown names: a setting is never ignored.
func SettingsOf(object json.RawMessage) (s Settings, err error) {
	var of struct {
		Braid json.RawMessage `json:"braid"`
	}
	if json.Unmarshal(object, &of) == nil && len(of.Braid) > 0 && string(of.Braid) != "null" {
		err = strictly("braid", of.Braid, &s)
	}
	return s, err
}

// RawSettings are [Settings] in a body whose other members may be unknown.
type RawSettings struct {
	Model        string          `json:"model"`
	Limits       json.RawMessage `json:"limits"`
	Instructions json.RawMessage `json:"instructions"`
	ModelOptions json.RawMessage `json:"model_options"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
}

// Read decodes the settings.
func (r *RawSettings) Read() (s Settings, err error) {
	s.Model = r.Model
	for _, member := range []struct {
		name  string
		value json.RawMessage
		to    any
	}{
		{"limits", r.Limits, &s.Limits},
		{"instructions", r.Instructions, &s.Instructions},
		{"model_options", r.ModelOptions, &s.ModelOptions},
		{"tool_choice", r.ToolChoice, &s.ToolChoice},
	} {
		if len(member.value) == 0 || string(member.value) == "null" {
			continue
		}
		if err := strictly(member.name, member.value, member.to); err != nil {
			return s, err
		}
	}
	return s, nil
}

// strictly decodes a member of a body and refuses unknown names in it.
func strictly(name string, value json.RawMessage, to any) error {
	if err := strictjson.Unmarshal(value, to); err != nil {
		return Bad(name+" cannot be read: "+Unreadable(err), "send it as /openapi.json describes the member of a run's request")
	}
	return nil
}

// Unreadable says why a body cannot be decoded. It never repeats a value of the body: that may be as long as the body, or a
// secret in the wrong place.
func Unreadable(err error) string {
	if !errors.Is(err, strictjson.BadValue) {
		return err.Error()
	}
	if cause, ours := errors.AsType[*event.Error](err); ours {
		return cause.Message
	}
	if _, late := errors.AsType[*time.ParseError](err); late {
		return "a time is needed, such as 2026-11-21T07:00:00Z"
	}
	return "a value is not of its form"
}

// Limits bound a run; what is left out is bounded by the server.
type Limits struct {
	Cycles      int   `json:"max_turns,omitempty"`
	ToolCalls   int   `json:"max_tool_calls,omitempty"`
	TotalTokens int64 `json:"max_total_tokens,omitempty"`
	Seconds     int   `json:"timeout_seconds,omitempty"`

	InputTokens  int64   `json:"max_input_tokens,omitempty"`
	OutputTokens int64   `json:"max_output_tokens,omitempty"`
	CostUSD      float64 `json:"max_cost_usd,omitempty"`
	// Conversation bounds all runs of the conversation together.
	Conversation Budget `json:"conversation,omitzero"`
}

// Budget bounds what all runs of a conversation may use.
type Budget struct {
	Cycles       int     `json:"max_cycles,omitempty"`
	ToolCalls    int     `json:"max_tool_calls,omitempty"`
	InputTokens  int64   `json:"max_input_tokens,omitempty"`
	OutputTokens int64   `json:"max_output_tokens,omitempty"`
	TotalTokens  int64   `json:"max_total_tokens,omitempty"`
	CostUSD      float64 `json:"max_cost_usd,omitempty"`
	Seconds      int     `json:"timeout_seconds,omitempty"`
}

func (l *Limits) limits() service.RunLimits {
	c := &l.Conversation
	return service.RunLimits{
		Cycles: l.Cycles, ToolCalls: l.ToolCalls, TotalTokens: l.TotalTokens, Time: seconds(l.Seconds),
		InputTokens: l.InputTokens, OutputTokens: l.OutputTokens, CostNanoUSD: nanoUSD(l.CostUSD),
		Conversation: braid.Budget{
			Cycles: c.Cycles, ToolCalls: c.ToolCalls, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens,
			TotalTokens: c.TotalTokens, CostNanoUSD: nanoUSD(c.CostUSD), Active: seconds(c.Seconds),
		},
	}
}

// seconds is a bound of time. More seconds than a duration holds are as many as it holds.
func seconds(n int) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	return time.Duration(max(min(int64(n), most), -1)) * time.Second
}

// nanoUSD is a bound in dollars. More than can be counted is as much as can be; the smallest
// bound is 1: 0 would be none.
func nanoUSD(dollars float64) int64 {
	switch n := math.Round(dollars * 1e9); {
	case dollars == 0:
		return 0
	case dollars < 0:
		return -1
	case n >= math.MaxInt64:
		return math.MaxInt64
	default:
		return max(int64(n), 1)
	}
}

// kept returns an error if the settings are others than those of an open run.
func (s *Settings) kept(open *journal.Run) error {
	var r service.RunRequest
	s.Set(&r)
	return r.KeepsSettings(open)
}
