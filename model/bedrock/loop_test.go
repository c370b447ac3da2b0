package bedrock_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

// calling returns an answer with calls of two tools. Nova refuses the name of one of them.
func calling(how func([]model.Chunk, string, event.Usage) bedrocktest.Answer, names []string, ids ...string) bedrocktest.Answer {
	chunks := []model.Chunk{{Kind: model.ChunkText, Text: "I look."}}
	for i, id := range ids {
		chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: id, Text: names[i%2]},
			model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: `{"a":1,"b":2}`})
	}
	return how(chunks, "tool_use", event.Usage{Input: 1, Output: 1, Total: 2})
}

// A run with parallel tools, one of which fails, and a model that repeats an id: the stand-in
// accepts every request, for each family of models.
func TestARunOfManyTools(t *testing.T) {
	t.Parallel()
	for _, name := range []string{sonnet, opus, pro, nova2, qwen, scout} {
		how := bedrocktest.Stream
		done := func(s string) bedrocktest.Answer { return bedrocktest.Text(s) }
		if name == scout { // it does not stream if it has tools
			how = bedrocktest.Whole
			done = func(s string) bedrocktest.Answer {
				return bedrocktest.Whole([]model.Chunk{{Kind: model.ChunkText, Text: s}}, "end_turn", event.Usage{Input: 1, Output: 1})
			}
		}
		names := []string{"look-up", "fail"}
		if name == pro || name == nova2 {
			names[0] = "look_up_" // a hash follows
		}
		m, server := open(t, name, nil)
		agent := braid.New("a", m, braid.Instructions("Be brief."),
			braid.Func("look-up", "Looks.", func(_ context.Context, in numbers) (int, error) { return in.A, nil }),
			braid.Func("fail", "Fails.", func(context.Context, numbers) (int, error) { return 0, errors.New("broken") }))
		if strings.HasSuffix(names[0], "_") {
			names[0] = wireName(t, name)
		}
		server.Add(calling(how, names, "x", "y", "z"), calling(how, names, "x", "x"), calling(how, names, "x"), done("Done."), done("Bye."))
		conv := braid.NewConversation()
		for i, want := range []string{"Done.", "Bye."} {
			result, err := agent.Run(t.Context(), "Go.", braid.In(conv))
			if err != nil || result.Text() != want {
				t.Fatalf("%s, run %d: %v", name, i, err)
			}
		}
		asked := server.Asked()
		if len(asked) != 5 {
			t.Fatalf("%s: %d requests", name, len(asked))
		}
		last := string(asked[4].Body)
		for _, id := range []string{`"toolUseId":"x","name"`, `"toolUseId":"x_2","name"`, `"toolUseId":"x_2","content"`} {
			if !strings.Contains(last, id) {
				t.Errorf("%s: the last request has no %s:\n%s", name, id, last)
			}
		}
	}
}

// wireName returns the name that the model gets for "look-up".
func wireName(t *testing.T, name string) string {
	t.Helper()
	m, server := open(t, name, nil, bedrocktest.Text("x"))
	req := hello()
	req.Tools = []model.ToolSpec{{Name: "look-up"}}
	if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
		t.Fatal(r.Err)
	}
	var sent struct {
		Config struct {
			Tools []struct {
				Spec struct {
					Name string `json:"name"`
				} `json:"toolSpec"`
			} `json:"tools"`
		} `json:"toolConfig"`
	}
	if err := json.Unmarshal(server.Asked()[0].Body, &sent); err != nil || len(sent.Config.Tools) != 1 {
		t.Fatal(err)
	}
	return sent.Config.Tools[0].Spec.Name
}

