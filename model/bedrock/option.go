package bedrock

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/provider"
)

// Option configures a [Model].
type Option func(*Model) error

// BaseURL sets the address of the API, such as a private endpoint, a gateway or a test server.
// "" keeps the region's address. A Bedrock API key is sent without TLS only to an address that
// is set here.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !provider.Address(address) {
			return wrong("the base URL of Amazon Bedrock is not an address", "write it as https://host, without a user")
		}
		m.base = strings.TrimSuffix(address, "/")
		return nil
	}
}

// HTTPClient sets the HTTP client, instead of the configuration's. It should neither time out,
// because that cuts long answers, nor retry calls.
func HTTPClient(c *http.Client) Option {
	return func(m *Model) error {
		if c == nil {
			return wrong("there is no HTTP client", "leave the option out, or give a client")
		}
		m.client = c
		return nil
	}
}

// DefaultStall is the default of [Stall].
const DefaultStall = 2 * time.Minute

// Stall sets the idle timeout: how long the API may send nothing before the call fails with a
// retryable error. It starts with the request. 0 means no timeout. An answer that does not
// stream ([Whole]) is silent until it is complete.
func Stall(d time.Duration) Option {
	return func(m *Model) error {
		if d < 0 {
			return wrong("the time of a stall is negative", "give a duration, or 0 to wait for ever")
		}
		m.stall = d
		return nil
	}
}

// As names the model behind an id that does not show it, such as
// "amazon.nova-pro-v1:0" behind the ARN of your own inference profile.
func As(id string) Option {
	return func(m *Model) error {
		if plainModel(id) == "" {
			return wrong("there is no id of a model", "write it as anthropic.claude-… or amazon.nova-…")
		}
		m.family, m.plain = familyOf(id), plainModel(id)
		return nil
	}
}

// Answers sets whether answers stream; [StreamAuto] is the default.
func Answers(how Streaming) Option {
	return func(m *Model) error {
		switch how {
		case StreamAuto, Stream, Whole:
			m.streaming = how
			return nil
		default:
			return wrong("there is no such way of answering", "use auto, stream or whole")
		}
	}
}

// Cache sets the cache points, at most four; [CacheAuto] is the default. The API does
// not cache a prompt that is too short, and charges nothing more for it.
func Cache(points CachePoints) Option {
	return func(m *Model) error {
		switch points {
		case CacheAuto, CacheHour, CacheOff:
			m.cache = points
			return nil
		default:
			return wrong("there are no such cache points", "use auto, hour or off")
		}
	}
}

// Guard applies a guardrail to every call.
func Guard(g Guardrail) Option {
	return func(m *Model) error {
		if g.ID == "" || g.Version == "" {
			return wrong("a guardrail has an id and a version", "give both; the version may be DRAFT")
		}
		switch g.Trace {
		case "":
			g.Trace = "enabled"
		case "enabled", "enabled_full", "disabled":
		default:
			return wrong("there is no such trace of a guardrail", "use enabled, enabled_full or disabled")
		}
		if g.InputText == "" {
			g.InputText = redactedInput
		}
		if g.OutputText == "" {
			g.OutputText = redactedOutput
		}
		m.guard = &g
		return nil
	}
}

// Fields adds the model's own parameters, a JSON object
// (additionalModelRequestFields). They take precedence over what Braid sends.
func Fields(object json.RawMessage) Option {
	return func(m *Model) error {
		members := map[string]json.RawMessage{}
		if strictjson.Check(object, strictjson.DefaultDepth) != nil || json.Unmarshal(object, &members) != nil || members == nil {
			return wrong("the model's own parameters are no JSON object", `write them as {"top_k": 200}`)
		}
		m.fields = members
		return nil
	}
}

// Metadata adds up to 16 pairs to each call's record in the account's invocation log.
func Metadata(pairs map[string]string) Option {
	return func(m *Model) error {
		const most = 16
		if len(pairs) > most {
			return wrong("there is too much metadata", "Amazon Bedrock takes 16 pairs")
		}
		if len(pairs) > 0 {
			b, err := json.Marshal(pairs)
			if err != nil {
				return wrong("the metadata cannot be written", "use plain text")
			}
			m.metadata = b
		}
		return nil
	}
}

// Tier selects a service tier: priority, default, flex or reserved. Not every model
// has every tier.
func Tier(name string) Option {
	return func(m *Model) error {
		switch {
		case slices.Contains(tiers, name):
			m.tier = name
			return nil
		default:
			return wrong("there is no such tier of service", "use priority, default, flex or reserved")
		}
	}
}

// Latency selects "optimized" latency, if the model has it, or "standard".
func Latency(name string) Option {
	return func(m *Model) error {
		switch {
		case slices.Contains(latencies, name):
			m.latency = name
			return nil
		default:
			return wrong("there is no such latency", "use standard or optimized")
		}
	}
}
