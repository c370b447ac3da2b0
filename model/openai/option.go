package openai

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
)

// Option changes how a model is called, not what it is asked.
type Option func(*Model) error

// BaseURL sends the calls to another address: a server of one's own, a gateway,
// or a test. It is what OPENAI_BASE_URL holds, with "/v1" where the server wants
// it; "" keeps the vendor's own.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		u, err := url.Parse(address)
		if err != nil || !provider.Address(address) {
			return wrong("the base URL of the model's server is no address", "write it as https://host/v1, without a user")
		}
		m.base, m.vendors = address, isVendors(u)
		if !m.vendors {
			m.title = "the model's server"
		}
		return nil
	}
}

// API is one of the two that there are.
type API string

// The APIs.
const (
	Responses       API = "responses"
	ChatCompletions API = "chat completions"
)

// Use asks by the given API: Chat Completions of OpenAI itself, or Responses of
// another server that has it.
func Use(api API) Option {
	return func(m *Model) error {
		if api != Responses && api != ChatCompletions {
			return wrong("OpenAI has no such API", "use responses or chat completions")
		}
		m.api = api
		return nil
	}
}

// Reasons says whether the model reasons before it answers, where its name does
// not tell: such models are asked for their reasoning, encrypted, and take
// neither a temperature nor words to stop at.
func Reasons(yes bool) Option {
	return func(m *Model) error {
		m.thinks = yes
		return nil
	}
}

// Effort is how hard the model tries unless a request says it ([model.Options].Effort), in
// the same words: none, low, medium, high, max, or the vendor's minimal and xhigh. A word
// that the model does not have is refused when it is asked. It replaces what follows from
// [model.Options].Thinking.
func Effort(word string) Option {
	return func(m *Model) error {
		if !slices.Contains(allEfforts, word) {
			return wrong("there is no such effort", "use none, minimal, low, medium, high, xhigh or max")
		}
		m.effort = word
		return nil
	}
}

// Schemas says whether answers can be held to a schema where that does not follow
// from address and name: servers other than the vendor's are told in words unless
// it is set. vLLM, Ollama, LM Studio and llama.cpp can be, and many models behind
// OpenRouter.
func Schemas(yes bool) Option {
	return func(m *Model) error {
		m.schemas = &yes
		return nil
	}
}

var cacheKeys = lazyre.New(`^[!-~]{1,64}$`)

// CacheKey groups calls that begin alike, so that the vendor sends them to where
// the beginning is cached: the name of an agent, say, or of a tenant's share of
// its calls. It goes to the vendor as it is (guides/prompt-caching,
// prompt_cache_key).
func CacheKey(key string) Option {
	return func(m *Model) error {
		if !cacheKeys.MatchString(key) {
			return wrong("the key of a prompt cache has 64 letters at most, and no spaces", "give a short one, such as the agent's name")
		}
		m.cacheKey = key
		return nil
	}
}

// CacheRetention is how long the vendor keeps the beginnings of prompts: "in_memory" or
// "24h" at most, or from GPT-5.6 on "30m" or "12h" at least. Which of them a model has is in
// guides/prompt-caching; another one is refused when the model is asked.
func CacheRetention(word string) Option {
	return func(m *Model) error {
		if !slices.Contains([]string{inMemory, "24h", "30m", "12h"}, word) {
			return wrong("the vendor's prompt cache has no such retention", "use in_memory, 24h, 30m or 12h")
		}
		m.retention = word
		return nil
	}
}

// StrictTools holds the arguments of each tool to its schema if the schema can be expressed,
// as [model.ToolSpec].Strict does for one tool. Tools with other schemas are sent as before.
// Of a server other than OpenAI's it says that the server can do it.
func StrictTools(yes bool) Option {
	return func(m *Model) error {
		m.strict = yes
		return nil
	}
}

var prefixes = lazyre.New(`^[a-z][a-z0-9]{0,31}$`)

// Named sets what stands before the colon in the model's name: "ollama" for a
// server that is Ollama.
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

// Sources say where the caller has key and address from, for the hints of errors: the name of a
// variable, or a setting such as "base=". "" leaves the usual variable.
func Sources(key, base string) Option {
	return func(m *Model) error {
		m.keyFrom, m.baseFrom = cmp.Or(key, m.keyFrom), cmp.Or(base, m.baseFrom)
		return nil
	}
}

// Azure asks a deployment at Azure, which serves OpenAI's own models: the key goes in the
// header api-key. With a version, such as "2024-10-21", the address is that of one
// deployment and has only Chat Completions; "" is the API that Azure calls v1. Put it behind
// [BaseURL]. (Microsoft Learn, azure/ai-foundry/openai/api-version-lifecycle.)
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

// As says which of OpenAI's models is behind a name that does not tell, such as a
// deployment's at Azure.
func As(name string) Option {
	return func(m *Model) error {
		if !names.MatchString(name) {
			return wrong("there can be no model of such a name", "name one of OpenAI's, such as "+Default)
		}
		m.family, m.thinks = name, reasons(name)
		return nil
	}
}

// Titled sets how errors call the server, such as "Groq", and the variable with its key
// that they name; "" names none.
func Titled(title, variable string) Option {
	return func(m *Model) error {
		if title == "" || len(title) > 60 || strings.ContainsFunc(title, func(c rune) bool { return c < ' ' }) {
			return wrong("the title of a model's server is empty, too long, or has control characters", "write its name, such as Groq")
		}
		m.title, m.keyFrom = title, variable
		return nil
	}
}

// HTTPClient sends the calls through c instead of one of the package's own. It
// should neither time out by itself, which ends long answers, nor repeat calls.
func HTTPClient(c *http.Client) Option {
	return func(m *Model) error {
		if c == nil {
			return wrong("there is no HTTP client", "leave the option out, or give a client")
		}
		m.client = c
		return nil
	}
}

// DefaultStall is how long the server may send nothing before a call is given
// up. There are no pings: a model that reasons without showing it is silent.
const DefaultStall = 5 * time.Minute

// Stall sets how long the server may send nothing at all, from the request on,
// before the call fails with a kind that is repeated; 0 means for ever.
func Stall(d time.Duration) Option {
	return func(m *Model) error {
		if d < 0 {
			return wrong("the time of a stall is negative", "give a duration, or 0 to wait for ever")
		}
		m.stall = d
		return nil
	}
}

// wrong is an error of whoever sets the model up.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
