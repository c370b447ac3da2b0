package braid_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

const runToken = "ghp_Q7n2vTz9/LmX4wK8"

// tokenIn reports the token in what is written as JSON, and in the texts of it, in the forms that a mask knows.
func tokenIn(t *testing.T, where string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{
		runToken, hex.EncodeToString([]byte(runToken)), base64.RawStdEncoding.EncodeToString([]byte(runToken))[:24], `ghp_Q7n2vTz9\/LmX4wK8`,
		"ghp_Q7n2vTz9%2FLmX4wK8",
	} {
		if i := strings.Index(string(raw), form); i >= 0 {
			t.Errorf("the token is in %s: %.200s", where, raw[max(0, i-100):])
		}
	}
}

// pieces cuts a text in that many pieces of an answer.
func pieces(kind model.ChunkKind, index int, text string, n int) (list []model.Chunk) {
	for i := range n {
		list = append(list, model.Chunk{Kind: kind, Index: index, Text: text[len(text)*i/n : len(text)*(i+1)/n]})
	}
	return list
}

// A token of the run that a tool or a model repeats reaches no event, no log, no other model call and no hook.
func TestTheSecretsOfARunAreNowhere(t *testing.T) {
	t.Parallel()
	for _, cuts := range []int{1, 2, 3, 7, 40} {
		t.Run(fmt.Sprint(cuts, " pieces"), func(t *testing.T) {
			t.Parallel()
			store := journal.NewMemory(journal.MemoryOptions{})
			first := pieces(model.ChunkThinking, 0, "They have "+runToken, cuts)
			first = append(first, pieces(model.ChunkText, 1, "It is "+runToken+", in hex "+hex.EncodeToString([]byte(runToken))+".", cuts)...)
			first = append(first, model.Chunk{Kind: model.ChunkCall, Index: 2, ID: "c0", Text: "look"})
			first = append(first, pieces(model.ChunkCallInput, 2, `{"q":"ghp_Q7n2vTz9\/LmX4wK8"}`, cuts)...)
			first = append(first, model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse})
			child := braid.New("child", answers(says("The child says "+runToken)))
			m := &heard{says: [][]model.Chunk{
				first, asksFor("child", `{"input":"what of `+runToken+`?"}`, "fail", `{}`, "crash", `{}`), says("It was " + runToken + "!"),
			}}
			given, seenByHook := secret.Secret{}, ""
			var mu sync.Mutex // two calls end at once
			agent := braid.New("clerk", m, braid.AsTool(child, ""),
				braid.Func("look", "", func(ctx context.Context, in map[string]any) (map[string]any, error) {
					given = tool.SecretOf(ctx, "github")
					tool.Progress(ctx, "looking for "+runToken[:6])
					tool.Progress(ctx, runToken[6:]+" is it")
					for _, c := range "again " + runToken + "." {
						tool.Progress(ctx, string(c))
					}
					tool.ProgressData(ctx, map[string]string{"card": runToken})
					if err := tool.State[any]("kept").Set(ctx, "it is "+runToken); err != nil {
						return nil, err
					}
					return map[string]any{"found": runToken, "all": []any{"x" + base64.StdEncoding.EncodeToString([]byte("a:"+runToken))}, "in": in}, nil
				}),
				braid.Func("fail", "", func(context.Context, struct{}) (string, error) {
					return "", &event.Error{Kind: event.ErrNotFound, Message: "there is no " + runToken, Hint: "not " + runToken, Err: errors.New("for " + runToken)}
				}),
				braid.Func("crash", "", func(context.Context, struct{}) (string, error) { panic(runToken) }),
				braid.On(func(_ context.Context, e *hook.AfterTool) error {
					mu.Lock()
					defer mu.Unlock()
					seenByHook += event.TextOf(e.Result.Content) + fmt.Sprint(e.Err)
					return nil
				}),
			)
			conv := braid.Open(store, "talk")
			var r braid.Result
			live := map[string]string{}
			for e, err := range agent.Stream(t.Context(), "go", braid.In(conv), braid.Into(&r), braid.WithSecrets(map[string]secret.Secret{
				"github": secret.New(runToken), "short": secret.New("is"),
			})) {
				if err != nil {
					t.Fatal(err)
				}
				tokenIn(t, "the stream", e)
				switch b := e.Body.(type) {
				case *event.TextDelta:
					live[e.Step+"text"] += b.Text
				case *event.ThinkingDelta:
					live[e.Step+"thinking"] += b.Text
				case *event.ToolInputDelta:
					live[e.Step+"input"+b.Call] += b.JSON
				case *event.ToolProgress:
					live[e.Step+"progress"] += b.Text
				}
			}
			tokenIn(t, "the pieces put together", live)
			if got := live["m1text"]; got != "It is [redacted], in hex [redacted]." {
				t.Errorf("the pieces say %q", got)
			}
			if given.Reveal() != runToken {
				t.Errorf("the tool was given %q", given.Reveal())
			}
			if r.Text() != "It was [redacted]!" {
				t.Errorf("the answer is %q", r.Text())
			}
			tokenIn(t, "the result", r)
			for i := range m.asked {
				tokenIn(t, "what the model is asked", m.asked[i].Messages)
			}
			tokenIn(t, "what hooks see", seenByHook)
			events, err := store.Read(t.Context(), "talk", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				tokenIn(t, "the log", e)
				if end, ok := e.Body.(*event.StepEnded); ok && end.Err != nil && end.Err.Err != nil {
					tokenIn(t, "the cause of an error", end.Err.Err.Error())
				}
			}
		})
	}
}

