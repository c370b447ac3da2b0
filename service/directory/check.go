package directory

import (
	"strings"
	"time"
)

func (t *Tenant) check(op string) error {
	c := checker{op: op}
	c.slug("tenant", t.ID)
	c.text("the name", t.Name, longestName)
	c.status(t.Status)
	c.text("the system prompt", t.SystemPrompt, longestInstructions)
	c.want(t.Agent == "" || isSlug(t.Agent), "the default agent's id is none", "name one of the tenant's agents")
	c.text("the default model", t.Model, longestModelName)
	c.limits(t.Limits)
	t.Quota.check(&c)
	c.permissions(t.Policy.Permissions)
	c.want(len(t.Policy.Models) <= mostPatterns, "the policy names too many models", "name at most 256, or none for all")
	for _, m := range t.Policy.Models {
		c.text("a model of the policy", m, longestModelName)
	}
	c.policySettings(&t.Policy)
	c.want(t.FailedRuns == "" || t.FailedRuns == KeepFailedRuns || t.FailedRuns == ForgetFailedRuns,
		"failed_runs is neither keep nor forget", "use keep or forget")
	c.want(t.Isolation == "" || t.Isolation == IsolationUser || t.Isolation == IsolationTenant, "there is no such isolation", "use user or tenant")
	c.want(t.Approvals == "" || t.Approvals == ApprovalsOwn || t.Approvals == ApprovalsAny, "there is no such rule for approvals", "use own or any")
	days := t.Retention.Conversations
	c.want(days >= 0 && days <= mostDays, "a retention is out of bounds", "use days from 1 to 36500, or 0 for ever")
	return c.err
}

func (a *Agent) check(op string) error {
	c := checker{op: op}
	c.slug("tenant", a.Tenant)
	c.slug("agent", a.ID)
	c.status(a.Status)
	c.text("the name", a.Name, longestName)
	c.text("the description", a.Description, longestDescription)
	c.text("the instructions", a.Instructions, longestInstructions)
	c.text("the model", a.Model, longestModelName)
	c.patterns("tools", a.Tools)
	c.want(len(a.MCPServers) <= MostMCPServers, "mcp_servers has too many entries", "name at most 100")
	for _, s := range a.MCPServers {
		c.want(isSlug(s), "mcp_servers has an entry that is no id", "name MCP servers of the tenant")
	}
	c.permissions(a.Permissions)
	c.limits(a.Limits)
	c.settings(&a.Settings)
	c.context(a.Context)
	c.want(len(a.Skills) <= mostSkills, "there are too many skills", "name at most 256")
	for _, s := range a.Skills {
		c.text("a skill's name", s, longestName)
		c.want(s != "", "a skill has no name", "name the skill")
	}
	_, taken := a.SubAgents[TaskTool]
	c.want(!taken || !a.hasTask() || a.SubAgents[TaskTool].Via == ViaTask, "an agent below it has the name of the Task tool", "give it another name")
	c.want(len(a.SubAgents) <= mostSubAgents, "there are too many agents below it", "use at most 64")
	for name, s := range a.SubAgents {
		c.want(isSlug(strings.ReplaceAll(strings.ToLower(name), "_", "-")), "an agent below it has a name that no tool may have",
			"use 1 to 63 letters, digits, hyphens and underscores")
		c.want(s.Agent == "" || isSlug(s.Agent) && s.Instructions == "" && s.Tools == nil,
			"an agent below it is both one of the tenant's and described here", "name another agent, or give instructions")
		c.want(s.Version >= 0 && (s.Version == 0 || s.Agent != ""), "an agent below it has a version that cannot be", "use 0 for the newest")
		c.text("a description", s.Description, longestDescription)
		c.text("a model", s.Model, longestModelName)
		c.text("instructions", s.Instructions, longestInstructions)
		c.patterns("tools", s.Tools)
		c.limits(s.Limits)
		c.want(s.Via == "" || s.Via == ViaTool || s.Via == ViaTask, "an agent below it is called in a way that there is not", "use tool or task")
		c.want(s.Background == "" || s.Via == ViaTask && (s.Background == BackgroundAwait || s.Background == BackgroundStop),
			"an agent below it cannot work in the background so", "use await or stop, with via task")
	}
	return c.err
}

func (m *Model) check(op string) error {
	c := checker{op: op}
	if m.Tenant != "" {
		c.slug("tenant", m.Tenant)
	}
	c.slug("model", m.ID)
	c.status(m.Status)
	c.want(isSlug(m.Provider), "the model has no provider", "name one, such as anthropic, bedrock, gemini or openai")
	c.want(m.Name != "", "the model has no name", "send the provider's own id of it")
	c.text("the name", m.Name, longestModelName)
	c.text("the region", m.Region, longestName)
	c.want(len(m.Aliases) <= mostAliases, "there are too many aliases", "use at most 32")
	for _, a := range m.Aliases {
		c.want(isModelName(a), "an alias is no name", "use 1 to 63 small letters, digits, hyphens, dots, colons and underscores")
	}
	c.settings(&m.Settings)
	secret := m.Credential.Secret.Reveal()
	c.want(m.Credential.Env == "" || secret == "", "the model has two credentials", "send a secret, or the name of a variable")
	c.want(m.Credential.Env == "" || envName.MatchString(m.Credential.Env), "the variable's name is none", "use letters, digits and underscores")
	c.text("the secret", secret, longestSecret)
	return c.err
}

func (k *Key) check(op string) error {
	c := checker{op: op}
	if k.Tenant != "" {
		c.slug("tenant", k.Tenant)
	}
	c.text("the name", k.Name, longestName)
	c.text("the user", k.User, longestName)
	c.want(len(k.Scopes) > 0, "the key has no scopes", "give it at least one, such as read")
	c.want(k.Expires.IsZero() || k.Expires.After(time.Now()), "the expiry is in the past", "choose a later time, or none")
	if err := badScope(k.Scopes); err != nil && c.err == nil {
		err.Op = op
		c.err = err
	}
	return c.err
}

// check refuses bounds that make no sense.
func (q Quota) check(c *checker) {
	for _, field := range []*int64{q.Requests, q.Running, q.Queued, q.Conversations, q.Agents, q.Storage, q.Tokens} {
		c.want(Bound(field) >= 0, "a quota is less than nothing", "use 0 for no bound, and null for the server's default")
	}
	c.want(Bound(q.Cost) >= 0, "a quota is less than nothing", "use 0 for no bound, and null for the server's default")
	for _, field := range []*int64{q.Running, q.Queued} {
		c.want(field == nil || *field > 0, "a quota of runs is 0", "use a number from 1, or null for the server's default")
	}
}
