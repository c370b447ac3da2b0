package anthropic

import (
	"cmp"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/provider"
)

// Option changes how a model is called, not what it is asked.
type Option func(*Model) error

// BaseURL sends the calls to another address: a gateway, or a test. It is what
// ANTHROPIC_BASE_URL holds, without "/v1"; "" keeps the vendor's own.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !provider.Address(address) {
			return wrong("the base URL of Anthropic's API is no address", "write it as https://host, without a user, and without /v1")
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

// DefaultStall is how long the API may send nothing before a call is given up.
// While it thinks, it sends a ping every few seconds.
const DefaultStall = 2 * time.Minute

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

// CachePoints says where a request carries cache points
// (build-with-claude/prompt-caching).
type CachePoints string

const (
	// CacheAuto has a point behind tools and instructions, and lets the API put
	// one behind the newest message. Where a turn is longer than the 20 blocks
	// that the API looks back, points of its own bridge it. The bytes of a
	// conversation's messages then stay the same from request to request.
	CacheAuto CachePoints = "auto"
	// CacheExplicit names all points itself, for gateways that do not know the
	// automatic one: behind tools and instructions, behind the newest message,
	// and behind the two user messages before it.
	CacheExplicit CachePoints = "explicit"
	// CacheOff caches nothing: for prompts that are never sent twice.
	CacheOff CachePoints = "off"
)

// Cache sets the cache points; [CacheAuto] is the default. There are never more
// than four. Too short a prompt is not cached by the API, and costs nothing more.
func Cache(points CachePoints) Option {
	return func(m *Model) error {
		switch points {
		case CacheAuto, CacheExplicit, CacheOff:
			m.cache = points
			return nil
		default:
			return wrong("there are no such cache points", "use auto, explicit or off")
		}
	}
}

// CacheHour keeps what is cached for an hour instead of five minutes after it was
// last read, for conversations whose people think longer. Writing costs twice the
// price of input then, instead of 1.25 times.
func CacheHour() Option {
	return func(m *Model) error {
		m.hour = true
		return nil
	}
}

// Version sends another version of the API than that of the vendor's SDKs, which is 2026-10-21:
// "2023-06-01" is the one that still takes a temperature, on the models that do,
// and the one that older gateways know.
func Version(date string) Option {
	return func(m *Model) error {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return wrong("the version of Anthropic's API is no date", "write it as 2026-10-21")
		}
		m.version = date
		return nil
	}
}

// wrong is an error of whoever sets the model up.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