// A block that another one interrupts shows nothing more of itself: put together its pieces hold no token.
func TestSecretsInInterruptedBlocks(t *testing.T) {
	t.Parallel()
	m := answers([]model.Chunk{
		{Kind: model.ChunkText, Index: 0, Text: "a " + runToken[:7]},
		{Kind: model.ChunkText, Index: 1, Text: "b"},
		{Kind: model.ChunkText, Index: 0, Text: runToken[7:]},
		{Kind: model.ChunkStop, Stop: event.StopEndTurn},
	})
	live, blocks := "", 0
	var r braid.Result
	for e, err := range braid.New("a", m).Stream(t.Context(), "go", braid.Into(&r), braid.WithSecrets(map[string]secret.Secret{"t": secret.New(runToken)})) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.TextDelta); ok && b.Block == 0 {
			live, blocks = live+b.Text, blocks+1
		}
	}
	if strings.Contains(live, runToken) || blocks == 0 || r.Text() != "a [redacted]\nb" {
		t.Errorf("%q is shown, the answer is %q", live, r.Text())
	}
}

// However a model cuts a token into pieces and blocks of text and thinking, and whatever stands between them, it is neither in
// what a reader puts together from the live pieces nor in the answer.
func TestSecretsCutIntoBlocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		said := rapid.SampledFrom([]string{
			runToken, hex.EncodeToString([]byte(runToken)), base64.RawStdEncoding.EncodeToString([]byte(runToken)), "ghp_Q7n2vTz9%2FLmX4wK8",
			`ghp_Q7n2vTz9\u002fLmX4wK8`, strings.ToUpper(runToken), strings.ToLower(runToken),
		}).Draw(rt, "said")
		var list []model.Chunk
		index, kind := 0, rapid.SampledFrom([]model.ChunkKind{model.ChunkText, model.ChunkThinking}).Draw(rt, "first")
		for rest := "it is " + said; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 12)).Draw(rt, "piece")
			list, rest = append(list, model.Chunk{Kind: kind, Index: index, Text: rest[:n]}), rest[n:]
			switch rapid.IntRange(0, 4).Draw(rt, "then") {
			case 0:
				index++
			case 1:
				index, kind = index+1, model.ChunkText+model.ChunkThinking-kind
			case 2:
				list = append(list, model.Chunk{Kind: model.ChunkThinking + model.ChunkText - kind, Index: index + 1, Text: "hm"})
				index += 2
			}
		}
		list = append(list, model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn})
		var r braid.Result
		shown := map[string]string{}
		for e, err := range braid.New("a", answers(list)).Stream(t.Context(), "go", braid.Into(&r), braid.WithSecrets(map[string]secret.Secret{"t": secret.New(runToken)})) {
			if err != nil {
				rt.Fatal(err)
			}
			add := func(kind, text string) {
				shown["the live "+kind] += text
				shown["all that is live"] += text
			}
			switch b := e.Body.(type) {
			case *event.TextDelta:
				add("text", b.Text)
			case *event.ThinkingDelta:
				add("thinking", b.Text)
			case *event.AssistantMessage:
				for _, block := range b.Content {
					switch block := block.(type) {
					case *event.Text:
						shown["the text"] += block.Text
						shown["the answer"] += block.Text
					case *event.Thinking:
						shown["the thinking"] += block.Text
						shown["the answer"] += block.Text
					}
				}
			}
		}
		for what, text := range shown {
			if strings.Contains(text, said) {
				rt.Errorf("%s says %q", what, text)
			}
		}
	})
}

// What a model says of a conversation when it sums it up passes the mask and the guardrails, too.
func TestSecretsAndCardsInSummaries(t *testing.T) {
	t.Parallel()
	m := &recorder{info: model.Info{ContextWindow: 1000}}
	m.answer = func(_ int, req *model.Request) iter.Seq2[model.Chunk, error] {
		if isSummary(req) {
			return chunks(says("They have " + runToken + " and " + canary))
		}
		list := says("fine")
		list[1].Usage = &event.Usage{Input: 900, Output: 1, Total: 901}
		return chunks(list)
	}
	agent := braid.New("a", m, braid.Manage(braid.Management{Context: 1000, By: braid.Summarize{Recent: 1}}), braid.Guard("cards", noCards))
	conv := braid.NewConversation()
	for range 4 {
		if _, err := agent.Run(t.Context(), "go on", braid.In(conv), braid.WithSecrets(map[string]secret.Secret{"t": secret.New(runToken)})); err != nil {
			t.Fatal(err)
		}
	}
	found := false
	for _, e := range logOfConversation(t, conv) {
		tokenIn(t, "the log", e)
		birdsIn(t, "the log", e)
		if b, ok := e.Body.(*event.Compacted); ok && strings.Contains(event.TextOf(b.Summary), "They have [redacted] and [card]") {
			found = true
		}
	}
	if !found {
		t.Error("there is no summary")
	}
}

// A run without secrets costs what it cost before: a piece of its answer allocates nothing for the mask. A secret that
// is too short to be hidden costs the same.
func TestSecretsCostNothingWithoutAny(t *testing.T) { //nolint:paralleltest // it counts allocations
	list := append(pieces(model.ChunkText, 0, strings.Repeat("word ", 2000), 2000), model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn})
	agent := braid.New("a", answers(list))
	count := func(opts ...braid.RunOption) float64 {
		return testing.AllocsPerRun(5, func() {
			for _, err := range agent.Stream(t.Context(), "go", opts...) {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	bare := count()
	if short := count(braid.WithSecrets(map[string]secret.Secret{"t": secret.New("short")})); short > bare+200 {
		t.Errorf("2000 pieces cost %.0f allocations, and %.0f with a secret too short to hide", bare, short)
	}
	if bare > 500 {
		t.Errorf("2000 pieces cost %.0f allocations", bare)
	}
}