// The loop repeats only retryable errors, and as often as configured.
func TestTheLoopRepeats(t *testing.T) {
	t.Parallel()
	retry := braid.Retries(braid.Retry{Attempts: 4, Base: time.Millisecond, Exact: true})
	throttled := bedrocktest.Error(429, "ThrottlingException", "Too many requests, please wait before trying again.")
	whole := bedrocktest.Text("Hello.")
	cut := whole
	cut.Cut = len(whole.Body) / 2
	late := bedrocktest.Answer{Body: bedrocktest.Begun(nil) + bedrocktest.Exception("throttlingException", "Too many tokens, please wait before trying again.")}
	for name, tc := range map[string]struct {
		answers []bedrocktest.Answer
		asked   int
		want    error
	}{
		"throttling and a cut": {[]bedrocktest.Answer{throttled, late, cut, whole}, 4, nil},
		"for ever":             {[]bedrocktest.Answer{throttled, throttled, throttled, throttled, whole}, 4, event.ErrThrottled},
		"a stall":              {[]bedrocktest.Answer{{Silent: true}, whole}, 2, nil},
		"a wrong key":          {[]bedrocktest.Answer{bedrocktest.Error(403, "UnrecognizedClientException", "no"), whole}, 1, event.ErrModelAuth},
		"an invalid request":   {[]bedrocktest.Answer{bedrocktest.Error(400, "ValidationException", "no"), whole}, 1, event.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, server := open(t, pro, []bedrock.Option{bedrock.Stall(modeltest.Silence)}, tc.answers...)
				result, err := braid.New("a", m, retry).Run(t.Context(), "Hello.")
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

// The next request does not contain blocked text.
func TestWhatIsBlockedIsGone(t *testing.T) {
	t.Parallel()
	blocked := bedrocktest.Stream([]model.Chunk{
		{Kind: model.ChunkText, Text: "I may not answer this."}, {Kind: model.ChunkRedactInput}, {Kind: model.ChunkRedactOutput},
	}, "guardrail_intervened", event.Usage{Input: 3, Output: 0, Total: 3})
	m, server := open(t, pro, []bedrock.Option{bedrock.Guard(bedrock.Guardrail{ID: "g", Version: "1", RedactOutput: true})}, blocked, bedrocktest.Text("Hello."))
	agent, conv := braid.New("a", m), braid.NewConversation()
	for _, said := range []string{"A forbidden thing.", "Hello?"} {
		if _, err := agent.Run(t.Context(), said, braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	last := string(server.Asked()[1].Body)
	if strings.Contains(last, "forbidden") || strings.Contains(last, "may not answer") ||
		!strings.Contains(last, "[User input redacted.]") || !strings.Contains(last, "[Assistant output redacted.]") {
		t.Errorf("the next request: %s", last)
	}
}

// A whole response gives the same answer as a stream.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chunks := []model.Chunk{
			{Kind: model.ChunkThinking, Text: "Hm."},
			{Kind: model.ChunkSignature, Text: "c2ln"},
			{Kind: model.ChunkBlock, Index: 1, Block: &event.RedactedThinking{Data: "c2VjcmV0"}},
			{Kind: model.ChunkText, Index: 2, Text: "I add."},
			{Kind: model.ChunkCall, Index: 3, ID: "c1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 3, Text: `{"a":1}`},
			{Kind: model.ChunkCall, Index: 4, ID: "c2", Text: "now"},
			{Kind: model.ChunkRedactInput},
		}
		u := event.Usage{Input: 10, Output: 5, Total: 45, CacheRead: 20, CacheWrite: 10, CacheWriteHour: 4}
		for _, stop := range []string{"tool_use", "end_turn", "guardrail_intervened", "something_new"} {
			guard := bedrock.Guard(bedrock.Guardrail{ID: "g", Version: "1"})
			streamed, _ := open(t, sonnet, []bedrock.Option{guard}, bedrocktest.Stream(chunks, stop, u))
			whole, server := open(t, sonnet, []bedrock.Option{guard, bedrock.Answers(bedrock.Whole)}, bedrocktest.Whole(chunks, stop, u))
			a, b := modeltest.Call(t.Context(), streamed, hello()), modeltest.Call(t.Context(), whole, hello())
			a.Pieces, b.Pieces = 0, 0
			if d := cmp.Diff(a, b); d != "" || a.Err != nil || a.RedactedInput == "" {
				t.Errorf("%s: %v -streamed +whole:\n%s", stop, a.Err, d)
			}
			if p := server.Asked()[0].Path; !strings.HasSuffix(p, "/converse") {
				t.Error(p)
			}
		}
		m, server := open(t, scout, []bedrock.Option{bedrock.Stall(modeltest.Silence)}, bedrocktest.Text("Hello."), bedrocktest.Answer{Silent: true})
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || !strings.HasSuffix(server.Asked()[0].Path, "/converse-stream") {
			t.Errorf("without tools it streams: %v %s", r.Err, server.Asked()[0].Path)
		}
		req := hello()
		req.Tools = []model.ToolSpec{{Name: "add"}}
		if e := failed(t, modeltest.Call(t.Context(), m, req)); e.Code != "stall" || !server.Left(time.Second) {
			t.Errorf("silence: %v", e)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		server.Add(bedrocktest.Answer{Silent: true})
		if e := failed(t, modeltest.Call(ctx, m, req)); e.Kind != event.ErrTimeout || !server.Left(time.Second) {
			t.Errorf("a deadline: %v", e)
		}
	})
}
