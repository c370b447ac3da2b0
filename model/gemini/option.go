package gemini

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
)

// Option changes how a model is called, not what it is asked.
type Option func(*Model) error

// BaseURL sends the calls to another address: a gateway, or a test. It stands
// before "/v1beta"; "" keeps the vendor's own.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !provider.Address(address) {
			return wrong("the base URL of the Gemini API is no address", "write it as https://host, without a user, and without /v1beta")
		}
		m.base = address
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

// HTTPClient sends the calls through c instead of one of the package's own. Of c
// its transport and its cookies are used: redirects are never followed, because
// the key would go with them, and how long may be waited is for [Stall] and the
// caller's context to say. The transport should not repeat calls.
func HTTPClient(c *http.Client) Option {
	return func(m *Model) error {
		if c == nil {
			return wrong("there is no HTTP client", "leave the option out, or give a client")
		}
		m.client = &http.Client{Transport: c.Transport, Jar: c.Jar}
		return nil
	}
}

// DefaultStall is how long the API may send nothing before a call is given up. It
// sends nothing while it thinks, unless its thoughts are shown.
const DefaultStall = 5 * time.Minute

// Stall sets how long the API may send nothing at all, from the request on,
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

// Level is how much a model thinks, in the vendor's words.
type Level string

// The levels. Which of them a model has, docs/thinking says.
const (
	LevelMinimal Level = "MINIMAL"
	LevelLow     Level = "LOW"
	LevelMedium  Level = "MEDIUM"
	LevelHigh    Level = "HIGH"
)

// ThinkingLevel says how much the model thinks where a request names neither an effort nor
// a budget. It is for Gemini 3 and later (docs/thinking).
func ThinkingLevel(level Level) Option {
	return func(m *Model) error {
		switch level {
		case LevelMinimal, LevelLow, LevelMedium, LevelHigh:
			m.level = level
			return nil
		default:
			return wrong("there is no such level of thinking", "use MINIMAL, LOW, MEDIUM or HIGH")
		}
	}
}

// IncludeThoughts shows summaries of the model's thinking, or never does. Without
// it they are shown where a request gives a budget for thinking.
func IncludeThoughts(yes bool) Option {
	return func(m *Model) error {
		m.thoughts = &yes
		return nil
	}
}

// SafetySetting says from which probability on a category is blocked, in the vendor's
// words, such as HARM_CATEGORY_HARASSMENT and BLOCK_ONLY_HIGH (docs/safety-settings).
type SafetySetting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
}

// Safety sets what is blocked, a category at a time; what is not named stays as
// the vendor has it (docs/safety-settings).
func Safety(settings ...SafetySetting) Option {
	return func(m *Model) error {
		for _, s := range settings {
			if s.Category == "" || s.Threshold == "" {
				return wrong("a safety setting names no category or no threshold", "give both, such as HARM_CATEGORY_HARASSMENT and BLOCK_ONLY_HIGH")
			}
		}
		m.safety = append(m.safety, settings...)
		return nil
	}
}

var cacheNames = lazyre.New(`^(projects/[^/\s]+/locations/[^/\s]+/)?cachedContents/[A-Za-z0-9_-]{1,128}$`)

// CachedContent begins each request with a prompt that was cached by name before
// (docs/caching, explicit caching). The cache holds instructions and tools of its
// own, and the API takes no others beside it: those of the agent are not sent, so
// they should be the same.
func CachedContent(name string) Option {
	return func(m *Model) error {
		if !cacheNames.MatchString(name) {
			return wrong("there is no cached content of such a name", "name it as the vendor does: cachedContents/…")
		}
		m.cached = name
		return nil
	}
}

// TokenSource gives an OAuth access token with the scope
// https://www.googleapis.com/auth/cloud-platform, and keeps it as long as it is
// good. It is safe for concurrent use.
type TokenSource func(context.Context) (string, error)

var (
	projects  = lazyre.New(`^[a-z0-9][a-z0-9.:-]{0,62}$`)
	locations = lazyre.New(`^[a-z0-9][a-z0-9-]{0,62}$`)
)

// Vertex calls the model on Vertex AI in a project and a location, such as "global",
// "eu" or "europe-west4". Calls are made with the tokens. Where token is nil, they are
// made with the key that [New] is given; project and location may then both be "" (the
// express mode of Vertex AI).
func Vertex(project, location string, token TokenSource) Option {
	return func(m *Model) error {
		express := project == "" && location == "" && token == nil
		if !express && (!projects.MatchString(project) || !locations.MatchString(location)) {
			return wrong("Vertex AI has no such project or location", `name both, such as "my-project" and "global"`)
		}
		m.vertex, m.project, m.location, m.token = true, project, location, token
		return nil
	}
}

var vendors = lazyre.New(`^[a-z][a-z0-9]{0,31}$`)

// Named sets what stands before the colon in the model's name, instead of "gemini".
func Named(provider string) Option {
	return func(m *Model) error {
		if !vendors.MatchString(provider) {
			return wrong("there is no provider of such a name", "use small letters and digits")
		}
		m.provider = provider
		return nil
	}
}

// wrong is an error of whoever sets the model up.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
