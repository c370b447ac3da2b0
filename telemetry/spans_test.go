package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/telemetry"
	braidtrace "github.com/braidrun/braid/trace"
)

type city struct {
	City string `json:"city"`
}

func weather(context.Context, city) (string, error) { return "rain", nil }

func broken(context.Context, struct{}) (string, error) {
	return "", errors.New("the disk is full")
}

func TestSpansOfARun(t *testing.T) {
	t.Parallel()
	e := listen(t)
	sub := braid.New("forecaster", &script{name: "openai:gpt", answers: []any{calls("weather", `{"city":"Oslo"}`), says("rain in Oslo")}},
		braid.Func("weather", "", weather))
	overloaded := &event.Error{Kind: event.ErrOverloaded, Message: "not now"}
	model := &script{name: "bedrock:claude", answers: []any{
		overloaded, calls("forecaster", `{"input":"Oslo"}`, "broken", `{}`, "made up by the model", `{}`), says("it rains"),
	}}
	agent := braid.New("root", model, braid.AsTool(sub, ""), braid.Func("broken", "", broken), e.hooks(t, false),
		braid.Retries(braid.Retry{Base: time.Millisecond, Max: time.Millisecond}))
	r, err := agent.Run(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	want := `invoke_agent root
  cycle
    chat claude error=overloaded status=Error
    chat claude
    execute_tool broken error=internal status=Error
    execute_tool _unknown error=not_found status=Error
    execute_tool forecaster
      invoke_agent forecaster
        cycle
          chat gpt
          execute_tool weather
        cycle
          chat gpt
  cycle
    chat claude
`
	if got := sorted(e.tree()); got != sorted(want) {
		t.Errorf("got\n%s\nwant\n%s", e.tree(), want)
	}
	root := e.span(t, "invoke_agent root")
	for key, want := range map[string]string{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "root", "gen_ai.provider.name": "aws.bedrock",
		"gen_ai.request.model": "claude", "gen_ai.conversation.id": r.Conversation.ID(), "braid.run.id": r.Run,
		"braid.run.status": "completed", "gen_ai.usage.input_tokens": "60", "gen_ai.usage.output_tokens": "20",
		"gen_ai.usage.cache_read.input_tokens": "12", "gen_ai.usage.cache_creation.input_tokens": "8",
		"gen_ai.response.finish_reasons": `["stop"]`, "braid.run.cycles": "2", "braid.cost.usd": "0.008", "error.type": "",
	} {
		if got := value(root, key); got != want {
			t.Errorf("the agent's %s is %q, want %q", key, got, want)
		}
	}
	tool := e.span(t, "execute_tool weather")
	for key, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c0",
		"gen_ai.tool.type": "function", "braid.outcome": "done", "gen_ai.tool.call.arguments": "", "gen_ai.tool.call.result": "",
	} {
		if got := value(tool, key); got != want {
			t.Errorf("the tool's %s is %q, want %q", key, got, want)
		}
	}
	for _, s := range e.spans.GetSpans() {
		if s.EndTime.Before(s.StartTime) || s.EndTime.IsZero() {
			t.Errorf("%s ends %v, begins %v", s.Name, s.EndTime, s.StartTime)
		}
		if s.InstrumentationScope.SchemaURL != "https://opentelemetry.io/schemas/"+telemetry.Conventions {
			t.Errorf("%s says the schema %q", s.Name, s.InstrumentationScope.SchemaURL)
		}
		if s.SpanContext.TraceID() != root.SpanContext.TraceID() {
			t.Errorf("%s is of another trace", s.Name)
		}
		if strings.HasPrefix(s.Name, "chat") != (s.SpanKind == oteltrace.SpanKindClient) {
			t.Errorf("%s is of kind %s", s.Name, s.SpanKind)
		}
		if s.Name == "chat gpt" && (value(s, "gen_ai.response.model") != "m-2026" && value(s, "gen_ai.response.finish_reasons") != `["tool_call"]` ||
			value(s, "gen_ai.response.time_to_first_chunk") == "") {
			t.Errorf("%s has %v", s.Name, s.Attributes)
		}
	}
}

