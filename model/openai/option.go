package openai

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/secret"
)

// BaseURL sets the address of the API, such as your own server, a gateway or a test server. It
// has the form of OPENAI_BASE_URL, with "/v1" if the server needs it. "" keeps the vendor's
// address.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		u, err := url.Parse(address)
		if err != nil || !provider.Address(address) {
			return wrong("the base URL of the model's server is not an address", "write it as https://host/v1, without a user")
		}
		m.base, m.vendors = address, isVendors(u)
		if !m.vendors {
			m.title = "the model's server"
		}
		return nil
	}
}

// Use selects the API. The default is Responses for OpenAI and Chat Completions for other
// servers.
func Use(api API) Option {
	return func(m *Model) error {
		if api != Responses && api != ChatCompletions {
			return wrong("OpenAI has no such API", "use responses or chat completions")
		}
		m.api = api
		return nil
	}
}

// Reasons says whether the model reasons before it answers, if its name does not show it. Braid
// requests encrypted reasoning from such models. OpenAI's take neither temperature nor stop
// sequences.
func Reasons(yes bool) Option {
	return func(m *Model) error {
		m.thinks = yes
		return nil
	}
}

// Effort sets the default of [model.Options].Effort: none, low, medium, high, max, or the
// vendor's minimal and xhigh. A call fails if the model does not support the effort. The effort
// takes precedence over [model.Options].Thinking.
func Effort(word string) Option {
	return func(m *Model) error {
		if !slices.Contains(allEfforts, word) {
			return wrong("there is no such effort", "use none, minimal, low, medium, high, xhigh or max")
		}
		m.effort = word
		return nil
	}
}

// Schemas says whether the server has structured outputs, if address and name do not show it.
// Without it, servers other than OpenAI's get the schema in the prompt. vLLM, Ollama, LM Studio
// and llama.cpp have structured outputs, and so do many models behind OpenRouter.
func Schemas(yes bool) Option {
	return func(m *Model) error {
		m.schemas = &yes
		return nil
	}
}

// CacheKey groups calls with the same prompt prefix, so that the vendor routes them to the same
// cache. Use the name of an agent, for example, or of a tenant. The key is sent to the vendor
// unchanged (guides/prompt-caching, prompt_cache_key).
func CacheKey(key string) Option {
	return func(m *Model) error {
		if !cacheKeys.MatchString(key) {
			return wrong("the key of a prompt cache has 64 letters at most, and no spaces", "give a short one, such as the agent's name")
		}
		m.cacheKey = key
		return nil
	}
}

// CacheRetention sets how long the vendor caches prompt prefixes: at most "in_memory" or "24h",
// or from GPT-5.6 on at least "30m" or "12h". guides/prompt-caching lists the values of each
// model. A call fails if the model does not support the value.
func CacheRetention(word string) Option {
	return func(m *Model) error {
		if !slices.Contains([]string{inMemory, "24h", "30m", "12h"}, word) {
			return wrong("the vendor's prompt cache has no such retention", "use in_memory, 24h, 30m or 12h")
		}
		m.retention = word
		return nil
	}
}

// StrictTools makes each tool strict if its schema allows it, as [model.ToolSpec].Strict does
// for one tool. Other tools are sent unchanged. For a server other than OpenAI's, it also
// states that the server supports strict tools.
func StrictTools(yes bool) Option {
	return func(m *Model) error {
		m.strict = yes
		return nil
	}
}

var prefixes = lazyre.New(`^[a-z][a-z0-9]{0,31}$`)

// Named sets the prefix before the colon in the model's name, such as "ollama".
func Named(prefix string) Option {
	return func(m *Model) error {
		if !prefixes.MatchString(prefix) {
			return wrong("the name of a model's server is made of small letters", "write ollama, or vllm")
		}
		m.prefix = prefix
		if prefix == "ollama" {
			m.title = "Ollama"
		}
		return nil
	}
}

// Sources names where the key and the address come from, for the hints of errors: an
// environment variable, or a setting such as "base=". "" keeps the usual variable.
func Sources(key, base string) Option {
	return func(m *Model) error {
		m.keyFrom, m.baseFrom = cmp.Or(key, m.keyFrom), cmp.Or(base, m.baseFrom)
		return nil
	}
}

