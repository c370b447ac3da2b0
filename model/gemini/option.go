package gemini

import (
	"cmp"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
)

// Option configures a [Model].
type Option func(*Model) error

// BaseURL sets the address of the API, such as a gateway or a test server, without "/v1beta".
// "" keeps the vendor's address.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !provider.Address(address) {
			return wrong("the base URL of the Gemini API is not an address", "write it as https://host, without a user, and without /v1beta")
		}
		m.base = address
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

// HTTPClient sets the HTTP client, of which Braid uses the transport and the cookies. Calls
// never follow redirects, which would carry the key along. [Stall] and the context bound a
// call, and not the client's timeout. The transport should not retry calls.
func HTTPClient(c *http.Client) Option {
	return func(m *Model) error {
		if c == nil {
			return wrong("there is no HTTP client", "leave the option out, or give a client")
		}
		m.client = &http.Client{Transport: c.Transport, Jar: c.Jar}
		return nil
	}
}

// DefaultStall is the default of [Stall]. The API sends nothing while the model thinks, unless
// thinking is shown.
const DefaultStall = 5 * time.Minute

// Stall sets the idle timeout: how long the API may send nothing before the call fails with a
// retryable error. It starts with the request. 0 means no timeout.
func Stall(d time.Duration) Option {
	return func(m *Model) error {
		if d < 0 {
			return wrong("the time of a stall is negative", "give a duration, or 0 to wait for ever")
		}
		m.stall = d
		return nil
	}
}

// ThinkingLevel sets how much the model thinks if a request has neither an effort nor a
// budget. It is for Gemini 3 and later (docs/thinking).
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

// IncludeThoughts shows summaries of the model's thinking always or never. Without this
// option, a request with a budget for thinking shows them.
func IncludeThoughts(yes bool) Option {
	return func(m *Model) error {
		m.thoughts = &yes
		return nil
	}
}

// Safety sets what the vendor blocks, per category. Categories that it leaves out keep
// the vendor's defaults (docs/safety-settings).
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

// CachedContent begins each request with a prompt that was cached under this name
// (docs/caching, explicit caching). The cached prompt has its own instructions and
// tools, and the API takes no others. Braid does not send the agent's, so they should
// be the same.
func CachedContent(name string) Option {
	return func(m *Model) error {
		if !cacheNames.MatchString(name) {
			return wrong("there is no cached content of such a name", "name it as the vendor does: cachedContents/…")
		}
		m.cached = name
		return nil
	}
}

var (
	projects  = lazyre.New(`^[a-z0-9][a-z0-9.:-]{0,62}$`)
	locations = lazyre.New(`^[a-z0-9][a-z0-9-]{0,62}$`)
)

// Vertex calls the model on Vertex AI in a project and a location, such as "global",
// "eu" or "europe-west4". Calls carry an access token from token. If token is nil, they
// carry the key that [New] got; project and location may then both be "" (the express
// mode of Vertex AI).
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

// Named sets the prefix before the colon in the model's name, instead of "gemini".
func Named(provider string) Option {
	return func(m *Model) error {
		if !vendors.MatchString(provider) {
			return wrong("there is no provider of such a name", "use small letters and digits")
		}
		m.provider = provider
		return nil
	}
}

// wrong returns the error for a bad option or name.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
