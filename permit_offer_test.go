package braid_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// What a policy denies is not shown to the model, nor named to it; neither to an agent below the one
// that has the policy. A model that asks for it all the same is refused.
func TestDeniedToolsAreNotShown(t *testing.T) {
	t.Parallel()
	below := &offeredTo{Model: answers(says("done"))}
	model := &offeredTo{Model: answers(asksFor("sub", `{"input":"x"}`), asksFor("drop", `{}`, "nix", `{}`), asksFor("drop_all", `{}`), says("ok"))}
	sub := braid.New("sub", below, saysName("drop_sub"), saysName("inner"))
	agent := braid.New("a", model, saysName("read"), saysName("drop_all"), saysName("drop"), braid.AsTool(sub, ""),
		braid.Permit(braid.Permissions{Deny: []string{"drop_*", "drop"}, Allow: []string{"drop_none"}, Ask: []string{"never_*"}}))
	conv := braid.NewConversation()
	if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	for _, names := range model.names {
		if want := []string{"read", "sub"}; !slices.Equal(names, want) {
			t.Errorf("the model is shown %q, want %q", names, want)
		}
	}
	if len(below.names) != 1 || !slices.Equal(below.names[0], []string{"inner"}) {
		t.Errorf("the agent below is shown %q", below.names)
	}
	results := strings.Join(allResults(t, conv), "\n")
	if strings.Count(results, "is not allowed here") != 2 || !strings.Contains(results, "the tools are: read, sub") {
		t.Errorf("the results are %q", results)
	}
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.RunStarted:
			if !slices.Equal(b.Tools, []string{"read", "sub"}) {
				t.Errorf("the log says %q", b.Tools)
			}
		case *event.StepBegun:
			if e.Scope == "" && b.Tools != nil {
				t.Errorf("the log says again %q", b.Tools)
			}
		}
	}
}

// What cannot be called cannot be found either.
func TestDeniedToolsAreNotFound(t *testing.T) {
	t.Parallel()
	parts := []braid.Part{braid.SearchTools(braid.ToolSearch{Above: 3}), braid.Permit(braid.Permissions{Deny: []string{"tool_3"}})}
	for i := range 6 {
		parts = append(parts, saysName(fmt.Sprint("tool_", i)))
	}
	conv := braid.NewConversation()
	model := answers(asksFor("find_tools", `{"query":"tool_3 says its name"}`), says("ok"))
	if _, err := braid.New("a", model, parts...).Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if got := allResults(t, conv); len(got) != 1 || strings.Contains(got[0], "tool_3") || !strings.Contains(got[0], "tool_1") {
		t.Errorf("found are %q", got)
	}
}

// What the program itself calls is held to the permissions, too.
func TestDirectCallsPassPermissions(t *testing.T) {
	t.Parallel()
	ran := 0
	agent := braid.New("a", answers(says("ok")), saysName("free"), saysName("drop"),
		braid.Func("send", "", func(context.Context, nothing) (string, error) { ran++; return "sent", nil }),
		braid.Permit(braid.Permissions{Deny: []string{"drop"}, Ask: []string{"send"}}))
	if got, err := agent.Call(t.Context(), "free", nil); err != nil || event.TextOf(got.Content) != "free" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err := agent.Call(t.Context(), "drop", nil)
	if !errors.Is(err, event.ErrPermission) || got == nil || !got.IsError {
		t.Errorf("a tool that is denied gives %+v, %v", got, err)
	}
	var r braid.Result
	conv := braid.NewConversation()
	if _, err := agent.Call(t.Context(), "send", nil, braid.In(conv), braid.Into(&r)); !errors.Is(err, event.ErrConflict) || ran != 0 {
		t.Fatalf("a tool for which a person is asked gives %v, ran %d times", err, ran)
	}
	if len(r.Questions) != 1 || r.Questions[0].Name != event.PermissionQuestion {
		t.Fatalf("%+v", r.Questions)
	}
	if err := conv.Answer(t.Context(), r.Questions[0].Token, true); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Resume(t.Context(), conv); err != nil || ran != 1 || !slices.Contains(allResults(t, conv), "sent") {
		t.Errorf("%v, ran %d times, %q", err, ran, allResults(t, conv))
	}
}
