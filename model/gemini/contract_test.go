package gemini_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/test/wires"
)

// open makes a model and a server with these answers.
func open(tb testing.TB, name string, opts []gemini.Option, answers ...geminitest.Answer) (*gemini.Model, *geminitest.Server) {
	tb.Helper()
	server := geminitest.Start(answers...)
	tb.Cleanup(server.Close)
	opts = append([]gemini.Option{gemini.BaseURL(server.URL), gemini.HTTPClient(server.Client())}, opts...)
	m, err := gemini.New(name, secret.New(geminitest.Key), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m, server
}

type peer struct{ *geminitest.Server }

func (p peer) Asked() int { return len(p.Server.Asked()) }

func (p peer) Bodies() [][]byte {
	var b [][]byte
	for _, r := range p.Server.Asked() {
		b = append(b, r.Body)
	}
	return b
}

func TestContract(t *testing.T) {
	t.Parallel()
	without := []modeltest.Feature{
		modeltest.SeveralTexts, modeltest.InterleavedCalls, modeltest.ArgumentPieces, modeltest.RedactedThinking, modeltest.ImageLimit,
		modeltest.CacheWrites, modeltest.HourWrites, modeltest.LateUsage, modeltest.GuardrailRedaction,
	}
	for _, tc := range []struct {
		name    string
		opts    []gemini.Option
		without []modeltest.Feature
		taped   bool
	}{
		{"gemini-3.6-flash", nil, nil, false},
		{"gemini-3.6-flash", nil, nil, true},
		{"gemini-2.5-pro", nil, []modeltest.Feature{modeltest.StructuredOutput}, false},
		{"gemini-3.6-flash", []gemini.Option{gemini.Vertex("my-project", "global", nil)}, nil, false},
	} {
		title, name := tc.name, "Gemini"
		if len(tc.opts) > 0 {
			title, name = title+" on Vertex", "Gemini on Vertex"
		}
		if len(tc.without) > 0 {
			name = "Gemini before 3"
		}
		if tc.taped {
			title += " from a recording"
		}
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			modeltest.Run(t, modeltest.Provider{
				Name: name, Loop: wires.Loop, Unlisted: tc.taped, Own: "gemini.", Signature: func(given string) string { return "gemini." + given },
				Without: append(tc.without, without...),
				Stops: []event.StopReason{
					event.StopEndTurn, event.StopToolUse, event.StopMaxTokens, event.StopContentFiltered, event.StopGuardrail,
				},
				Prompt: prompt, Table: "../../docs/guide/models.md",
				Open: func(tb testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) {
					tb.Helper()
					list := modeltest.Each(answers, onWire)
					m, server := open(tb, tc.name, append([]gemini.Option{gemini.Stall(modeltest.Silence)}, tc.opts...), list...)
					if tc.taped {
						return taped{m}, peer{server}
					}
					return m, peer{server}
				},
			})
		})
	}
}

// prompt returns what the vendor caches of a request: everything up to the end of the messages.
func prompt(body []byte) ([]byte, []int) {
	for _, behind := range []string{`],"toolConfig":`, `],"generationConfig":`, `]}`} {
		if at := bytes.LastIndex(body, []byte(behind)); at >= 0 {
			return body, []int{at}
		}
	}
	return body, nil
}

// The API's messages for the errors that the contract asks for (docs/troubleshooting, and messages
// that users published).
var faults = map[modeltest.Fault]struct {
	status        int
	kind, message string
	details       []string
}{
	modeltest.Throttled: {
		http.StatusTooManyRequests, "RESOURCE_EXHAUSTED",
		"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: " +
			"https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: " +
			"generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count, limit: 4000000", nil,
	},
	modeltest.Overloaded:  {http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later.", nil},
	modeltest.Unavailable: {http.StatusInternalServerError, "INTERNAL", "An internal error has occurred. Please retry.", nil},
	modeltest.ContextOverflow: {
		http.StatusBadRequest, "INVALID_ARGUMENT", "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", nil,
	},
	modeltest.Unauthenticated: {
		http.StatusBadRequest, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
		[]string{geminitest.Reason("API_KEY_INVALID")},
	},
	modeltest.Forbidden: {
		http.StatusForbidden, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key.", nil,
	},
	modeltest.UnknownModel: {
		http.StatusNotFound, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. " +
			"Call ListModels to see the list of available models and their supported methods.", nil,
	},
	modeltest.Refused: {
		http.StatusBadRequest, "INVALID_ARGUMENT", "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n", nil,
	},
	modeltest.TooLarge: {http.StatusBadRequest, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 104857600 bytes.", nil},
}

func onWire(a *modeltest.Answer) geminitest.Answer {
	if f, ok := faults[a.Fault]; ok {
		if a.RetryAfter > 0 {
			f.details = append(f.details, geminitest.RetryIn(a.RetryAfter))
		}
		return geminitest.Error(f.status, f.kind, f.message, f.details...)
	}
	begun := geminitest.Begun(a.Chunks, a.Usage)
	s := geminitest.Answer{Body: begun + geminitest.End(reason(a.Stop), a.Usage), Slow: a.Slow}
	switch a.Fault {
	case modeltest.Silent:
		s.Silent = true
	case modeltest.Cut:
		s.Cut = max(len(begun), 1)
	case modeltest.NoEnd:
		s.Body = begun
	case modeltest.Stalled:
		s.Body, s.Stall = begun, true
	case modeltest.Overloads:
		s.Body = begun + geminitest.ErrorEvent(http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later.")
	case modeltest.FailsLater:
		s.Body = begun + geminitest.ErrorText(http.StatusInternalServerError, "INTERNAL", "Internal error encountered.")
	default:
	}
	return s
}

// reason returns the API's finish reason for an end of an answer.
func reason(stop event.StopReason) string {
	switch stop {
	case event.StopEndTurn, event.StopToolUse, "":
		return "STOP"
	case event.StopMaxTokens:
		return "MAX_TOKENS"
	case event.StopContentFiltered:
		return "SAFETY"
	case event.StopGuardrail:
		return "MODEL_ARMOR"
	default:
		return string(stop)
	}
}