// sorted is a tree without the order of siblings that begin at once.
func sorted(tree string) string {
	lines := strings.Split(tree, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestMetricsOfARun(t *testing.T) {
	t.Parallel()
	e := listen(t)
	model := &script{name: "anthropic:opus", answers: []any{calls("weather", `{"city":"Oslo"}`, "none", `{}`), says("rain")}}
	agent := braid.New("root", model, braid.Func("weather", "", weather), e.hooks(t, false))
	if _, err := agent.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	chat := "gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=opus"
	first, second := chat+",gen_ai.response.model=anthropic:opus", chat+",gen_ai.response.model=m-2026"
	for name, want := range map[string][]string{
		"gen_ai.client.token.usage": {
			first + ",gen_ai.token.type=input=15", first + ",gen_ai.token.type=output=5",
			second + ",gen_ai.token.type=input=15", second + ",gen_ai.token.type=output=5",
		},
		"gen_ai.client.operation.time_to_first_chunk": {first + "=1", second + "=1"},
		"gen_ai.client.operation.duration": {
			"error.type=not_found,gen_ai.operation.name=execute_tool,gen_ai.provider.name=anthropic,gen_ai.tool.name=_unknown=1",
			first + "=1", second + "=1",
			"gen_ai.operation.name=execute_tool,gen_ai.provider.name=anthropic,gen_ai.tool.name=weather=1",
			"gen_ai.operation.name=invoke_agent,gen_ai.provider.name=anthropic,gen_ai.request.model=opus=1",
		},
		"braid.cache.tokens": {
			"braid.cache=creation," + first + "=2", "braid.cache=creation," + second + "=2",
			"braid.cache=read," + first + "=3", "braid.cache=read," + second + "=3",
		},
		"braid.cost":       {first + "=0.002", second + "=0.002"},
		"braid.run.cycles": {"braid.run.status=completed,gen_ai.provider.name=anthropic=2"},
	} {
		if got := e.points(t, name); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestToolsAndModelsRunInsideTheirSpans(t *testing.T) {
	t.Parallel()
	e := listen(t)
	seen := map[string]context.Context{}
	var asked, askedBelow []context.Context
	tool := func(name string) braid.Part {
		return braid.Func(name, "", func(ctx context.Context, _ struct{}) (string, error) {
			seen[name] = ctx //nolint:fatcontext // it is looked at afterwards
			return "", nil
		})
	}
	below := braid.New("below", &script{name: "demo:y", answers: []any{calls("dig", `{}`), says("dug")}, asked: &askedBelow}, tool("dig"))
	model := &script{name: "demo:x", answers: []any{calls("look", `{}`), calls("below", `{"input":"go"}`), says("done")}, asked: &asked}
	if _, err := braid.New("root", model, tool("look"), braid.AsTool(below, ""), e.hooks(t, false)).Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for name, ctx := range seen {
		tool := e.span(t, "execute_tool "+name).SpanContext
		if got := oteltrace.SpanContextFromContext(ctx); !got.Equal(tool) {
			t.Errorf("the tool %s ran in %v, its span is %v", name, got, tool)
		}
	}
	if len(seen) != 2 || len(asked) != 3 || len(askedBelow) != 2 {
		t.Fatalf("%d tools and %d and %d calls of models", len(seen), len(asked), len(askedBelow))
	}
	for name, list := range map[string][]context.Context{"chat x": asked, "chat y": askedBelow} {
		for _, ctx := range list {
			if s, ok := oteltrace.SpanFromContext(ctx).(interface{ Name() string }); !ok || s.Name() != name {
				t.Errorf("the model was called in %v, want %s", oteltrace.SpanFromContext(ctx), name)
			}
		}
	}
}

func TestARunJoinsTheTraceOfItsCaller(t *testing.T) {
	t.Parallel()
	e := listen(t)
	ctx, span := e.traces.Tracer("").Start(t.Context(), "request")
	agent := braid.New("root", &script{name: "demo:x", answers: []any{says("done")}}, e.hooks(t, false))
	if _, err := agent.Run(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	span.End()
	if s := e.span(t, "invoke_agent root"); s.Parent.SpanID() != span.SpanContext().SpanID() {
		t.Error("the agent's span is not below the caller's")
	}
}

const incoming = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestALabelCarriesTheTrace(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		incoming: "4bf92f3577b34da6a3ce929d0e0e4736", incoming + " vendor=1": "4bf92f3577b34da6a3ce929d0e0e4736",
		"nonsense": "", "00-00000000000000000000000000000000-00f067aa0ba902b7-01": "", "": "",
	} {
		e := listen(t)
		agent := braid.New("root", &script{name: "demo:x", answers: []any{says("done")}}, e.hooks(t, false))
		if _, err := agent.Run(t.Context(), "go", braid.Metadata(map[string]string{hook.TraceLabel: label})); err != nil {
			t.Fatal(err)
		}
		s := e.span(t, "invoke_agent root")
		if got := s.SpanContext.TraceID().String(); want != "" && got != want || s.Parent.IsValid() != (want != "") {
			t.Errorf("%q: the trace is %s below %v", label, got, s.Parent)
		}
		if strings.Contains(label, "vendor") != (s.SpanContext.TraceState().Get("vendor") == "1") {
			t.Errorf("%q: the state is %q", label, s.SpanContext.TraceState())
		}
	}
}

func TestARunThatWaitsStaysInItsTrace(t *testing.T) {
	t.Parallel()
	e := listen(t)
	ask := braid.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "Who?") })
	store := journal.NewMemory(journal.MemoryOptions{})
	agent := func(answers ...any) *braid.Agent {
		return braid.New("root", &script{name: "demo:x", answers: answers}, ask, e.hooks(t, false))
	}
	conv := braid.Open(store, "c")
	r, err := agent(calls("ask", `{}`)).Run(t.Context(), "go", braid.In(conv))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.tree(); got != "invoke_agent root\n  cycle\n    chat x\n    execute_tool ask\n" {
		t.Fatalf("while it waits:\n%s", got)
	}
	before := e.span(t, "invoke_agent root")
	if value(before, "braid.run.status") != "waiting" || value(e.span(t, "execute_tool ask"), "braid.outcome") != "waiting" {
		t.Error("the spans do not say that the run waits")
	}
	e.spans.Reset()
	later := braid.Open(store, "c")
	if err := later.Answer(t.Context(), r.Questions[0].Token, "me"); err != nil {
		t.Fatal(err)
	}
	if _, err = agent(says("hello")).Resume(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if got := e.tree(); got != "invoke_agent root\n  execute_tool ask\n  cycle\n    chat x\n" {
		t.Errorf("after the answer:\n%s", got)
	}
	after := e.span(t, "invoke_agent root")
	if after.SpanContext.TraceID() != before.SpanContext.TraceID() || after.Parent.SpanID() != before.SpanContext.SpanID() ||
		value(after, "braid.run.resumed") != "true" {
		t.Errorf("the second drive is %v below %v", after.SpanContext, after.Parent)
	}
	e.spans.Reset()
	ctx, span := e.traces.Tracer("").Start(t.Context(), "another request")
	defer span.End()
	conv = braid.Open(journal.NewMemory(journal.MemoryOptions{}), "d")
	if r, err = agent(calls("ask", `{}`)).Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	e.spans.Reset()
	if err := conv.Answer(t.Context(), r.Questions[0].Token, "me"); err != nil {
		t.Fatal(err)
	}
	if _, err = agent(says("hello")).Resume(ctx, conv); err != nil {
		t.Fatal(err)
	}
	if s := e.span(t, "invoke_agent root"); s.Parent.SpanID() != span.SpanContext().SpanID() || len(s.Links) != 1 {
		t.Errorf("below a request of its own the span has the parent %v and %d links", s.Parent, len(s.Links))
	}
}

func TestRunsThatEndOtherwise(t *testing.T) {
	t.Parallel()
	slow := braid.Func("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	deaf := braid.Func("deaf", "", func(context.Context, struct{}) (string, error) {
		<-over
		return "late", nil
	})
	for _, c := range []struct {
		name   string
		answer any
		want   string
	}{
		{"failed", errors.New("boom"), "invoke_agent root error=model_error status=Error\n  cycle\n    chat x error=model_error status=Error\n"},
		{"cancelled", calls("slow", `{}`), "invoke_agent root error=cancelled status=Error\n  cycle\n    chat x\n    execute_tool slow error=cancelled status=Error\n"},
		{"left behind", calls("deaf", `{}`), "invoke_agent root error=cancelled status=Error\n  cycle\n    chat x\n    execute_tool deaf error=cancelled status=Error\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := listen(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			cancels := braid.On(func(_ context.Context, e *hook.EventSent) error {
				if b, ok := e.Event.Body.(*event.StepBegun); ok && b.Step == event.StepTool {
					stop()
				}
				return nil
			})
			agent := braid.New("root", &script{name: "demo:x", answers: []any{c.answer}}, slow, deaf, e.hooks(t, false), cancels,
				braid.Limit(braid.Limits{Grace: time.Millisecond}))
			r, err := agent.Run(ctx, "go")
			if err == nil {
				t.Fatal("the run went well")
			}
			if got := e.tree(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			left := e.points(t, "braid.stragglers")
			if (r.Metrics.Stragglers > 0) != (len(left) == 1) {
				t.Errorf("%d stragglers in the result, %q in the metrics", r.Metrics.Stragglers, left)
			}
			for _, s := range e.spans.GetSpans() {
				if s.Status.Description != "" {
					t.Errorf("%s describes its error: %q", s.Name, s.Status.Description)
				}
			}
		})
	}
}

