package anthropic_test

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/test/wires"
)

// open makes a model that asks a server with these answers.
func open(tb testing.TB, name string, opts []anthropic.Option, answers ...anthropictest.Answer) (*anthropic.Model, *anthropictest.Server) {
	tb.Helper()
	server := anthropictest.Start(answers...)
	tb.Cleanup(server.Close)
	opts = append([]anthropic.Option{anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client())}, opts...)
	m, err := anthropic.New(name, secret.New(anthropictest.Key), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m, server
}

// openBedrock makes a model that asks a server that is Amazon Bedrock.
func openBedrock(tb testing.TB, name string, opts []anthropic.Option, answers ...anthropictest.Answer) (*anthropic.Model, *anthropictest.Server) {
	tb.Helper()
	server := anthropictest.StartBedrock(answers...)
	tb.Cleanup(server.Close)
	m, err := anthropic.NewBedrock(name, server.Signed(), append([]anthropic.Option{anthropic.HTTPClient(server.Client())}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return m, server
}

type peer struct{ *anthropictest.Server }

func (p peer) Asked() int { return len(p.Server.Asked()) }

func (p peer) Bodies() (b [][]byte) {
	for _, r := range p.Server.Asked() {
		b = append(b, r.Body)
	}
	return b
}

// prompt is a body as the API caches it: without the cache points, which stand
// behind what they are of. The automatic one stands behind the last message.
func prompt(body []byte, auto bool) (out []byte, points []int) {
	const point = `,"cache_control":{"type":"ephemeral"}`
	for {
		i := bytes.Index(body, []byte(point))
		if i < 0 {
			break
		}
		out = append(out, body[:i]...)
		points = append(points, len(out))
		body = body[i+len(point):]
	}
	out = append(out, body...)
	end := bytes.LastIndex(out, []byte(`]}],`))
	if auto {
		points[len(points)-1] = end
	}
	return out, points
}

// provider is what both have.
func provider(name string, cache anthropic.CachePoints) modeltest.Provider {
	p := modeltest.Provider{
		Name: name, Loop: wires.Loop, Table: "../../docs/guide/models.md",
		// None of them is there: usage behind the stop, guardrails, sound and film.
		Without: []modeltest.Feature{modeltest.LateUsage, modeltest.GuardrailRedaction, modeltest.Media},
		Prompt:  func(body []byte) ([]byte, []int) { return prompt(body, cache == anthropic.CacheAuto) },
		Stops: []event.StopReason{
			event.StopEndTurn, event.StopToolUse, event.StopSequence, event.StopMaxTokens, event.StopRefusal, event.StopPause,
			event.StopContextOverflow, "something_new",
		},
	}
	if cache == anthropic.CacheOff {
		p.Without, p.Unlisted = append(p.Without, modeltest.PromptCache), true
	}
	return p
}

// Where the points are says nothing about most of the contract: each model has two of the
// three ways.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		cache anthropic.CachePoints
	}{
		{"claude-sonnet-5-5", anthropic.CacheAuto},
		{"claude-sonnet-5-5", anthropic.CacheExplicit},
		{"claude-sonnet-4-5-20250929", anthropic.CacheAuto},
		{"claude-sonnet-4-5-20250929", anthropic.CacheOff},
	} {
		t.Run(tc.name+" "+string(tc.cache), func(t *testing.T) {
			t.Parallel()
			p := provider("Anthropic", tc.cache)
			p.LargestImage = 10 << 20 / 4 * 3
			if tc.name == sonnet {
				// It cannot be made to call a tool.
				p.Without = append(p.Without, modeltest.ToolChoice)
			}
			p.Open = func(tb testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) {
				tb.Helper()
				list := modeltest.Each(answers, onWire)
				m, server := open(tb, tc.name, []anthropic.Option{anthropic.Stall(modeltest.Silence), anthropic.Cache(tc.cache)}, list...)
				return m, peer{server}
			}
			modeltest.Run(t, p)
		})
	}
}

func TestBedrockContract(t *testing.T) {
	t.Parallel()
	for name, cache := range map[string]anthropic.CachePoints{
		anthropic.BedrockDefault: anthropic.CacheExplicit, "global.anthropic.claude-opus-4-6-v1": anthropic.CacheOff,
	} {
		t.Run(name+" "+string(cache), func(t *testing.T) {
			t.Parallel()
			p := provider("Claude on Bedrock", cache)
			p.Without = append(p.Without, modeltest.ImageURLs, modeltest.ReasoningUsage)
			p.LargestImage = 5 << 20 / 4 * 3
			p.Open = func(tb testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) {
				tb.Helper()
				list := modeltest.Each(answers, onBedrock)
				m, server := openBedrock(tb, name, []anthropic.Option{anthropic.Stall(modeltest.Silence), anthropic.Cache(cache)}, list...)
				return m, peer{server}
			}
			modeltest.Run(t, p)
		})
	}
}

