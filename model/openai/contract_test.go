package openai_test

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/test/wires"
)

// kind is one way in which models are asked.
type kind struct {
	name, model string
	api         openaitest.API
	compatible  bool
}

var (
	reasoner = kind{"Responses, a model that reasons", "gpt-5.4", openaitest.Responses, false}
	talker   = kind{"Responses, a model that does not", "gpt-4o", openaitest.Responses, false}
	chatting = kind{"Chat Completions", "gpt-4o", openaitest.Chat, false}
	thinking = kind{"Chat Completions, a model that reasons", "o4-mini", openaitest.Chat, false}
	local    = kind{"Chat Completions of another server", "qwen3:8b", openaitest.Chat, true}
)

// toServer carries calls for the vendor's own address to a server on this
// machine.
type toServer struct {
	host string
	next http.RoundTripper
}

func (t toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "api.openai.com" {
		return t.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", t.host
	return t.next.RoundTrip(r)
}

// open makes a model that asks a server with these answers.
func open(tb testing.TB, k kind, opts []openai.Option, answers ...openaitest.Answer) (*openai.Model, *openaitest.Server) {
	tb.Helper()
	server := openaitest.Start(answers...)
	server.Compatible = k.compatible
	tb.Cleanup(server.Close)
	client := server.Client()
	key := secret.New(openaitest.Key)
	first := []openai.Option{openai.Use(openai.API(k.api))}
	if k.compatible {
		first, key = []openai.Option{openai.BaseURL(server.URL)}, secret.Secret{}
	} else {
		client = &http.Client{Transport: toServer{server.Host(), client.Transport}}
	}
	first = append(first, openai.HTTPClient(client))
	m, err := openai.New(k.model, key, append(first, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return m, server
}

type peer struct{ *openaitest.Server }

func (p peer) Asked() int { return len(p.Server.Asked()) }

func (p peer) Bodies() (bodies [][]byte) {
	for _, r := range p.Server.Asked() {
		bodies = append(bodies, r.Body)
	}
	return bodies
}

// prompt is a request as the vendor's cache sees it, which keeps the beginnings of
// prompts by itself.
func prompt(body []byte) (before []byte, points []int) {
	end := bytes.LastIndex(body, []byte("}],"))
	return body, []int{end + 1}
}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{reasoner, talker, chatting, thinking, local} {
		without := []modeltest.Feature{
			modeltest.RedactedThinking, modeltest.ImageLimit, modeltest.Media, modeltest.HourWrites, modeltest.LateUsage, modeltest.GuardrailRedaction,
		}
		name := "OpenAI Responses"
		switch {
		case k.compatible:
			name = "compatible servers"
		case k.api == openaitest.Chat:
			name = "OpenAI Chat Completions"
		}
		stops := []event.StopReason{
			event.StopEndTurn, event.StopToolUse, event.StopMaxTokens, event.StopRefusal, event.StopContentFiltered, "something_new",
		}
		if k.api == openaitest.Chat {
			without = append(without, modeltest.SeveralTexts, modeltest.SignedThinking)
		}
		if k.api == openaitest.Responses || k == thinking {
			without = append(without, modeltest.StopWords)
		}
		if k == talker {
			without = append(without, modeltest.SignedThinking) // it does not reason, and takes no reasoning
		}
		if k.compatible {
			without = append(without, modeltest.Documents)
		}
		if k == chatting || k == thinking {
			without = append(without, modeltest.Thinking)
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			modeltest.Run(t, modeltest.Provider{
				Name: name, Loop: wires.Loop, Without: without, Stops: stops, Own: "openai.", Prompt: prompt, Table: "../../docs/guide/models.md",
				Signature: func(given string) string { return "openai.rs_0." + given },
				Open: func(tb testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) {
					tb.Helper()
					list := modeltest.Each(answers, func(a *modeltest.Answer) openaitest.Answer { return onWire(k.api, a) })
					opts := []openai.Option{openai.Stall(modeltest.Silence)}
					if k.compatible {
						opts = append(opts, openai.Schemas(true))
					}
					m, server := open(tb, k, opts, list...)
					return m, peer{server}
				},
			})
		})
	}
}

// The vendor's words for what the contract wants to go wrong (guides/error-codes;
// the rest as users have published them).
var faults = map[modeltest.Fault]struct {
	status              int
	kind, code, message string
}{
	modeltest.Throttled: {
		http.StatusTooManyRequests, "requests", "rate_limit_exceeded",
		"Rate limit reached for gpt-5.4 in organization org-x on requests per min (RPM): Limit 3, Used 3, Requested 1.",
	},
	modeltest.Overloaded: {
		http.StatusServiceUnavailable, "server_error", "",
		"The engine is currently overloaded, please try again later.",
	},
	modeltest.Unavailable: {
		http.StatusInternalServerError, "server_error", "",
		"The server had an error while processing your request. Sorry about that!",
	},
	modeltest.ContextOverflow: {
		http.StatusBadRequest, "invalid_request_error", "context_length_exceeded",
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
	},
	modeltest.Unauthenticated: {
		http.StatusUnauthorized, "invalid_request_error", "invalid_api_key",
		"Incorrect API key provided: sk-proj-********0000. You can find your API key in your account.",
	},
	modeltest.Forbidden: {
		http.StatusForbidden, "request_forbidden", "unsupported_country_region_territory",
		"Country, region, or territory not supported",
	},
	modeltest.UnknownModel: {
		http.StatusNotFound, "invalid_request_error", "model_not_found",
		"The model `gpt-9` does not exist or you do not have access to it.",
	},
	modeltest.Refused:  {http.StatusBadRequest, "invalid_request_error", "unknown_parameter", "Unknown parameter: 'colour'."},
	modeltest.TooLarge: {http.StatusRequestEntityTooLarge, "invalid_request_error", "", "Maximum content size limit exceeded."},
}

func onWire(api openaitest.API, a *modeltest.Answer) openaitest.Answer {
	if f, ok := faults[a.Fault]; ok {
		e := openaitest.Error(f.status, f.kind, f.code, f.message)
		if a.RetryAfter > 0 {
			e.Header["Retry-After"] = strconv.Itoa(int(a.RetryAfter.Seconds()))
		}
		return e
	}
	s := openaitest.Stream(api, a.Chunks, a.Stop, a.Usage)
	s.Slow = a.Slow
	begun := openaitest.Begun(api, a.Chunks, a.Stop)
	switch a.Fault {
	case modeltest.Silent:
		s.Silent = true
	case modeltest.Cut:
		s.Cut = len(begun)
	case modeltest.NoEnd:
		s.Body = openaitest.Events(api, a.Chunks, a.Stop, a.Usage)
		if api == openaitest.Chat {
			s.Body = begun // with a reason, the end of the body is an end
		}
	case modeltest.Stalled:
		s.Body, s.Stall = begun, true
	case modeltest.Overloads:
		s.Body = begun + openaitest.ErrorEvent(api, "service_unavailable_error", "server_is_overloaded", "Our servers are currently overloaded. Please try again later.")
	case modeltest.FailsLater:
		s.Body = begun + openaitest.ErrorEvent(api, "server_error", "server_error", "An error occurred while processing your request.")
	default:
	}
	return s
}
