package directory

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// Settings are settings of model calls. An agent's unset settings come from its model's entry, and
// those from the server. The model decides whether it supports a setting: [event.ErrUnsupported]
// before a run begins.
//
// They do not contain fields of the request's body or headers: these could carry a credential, or
// reach another service in the operator's name.
type Settings struct {
	// Effort is the reasoning effort: none, low, medium, high, max, or the vendor's own word.
	Effort string `json:"effort,omitempty"`
	// ShowThinking requests readable reasoning. A model that shows none ignores it.
	ShowThinking *bool `json:"show_thinking,omitempty"`
	// TopP is the nucleus of probability to sample from: above 0, at most 1.
	TopP *float64 `json:"top_p,omitempty"`
	// Seed requests the same answer to the same request, as far as the provider can.
	Seed *int64 `json:"seed,omitempty"`
	// Verbosity is the length of answers: low, medium or high.
	Verbosity string `json:"verbosity,omitempty"`
	// ServiceTier is the provider's word for a speed and price of its answers.
	ServiceTier string `json:"service_tier,omitempty"`
	// ServerTools are tools that the provider runs. nil means the defaults, an empty list means
	// none.
	ServerTools []ServerTool `json:"server_tools,omitzero"`
}

// These are the kinds of tools that providers run. MCP servers are not among them: Braid would not
// be between such a server and the conversation, and could not store its credential. An operator
// can name one for the server's own model.
const (
	WebSearch     = "web_search"
	WebFetch      = "web_fetch"
	CodeExecution = "code_execution"
	FileSearch    = "file_search"
)

// ServerTool is a tool that the provider runs.
type ServerTool struct {
	// Kind is web_search, web_fetch, code_execution or file_search.
	Kind string `json:"kind"`
	// MaxUses bounds the tool's uses in one call. 0 means the provider's default.
	MaxUses int `json:"max_uses,omitempty"`
	// Domains are the only hosts that web_search and web_fetch may use. It excludes Blocked.
	Domains []string `json:"domains,omitempty"`
	// Blocked are the hosts that they may not use. It excludes Domains.
	Blocked []string `json:"blocked,omitempty"`
	// Stores are what file_search searches, by the provider's ids.
	Stores []string `json:"stores,omitempty"`
}

// Over returns the settings with unset fields taken from below.
func (s Settings) Over(below Settings) Settings {
	if s.Effort == "" {
		s.Effort = below.Effort
	}
	if s.ShowThinking == nil {
		s.ShowThinking = below.ShowThinking
	}
	if s.TopP == nil {
		s.TopP = below.TopP
	}
	if s.Seed == nil {
		s.Seed = below.Seed
	}
	if s.Verbosity == "" {
		s.Verbosity = below.Verbosity
	}
	if s.ServiceTier == "" {
		s.ServiceTier = below.ServiceTier
	}
	if s.ServerTools == nil {
		s.ServerTools = below.ServerTools
	}
	return s
}

// Any reports whether anything is set.
func (s *Settings) Any() bool {
	return s.Effort != "" || s.ShowThinking != nil || s.TopP != nil || s.Seed != nil || s.Verbosity != "" || s.ServiceTier != "" ||
		s.ServerTools != nil
}

// AllowsSettings refuses settings that an agent of the tenant may not use with a model that the
// operator pays for: a provider's tool or a tier that the policy does not name, and data in the
// operator's account with the provider. The error has the code [SettingForbidden].
func (p *Policy) AllowsSettings(s *Settings) error {
	for i := range s.ServerTools {
		kind := s.ServerTools[i].Kind
		path := "server_tools[" + strconv.Itoa(i) + "]"
		switch {
		case kind == FileSearch:
			return forbidden(path+": the stores would be those of the operator's account",
				"use a model with a key of the tenant's own, or ask the operator to name the stores in the model's entry")
		case !slices.Contains(p.ServerTools, kind):
			return forbidden(path+": the tenant's policy does not allow "+kind+" with a model that the operator pays for",
				"ask the operator to add it to policy.server_tools, or use a model with a key of the tenant's own")
		}
	}
	if s.ServiceTier != "" && !slices.Contains(p.ServiceTiers, s.ServiceTier) {
		return forbidden("service_tier: the tenant's policy does not allow this tier with a model that the operator pays for",
			"ask the operator to add it to policy.service_tiers, or use a model with a key of the tenant's own")
	}
	return nil
}

// SettingForbidden is the code of an error of [Policy.AllowsSettings].
const SettingForbidden = "SETTING_FORBIDDEN"

func forbidden(message, hint string) error {
	return &event.Error{Op: "settings", Kind: event.ErrPermission, Code: SettingForbidden, Message: message, Hint: hint}
}

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
