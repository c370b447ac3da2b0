package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

type place struct{}

// here adds a word to those that a context carries.
func here(ctx context.Context, word string) context.Context {
	words, _ := ctx.Value(place{}).([]string)
	return context.WithValue(ctx, place{}, append(slices.Clone(words), word))
}

func words(ctx context.Context) string { return fmt.Sprint(ctx.Value(place{})) }

func onSent(f func(*braid.EventSent) error) braid.Part {
	return braid.On(func(_ context.Context, e *braid.EventSent) error { return f(e) })
}

func TestAHookOverTheStreamSeesWhatTheReaderSees(t *testing.T) {
	t.Parallel()
	var seen []event.Event
	agent := braid.New("a", answers(asksFor("add", `{"a":1,"b":2}`), says("3")), braid.Func("add", "", add),
		onSent(func(e *braid.EventSent) error { seen = append(seen, e.Event); return nil }))
	n, live := 0, 0
	for e, err := range agent.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; len(seen) != n {
			t.Fatalf("the reader got event %d, the hook %d", n, len(seen))
		}
		if s := seen[n-1]; s.Seq != e.Seq || s.N != e.N || s.Body.Kind() != e.Body.Kind() {
			t.Fatalf("the hook saw %s, the reader %s", s.Body.Kind(), e.Body.Kind())
		}
		if e.Live() {
			live++
		}
	}
	if n < 10 || live == 0 {
		t.Errorf("%d events, %d of them live", n, live)
	}
}

func TestAReaderThatLeavesDoesNotLeaveTheHook(t *testing.T) {
	t.Parallel()
	var last event.Kind
	agent := braid.New("a", answers(says("hello")), onSent(func(e *braid.EventSent) error { last = e.Event.Body.Kind(); return nil }))
	for range agent.Stream(t.Context(), "go") { //nolint:errcheck // the first event is no error
		break
	}
	if last != event.KindRunEnded {
		t.Errorf("the hook saw %q last", last)
	}
}

func TestAHookOverTheStreamThatFails(t *testing.T) {
	t.Parallel()
	for kind, want := range map[event.Kind]event.RunStatus{
		event.KindRunStarted: event.RunFailed, event.KindTextDelta: event.RunFailed, event.KindStepBegun: event.RunFailed,
		event.KindStepEnded: event.RunFailed, event.KindAssistantMessage: event.RunFailed,
		event.KindRunEnded: event.RunCompleted, // it is written
	} {
		for name, fail := range map[string]func() error{
			"error": func() error { return errors.New("not this") },
			"panic": func() error { panic("not this") },
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				agent := braid.New("a", answers(asksFor("add", `{"a":1,"b":2}`), says("3")), braid.Func("add", "", add),
					onSent(func(e *braid.EventSent) error {
						if e.Event.Body.Kind() == kind {
							return fail()
						}
						return nil
					}))
				r, err := agent.Run(t.Context(), "go")
				if r.Status != want || (err != nil) != (want == event.RunFailed) {
					t.Errorf("the run is %s, the error %v", r.Status, err)
				}
			})
		}
	}
}

func TestValuesOfHooksReachModelsAndTools(t *testing.T) {
	t.Parallel()
	var got []string
	note := func(ctx context.Context, who string) { got = append(got, who+" "+words(ctx)) }
	tool := braid.Func("look", "", func(ctx context.Context, _ struct{}) (string, error) { note(ctx, "tool"); return "seen", nil })
	m := func(name string) *script {
		return &script{next: func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			note(ctx, name)
			switch {
			case req.Cycle > 1:
				return chunks(says("done"))
			case name == "root":
				return chunks(asksFor("sub", `{"input":"x"}`))
			default:
				return chunks(asksFor("look", `{}`))
			}
		}}
	}
	sub := braid.New("sub", m("sub"), tool)
	agent := braid.New("a", m("root"), braid.AsTool(sub, ""),
		braid.On(func(ctx context.Context, e *hook.BeforeDrive) error { e.Context = here(ctx, "drive"); return nil }),
		braid.On(func(ctx context.Context, e *hook.BeforeDrive) error { e.Context = here(ctx, "again"); return nil }),
		onSent(func(e *braid.EventSent) error {
			if b, ok := e.Event.Body.(*event.StepBegun); ok && b.Step == event.StepModel || ok && b.Tool == "look" {
				e.Context = here(e.Context, e.Event.Step)
			}
			return nil
		}),
		braid.On(func(ctx context.Context, _ *hook.AfterModel) error { note(ctx, "after"); return nil }),
		braid.On(func(ctx context.Context, _ *hook.AfterDrive) error { note(ctx, "left"); return nil }))
	if _, err := agent.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"root [drive again m1]", "after [drive again m1]", "sub [drive again t1.0/m1]", "tool [drive again t1.0/t1.0]",
		"sub [drive again t1.0/m2]", "root [drive again m2]", "after [drive again m2]", "left [drive again]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestDrivesOfARunThatWaits(t *testing.T) {
	t.Parallel()
	ask := braid.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "Who?") })
	store := journal.NewMemory(journal.MemoryOptions{})
	var got []string
	agent := func(trace string) *braid.Agent {
		return braid.New("a", answers(asksFor("ask", `{}`), says("hello")), ask,
			braid.On(func(_ context.Context, e *hook.BeforeDrive) error {
				got = append(got, fmt.Sprintf("%v %q", e.Resumed, e.Trace))
				e.Trace = trace
				return nil
			}),
			braid.On(func(_ context.Context, e *hook.AfterDrive) error {
				got = append(got, fmt.Sprint(e.Result.Status, e.Err))
				return nil
			}))
	}
	r, err := agent("00-1-2-01").Run(t.Context(), "go", braid.In(braid.Open(store, "c")), braid.Metadata(map[string]string{"k": "v"}))
	if err != nil {
		t.Fatal(err)
	}
	other := braid.Open(store, "c") // as another process would
	if err := other.Answer(t.Context(), r.Questions[0].Token, "me"); err != nil {
		t.Fatal(err)
	}
	if _, err = agent("late").Resume(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	want := []string{`false ""`, "waiting<nil>", `true "00-1-2-01"`, "completed<nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for e, err := range other.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.RunStarted); ok && (b.Metadata[hook.TraceLabel] != "00-1-2-01" || b.Metadata["k"] != "v") {
			t.Errorf("the log has the labels %v", b.Metadata)
		}
	}
}

