package anthropic_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
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

type peer struct{ *anthropictest.Server }

func (p peer) Asked() int { return len(p.Server.Asked()) }

func TestContract(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude-sonnet-5-5", "claude-sonnet-4-5-20250929"} {
		for _, cache := range []anthropic.CachePoints{anthropic.CacheAuto, anthropic.CacheExplicit, anthropic.CacheOff} {
			t.Run(name+" "+string(cache), func(t *testing.T) {
				t.Parallel()
				modeltest.Run(t, modeltest.Provider{
					Stops: []event.StopReason{
						event.StopEndTurn, event.StopToolUse, event.StopSequence, event.StopMaxTokens, event.StopRefusal, event.StopPause,
						event.StopContextOverflow, "something_new",
					},
					Open: func(tb testing.TB, answers ...modeltest.Answer) (braid.Model, modeltest.Peer) {
						tb.Helper()
						list := make([]anthropictest.Answer, len(answers))
						for i := range answers {
							list[i] = onWire(&answers[i])
						}
						m, server := open(tb, name, []anthropic.Option{anthropic.Stall(modeltest.Silence), anthropic.Cache(cache)}, list...)
						return m, peer{server}
					},
				})
			})
		}
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