// A tool that does not stop when it is to is counted.
func TestAStragglerIsCounted(t *testing.T) {
	t.Parallel()
	e := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	agent := braid.New("root", &script{name: "anthropic:opus", answers: []any{calls("deaf", `{}`)}},
		braid.Func("deaf", "", func(context.Context, struct{}) (string, error) {
			cancel()
			<-release
			return "", nil
		}), braid.Limit(braid.Limits{Grace: time.Millisecond}), e.hooks(t, false))
	if _, err := agent.Run(ctx, "go"); !errors.Is(err, event.ErrCancelled) {
		t.Fatal(err)
	}
	if got, want := e.points(t, "braid.stragglers"), []string{"gen_ai.operation.name=execute_tool=1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWithoutProvidersNothingHappens(t *testing.T) {
	t.Parallel()
	part, err := telemetry.Hooks(telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	agent := braid.New("root", &script{name: "demo:x", answers: []any{calls("weather", `{"city":"Oslo"}`), says("rain")}},
		braid.Func("weather", "", weather), part)
	r, err := agent.Run(t.Context(), "go")
	if err != nil || r.Text() != "rain" {
		t.Fatal(r, err)
	}
	for e, err := range r.Conversation.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.RunStarted); ok && b.Metadata != nil {
			t.Errorf("the log has the labels %v", b.Metadata)
		}
	}
}

