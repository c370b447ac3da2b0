package main

import (
	"context"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/claude/runner"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

// runtimeFlag chooses what runs the agent.
func runtimeFlag() conf.Flag {
	return conf.Flag{
		Name: "runtime", Value: "NAME",
		Help: "native, or claude: the program of the Claude Agent SDK works in this folder; --model names its model then",
	}
}

// openRuntime returns the Claude program as the model of --runtime claude; nil for the native runtime.
func openRuntime(cfg *conf.Config, in *conf.Invocation) (braid.Model, error) {
	name, given := in.Flags["runtime"]
	switch {
	case !given, name == "native":
		return nil, nil //nolint:nilnil // none is an answer
	case name != "claude":
		return nil, term.Invalid("name native or claude", "there is no runtime %q", term.CleanLine(name))
	}
	for _, other := range []string{"record", "replay"} {
		if _, both := in.Flags[other]; both {
			return nil, term.Invalid("leave one of them out", "--runtime claude and --%s do not go together", other)
		}
	}
	if _, err := claude.Find(""); err != nil {
		return nil, err
	}
	m, _ := runner.Claude(runner.Options{Model: cfg.Model})
	return m, nil
}

// runtimeParts are the parts of an agent whose model is the Claude program. Its tools that change something ask, unless
// --allow or --deny names them.
func runtimeParts(s *conf.Settings, m braid.Model) []braid.Part {
	program, ok := m.(*runner.Model)
	if !ok {
		return nil
	}
	for _, name := range runner.DefaultTools() {
		known := braid.Permissions{Allow: s.Permit.Allow, Deny: s.Permit.Deny}
		named := len(known.Idle([]string{name})) < len(known.Allow)+len(known.Deny)
		if name != "Read" && !named && !slices.Contains(s.Permit.Ask, name) {
			s.Permit.Ask = append(slices.Clip(s.Permit.Ask), name)
		}
	}
	return []braid.Part{program.Parts()}
}

// checkClaude looks for the program of --runtime claude.
func checkClaude(ctx context.Context, d *diagnosis) {
	program, err := claude.Find("")
	if err != nil {
		d.ok("the Claude program is not installed; only --runtime claude needs it (npm install -g @anthropic-ai/claude-code)")
		return
	}
	version, err := program.Version(ctx)
	switch {
	case err != nil:
		d.warn("run claude --version; install it anew if that fails", "the Claude program does not tell its version")
	case claude.Older(version, claude.OldestVersion):
		d.warn("npm install -g @anthropic-ai/claude-code", "the Claude program %s is older than %s", version, claude.OldestVersion)
	default:
		d.ok("the Claude program is %s; %s is tested", version, claude.TestedVersion)
	}
}
