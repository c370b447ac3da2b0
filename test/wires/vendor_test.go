package wires_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is what a vendor's model says to one request.
type said struct {
	chunks []model.Chunk
	// stop is our word; a word that is not ours is the vendor's own.
	stop event.StopReason
}

// counted is what each answer used.
var counted = event.Usage{Input: 10, Output: 5, Total: 15}

func words(text string) said {
	return said{[]model.Chunk{{Kind: model.ChunkText, Text: text}}, event.StopEndTurn}
}

// calls is an answer that calls tools: name and arguments follow one another.
func calls(list ...string) said {
	s := said{stop: event.StopToolUse}
	for i := 0; i < len(list); i += 2 {
		s.chunks = append(s.chunks,
			model.Chunk{Kind: model.ChunkCall, Index: i / 2, ID: "call_" + string(rune('a'+i/2)), Text: list[i]},
			model.Chunk{Kind: model.ChunkCallInput, Index: i / 2, Text: list[i+1]})
	}
	return s
}

// standIn is what the stand-ins of all vendors have.
type standIn interface {
	Add(answers ...anthropictest.Answer)
	Asked() []anthropictest.Request
}

// vendor is one wire of one model.
type vendor struct {
	name string
	// held says that the vendor holds answers to a schema.
	held bool
	// stops are the words of the vendor for why an answer ended, by ours. What is not among
	// them it does not say.
	stops map[event.StopReason]string
	// forced is what a request says that must call one tool, serial that it may not call several.
	forced string
	open   func(tb testing.TB) (braid.Model, standIn)
	answer func(said, string) anthropictest.Answer
}

// word is the vendor's word for a reason.
func (v *vendor) word(stop event.StopReason) string {
	if w, ok := v.stops[stop]; ok {
		return w
	}
	return string(stop)
}

// start opens a model whose vendor says this, one after another.
func (v *vendor) start(tb testing.TB, list ...said) (braid.Model, standIn) {
	tb.Helper()
	m, server := v.open(tb)
	v.add(server, list...)
	return m, server
}

func (v *vendor) add(server standIn, list ...said) {
	for _, s := range list {
		server.Add(v.answer(s, v.word(s.stop)))
	}
}

// taken fails where the vendor has refused something.
func taken(tb testing.TB, server standIn) {
	tb.Helper()
	for i, r := range server.Asked() {
		if r.Refused != "" {
			tb.Errorf("request %d is refused: %s\n%s", i, r.Refused, r.Body)
		}
	}
}

