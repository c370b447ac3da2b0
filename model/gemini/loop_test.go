package gemini_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/modeltest"
)

// The loop repeats only retryable errors, and as often as configured. The server counts the
// attempts.
func TestTheLoopRepeats(t *testing.T) {
	t.Parallel()
	retry := braid.Retries(braid.Retry{Attempts: 4, Base: time.Millisecond, Exact: true})
	overloaded := geminitest.Error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
	whole := geminitest.Text("Hello.")
	cut := whole
	cut.Cut = len(whole.Body) / 2
	for name, tc := range map[string]struct {
		answers []geminitest.Answer
		asked   int
		want    error
	}{
		"overload and a cut": {[]geminitest.Answer{overloaded, cut, whole}, 3, nil},
		"for ever":           {[]geminitest.Answer{overloaded, overloaded, overloaded, overloaded, whole}, 4, event.ErrOverloaded},
		"a stall":            {[]geminitest.Answer{{Silent: true}, whole}, 2, nil},
		"a call that cannot be written": {
			[]geminitest.Answer{{Body: geminitest.End("MALFORMED_FUNCTION_CALL", event.Usage{})}, whole}, 2, nil,
		},
		"a call that cannot be written, twice": {
			[]geminitest.Answer{
				{Body: geminitest.End("MALFORMED_FUNCTION_CALL", event.Usage{})},
				{Body: geminitest.Begun([]model.Chunk{{Kind: model.ChunkText, Text: "I"}}, event.Usage{}) + geminitest.End("MALFORMED_FUNCTION_CALL", event.Usage{})},
				whole,
			}, 2, event.ErrModel,
		},
		"a wrong key": {
			[]geminitest.Answer{geminitest.Error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), whole},
			1, event.ErrModelAuth,
		},
		"an invalid request": {[]geminitest.Answer{geminitest.Error(400, "INVALID_ARGUMENT", "no"), whole}, 1, event.ErrInvalid},
		"no money":           {[]geminitest.Answer{geminitest.Error(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), whole}, 1, event.ErrModel},
		"too long a question": {
			[]geminitest.Answer{geminitest.Error(400, "INVALID_ARGUMENT", "The input token count (5) exceeds the maximum number of tokens allowed (4)."), whole},
			1, event.ErrContextOverflow,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, server := open(t, flash, []gemini.Option{gemini.Stall(modeltest.Silence)}, tc.answers...)
				agent := braid.New("a", m, retry)
				result, err := agent.Run(t.Context(), "Hello.")
				if !errors.Is(err, tc.want) || (tc.want == nil && result.Text() != "Hello.") {
					t.Error(err)
				}
				if n := len(server.Asked()); n != tc.asked {
					t.Errorf("%d requests, want %d", n, tc.asked)
				}
			})
		})
	}
}

// A run with thinking, parallel tools, a failing tool, calls with and without ids, and signatures:
// the stand-in accepts every request.
func TestARunOfManyTools(t *testing.T) {
	t.Parallel()
	calling := func(sig string, ids ...string) geminitest.Answer {
		chunks := []model.Chunk{{Kind: model.ChunkThinking, Text: "Hm."}}
		for i, id := range ids {
			chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: id, Text: []string{"look_up", "fail"}[i%2]},
				model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: `{"a":1,"b":2}`})
			if i == 0 {
				chunks = append(chunks, model.Chunk{Kind: model.ChunkSignature, Index: 1, Text: sig})
			}
		}
		return geminitest.Stream(chunks, "STOP", event.Usage{Input: 1, Output: 1})
	}
	signed := geminitest.Stream([]model.Chunk{
		{Kind: model.ChunkText, Text: "Done."}, {Kind: model.ChunkSignature, Text: "c2lnNA=="},
	}, "STOP", event.Usage{Input: 1, Output: 1})
	for _, name := range []string{flash, "gemini-2.5-pro"} {
		m, server := open(t, name, nil, calling("c2lnMQ==", "", "", ""), calling("c2lnMg==", "x", "x"), calling("c2lnMw==", ""), signed, geminitest.Text("Bye."))
		agent := braid.New("a", m,
			braid.Func("look_up", "Looks.", func(_ context.Context, in numbers) (int, error) { return in.A, nil }),
			braid.Func("fail", "Fails.", func(context.Context, numbers) (int, error) { return 0, errors.New("broken") }))
		conv := braid.NewConversation()
		for i, want := range []string{"Done.", "Bye."} {
			result, err := agent.Run(t.Context(), "Go.", braid.In(conv))
			if err != nil || result.Text() != want {
				t.Fatalf("run %d: %v", i, err)
			}
		}
		asked := server.Asked()
		if len(asked) != 5 {
			t.Fatalf("%d requests", len(asked))
		}
		last := string(asked[4].Body)
		for _, part := range []string{
			`"thoughtSignature":"c2lnMQ=="`, `"thoughtSignature":"c2lnMg=="`, `"thoughtSignature":"c2lnMw=="`,
			`{"text":"Done.","thoughtSignature":"c2lnNA=="}`, `"id":"x"`, `"response":{"error":`,
		} {
			if strings.Count(last, part) == 0 {
				t.Errorf("the last request has no %s:\n%s", part, last)
			}
		}
		if strings.Contains(last, "skip_thought") || strings.Contains(last, `"thought":true`) {
			t.Errorf("something stands in the last request that nobody needs:\n%s", last)
		}
	}
}

// A conversation from another model continues here, in the middle of a turn.
func TestAHistoryOfOthersGoesOn(t *testing.T) {
	t.Parallel()
	m, server := open(t, flash, nil, geminitest.Text("3."))
	req := hello()
	req.Messages = append(req.Messages,
		event.Message{Role: event.RoleAssistant, Content: []event.Block{
			&event.Thinking{Text: "Hm.", Signature: "EqQBCgIYAhgC"},
			&event.ToolCall{ID: "toolu_1", Name: "add", Args: []byte(`{"a":1}`), Signature: "openai.x.y"},
		}},
		event.Message{Role: event.RoleUser, Content: []event.Block{
			&event.ToolResult{Call: "toolu_1", Name: "add", Content: []event.Block{&event.Text{Text: "3"}}},
		}})
	if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
		t.Fatal(r.Err)
	}
	if body := string(server.Asked()[0].Body); !strings.Contains(body, `"thoughtSignature":"skip_thought_signature_validator"`) || strings.Contains(body, "EqQB") {
		t.Error(body)
	}
}

// An agent with an output schema and tools. The API enforces the schema.
func TestAnAnswerWithASchema(t *testing.T) {
	t.Parallel()
	m, server := open(t, flash, nil,
		geminitest.Stream([]model.Chunk{{Kind: model.ChunkCall, Text: "add"}, {Kind: model.ChunkSignature, Text: "c2ln"}}, "STOP", event.Usage{Input: 1, Output: 1}),
		geminitest.Text(`{"a": 3,`, ` "b": 4}`))
	agent := braid.New("a", m, braid.OutputSchema([]byte(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`)),
		braid.Func("add", "Adds.", func(context.Context, struct{}) (int, error) { return 3, nil }))
	result, err := agent.Run(t.Context(), "Go.")
	if err != nil || !strings.Contains(result.Text(), `"a": 3`) {
		t.Fatal(err, result.Text())
	}
	asked := server.Asked()
	if len(asked) != 2 || !strings.Contains(string(asked[1].Body), `"responseJsonSchema":{"type":"object"`) {
		t.Errorf("%d requests; the last one %s", len(asked), asked[len(asked)-1].Body)
	}
}
