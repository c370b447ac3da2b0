package service

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/runset"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service/directory"
)

// This file has the settings that a request may set for its run. The run's row keeps them in the form of the library, so
// the driver goes by them, whichever agent the service was given. The tenant's policy must allow each.

// maxInstructions bounds the instructions of a request, in bytes.
const maxInstructions = 64 << 10

// ToolChoice is what the model must do with its tools in one run; see [braid.WithToolChoice].
type ToolChoice struct {
	// Mode is any, one or none. Empty leaves the choice to the model.
	Mode string `json:"mode,omitempty"`
	// Tool names the tool to call, for one.
	Tool string `json:"tool,omitempty"`
	// Serial asks for at most one call in an answer.
	Serial bool `json:"serial,omitempty"`
}

// checkSettings validates the settings of a request by themselves.
func (r *RunRequest) checkSettings(op string) error {
	switch text := r.Instructions; {
	case len(text) > maxInstructions:
		return invalid(op, "the instructions are too long", "send at most 64 KiB")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return invalid(op, "the instructions are not valid UTF-8, or contain a zero character", "correct them")
	}
	spec := directory.AgentSpec{Settings: r.ModelOptions}
	return spec.CheckSettings()
}

// settings returns what the run has for itself; "" for nothing.
func (r *RunRequest) settings() (label string, err error) {
	of := AgentOptions{Settings: r.ModelOptions}
	c := &r.ToolChoice
	own := runset.Settings{
		Instructions: r.Instructions, Options: of.ModelOptions(model.Options{}),
		Choice: model.ToolChoice{Mode: model.ToolMode(c.Mode), Tool: c.Tool, Serial: c.Serial},
	}
	return own.Label()
}

// ownOf returns the settings in a run's row.
func ownOf(row *journal.Run) runset.Settings {
	if label := row.Metadata[journal.SettingsLabel]; label != "" {
		if own, err := runset.Read(label); err == nil { // else the driver says so
			return *own
		}
	}
	return runset.Settings{}
}

// allowsOwn refuses settings of a request that the tenant's policy does not allow. own is the model that answers.
func allowsOwn(p *directory.Policy, s *runset.Settings, own *OwnModel) error {
	if s.Instructions != "" && !p.AllowsRun(directory.RunInstructions) {
		return p.ForbidsRun(directory.RunInstructions)
	}
	if s.Choice != (model.ToolChoice{}) && !p.AllowsRun(directory.RunToolChoice) {
		return p.ForbidsRun(directory.RunToolChoice)
	}
	if !runset.Any(s.Options) {
		return nil
	}
	if !p.AllowsRun(directory.RunModelOptions) {
		return p.ForbidsRun(directory.RunModelOptions)
	}
	if own != nil && !own.Operators() {
		return nil
	}
	asked := directory.Settings{ServiceTier: s.Options.ServiceTier}
	for _, t := range s.Options.ServerTools {
		asked.ServerTools = append(asked.ServerTools, directory.ServerTool{Kind: string(t.Kind)})
	}
	return p.AllowsSettings(&asked)
}

// accepts reports why an agent cannot have the settings of a run.
func accepts(agent *braid.Agent, s *runset.Settings) error {
	err := agent.Check(braid.WithInstructions(s.Instructions), braid.WithModelOptions(s.Options), braid.WithToolChoice(s.Choice))
	if e, ok := errors.AsType[*event.Error](err); ok && e.Kind == event.ErrInvalid {
		wrong := *e // the request is well-formed, but this agent cannot do it
		wrong.Op, wrong.Kind = "start run", event.ErrUnsupported
		return &wrong
	}
	return err
}
