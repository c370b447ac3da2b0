package directory

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// Settings are settings of a model's calls. What is not set is left to what stands below: an agent's to those of
// its model, a model's to the server's own. Whether a model has a setting, the model says: [event.ErrUnsupported]
// before a run begins.
//
// Members of the request's body and header fields are not among them: they could carry a credential, or reach
// another service in the operator's name.
type Settings struct {
	// Effort is how hard the model tries: none, low, medium, high, max, or the vendor's own word.
	Effort string `json:"effort,omitempty"`
	// ShowThinking asks for readable reasoning. It is a wish: a model that shows none answers without.
	ShowThinking *bool `json:"show_thinking,omitempty"`
	// TopP is the share of probability that tokens are drawn from: above 0, at most 1.
	TopP *float64 `json:"top_p,omitempty"`
	// Seed asks for the same answer to the same request, as far as the provider can.
	Seed *int64 `json:"seed,omitempty"`
	// Verbosity is how long answers are: low, medium or high.
	Verbosity string `json:"verbosity,omitempty"`
	// ServiceTier is the provider's word for how fast and at which price it answers.
	ServiceTier string `json:"service_tier,omitempty"`
	// ServerTools are tools that the provider runs itself. nil leaves them to what stands below, an empty list is none.
	ServerTools []ServerTool `json:"server_tools,omitzero"`
}

// The kinds of tools that providers run. An MCP server that the provider calls is not among them: nothing of Braid
// stands between it and the conversation, and its credential could not be kept here. An operator names one for the
// server's own model.
const (
	WebSearch     = "web_search"
	WebFetch      = "web_fetch"
	CodeExecution = "code_execution"
	FileSearch    = "file_search"
)

// ServerTool is a tool that the provider runs itself.
type ServerTool struct {
	// Kind is web_search, web_fetch, code_execution or file_search.
	Kind string `json:"kind"`
	// MaxUses bounds the tool's uses in one call; 0 is the provider's default.
	MaxUses int `json:"max_uses,omitempty"`
	// Domains are the only hosts that web_search and web_fetch may use, Blocked those that they may not. At most one
	// of the two is set.
	Domains []string `json:"domains,omitempty"`
	Blocked []string `json:"blocked,omitempty"`
	// Stores are what file_search looks through, by the provider's ids.
	Stores []string `json:"stores,omitempty"`
}

// Over lays settings over others: what s does not set is that of below.
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

// AllowsSettings refuses what an agent of the tenant may not ask of a model that the operator pays for: a tool of the
// provider, or a tier, that the policy does not name, and what is kept in the operator's account with the provider.
// The error has the code [SettingForbidden].
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

// The bounds of settings.
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

// setting refuses a value of a setting by the path of its field.
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
		c.setting(form.MatchString(word), path+"["+strconv.Itoa(i)+"]", "it is no name of one", "use letters, digits, dots, hyphens, _ and /")
	}
}

func (c *checker) tier(path, word string, mayBeEmpty bool) {
	c.setting(word == "" && mayBeEmpty || tierWords.MatchString(word), path, "it is no word for a tier", "use a word of the vendor's, such as flex")
}

// policySettings checks what a policy says of settings.
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

// CheckSettings reports a value that a setting of the agent cannot have, with the code SETTING_INVALID. Agents are
// checked by it when they are written.
func (a *AgentSpec) CheckSettings() error {
	c := checker{op: "settings"}
	c.settings(&a.Settings)
	c.context(a.Context)
	return c.err
}

func (c *checker) context(how string) {
	c.setting(how == "" || slices.Contains(contexts, how), "context", "there is no such way", "use one of "+strings.Join(contexts, ", "))
}