// The API's words for what the contract wants to go wrong (api/errors; the
// overflow as users have published it).
var faults = map[modeltest.Fault]struct {
	status        int
	kind, message string
}{
	modeltest.Throttled: {
		http.StatusTooManyRequests, "rate_limit_error",
		"This request would exceed your organization's rate limit of 50 requests per minute.",
	},
	modeltest.Overloaded:      {529, "overloaded_error", "Overloaded"},
	modeltest.Unavailable:     {http.StatusInternalServerError, "api_error", "Internal server error"},
	modeltest.ContextOverflow: {http.StatusBadRequest, "invalid_request_error", "prompt is too long: 207791 tokens > 200000 maximum"},
	modeltest.Unauthenticated: {http.StatusUnauthorized, "authentication_error", "invalid x-api-key"},
	modeltest.Forbidden:       {http.StatusForbidden, "permission_error", "Your API key does not have permission to use the specified resource."},
	modeltest.UnknownModel:    {http.StatusNotFound, "not_found_error", "model: claude-sonnet-5-5"},
	modeltest.Refused:         {http.StatusBadRequest, "invalid_request_error", "messages.1.content.0.text.text: Field required"},
	modeltest.TooLarge:        {http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size"},
}

func onWire(a *modeltest.Answer) anthropictest.Answer {
	stop := string(a.Stop)
	if a.Stop == event.StopContextOverflow {
		stop = "model_context_window_exceeded"
	}
	if f, ok := faults[a.Fault]; ok {
		e := anthropictest.Error(f.status, f.kind, f.message)
		if a.RetryAfter > 0 {
			e.Header["Retry-After"] = strconv.Itoa(int(a.RetryAfter.Seconds()))
		}
		return e
	}
	s := anthropictest.Stream(a.Chunks, stop, a.Usage)
	s.Slow = a.Slow
	events := anthropictest.Events(a.Chunks, stop, a.Usage)
	begun := anthropictest.Begun(a.Chunks, a.Usage)
	switch a.Fault {
	case modeltest.Silent:
		s.Silent = true
	case modeltest.Cut:
		s.Cut = len(begun)
	case modeltest.NoEnd:
		s.Body = events
	case modeltest.Stalled:
		s.Body, s.Stall = begun, true
	case modeltest.Overloads:
		s.Body = begun + anthropictest.ErrorEvent("overloaded_error", "Overloaded")
	case modeltest.FailsLater:
		s.Body = begun + anthropictest.ErrorEvent("api_error", "Internal server error")
	default:
	}
	return s
}

// Bedrock's words for the same (its page troubleshooting-api-error-codes, and what
// its users have published).
var awsFaults = map[modeltest.Fault]struct {
	status        int
	kind, message string
}{
	modeltest.Throttled:       {http.StatusTooManyRequests, "ThrottlingException", "Too many requests, please wait before trying again."},
	modeltest.Overloaded:      {http.StatusServiceUnavailable, "ServiceUnavailableException", "Bedrock is unable to process your request."},
	modeltest.Unavailable:     {http.StatusInternalServerError, "InternalServerException", "The system encountered an unexpected error during processing. Try your request again."},
	modeltest.ContextOverflow: {http.StatusBadRequest, "ValidationException", "Input is too long for requested model."},
	modeltest.Unauthenticated: {http.StatusForbidden, "UnrecognizedClientException", "The security token included in the request is invalid."},
	modeltest.Forbidden:       {http.StatusForbidden, "AccessDeniedException", "You don't have access to the model with the specified model ID."},
	modeltest.UnknownModel:    {http.StatusBadRequest, "ValidationException", "The provided model identifier is invalid."},
	modeltest.Refused:         {http.StatusBadRequest, "ValidationException", "messages.1.content.0.text.text: Field required"},
	modeltest.TooLarge: {
		http.StatusBadRequest, "ValidationException",
		"1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000",
	},
}

func onBedrock(a *modeltest.Answer) anthropictest.Answer {
	stop := string(a.Stop)
	if a.Stop == event.StopContextOverflow {
		stop = "model_context_window_exceeded"
	}
	if f, ok := awsFaults[a.Fault]; ok {
		e := anthropictest.BedrockError(f.status, f.kind, f.message)
		if a.RetryAfter > 0 {
			e.Header["Retry-After"] = strconv.Itoa(int(a.RetryAfter.Seconds()))
		}
		return e
	}
	s := anthropictest.BedrockStream(a.Chunks, stop, a.Usage)
	s.Slow = a.Slow
	begun := anthropictest.Frames(anthropictest.Begun(a.Chunks, a.Usage))
	switch a.Fault {
	case modeltest.Silent:
		s.Silent = true
	case modeltest.Cut:
		s.Cut = len(begun)
	case modeltest.NoEnd:
		s.Body = anthropictest.Frames(anthropictest.Events(a.Chunks, stop, a.Usage))
	case modeltest.Stalled:
		s.Body, s.Stall = begun, true
	case modeltest.Overloads:
		s.Body = begun + anthropictest.Exception("serviceUnavailableException", "Bedrock is unable to process your request.")
	case modeltest.FailsLater:
		s.Body = begun + anthropictest.Exception("internalServerException", "The system encountered an unexpected error during processing.")
	default:
	}
	return s
}
