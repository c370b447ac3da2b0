package anthropic_test

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
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
)

// The loop repeats what may be repeated, as often as it says and no more: the
// attempts are those that the server has seen.
func TestTheLoopRepeats(t *testing.T) {
	t.Parallel()
	retry := braid.Retries(braid.Retry{Attempts: 4, Base: time.Millisecond, Exact: true})
	overloaded := anthropictest.Error(529, "overloaded_error", "Overloaded")
	whole := anthropictest.Text("Hello.")
	cut := whole
	cut.Cut = len(whole.Body) / 2
	for name, tc := range map[string]struct {
		answers []anthropictest.Answer
		asked   int
		want    error
	}{
		"overload and a cut":  {[]anthropictest.Answer{overloaded, cut, whole}, 3, nil},
		"for ever":            {[]anthropictest.Answer{overloaded, overloaded, overloaded, overloaded, whole}, 4, event.ErrOverloaded},
		"a stall":             {[]anthropictest.Answer{{Silent: true}, whole}, 2, nil},
		"a wrong key":         {[]anthropictest.Answer{anthropictest.Error(401, "authentication_error", "invalid x-api-key"), whole}, 1, event.ErrModelAuth},
		"an invalid request":  {[]anthropictest.Answer{anthropictest.Error(400, "invalid_request_error", "no"), whole}, 1, event.ErrInvalid},
		"no money":            {[]anthropictest.Answer{anthropictest.Error(402, "billing_error", "no"), whole}, 1, event.ErrModel},
		"too long a question": {[]anthropictest.Answer{anthropictest.Error(400, "invalid_request_error", "prompt is too long: 5 tokens > 4 maximum"), whole}, 1, event.ErrContextOverflow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, server := open(t, sonnet, []anthropic.Option{anthropic.Stall(modeltest.Silence)}, tc.answers...)
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

// A run with thinking, several tools at once, one of them failing, and a model
// that gives an id twice: everything that is sent is taken.
func TestARunOfManyTools(t *testing.T) {
	t.Parallel()
	calling := func(thought, sig string, ids ...string) anthropictest.Answer {
		chunks := []model.Chunk{{Kind: model.ChunkThinking, Text: thought}, {Kind: model.ChunkSignature, Text: sig}}
		for i, id := range ids {
			chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: id, Text: []string{"look_up", "fail"}[i%2]},
				model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: `{"a":1,"b":2}`})
		}
		return anthropictest.Stream(chunks, "tool_use", event.Usage{Input: 1, Output: 1})
	}
	m, server := open(t, sonnet, nil, calling("Hm.", "sig1", "x", "y", "z"), calling("Well.", "sig2", "x", "x"), calling("", "sig3", "x"),
		anthropictest.Text("Done."), anthropictest.Text("Bye."))
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
	for _, id := range []string{`"id":"x"`, `"id":"x_2"`, `"tool_use_id":"x_2"`, `"signature":"sig3"`} {
		if !strings.Contains(last, id) {
			t.Errorf("the last request has no %s:\n%s", id, last)
		}
	}
}