// Telemetry that goes nowhere costs a turn nothing but the look at where its run came from, however much is said in it.
func TestWithoutProvidersNothingIsPaid(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	off, err := telemetry.Hooks(telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	on, err := telemetry.Hooks(telemetry.Options{TracerProvider: trace.NewTracerProvider()})
	if err != nil {
		t.Fatal(err)
	}
	turn := func(cycles int, parts ...braid.Part) float64 {
		model := &script{name: "demo:x"}
		for range cycles - 1 {
			model.answers = append(model.answers, calls("weather", fmt.Sprintf(`{"city":"%d"}`, len(model.answers))))
		}
		model.answers = append(model.answers, says("rain"))
		agent := braid.New("root", model, append(parts, braid.Func("weather", "", weather))...)
		return testing.AllocsPerRun(50, func() {
			model.n.Store(0)
			if _, err := agent.Run(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, cycles := range []int{1, 10} {
		without, with := turn(cycles), turn(cycles, off)
		t.Logf("a turn of %d cycles allocates %.0f times without telemetry, %.0f with none, %.0f with some", cycles, without, with, turn(cycles, on))
		if with > without+10 {
			t.Errorf("a turn of %d cycles allocates %.0f times with telemetry that goes nowhere, and %.0f without", cycles, with, without)
		}
	}
}

// Also where telemetry goes nowhere, what tools ask hears of the trace that the run came with.
func TestWithoutProvidersTheTraceIsPassedOn(t *testing.T) {
	t.Parallel()
	off, err := telemetry.Hooks(telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	outer, request := trace.NewTracerProvider().Tracer("").Start(t.Context(), "request")
	defer request.End()
	span := request.SpanContext()
	for name, c := range map[string]struct {
		ctx   context.Context
		label string
		want  string
	}{
		"none":                   {t.Context(), "", "00000000000000000000000000000000"},
		"a label":                {t.Context(), incoming, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"nonsense":               {t.Context(), "nonsense", "00000000000000000000000000000000"},
		"a request":              {outer, "", span.TraceID().String()},
		"a request with a label": {outer, incoming, span.TraceID().String()},
	} {
		var got string
		look := braid.Func("look", "", func(ctx context.Context, _ struct{}) (string, error) {
			got = oteltrace.SpanContextFromContext(ctx).TraceID().String()
			return "", nil
		})
		sub := braid.New("sub", &script{name: "demo:x", answers: []any{calls("look", `{}`), says("seen")}}, look)
		agent := braid.New("root", &script{name: "demo:x", answers: []any{calls("sub", `{"input":"go"}`), says("done")}}, braid.AsTool(sub, ""), off)
		r, err := agent.Run(c.ctx, "go", braid.Metadata(map[string]string{hook.TraceLabel: c.label}))
		if err != nil || got != c.want {
			t.Errorf("%s: the tool is in the trace %s, want %s (%v)", name, got, c.want, err)
			continue
		}
		for e, err := range r.Conversation.Events(t.Context(), 0) {
			if b, ok := e.Body.(*event.RunStarted); err == nil && ok && name == "a request" && !strings.Contains(b.Metadata[hook.TraceLabel], c.want) {
				t.Errorf("%s: the log has the labels %v", name, b.Metadata)
			}
		}
	}
}

func TestASummaryIsAModelCallOfItsOwn(t *testing.T) {
	t.Parallel()
	e := listen(t)
	var answers []any
	for range 12 {
		answers = append(answers, says("well"))
	}
	model := &script{name: "demo:x", answers: append(answers, &event.Error{Kind: event.ErrContextOverflow, Message: "too long"}, says(canary), says("done"))}
	agent := braid.New("root", model, e.hooks(t, false), braid.Manage(braid.Management{By: braid.Summarize{Ratio: 0.5, Recent: 2}}))
	conv := braid.NewConversation()
	for range 12 {
		if _, err := agent.Run(t.Context(), "go on", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	e.spans.Reset()
	r, err := agent.Run(t.Context(), "and now", braid.In(conv))
	if err != nil || r.Text() != "done" {
		t.Fatal(r.Text(), err)
	}
	want := "invoke_agent root\n  cycle\n    chat x error=context_overflow status=Error\n  chat x\n  cycle\n    chat x\n"
	if got := e.tree(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(everything(t, e), canary) {
		t.Error("the summary is on a span")
	}
	root, err := r.Trace(t.Context())
	if err != nil || len(root.Children) != 2 || root.Children[1].Kind != braidtrace.Compaction || len(root.Children[0].Children) != 2 {
		t.Errorf("the tree is %+v, %v", root, err)
	}
}
