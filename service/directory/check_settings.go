package directory

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// These are the bounds of settings.
const (
	mostUses    = 1000
	mostDomains = 100
	mostStores  = 16
	mostTiers   = 16
)

var (
	effortWords  = lazyre.New(`^[a-z][a-z_-]{0,19}$`)
	tierWords    = lazyre.New(`^[a-z][a-z0-9_-]{0,39}$`)
	domainWords  = lazyre.New(`^[A-Za-z0-9*][A-Za-z0-9.*/_-]{0,252}$`)
	storeWords   = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)
	verbosities  = []string{"low", "medium", "high"}
	contexts     = []string{"summary", "window", "provider", "none"}
	ofPolicy     = []string{WebSearch, WebFetch, CodeExecution}
	serverTools  = append(slices.Clip(ofPolicy), FileSearch)
	remoteServer = "mcp"
)

// setting refuses an invalid value by the path of its field.
func (c *checker) setting(ok bool, path, message, hint string) {
	if c.err == nil && !ok {
		c.err = &event.Error{Op: c.op, Kind: event.ErrInvalid, Code: "SETTING_INVALID", Message: path + ": " + message, Hint: hint}
	}
}

func (c *checker) settings(s *Settings) {
	c.setting(s.Effort == "" || effortWords.MatchString(s.Effort), "effort", "it is no word for an effort",
		"use none, low, medium, high, max or a word of the vendor's")
	c.setting(s.TopP == nil || !math.IsNaN(*s.TopP) && *s.TopP > 0 && *s.TopP <= 1, "top_p", "it is out of bounds",
		"use a number above 0 and at most 1")
	c.setting(s.Verbosity == "" || slices.Contains(verbosities, s.Verbosity), "verbosity", "there is no such verbosity", "use low, medium or high")
	c.tier("service_tier", s.ServiceTier, true)
	c.setting(len(s.ServerTools) <= len(serverTools), "server_tools", "there are too many tools", "name each kind at most once")
	for i := range s.ServerTools {
		if c.err != nil {
			return
		}
		t := &s.ServerTools[i]
		path := "server_tools[" + strconv.Itoa(i) + "]"
		twice := slices.ContainsFunc(s.ServerTools[:i], func(o ServerTool) bool { return o.Kind == t.Kind })
		c.setting(!twice, path+".kind", "the kind stands twice", "name each kind at most once")
		c.serverTool(path, t)
	}
}

func (c *checker) serverTool(path string, t *ServerTool) {
	web := t.Kind == WebSearch || t.Kind == WebFetch
	c.setting(t.Kind != remoteServer, path+".kind", "an MCP server that the provider calls cannot be named here",
		"ask the operator: the server's own --mcp gives tools to agents")
	c.setting(slices.Contains(serverTools, t.Kind), path+".kind", "there is no such tool of providers", "use one of "+strings.Join(serverTools, ", "))
	c.setting(t.MaxUses >= 0 && t.MaxUses <= mostUses, path+".max_uses", "it is out of bounds",
		"use a number up to 1000; 0 is the provider's default")
	c.setting(t.MaxUses == 0 || t.Kind != CodeExecution, path+".max_uses", "code_execution has no such setting", "leave it out")
	c.setting(len(t.Domains) == 0 || len(t.Blocked) == 0, path+".blocked", "domains are given, too", "give one of the two")
	c.words(path+".domains", t.Domains, mostDomains, web, domainWords)
	c.words(path+".blocked", t.Blocked, mostDomains, web, domainWords)
	c.words(path+".stores", t.Stores, mostStores, t.Kind == FileSearch, storeWords)
	c.setting(t.Kind != FileSearch || len(t.Stores) > 0, path+".stores", "there is no store to search in", "name at least one by the provider's id")
}

// words checks a list of a tool that only some kinds have.
func (c *checker) words(path string, list []string, most int, has bool, form *lazyre.Regexp) {
	c.setting(has || len(list) == 0, path, "this kind of tool has no such setting", "leave it out")
	c.setting(len(list) <= most, path, "there are too many entries", "use at most "+strconv.Itoa(most))
	for i, word := range list {
		c.setting(form.MatchString(word), path+"["+strconv.Itoa(i)+"]", "the entry is not valid", "use letters, digits, dots, hyphens, _ and /")
	}
}

func (c *checker) tier(path, word string, mayBeEmpty bool) {
	c.setting(word == "" && mayBeEmpty || tierWords.MatchString(word), path, "it is no word for a tier", "use a word of the vendor's, such as flex")
}

// policySettings checks a policy's settings.
func (c *checker) policySettings(p *Policy) {
	c.setting(len(p.ServerTools) <= len(ofPolicy), "policy.server_tools", "there are too many entries", "name each kind at most once")
	for i, kind := range p.ServerTools {
		c.setting(slices.Contains(ofPolicy, kind), "policy.server_tools["+strconv.Itoa(i)+"]", "this tool cannot be allowed",
			"use some of "+strings.Join(ofPolicy, ", "))
	}
	c.setting(len(p.RunSettings) <= len(runSettings), "policy.run_settings", "there are too many entries", "name each at most once")
	for i, name := range p.RunSettings {
		c.setting(slices.Contains(runSettings, name), "policy.run_settings["+strconv.Itoa(i)+"]", "there is no such setting",
			"use some of "+strings.Join(runSettings, ", "))
	}
	c.setting(p.Workspaces == "" || p.Workspaces == WorkspacesOn || p.Workspaces == WorkspacesOff, "policy.workspaces",
		"there is no such choice", "use on or off")
	c.setting(len(p.ServiceTiers) <= mostTiers, "policy.service_tiers", "there are too many entries", "use at most 16")
	for i, word := range p.ServiceTiers {
		c.tier("policy.service_tiers["+strconv.Itoa(i)+"]", word, false)
	}
}

// CheckSettings returns an error with the code SETTING_INVALID for a setting with an invalid value.
// Writes of agents call it.
func (a *AgentSpec) CheckSettings() error {
	c := checker{op: "settings"}
	c.settings(&a.Settings)
	c.context(a.Context)
	return c.err
}

func (c *checker) context(how string) {
	c.setting(how == "" || slices.Contains(contexts, how), "context", "there is no such way", "use one of "+strings.Join(contexts, ", "))
}
