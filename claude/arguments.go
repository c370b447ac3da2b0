package claude

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// arguments returns the command line. Texts, servers, settings and schemas are not in it: see initialize.
func (c *config) arguments() []string {
	a := args{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json"}
	m := &c.model
	a.value("--model", m.name)
	a.value("--fallback-model", strings.Join(m.fallback, ","))
	a = append(a, m.thinkingArgs()...)
	a.value("--effort", m.effort)
	a.value("--betas", strings.Join(m.betas, ","))
	a.number("--max-turns", m.turns)
	if m.budget > 0 {
		a.value("--max-budget-usd", strconv.FormatFloat(m.budget, 'f', -1, 64))
	}
	a.number("--task-budget", m.taskBudget)
	a.value("--agent", c.agent)
	c.toolArgs(&a)
	c.permissionArgs(&a)
	c.sessionArgs(&a)
	c.settingArgs(&a)
	o := &c.output
	a.flag("--include-partial-messages", o.partial)
	a.flag("--include-hook-events", o.hookEvents)
	a.flag("--replay-user-messages", o.replay)
	for _, dir := range c.process.dirs {
		a.value("--add-dir", dir)
	}
	a.value("--debug-file", c.process.debug)
	return append(a, c.process.args...)
}

func (m *modelConfig) thinkingArgs() (a args) {
	t := m.thinking
	switch {
	case t == nil:
		return nil
	case t.Mode == "disabled":
		return args{"--thinking=disabled"}
	case t.Mode == "enabled" && t.Budget > 0:
		a.number("--max-thinking-tokens", t.Budget)
	default:
		a = args{"--thinking=adaptive"}
	}
	a.value("--thinking-display", t.Display)
	return a
}

func (c *config) toolArgs(a *args) {
	allowed := c.tools.allowed
	if c.settings.skills != nil {
		for _, name := range *c.settings.skills {
			if rule := "Skill(" + name + ")"; !slices.Contains(allowed, rule) {
				allowed = append(slices.Clip(allowed), rule)
			}
		}
	}
	a.value("--allowedTools", strings.Join(allowed, ","))
	if c.tools.set != nil {
		*a = append(*a, "--tools="+strings.Join(*c.tools.set, ","))
	}
	a.flag("--strict-mcp-config", c.tools.strict)
}

func (c *config) permissionArgs(a *args) {
	p := &c.permissions
	if p.ask != nil {
		a.value("--permission-prompt-tool", "stdio")
	} else {
		a.value("--permission-prompt-tool", p.tool)
	}
	a.value("--permission-prompts", p.prompts)
	a.value("--permission-mode", p.mode)
	a.flag("--allow-dangerously-skip-permissions", p.skip)
}

func (c *config) sessionArgs(a *args) {
	s := &c.session
	a.value("--resume", s.resume)
	a.flag("--continue", s.latest)
	a.flag("--fork-session", s.fork)
	a.value("--session-id", s.id)
	a.value("--resume-session-at", s.at)
	a.value("--resume-drops-turn", s.drops)
	a.flag("--no-session-persistence", s.forget)
	a.flag("--session-mirror", s.mirror)
}

func (c *config) settingArgs(a *args) {
	s := &c.settings
	if s.sources != nil {
		*a = append(*a, "--setting-sources="+strings.Join(*s.sources, ","))
	}
	a.value("--project-config-root", s.root)
	var first []string
	if s.own != nil || s.sandbox != nil {
		first = append(first, "settings")
	}
	if len(c.tools.denied) > 0 {
		first = append(first, "disallowedTools")
	}
	a.value("--initialize-fields", strings.Join(first, ","))
	a.flag("--managed-settings-in-initialize", s.managed != nil)
	a.flag("--await-initialize", true)
}

// args is a command line under construction. A value stands in the argument of its flag, so it is never taken for a flag.
type args []string

func (a *args) value(flag, value string) {
	if value != "" {
		*a = append(*a, flag+"="+value)
	}
}

func (a *args) number(flag string, n int) {
	if n > 0 {
		a.value(flag, strconv.Itoa(n))
	}
}

func (a *args) flag(flag string, set bool) {
	if set {
		*a = append(*a, flag)
	}
}

// initialize returns the first request.
func (c *config) initialize() (map[string]any, error) {
	r := map[string]any{}
	put := func(name string, value any, set bool) {
		if set {
			r[name] = value
		}
	}
	put("hooks", c.hookSetup(), len(c.hooks) > 0)
	put("sdkMcpServers", slices.Sorted(keys(c.tools.own)), len(c.tools.own) > 0)
	put("mcpServers", c.tools.servers, len(c.tools.servers) > 0)
	put("toolAliases", c.tools.aliases, len(c.tools.aliases) > 0)
	put("disallowedTools", c.tools.denied, len(c.tools.denied) > 0)
	put("supportedDialogKinds", c.tools.dialogs, len(c.tools.dialogs) > 0)
	put("jsonSchema", c.model.schema, c.model.schema != nil)
	p := &c.prompt
	put("systemPrompt", p.system, len(p.system) > 0)
	put("appendSystemPrompt", p.added, p.added != "")
	put("planModeInstructions", p.plan, p.plan != "")
	put("excludeDynamicSections", true, p.stable)
	put("systemPromptSnapshot", p.snapshot, p.snapshot != nil)
	put("agents", c.agents, len(c.agents) > 0)
	put("title", c.session.title, c.session.title != "")
	put("skills", c.settings.skills, c.settings.skills != nil)
	put("plugins", c.settings.plugins, len(c.settings.plugins) > 0)
	put("managedSettings", c.settings.managed, c.settings.managed != nil)
	o := &c.output
	put("forwardSubagentText", true, o.forward)
	put("agentProgressSummaries", true, o.summaries)
	put("promptSuggestions", true, o.suggest)
	put("perTaskStopAffordance", true, o.stoppable)
	if c.settings.own == nil && c.settings.sandbox == nil {
		return r, nil
	}
	settings, err := c.settings.joined()
	r["settings"] = settings
	return r, err
}

// joined returns the settings with those of the sandbox.
func (s *settingsConfig) joined() (map[string]json.RawMessage, error) {
	joined := map[string]json.RawMessage{}
	if s.own != nil {
		if err := json.Unmarshal(s.own, &joined); err != nil {
			return nil, invalid("the settings are no JSON object", "Pass an object to claude.Settings.", err)
		}
	}
	if s.sandbox != nil {
		joined["sandbox"] = s.sandbox
	}
	return joined, nil
}