// Azure calls a deployment on Azure OpenAI; the header api-key holds the key. With a version,
// such as "2024-10-21", the address must be that of a deployment, and only Chat Completions is
// available. "" selects Azure's v1 API. Azure must come after [BaseURL] in the options.
// (Microsoft Learn, azure/ai-foundry/openai/api-version-lifecycle.)
func Azure(version string) Option {
	return func(m *Model) error {
		if version != "" && !azureVersions.MatchString(version) {
			return wrong("Azure has no such version of its API", "write one such as 2024-10-21, or none")
		}
		m.azure, m.version, m.vendors, m.title = true, version, true, "Azure OpenAI"
		if version != "" {
			m.api = ChatCompletions
		}
		return nil
	}
}

var azureVersions = lazyre.New(`^20\d\d-\d\d-\d\d(-preview)?$`)

// As names the OpenAI model behind a name that does not show it, such as a deployment on Azure.
func As(name string) Option {
	return func(m *Model) error {
		if !names.MatchString(name) {
			return wrong("there can be no model of such a name", "name one of OpenAI's, such as "+Default)
		}
		m.family, m.thinks = name, reasons(name)
		return nil
	}
}

// Titled sets the server's name in errors, such as "Groq", and the variable that holds its key,
// for hints. "" names no variable.
func Titled(title, variable string) Option {
	return func(m *Model) error {
		if title == "" || len(title) > 60 || strings.ContainsFunc(title, func(c rune) bool { return c < ' ' }) {
			return wrong("the title of a model's server is empty, too long, or has control characters", "write its name, such as Groq")
		}
		m.title, m.keyFrom = title, variable
		return nil
	}
}

// HTTPClient sets the HTTP client. It should neither time out, because that cuts long answers,
// nor retry calls.
func HTTPClient(c *http.Client) Option {
	return func(m *Model) error {
		if c == nil {
			return wrong("there is no HTTP client", "leave the option out, or give a client")
		}
		m.client = c
		return nil
	}
}

// Stall sets the idle timeout: how long the server may send nothing before the call fails with
// a retryable error. It starts with the request. 0 means no timeout.
func Stall(d time.Duration) Option {
	return func(m *Model) error {
		if d < 0 {
			return wrong("the time of a stall is negative", "give a duration, or 0 to wait for ever")
		}
		m.stall = d
		return nil
	}
}

// Speaks sets the dialect of a server. OpenAI's own address needs none.
func Speaks(d Dialect) Option {
	return func(m *Model) error {
		if d.Thinking != "" && !slices.Contains(ThinkingPlaces(), d.Thinking) {
			return wrong("there is no such place for a model's thoughts", "use reasoning_content, reasoning, parts, details or none")
		}
		if d.Forced != "" && d.Forced != "any" && d.Forced != "required" && d.Forced != ForcedNever {
			return wrong("there is no such word for a tool that must be used", "use required, any or none")
		}
		if d.Effort != "" && !slices.Contains(EffortForms(), d.Effort) {
			return wrong("there is no such form of an effort", "use reasoning_effort, reasoning, enable_thinking, thinking or none")
		}
		for code, kind := range d.Errors {
			if !slices.Contains(Kinds(), kind) {
				return wrong("errors of the code "+strconv.Quote(code)+" cannot have such a kind",
					"use one of a model's kinds, such as context_overflow")
			}
		}
		if d.Cache != "" && d.Cache != CacheAnthropic {
			return wrong("there are no such marks for a cache", "use anthropic, or none")
		}
		m.dialect = d
		return nil
	}
}

// New returns the model with its server's name, such as "gpt-6.1-sol". It makes no connection
// and reads nothing from the environment; package models does. The error is an [*event.Error]:
// ErrInvalid for an invalid name or option, ErrModelAuth for a missing key. Servers other than
// OpenAI's need no key.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, wrong("there can be no model of such a name", "name one as its server does, such as "+Default)
	}
	m := &Model{
		name: name, prefix: "openai", title: "OpenAI's API", key: key, base: vendorsAddress, vendors: true, thinks: reasons(name),
		keyFrom: KeyVariable, baseFrom: BaseVariable,
		stall: DefaultStall, client: provider.Client(),
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if m.schemas == nil {
		m.outputs = m.vendors && holds(cmp.Or(m.family, name)) || m.dialect.Schemas
	} else {
		m.outputs = *m.schemas
	}
	if u, err := url.Parse(m.base); err == nil {
		m.host = strings.ToLower(u.Host)
	}
	if m.vendors && m.key.Empty() {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there is no key for " + m.title, Hint: "set " + m.keyFrom + ", or give a key",
		}
	}
	if m.api == "" {
		m.api = ChatCompletions
		if m.vendors {
			m.api = Responses
		}
	}
	return m, nil
}

var cacheKeys = lazyre.New(`^[!-~]{1,64}$`)
