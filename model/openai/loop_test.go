package openai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
)

// The loop repeats what may be repeated, as often as it says and no more: the
// attempts are those that the server has seen.
func TestTheLoopRepeats(t *testing.T) {
	t.Parallel()
	retry := braid.Retries(braid.Retry{Attempts: 4, Base: time.Millisecond, Exact: true})
	overloaded := openaitest.Error(http.StatusServiceUnavailable, "server_error", "slow_down", "Slow down")
	for _, k := range []kind{reasoner, chatting, local} {
		whole := openaitest.Text(k.api, "Hello.")
		cut := whole
		cut.Cut = len(whole.Body) / 2
		bad := func(status int, kind, code string) openaitest.Answer {
			return openaitest.Error(status, kind, code, "no")
		}
		for name, tc := range map[string]struct {
			answers []openaitest.Answer
			asked   int
			want    error
		}{
			"overload and a cut":  {[]openaitest.Answer{overloaded, cut, whole}, 3, nil},
			"for ever":            {[]openaitest.Answer{overloaded, overloaded, overloaded, overloaded, whole}, 4, event.ErrOverloaded},
			"throttled":           {[]openaitest.Answer{bad(429, "requests", "rate_limit_exceeded"), whole}, 2, nil},
			"a stall":             {[]openaitest.Answer{{Silent: true}, whole}, 2, nil},
			"no money":            {[]openaitest.Answer{bad(429, "insufficient_quota", "insufficient_quota"), whole}, 1, event.ErrModel},
			"a wrong key":         {[]openaitest.Answer{bad(401, "", "invalid_api_key"), whole}, 1, event.ErrModelAuth},
			"an invalid request":  {[]openaitest.Answer{bad(400, "invalid_request_error", ""), whole}, 1, event.ErrInvalid},
			"too long a question": {[]openaitest.Answer{bad(400, "", "context_length_exceeded"), whole}, 1, event.ErrContextOverflow},
		} {
			t.Run(k.name+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m, server := open(t, k, []openai.Option{openai.Stall(modeltest.Silence)}, tc.answers...)
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
}

// A run with reasoning, several tools at once, one of them failing, and a model
// that gives an id twice: everything that is sent is taken, and reasoning goes
// back with the calls that it led to.
func TestARunOfManyTools(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{reasoner, local} {
		calling := func(thought, sealed string, ids ...string) openaitest.Answer {
			chunks := []model.Chunk{{Kind: model.ChunkThinking, Text: thought}, {Kind: model.ChunkSignature, Text: sealed}}
			for i, id := range ids {
				chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: id, Text: []string{"look_up", "fail"}[i%2]},
					model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: `{"a":1,"b":2}`})
			}
			return openaitest.Stream(k.api, chunks, event.StopToolUse, event.Usage{Input: 1, Output: 1, Total: 2})
		}
		m, server := open(t, k, nil, calling("Hm.", "sealed1", "x", "y", "z"), calling("Well.", "sealed2", "x", "x"), calling("Oh.", "sealed3", "x"),
			openaitest.Text(k.api, "Done."), openaitest.Text(k.api, "Bye."))
		agent := braid.New("a", m,
			braid.Func("look_up", "Looks.", func(_ context.Context, in numbers) (int, error) { return in.A, nil }),
			braid.Func("fail", "Fails.", func(context.Context, numbers) (int, error) { return 0, errors.New("broken") }))
		conv := braid.NewConversation()
		for i, want := range []string{"Done.", "Bye."} {
			result, err := agent.Run(t.Context(), "Go.", braid.In(conv))
			if err != nil || result.Text() != want {
				t.Fatalf("%s, run %d: %v", k.name, i, err)
			}
		}
		all := server.Asked()
		if len(all) != 5 {
			t.Fatalf("%d requests", len(all))
		}
		wants := []string{`"call_id":"x"`, `"call_id":"x_2"`, `"encrypted_content":"sealed3"`, `"text":"Well."`}
		if k == local {
			wants = []string{`"id":"x"`, `"tool_call_id":"x_2"`, `"reasoning_content":"Well."`}
		}
		for _, s := range wants {
			if last := string(all[4].Body); !strings.Contains(last, s) {
				t.Errorf("%s: the last request has no %s:\n%s", k.name, s, last)
			}
		}
	}
}

// A connection is used again after an answer.
func TestAConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{reasoner, local} {
		m, _ := open(t, k, nil, openaitest.Text(k.api, "a"), openaitest.Text(k.api, "b"), openaitest.Text(k.api, "c"))
		reused := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			if i.Reused {
				reused++
			}
		}})
		for range 3 {
			if r := modeltest.Call(ctx, m, hello()); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		if reused != 2 {
			t.Errorf("%s: %d of 2 connections were used again", k.name, reused)
		}
	}
}

// What a model is sent, and what it says of itself.
func TestModelsByAddress(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		k    kind
		path string
		auth string
		name string
		size int
	}{
		{reasoner, "/v1/responses", "Bearer " + openaitest.Key, "openai:gpt-5.4", 1_050_000},
		{chatting, "/v1/chat/completions", "Bearer " + openaitest.Key, "openai:gpt-4o", 128_000},
		{local, "/v1/chat/completions", "", "openai:qwen3:8b", 0},
	} {
		m, server := open(t, tc.k, nil, openaitest.Text(tc.k.api, "a"))
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || r.Model != "gpt-test" || r.ID == "" {
			t.Fatal(r.Err)
		}
		got := server.Asked()[0]
		if got.Path != tc.path || got.Header.Get("Authorization") != tc.auth || got.Header.Get("User-Agent") != "braid" {
			t.Errorf("%s: %s %v", tc.k.name, got.Path, got.Header)
		}
		if i := m.Info(); i.Name != tc.name || i.ContextWindow != tc.size {
			t.Errorf("%+v", i)
		}
	}
}
