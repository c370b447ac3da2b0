package directory

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/lazyre"
)

// These are the bounds of texts and lists.
const (
	longestName         = 200
	longestInstructions = 256 << 10
	longestDescription  = 4 << 10
	longestModelName    = 256
	mostPatterns        = 256
	mostAliases         = 32
	mostSubAgents       = 64
	mostSkills          = 256
	longestSecret       = 16 << 10
	mostDays            = 36_500
)

// isSlug reports whether a text can be the id of a tenant, an agent or a model.
func isSlug(id string) bool {
	if id == "" || len(id) > 63 || id[0] == '-' {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// isModelName reports whether a text can be an alias: a slug, with dots, colons and underscores
// allowed.
func isModelName(name string) bool {
	return isSlug(strings.NewReplacer(".", "x", "_", "x", ":", "x").Replace(name))
}

// envName matches names of environment variables.
var envName = lazyre.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// checker keeps the first error.
type checker struct {
	op  string
	err error
}

func (c *checker) want(ok bool, message, hint string) {
	if c.err == nil && !ok {
		c.err = invalid(c.op, message, hint)
	}
}

func (c *checker) slug(what, id string) {
	c.want(isSlug(id), "the id of the "+what+" is none", "use 1 to 63 small letters, digits and hyphens, and begin with no hyphen")
}

func (c *checker) text(field, s string, longest int) {
	ok := len(s) <= longest && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
	c.want(ok, field+" is too long, or no text", "send less, as UTF-8 without zero characters")
}

func (c *checker) status(s Status) {
	c.want(s == Active || s == Inactive, "there is no such status", "use active or inactive")
}

func (c *checker) patterns(field string, lists ...[]string) {
	for _, list := range lists {
		c.want(len(list) <= mostPatterns, field+" has too many entries", "use patterns, such as \"get_*\"")
		for _, p := range list {
			_, err := path.Match(p, "")
			c.want(err == nil && p != "" && len(p) <= longestName && utf8.ValidString(p) && !strings.ContainsRune(p, 0),
				field+" has an entry that is no pattern", "write names of tools, or patterns such as \"get_*\"")
		}
	}
}

func (c *checker) permissions(p Permissions) { c.patterns("permissions", p.Allow, p.Ask, p.Deny) }

func (c *checker) limits(l Limits) {
	ok := l.Cycles >= 0 && l.ToolCalls >= 0 && l.InputTokens >= 0 && l.OutputTokens >= 0 && l.TotalTokens >= 0 && l.Cost >= 0 && l.Seconds >= 0
	c.want(ok, "a limit is less than nothing", "use 0 for no limit")
}

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
