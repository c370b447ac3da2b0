package anthropic

import (
	"cmp"
	"net/http"
	"time"

	"github.com/braidrun/braid/model/internal/provider"
)

// BaseURL sets the address of the API, such as a gateway or a test server. It has the form of
// ANTHROPIC_BASE_URL, without "/v1". "" keeps the vendor's address.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !provider.Address(address) {
			return wrong("the base URL of Anthropic's API is not an address", "write it as https://host, without a user, and without /v1")
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

// Cache sets the cache points. The default is [CacheAuto]. A request has at most four. The API
// does not cache prompts below its minimum length, and charges nothing extra for them.
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

// CacheHour extends the cache lifetime to one hour after the last read; the default is five
// minutes. Use it for conversations with slow users. Cache writes then cost twice the input
// price instead of 1.25 times.
func CacheHour() Option {
	return func(m *Model) error {
		m.hour = true
		return nil
	}
}

// Version sets the version of the API. The default is that of the vendor's SDKs, 2026-10-21.
// "2023-06-01" still has a temperature, for models that support it, and older gateways require
// it.
func Version(date string) Option {
	return func(m *Model) error {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return wrong("the version of Anthropic's API is not a date", "write it as 2026-10-21")
		}
		m.version = date
		return nil
	}
}
