package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
)

const canary = "canary-7f3a"

// everything is all that the spans and metrics say.
func everything(t *testing.T, e *ear) string {
	t.Helper()
	var b strings.Builder
	for _, s := range e.spans.GetSpans() {
		fmt.Fprintln(&b, s.Name, s.Status.Description, s.Attributes, s.Events, s.Links)
	}
	for _, name := range []string{
		"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "gen_ai.client.operation.time_to_first_chunk",
		"braid.cache.tokens", "braid.cost", "braid.run.cycles", "braid.stragglers",
	} {
		fmt.Fprintln(&b, name, e.points(t, name))
	}
	return b.String()
}

// chatty is an agent through which the canary passes everywhere: input, thinking, text,
// arguments, results, errors, questions, the names of tools, and a sub-agent.
func chatty(hooks braid.Part) *braid.Agent {
	sub := braid.New("sub", &script{name: "demo:sub", answers: []any{says(canary)}}, braid.Instructions(canary))
	m := &script{name: "demo:x", answers: []any{
		&event.Error{Kind: event.ErrOverloaded, Message: canary, Hint: canary},
		append([]model.Chunk{{Kind: model.ChunkThinking, Index: 9, Text: canary}},
			calls("say", `{"city":"`+canary+`"}`, "fail", `{}`, "panics", `{}`, canary, `{}`, "say", canary, "sub", `{"input":"`+canary+`"}`)...),
		says(canary),
	}}
	return braid.New("root", m, hooks, braid.AsTool(sub, canary), braid.Instructions(canary),
		braid.Func("say", canary, func(ctx context.Context, in city) (string, error) {
			tool.Progress(ctx, canary)
			return in.City, nil
		}),
		braid.Func("fail", "", func(context.Context, struct{}) (string, error) { return "", errors.New(canary) }),
		braid.Func("panics", "", func(context.Context, struct{}) (string, error) { panic(canary) }),
		braid.Retries(braid.Retry{Base: 1, Max: 1}))
}

func TestContentIsOffByDefault(t *testing.T) {
	t.Parallel()
	e := listen(t)
	r, err := chatty(e.hooks(t, false)).Run(t.Context(), canary, braid.Executor("x"), braid.Metadata(map[string]string{"k": canary}))
	if err != nil || r.Metrics.ToolErrors != 4 {
		t.Fatal(r.Metrics, err)
	}
	for line := range strings.SplitSeq(everything(t, e), "\n") {
		if strings.Contains(line, canary) {
			t.Error(line)
		}
	}
}

func TestContentWhereItIsWanted(t *testing.T) {
	t.Parallel()
	e := listen(t)
	model := &script{name: "demo:x", answers: []any{calls("weather", `{"city":"Oslo"}`), says("it rains")}}
	agent := braid.New("root", model, braid.Func("weather", "", weather), e.hooks(t, true))
	picture := &event.Image{MIME: "image/png", Data: []byte("1234")}
	if _, err := agent.Run(t.Context(), "Oslo?", braid.Attach(picture)); err != nil {
		t.Fatal(err)
	}
	asked := `[{"role":"user","parts":[{"type":"text","content":"Oslo?"},{"type":"image","mime_type":"image/png","bytes":4}]}]`
	called := `{"type":"tool_call","id":"c0","name":"weather","arguments":{"city":"Oslo"}}`
	var chats []tracetest.SpanStub
	for _, s := range e.spans.GetSpans() {
		if s.Name == "chat x" {
			chats = append(chats, s)
		}
	}
	tool := e.span(t, "execute_tool weather")
	root := e.span(t, "invoke_agent root")
	for i, c := range []struct {
		span      tracetest.SpanStub
		key, want string
	}{
		{chats[0], "gen_ai.input.messages", asked},
		{chats[0], "gen_ai.output.messages", `[{"role":"assistant","parts":[` + called + `],"finish_reason":"tool_call"}]`},
		{chats[1], "gen_ai.input.messages", `[{"role":"tool","parts":[{"type":"tool_call_response","id":"c0","response":"rain"}]}]`},
		{chats[1], "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"it rains"}],"finish_reason":"stop"}]`},
		{tool, "gen_ai.tool.call.arguments", `{"city":"Oslo"}`},
		{tool, "gen_ai.tool.call.result", `"rain"`},
		{root, "gen_ai.input.messages", asked},
		{root, "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"it rains"}]}]`},
	} {
		got := value(c.span, c.key)
		if got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%d: %s of %s is\n%s\nwant\n%s", i, c.key, c.span.Name, got, c.want)
		}
	}
}

func TestWhatIsTakenBackIsOnNoSpan(t *testing.T) {
	t.Parallel()
	hidden := "they said " + canary
	guarded := append([]model.Chunk{
		{Kind: model.ChunkText, Text: canary}, {Kind: model.ChunkRedactInput, Text: "[input hidden]"}, {Kind: model.ChunkRedactOutput, Text: "[hidden]"},
	}, says("")[2:]...)
	for name, parts := range map[string][]braid.Part{
		"by the provider": {},
		"by hooks": {
			braid.On(func(_ context.Context, e *hook.BeforeRun) error {
				e.Input[0].Content = []event.Block{&event.Text{Text: "[input hidden]"}}
				return nil
			}),
			braid.On(func(_ context.Context, e *hook.AfterModel) error {
				e.Message.Content = []event.Block{&event.Text{Text: "[hidden]"}}
				return nil
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := listen(t)
			m := &script{name: "demo:x", answers: []any{guarded}}
			if len(parts) > 0 {
				m.answers = []any{says(hidden)}
			}
			if _, err := braid.New("root", m, append(parts, e.hooks(t, true))...).Run(t.Context(), hidden); err != nil {
				t.Fatal(err)
			}
			all := everything(t, e)
			if strings.Contains(all, canary) || !strings.Contains(all, "[input hidden]") || !strings.Contains(all, "[hidden]") {
				t.Error(all)
			}
		})
	}
}
