package braid_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
)

// Every event that begins a tool call says with which arguments the tool is called: a reader of the stream needs no
// other event to show the call.
func TestEveryBegunCallHasItsArguments(t *testing.T) {
	t.Parallel()
	child := braid.New("child", answers(says("done")))
	agent := braid.New("root",
		answers(
			asksFor("add", `{"a":1,"b":2}`, "child", `{"input":"go"}`, "none", `{"x":1}`, "guarded", `{"a":3,"b":4}`),
			asksFor("changed", `{"a":5,"b":6}`, "broken", `{"a":`),
			says("done")),
		braid.Func("add", "Adds.", add), braid.AsTool(child, "Works."), braid.Func("guarded", "Adds.", add),
		braid.Func("changed", "Adds.", add), braid.Func("broken", "Adds.", add),
		braid.Permit(braid.Permissions{Ask: []string{"guarded"}}),
		braid.On(func(_ context.Context, e *hook.BeforeTool) error {
			if e.Call.Name == "changed" {
				e.Args = raw(addIn{7, 8})
			}
			return nil
		}))
	conv := braid.NewConversation()
	got := map[string][]string{}
	note := func(e event.Event) {
		if b, ok := e.Body.(*event.StepBegun); ok && b.Step == event.StepTool {
			got[b.Tool] = append(got[b.Tool], string(b.Args))
		}
	}
	for e, err := range agent.Stream(t.Context(), "Go.", braid.In(conv)) {
		if err != nil {
			t.Fatal(err)
		}
		note(e)
	}
	open, err := conv.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("%d questions, %v", len(open), err)
	}
	if err := conv.Answer(t.Context(), open[0].Token, true); err != nil {
		t.Fatal(err)
	}
	for e, err := range agent.ResumeStream(t.Context(), conv) {
		if err != nil {
			t.Fatal(err)
		}
		note(e)
	}
	want := map[string][]string{
		"add": {`{"a":1,"b":2}`}, "child": {`{"input":"go"}`}, "none": {`{"x":1}`},
		"guarded": {`{"a":3,"b":4}`, `{"a":3,"b":4}`}, "changed": {`{"a":7,"b":8}`}, "broken": {""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got)\n%s", diff)
	}
}