func TestALabelCarriesTheTrace(t *testing.T) {
	t.Parallel()
	var got string
	agent := braid.New("a", answers(says("hello")),
		braid.On(func(_ context.Context, e *hook.BeforeDrive) error { got = e.Trace; return nil }))
	labels := map[string]string{hook.TraceLabel: "00-5-6-00"}
	if _, err := agent.Run(t.Context(), "go", braid.Metadata(labels)); err != nil || got != "00-5-6-00" {
		t.Errorf("the hook saw %q, %v", got, err)
	}
}

func TestDrivesThatFail(t *testing.T) {
	t.Parallel()
	var left []string
	after := braid.On(func(_ context.Context, e *hook.AfterDrive) error {
		left = append(left, fmt.Sprint(e.Result.Status, " ", e.Err != nil))
		panic("nobody hears it")
	})
	before := braid.On(func(context.Context, *hook.BeforeDrive) error { return errors.New("no span today") })
	r, err := braid.New("a", answers(says("hello")), before, after).Run(t.Context(), "go")
	if r.Status != event.RunFailed || err == nil {
		t.Errorf("a hook before the drive failed: %s, %v", r.Status, err)
	}
	broken := braid.Open(&brokenStore{journal.NewMemory(journal.MemoryOptions{})}, "c")
	if _, err := braid.New("a", answers(says("hello")), after).Run(t.Context(), "go", braid.In(broken)); err == nil {
		t.Error("a store that does not commit was no error")
	}
	func() {
		defer func() { _ = recover() }()
		for range braid.New("a", answers(says("hello")), after).Stream(t.Context(), "go") { //nolint:errcheck // the first event is no error
			panic("the reader")
		}
	}()
	if want := []string{"failed false", " true", " true"}; !slices.Equal(left, want) {
		t.Errorf("the hooks after the drives saw %q, want %q", left, want)
	}
}

// brokenStore commits nothing.
type brokenStore struct{ *journal.Memory }

func (brokenStore) Commit(context.Context, journal.Lease, journal.Batch) error {
	return &event.Error{Kind: event.ErrLeaseLost, Message: "gone"}
}

func TestMetricsByTool(t *testing.T) {
	t.Parallel()
	fail := braid.Func("fail", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no") })
	sub := braid.New("sub", answers(asksFor("fail", `{}`), says("it failed")), fail)
	model := answers(asksFor("add", `{"a":1,"b":2}`, "sub", `{"input":"x"}`, "none", `{}`), asksFor("add", `{"a":2,"b":2}`), says("7"))
	conv := braid.NewConversation()
	r, err := braid.New("a", model, braid.Func("add", "", add), braid.AsTool(sub, "")).Run(t.Context(), "go", braid.In(conv))
	if err != nil {
		t.Fatal(err)
	}
	m := r.Metrics
	type row struct {
		name          string
		calls, errors int
	}
	var got []row
	for _, one := range m.Tools {
		got = append(got, row{one.Name, one.Calls, one.Errors})
		if one.Time <= 0 && one.Name != "none" {
			t.Errorf("%s took %v", one.Name, one.Time)
		}
	}
	want := []row{{"sub", 1, 0}, {"add", 2, 0}, {"none", 1, 1}, {"fail", 1, 1}}
	if !slices.Equal(got, want) || m.ToolCalls != 5 || m.ToolErrors != 2 || m.ModelErrors != 0 || m.Stragglers != 0 {
		t.Errorf("got %v of %+v, want %v", got, m, want)
	}
}