func ofAnthropic(name, model string, held bool) vendor {
	return vendor{
		name: name, held: held, forced: `"tool_choice":{"type":"tool","name":"final_answer"`,
		stops: map[event.StopReason]string{
			event.StopEndTurn: "end_turn", event.StopToolUse: "tool_use", event.StopSequence: "stop_sequence", event.StopMaxTokens: "max_tokens",
			event.StopRefusal: "refusal", event.StopPause: "pause_turn", event.StopContextOverflow: "model_context_window_exceeded",
			"something_new": "something_new",
		},
		open: func(tb testing.TB) (braid.Model, standIn) {
			tb.Helper()
			server := anthropictest.Start()
			tb.Cleanup(server.Close)
			m, err := anthropic.New(model, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
			return made(tb, m, err), server.Server
		},
		answer: func(s said, word string) anthropictest.Answer { return anthropictest.Stream(s.chunks, word, counted) },
	}
}

func ofBedrock(name, model string, held bool, forced string) vendor {
	return vendor{
		name: name, held: held, forced: forced,
		stops: map[event.StopReason]string{
			event.StopEndTurn: "end_turn", event.StopToolUse: "tool_use", event.StopSequence: "stop_sequence", event.StopMaxTokens: "max_tokens",
			event.StopGuardrail: "guardrail_intervened", event.StopContentFiltered: "content_filtered",
			event.StopContextOverflow: "model_context_window_exceeded", "something_new": "something_new",
		},
		open: func(tb testing.TB) (braid.Model, standIn) {
			tb.Helper()
			server := bedrocktest.Start()
			tb.Cleanup(server.Close)
			m, err := bedrock.New(model, bedrocktest.Config(), bedrock.BaseURL(server.URL), bedrock.HTTPClient(server.Client()))
			return made(tb, m, err), server.Server
		},
		answer: func(s said, word string) anthropictest.Answer { return bedrocktest.Stream(s.chunks, word, counted) },
	}
}

func ofOpenAI(name, model string, api openaitest.API, compatible, held bool, forced string) vendor {
	return vendor{
		name: name, held: held, forced: forced,
		stops: map[event.StopReason]string{
			event.StopEndTurn: "end_turn", event.StopToolUse: "tool_use", event.StopMaxTokens: "max_tokens",
			event.StopRefusal: "refusal", event.StopContentFiltered: "content_filtered", "something_new": "something_new",
		},
		open: func(tb testing.TB) (braid.Model, standIn) {
			tb.Helper()
			server := openaitest.Start()
			server.Compatible = compatible
			tb.Cleanup(server.Close)
			client, key := server.Client(), secret.New(openaitest.Key)
			opts := []openai.Option{openai.Use(openai.API(api))}
			if compatible {
				opts, key = []openai.Option{openai.BaseURL(server.URL)}, secret.Secret{}
			} else {
				client = &http.Client{Transport: here{server.Host(), client.Transport}}
			}
			m, err := openai.New(model, key, append(opts, openai.HTTPClient(client))...)
			return made(tb, m, err), server.Server
		},
		answer: func(s said, _ string) anthropictest.Answer { return openaitest.Stream(api, s.chunks, s.stop, counted) },
	}
}

func ofGemini(name, model string, held bool) vendor {
	return vendor{
		name: name, held: held, forced: `"mode":"ANY","allowedFunctionNames":["final_answer"]`,
		stops: map[event.StopReason]string{
			event.StopEndTurn: "STOP", event.StopToolUse: "STOP", event.StopMaxTokens: "MAX_TOKENS", event.StopContentFiltered: "SAFETY",
			event.StopGuardrail: "MODEL_ARMOR",
		},
		open: func(tb testing.TB) (braid.Model, standIn) {
			tb.Helper()
			server := geminitest.Start()
			tb.Cleanup(server.Close)
			m, err := gemini.New(model, secret.New(geminitest.Key), gemini.BaseURL(server.URL), gemini.HTTPClient(server.Client()))
			return made(tb, m, err), server.Server
		},
		answer: func(s said, word string) anthropictest.Answer { return geminitest.Stream(s.chunks, word, counted) },
	}
}

func made(tb testing.TB, m braid.Model, err error) braid.Model {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// here carries calls for the vendor's own address to this machine.
type here struct {
	host string
	next http.RoundTripper
}

func (h here) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "api.openai.com" {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = "http", h.host
	}
	return h.next.RoundTrip(r)
}

// vendors are all wires, and of each the models that are asked in another way.
var vendors = []vendor{
	ofAnthropic("Anthropic", "claude-sonnet-5-5", true),
	ofAnthropic("Anthropic, an older model", "claude-sonnet-4-20250514", false),
	ofBedrock("Bedrock, Claude", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true, ""),
	ofBedrock("Bedrock, Nova", "amazon.nova-pro-v1:0", false, `"toolChoice":{"tool":{"name":"final_answer"}}`),
	ofBedrock("Bedrock, a model that wants results apart", "qwen.qwen3-235b-a22b-2507-v1:0", true, ""),
	ofBedrock("Bedrock, a model that nothing can be forced on", "cohere.command-r-plus-v1:0", false, ""),
	ofOpenAI("OpenAI, Responses", "gpt-4o", openaitest.Responses, false, true, ""),
	ofOpenAI("OpenAI, Chat Completions", "gpt-4o", openaitest.Chat, false, true, ""),
	ofOpenAI("a server like OpenAI's", "qwen3:8b", openaitest.Chat, true, false, `"tool_choice":{"type":"function","function":{"name":"final_answer"}}`),
	ofGemini("Gemini", "gemini-3.6-flash", true),
	ofGemini("Gemini, an older model", "gemini-2.5-pro", false),
}

// quick repeats what may be repeated without waiting.
var quick = braid.Retries(braid.Retry{Attempts: 2, Base: time.Millisecond, Exact: true})

func look(context.Context, struct{}) (string, error) { return "It is there.", nil }
