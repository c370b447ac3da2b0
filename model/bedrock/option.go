package bedrock

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/provider"
)

// Option changes how a model is called, not what it is asked.
type Option func(*Model) error

// BaseURL sends the calls to another address: a private endpoint, a gateway, or a
// test. "" keeps that of the region. A key of Bedrock's goes to an address without
// TLS only where it is given here.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !provider.Address(address) {
			return wrong("the base URL of Amazon Bedrock is no address", "write it as https://host, without a user")
		}
		m.base = strings.TrimSuffix(address, "/")
		return nil
	}
}

// HTTPClient sends the calls through c instead of the configuration's, or one of
// the package's own. It should neither time out by itself, which ends long
// answers, nor repeat calls.
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
const DefaultStall = 2 * time.Minute

// Stall sets how long the API may send nothing at all, from the request on,
// before the call fails with a kind that is repeated; 0 means for ever. An answer
// that does not stream ([Whole]) is silent until it is there.
func Stall(d time.Duration) Option {
	return func(m *Model) error {
		if d < 0 {
			return wrong("the time of a stall is negative", "give a duration, or 0 to wait for ever")
		}
		m.stall = d
		return nil
	}
}

// As says what a model is where its id does not tell: "amazon.nova-pro-v1:0" for
// an inference profile of one's own, which has an ARN without the model's name.
func As(id string) Option {
	return func(m *Model) error {
		if plainModel(id) == "" {
			return wrong("there is no id of a model", "write it as anthropic.claude-… or amazon.nova-…")
		}
		m.family, m.plain = familyOf(id), plainModel(id)
		return nil
	}
}

// Streaming says whether an answer comes in pieces.
type Streaming string

const (
	// StreamAuto streams wherever the model can, also with tools.
	StreamAuto Streaming = "auto"
	// Stream always does.
	Stream Streaming = "stream"
	// Whole never does (Converse instead of ConverseStream): the answer comes at once.
	Whole Streaming = "whole"
)

// Answers sets how answers come; [StreamAuto] is the default.
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

// CachePoints says whether a request carries cache points
// (bedrock/latest/userguide/prompt-caching).
type CachePoints string

const (
	// CacheAuto has points wherever the model is known to take them: behind the
	// instructions, or else the tools; behind the newest message; and behind the
	// two user messages before it. What is cached stays for five minutes.
	CacheAuto CachePoints = "auto"
	// CacheHour is the same for an hour, which costs more to write and which only
	// newer models of Claude's have.
	CacheHour CachePoints = "hour"
	// CacheOff caches nothing: for prompts that are never sent twice.
	CacheOff CachePoints = "off"
)

// Cache sets the cache points; [CacheAuto] is the default. There are never more
// than four. Too short a prompt is not cached by the API, and costs nothing more.
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

// Guardrail names a guardrail that looks at what is asked and answered
// (bedrock/latest/userguide/guardrails-use-converse-api), and says what becomes of
// what it blocks. What it masks stands masked in the answer, and stays so.
type Guardrail struct {
	// ID and Version name it; both are needed.
	ID, Version string
	// Trace is enabled (the default), enabled_full or disabled. Without one it is
	// not known whether question or answer was blocked.
	Trace string
	// Async lets pieces of an answer through before it has looked at them. The
	// answer may then be taken back.
	Async bool
	// Latest shows it the newest question alone, and not the whole conversation.
	Latest bool
	// KeepInput leaves a question that was blocked in the conversation. Otherwise
	// InputText stands for it from then on, or "[User input redacted.]".
	KeepInput bool
	InputText string
	// RedactOutput puts OutputText, or "[Assistant output redacted.]", in the place
	// of an answer that was blocked. Otherwise what the guardrail says instead stays.
	RedactOutput bool
	OutputText   string
}

// What stands for what was blocked, where nobody says otherwise: Strands' words.
const (
	redactedInput  = "[User input redacted.]"
	redactedOutput = "[Assistant output redacted.]"
)

// Guard has a guardrail look at every call.
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

// Fields adds parameters of the model's own, a JSON object
// (additionalModelRequestFields). They go before what Braid would say itself.
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

// Metadata is written in the account's log of calls beside each one: 16 keys at
// most.
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

// Tier asks for a tier of service: priority, default, flex or reserved. Not every
// model has each.
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

// Latency asks for "optimized" latency, where the model has it, or "standard".
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

// wrong is an error of whoever sets the model up.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
