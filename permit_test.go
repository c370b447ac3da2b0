package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// approval is an answer as a person's program writes it.
func approval(s string) json.RawMessage { return json.RawMessage(s) }

func TestWhichPatternCounts(t *testing.T) {
	t.Parallel()
	list := strings.Fields
	for _, c := range []struct{ allow, ask, deny, tool, want string }{
		{"", "", "", "delete_file", "runs"},
		{"", "delete_file", "", "delete_file", "asks"},
		{"", "delete", "", "delete_file", "runs"},
		{"", "delete*", "", "delete_file", "asks"},
		{"", "", "delete_*", "delete_file", "denied"},
		{"get_*", "*", "", "get_file", "runs"},
		{"get_*", "*", "", "delete_file", "asks"},
		{"get_file", "", "*", "get_file", "runs"},
		{"get_file", "", "*", "get_files", "denied"},
		{"delete_file", "", "delete_*", "delete_file", "runs"},
		{"delete_file", "", "delete_file*", "delete_file", "runs"}, // as many letters, and a name
		{"", "delete_file", "delete_file*", "delete_file", "asks"},
		{"delete_*", "", "delete_*", "delete_file", "denied"},
		{"delete_*", "delete_*", "", "delete_file", "asks"},
		{"", "delete_*", "*_file", "delete_file", "asks"},
		{"", "*_file_", "*_file?", "delete_files", "denied"},
		{"", "", "weather___*", "weather___forecast", "denied"},
		{"weather___get*", "", "weather___*", "weather___get_wind", "runs"},
		{"", "*___*", "", "weather___forecast", "asks"},
		{"", "", "[a-d]elete_file", "delete_file", "denied"},
		{"", "", "Delete_file", "delete_file", "runs"},
	} {
		var ran atomic.Int64
		agent := braid.New("a", answers(asksFor(c.tool, `{}`), says("ok")),
			braid.Func(c.tool, "Does it.", func(context.Context, struct{}) (string, error) { ran.Add(1); return "did", nil }),
			braid.Permit(braid.Permissions{Allow: list(c.allow), Ask: list(c.ask), Deny: list(c.deny)}))
		result, err := agent.Run(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		got := "denied"
		switch {
		case ran.Load() == 1:
			got = "runs"
		case len(result.Questions) == 1:
			got = "asks"
		case resultOf(t, result.Conversation, c.tool) != "Error: the tool "+c.tool+" is not allowed here":
			got = resultOf(t, result.Conversation, c.tool)
		}
		if got != c.want {
			t.Errorf("allow %q, ask %q, deny %q: %s %s, want %s", c.allow, c.ask, c.deny, c.tool, got, c.want)
		}
	}
}

func TestPatternsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"", "[", "mcp:x", "a b", "a/b", `\d`, "[a-z"} {
		err := braid.New("a", answers(says("ok")), braid.Permit(braid.Permissions{Deny: []string{pattern}})).Err()
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" {
			t.Errorf("%q gave %v", pattern, err)
		}
	}
	idle := braid.Permissions{Allow: []string{"get_*"}, Ask: []string{"put"}, Deny: []string{"delte*"}}.Idle([]string{"get_file", "delete_file"})
	if !slices.Equal(idle, []string{"put", "delte*"}) {
		t.Errorf("idle are %q", idle)
	}
}

// held is an agent that may run its one tool only when a person says so.
func held(ran *atomic.Int64, parts ...braid.Part) *braid.Agent {
	return braid.New("a", answers(asksFor("tool", `{"say":"a"}`), says("ok")),
		append([]braid.Part{echo(ran), braid.Permit(braid.Permissions{Ask: []string{"t*"}})}, parts...)...)
}

func TestWhatAPersonSaysToACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, result string
		ran            int64
		why            event.Why
	}{
		{`true`, "said a", 1, event.WhyEndTurn},
		{`false`, "Error: a person refused this call", 0, event.WhyEndTurn},
		{`null`, "Error: a person refused this call", 0, event.WhyEndTurn},
		{`{"approved":true}`, "said a", 1, event.WhyEndTurn},
		{`{"approved":true,"args":{"say":"b"}}`, "said b", 1, event.WhyEndTurn},
		{`{"approved":true,"lasts":"once","payload":{"x":1}}`, "said a", 1, event.WhyEndTurn},
		{`{"approved":false,"reason":"it is Friday"}`, "Error: a person refused this call: it is Friday", 0, event.WhyEndTurn},
		{`{"approved":false,"reason":"enough","stop":true}`, "Error: a person refused this call: enough", 0, event.WhyToolStop},
	} {
		t.Run(c.answer, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			store := journal.NewMemory(journal.MemoryOptions{})
			result, err := held(&ran).Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
			if err != nil || result.Stop != event.StopQuestion || len(result.Questions) != 1 {
				t.Fatalf("%+v, %v", result, err)
			}
			q := result.Questions[0]
			if q.Ask != event.AskApproval || q.Name != event.PermissionQuestion || q.Tool != "tool" || q.Call != "c0" ||
				string(q.Args) != `{"say":"a"}` || q.Prompt != "May a run tool?" || q.Step != "t1.0" {
				t.Errorf("the question is %+v", q.Asked)
			}
			conv := braid.Open(store, "c")
			for _, bad := range []string{
				`"y"`, `{}`, `{"approved":true,"lasts":"forever"}`, `{"approved":false,"lasts":"always"}`, `{"approved":true,"reason":"x"}`,
				`{"approved":true,"lasts":"always","args":{}}`, `{"approved":true,"args":[]}`, `{"approved":true,"extra":1}`,
			} {
				if err := conv.Answer(t.Context(), q.Token, approval(bad)); !errors.Is(err, event.ErrInvalid) {
					t.Errorf("%s gave %v", bad, err)
				}
			}
			if err := conv.AnswerAs(t.Context(), "ann", q.Token, approval(c.answer)); err != nil {
				t.Fatal(err)
			}
			agent := held(&ran, braid.On(func(ctx context.Context, _ *hook.AfterTool) error {
				a, by, ok := tool.ApprovalOf(ctx)
				if c.ran == 1 && (!ok || by != "ann" || !a.Approved) || c.ran == 0 && ok {
					t.Errorf("the call was approved as %+v by %q, %v", a, by, ok)
				}
				return nil
			}))
			result, err = agent.Resume(t.Context(), conv)
			if err != nil || result.Why != c.why || ran.Load() != c.ran {
				t.Fatalf("%+v, %v; ran %d times", result, err, ran.Load())
			}
			if got := resultOf(t, conv, "tool"); got != c.result {
				t.Errorf("the result is %q, want %q", got, c.result)
			}
			if calls := agent.Model().(*script).calls.Load(); calls != map[bool]int64{true: 1, false: 0}[c.why == event.WhyEndTurn] {
				t.Errorf("%d model calls after the answer", calls)
			}
		})
	}
}

// What was approved is the tool with its arguments: where a hook makes others of them, a
// person is asked anew, and the order of members and spaces changes nothing.
func TestAnApprovalIsBoundToTheArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   func(time int64) string
		tokens int
	}{
		{"the same", func(int64) string { return `{"say":"a","n":1}` }, 1},
		{"in another order", func(n int64) string {
			return []string{`{"say":"a","n":1}`, ` { "n" : 1, "say" : "\u0061" } `}[n%2]
		}, 1},
		{"another value the second time", func(n int64) string { return fmt.Sprintf(`{"say":"a","n":%d}`, min(n, 1)) }, 2},
		{"another form of a number", func(n int64) string { return []string{`{"n":1}`, `{"n":1.0}`, `{"n":1.0}`}[n] }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var hooks, ran atomic.Int64
			agent := braid.New("a", answers(asksFor("tool", `{}`), says("ok")),
				braid.Func("tool", "Does it.", func(context.Context, map[string]any) (string, error) { ran.Add(1); return "did", nil }),
				braid.Permit(braid.Permissions{Ask: []string{"*"}}),
				braid.On(func(_ context.Context, e *hook.BeforeTool) error {
					e.Args = json.RawMessage(c.args(hooks.Add(1) - 1))
					return nil
				}))
			result, err := agent.Run(t.Context(), "go")
			tokens := map[string]bool{}
			for err == nil && result.Stop == event.StopQuestion {
				q := result.Questions[0]
				tokens[q.Token] = true
				if q.Index != len(tokens)-1 {
					t.Errorf("question %d has the place %d", len(tokens), q.Index)
				}
				result, err = agent.Resume(t.Context(), result.Conversation, braid.Answers(braid.Answer{Token: q.Token, Value: true}))
			}
			if err != nil || len(tokens) != c.tokens || ran.Load() != 1 {
				t.Errorf("%d questions, ran %d times, %v", len(tokens), ran.Load(), err)
			}
		})
	}
}

// What was approved is one tool: where a hook has another one run once the answer is there, with the same
// arguments, a person is asked anew.
func TestAnApprovalIsBoundToTheTool(t *testing.T) {
	t.Parallel()
	var hooks, ran, others atomic.Int64
	other := braid.Func("other", "Another one.", func(context.Context, map[string]any) (string, error) { others.Add(1); return "did", nil })
	agent := braid.New("a", answers(asksFor("tool", `{"say":"a"}`), says("ok")), echo(&ran), other,
		braid.Permit(braid.Permissions{Ask: []string{"*"}}),
		braid.On(func(_ context.Context, e *hook.BeforeTool) error {
			if hooks.Add(1) > 1 {
				e.Tool = other
			}
			return nil
		}))
	result, err := agent.Run(t.Context(), "go")
	var asked []string
	for err == nil && result.Stop == event.StopQuestion && len(asked) < 5 {
		asked = append(asked, result.Questions[0].Tool)
		if others.Load() != 0 {
			t.Error("another tool ran than was approved")
		}
		result, err = agent.Resume(t.Context(), result.Conversation, braid.Answers(braid.Answer{Token: result.Questions[0].Token, Value: true}))
	}
	if err != nil || !slices.Equal(asked, []string{"tool", "other"}) || ran.Load() != 0 || others.Load() != 1 {
		t.Errorf("asked for %q; ran %d and %d times, %v", asked, ran.Load(), others.Load(), err)
	}
}

// calling is an agent that calls its tool once in each run, with the arguments that the
// person's message names.
func calling(ran *atomic.Int64, p braid.Permissions) *braid.Agent {
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if req.Cycle > 1 {
			return chunks(says("ok"))
		}
		return chunks(asksFor("tool", req.Messages[len(req.Messages)-1].Text()))
	}}
	return braid.New("a", m, echo(ran), braid.Permit(p))
}

func TestHowLongAnApprovalLasts(t *testing.T) {
	t.Parallel()
	const same, other = `{"say":"a"}`, `{"say":"b"}`
	type ask struct {
		conv, user, args string
		asks             bool
	}
	for _, c := range []struct {
		answer string
		asks   []ask
	}{
		{`true`, []ask{{"c", "ann", same, true}}},
		{`{"approved":true,"lasts":"once"}`, []ask{{"c", "ann", same, true}}},
		{`{"approved":true,"lasts":"once","any_args":true}`, []ask{{"c", "ann", same, true}}},
		{`{"approved":true,"lasts":"conversation"}`, []ask{
			{"c", "ann", same, false}, {"c", "ann", ` { "say" : "a" } `, false}, {"c", "ann", other, true}, {"d", "ann", same, true},
		}},
		{`{"approved":true,"lasts":"conversation","any_args":true}`, []ask{
			{"c", "ann", same, false}, {"c", "ann", other, false}, {"d", "ann", same, true},
		}},
		{`{"approved":true,"lasts":"always"}`, []ask{
			{"c", "ann", same, false}, {"c", "ann", other, true}, {"d", "ann", same, false}, {"e", "bob", same, true}, {"f", "ann", other, true},
		}},
		{`{"approved":true,"lasts":"always","any_args":true}`, []ask{
			{"c", "ann", other, false}, {"d", "ann", same, false}, {"e", "bob", same, true},
		}},
		{`{"approved":true,"args":{"say":"c"}}`, []ask{{"c", "ann", same, true}, {"c", "ann", `{"say":"c"}`, true}}},
	} {
		t.Run(c.answer, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			store := journal.NewMemory(journal.MemoryOptions{})
			grants := &keptGrants{}
			run := func(a ask, agent *braid.Agent) *braid.Result {
				result, err := agent.Run(t.Context(), a.args, braid.In(braid.Open(store, a.conv)), braid.For("acme", a.user))
				if err != nil {
					t.Fatal(err)
				}
				return result
			}
			p := braid.Permissions{Ask: []string{"tool"}, Grants: grants}
			first := run(ask{"c", "ann", same, true}, calling(&ran, p))
			if first.Stop != event.StopQuestion {
				t.Fatal(first.Stop)
			}
			conv := first.Conversation
			if err := conv.AnswerAs(t.Context(), "ann", first.Questions[0].Token, approval(c.answer)); err != nil {
				t.Fatal(err)
			}
			if r, err := calling(&ran, p).Resume(t.Context(), conv); err != nil || r.Text() != "ok" {
				t.Fatal(r, err)
			}
			for _, a := range c.asks {
				before := ran.Load()
				// Another process: all it has is the store, and who keeps what is allowed always.
				r := run(a, calling(&ran, p))
				if asks := r.Stop == event.StopQuestion; asks != a.asks || !asks && ran.Load() != before+1 {
					t.Errorf("%+v: it asks %v, ran %d times", a, asks, ran.Load()-before)
				}
				if r.Stop == event.StopQuestion { // no run stays open
					_ = r.Conversation.Cancel(t.Context())
					_, _ = calling(&ran, p).Resume(t.Context(), r.Conversation)
				}
			}
			if state, err := conv.State(t.Context()); err != nil || len(state) != 0 {
				t.Errorf("the state shows %v, %v", state, err)
			}
			for _, g := range grants.list {
				if g.By != "ann" || g.Tenant != "acme" || g.User != "ann" || g.Agent != "a" || g.Tool != "tool" || g.At.IsZero() {
					t.Errorf("kept is %+v", g)
				}
			}
			if always := strings.Contains(c.answer, "always"); always != (len(grants.list) == 1) {
				t.Errorf("kept are %+v", grants.list)
			}
		})
	}
}

// keptGrants is a store of grants for tests.
type keptGrants struct {
	list []grant.Grant
	err  error
}

func (k *keptGrants) Granted(_ context.Context, call grant.Grant) (bool, error) {
	return slices.ContainsFunc(k.list, func(g grant.Grant) bool { return g.Covers(&call) }), k.err
}

func (k *keptGrants) Grant(_ context.Context, g grant.Grant) error {
	if k.err == nil {
		k.list = append(k.list, g)
	}
	return k.err
}

// Without a store of one's own, what is allowed always holds as long as the agent.
func TestAlwaysHoldsAsLongAsTheAgent(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	agent := calling(&ran, braid.Permissions{Ask: []string{"tool"}})
	r, err := agent.Run(t.Context(), `{"say":"a"}`)
	if err != nil || r.Stop != event.StopQuestion {
		t.Fatal(r, err)
	}
	answer := braid.Answer{Token: r.Questions[0].Token, Value: event.Approval{Approved: true, Lasts: event.LastsAlways}}
	if r, err = agent.Resume(t.Context(), r.Conversation, braid.Answers(answer)); err != nil || r.Text() != "ok" {
		t.Fatal(r, err)
	}
	if r, err = agent.Run(t.Context(), `{"say":"a"}`); err != nil || r.Text() != "ok" || ran.Load() != 2 {
		t.Error(r, err, ran.Load())
	}
	if r, err = calling(&ran, braid.Permissions{Ask: []string{"tool"}}).Run(t.Context(), `{"say":"a"}`); err != nil || r.Stop != event.StopQuestion {
		t.Error(r, err)
	}
}

// A store of grants that fails lets a person be asked, and the call run that was allowed.
func TestGrantsThatCannotBeKept(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	agent := calling(&ran, braid.Permissions{Ask: []string{"tool"}, Grants: &keptGrants{err: errors.New("no disk")}})
	r, err := agent.Run(t.Context(), `{"say":"a"}`)
	if err != nil || r.Stop != event.StopQuestion {
		t.Fatal(r, err)
	}
	if err := r.Conversation.Answer(t.Context(), r.Questions[0].Token, approval(`{"approved":true,"lasts":"always"}`)); err != nil {
		t.Fatal(err)
	}
	notices := 0
	for e, err := range agent.ResumeStream(t.Context(), r.Conversation) {
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := e.Body.(*event.Notice); ok && n.Code == "grant_not_kept" {
			notices++
		}
	}
	if notices != 1 || ran.Load() != 1 {
		t.Errorf("%d notices, ran %d times", notices, ran.Load())
	}
}

// What may be called holds for the agents below, too, and the strictest counts.
func TestPermissionsHoldForTheAgentsBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ above, below, want string }{
		{"", "", "said a"},
		{"deny tool", "", "Error: the tool tool is not allowed here"},
		{"", "deny tool", "Error: the tool tool is not allowed here"},
		{"deny tool", "ask tool", "Error: the tool tool is not allowed here"},
		{"ask tool", "", "?May child run tool?"},
		{"allow tool", "ask *", "?May child run tool?"},
		{"ask child", "", "?May a run child?"},
		{"deny child", "", ""},
	} {
		permit := func(s string) braid.Part {
			what, tools, _ := strings.Cut(s, " ")
			p := braid.Permissions{}
			*map[string]*[]string{"": new([]string), "allow": &p.Allow, "ask": &p.Ask, "deny": &p.Deny}[what] = strings.Fields(tools)
			return braid.Permit(p)
		}
		var ran atomic.Int64
		shown := ""
		m := answers(asksFor("tool", `{"say":"a"}`), says("child says"))
		next := m.next
		m.next = func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if req.Cycle == 2 {
				shown = event.TextOf(lastResults(req)[0].Content)
			}
			return next(ctx, req)
		}
		child := braid.New("child", m, echo(&ran), permit(c.below))
		agent := braid.New("a", answers(asksFor("child", `{"input":"x"}`), says("ok")), braid.AsTool(child, "Helps."), permit(c.above))
		r, err := agent.Run(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Questions) > 0 {
			shown = "?" + r.Questions[0].Prompt
			answer := braid.Answer{Token: r.Questions[0].Token, Value: true}
			if r, err = agent.Resume(t.Context(), r.Conversation, braid.Answers(answer)); err != nil || r.Text() != "ok" || ran.Load() != 1 {
				t.Errorf("above %q, below %q: after a yes %+v, %v", c.above, c.below, r, err)
			}
		}
		if !strings.HasPrefix(c.want, "?") && shown != c.want || strings.HasPrefix(c.want, "?") && shown != "said a" && shown != c.want {
			t.Errorf("above %q, below %q: %q, want %q", c.above, c.below, shown, c.want)
		}
	}
}

// Who swaps the tool does not get round what may be called, and nobody is asked about what
// cannot run.
func TestPermissionsHoldForWhatRuns(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	other := braid.Func("other", "Another one.", func(context.Context, map[string]any) (string, error) { ran.Add(1); return "did", nil })
	swap := braid.On(func(_ context.Context, e *hook.BeforeTool) error {
		if e.Call.Name == "tool" {
			e.Tool = other
		}
		return nil
	})
	for _, c := range []struct {
		call, args string
		p          braid.Permissions
		want       string
	}{
		{"tool", `{"say":"a"}`, braid.Permissions{Deny: []string{"other"}}, "Error: the tool other is not allowed here"},
		{"tool", `{"say":"a"}`, braid.Permissions{Deny: []string{"tool"}}, "Error: the tool other is not allowed here"},
		{"tool", `{"say":"a"}`, braid.Permissions{Ask: []string{"other"}}, "?other"},
		{"tool", `{"say":"a"}`, braid.Permissions{Ask: []string{"tool"}}, "?other"},
		{"none", `{}`, braid.Permissions{Ask: []string{"*"}}, "there is no tool called"},
		{"other", `{"say":`, braid.Permissions{Ask: []string{"*"}}, "Error: the arguments"},
	} {
		r, err := braid.New("a", answers(asksFor(c.call, c.args), says("ok")), echo(&ran), other, swap, braid.Permit(c.p)).Run(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		got := resultOf(t, r.Conversation, c.call)
		if len(r.Questions) > 0 {
			got = "?" + r.Questions[0].Tool
		}
		if !strings.Contains(got, c.want) || ran.Load() != 0 {
			t.Errorf("%s with %+v: %q, want %q", c.call, c.p, got, c.want)
		}
	}
}

// Several calls ask at once and are answered one by one: each runs when its answer is
// there, the others go on waiting, and no model is called before all have ended.
func TestApprovalsOneByOne(t *testing.T) {
	t.Parallel()
	var ran, free atomic.Int64
	made := func() (*braid.Agent, *script) {
		model := answers(asksFor("tool", `{"say":"a"}`, "free", `{}`, "tool", `{"say":"b"}`, "tool", `{"say":"c"}`), says("ok"))
		return braid.New("a", model, echo(&ran), braid.Func("free", "Free.", func(context.Context, struct{}) (string, error) {
			free.Add(1)
			return "free", nil
		}), braid.Permit(braid.Permissions{Ask: []string{"tool"}})), model
	}
	store := journal.NewMemory(journal.MemoryOptions{})
	agent, _ := made()
	r, err := agent.Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
	for left := 3; left > 0; left-- {
		if err != nil || len(r.Questions) != left || ran.Load() != int64(3-left) || free.Load() != 1 {
			t.Fatalf("%d left: %+v, %v; ran %d and %d times", left, r, err, ran.Load(), free.Load())
		}
		conv := braid.Open(store, "c")
		if err := conv.Answer(t.Context(), r.Questions[left-1].Token, true); err != nil {
			t.Fatal(err)
		}
		var model *script
		agent, model = made()
		r, err = agent.Resume(t.Context(), conv)
		if want := map[bool]int64{true: 1}[left == 1]; model.calls.Load() != want {
			t.Errorf("%d left: %d model calls", left, model.calls.Load())
		}
	}
	if err != nil || r.Text() != "ok" || ran.Load() != 3 || free.Load() != 1 {
		t.Errorf("%+v, %v; ran %d and %d times", r, err, ran.Load(), free.Load())
	}
}

// A tool that asks itself counts its own questions, whatever a policy asked before.
func TestAToolAsksBesideThePolicy(t *testing.T) {
	t.Parallel()
	agent := braid.New("a", answers(asksFor("tool", `{}`), says("ok")),
		braid.Func("tool", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
			size, err := braid.Ask[string](ctx, "which size?")
			_, by, ok := tool.ApprovalOf(ctx)
			return fmt.Sprint(size, " for ", tool.AnsweredBy(ctx, 0), ", allowed by ", by, ok, tool.AnsweredBy(ctx, 1)), err
		}), braid.Permit(braid.Permissions{Ask: []string{"*"}}))
	r, err := agent.Run(t.Context(), "go")
	for i, a := range []braid.Answer{{Value: true, By: "ann"}, {Value: "XL", By: "bob"}} {
		if err != nil || len(r.Questions) != 1 || r.Questions[0].Index != i {
			t.Fatalf("%+v, %v", r, err)
		}
		a.Token = r.Questions[0].Token
		r, err = agent.Resume(t.Context(), r.Conversation, braid.Answers(a))
	}
	if err != nil || resultOf(t, r.Conversation, "tool") != "XL for bob, allowed by anntrue" {
		t.Errorf("%q, %v", resultOf(t, r.Conversation, "tool"), err)
	}
}

// A no stays one where the agent of the process that goes on would not have asked.
func TestARefusalOutlivesThePolicy(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{`false`: "Error: a person refused this call", `true`: "said a"} {
		var ran atomic.Int64
		r, err := held(&ran).Run(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Conversation.Answer(t.Context(), r.Questions[0].Token, approval(answer)); err != nil {
			t.Fatal(err)
		}
		agent := braid.New("a", answers(asksFor("tool", `{"say":"a"}`), says("ok")), echo(&ran))
		if r, err = agent.Resume(t.Context(), r.Conversation); err != nil || resultOf(t, r.Conversation, "tool") != want {
			t.Errorf("%s: %q, %v", answer, resultOf(t, r.Conversation, "tool"), err)
		}
	}
}

// A driver that dies anywhere around a question for permission asks once, and runs the tool
// once or leaves it in doubt.
func TestPermissionsOutliveACrash(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`true`, `false`, `{"approved":true,"lasts":"conversation"}`} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			survives(t, func() *braid.Agent { return held(&ran) }, func(braid.Question) any { return approval(answer) },
				func(t *testing.T, r *braid.Result) {
					t.Helper()
					asked := 0
					for e, err := range r.Conversation.Events(t.Context(), 0) {
						if err != nil {
							t.Fatal(err)
						}
						if _, ok := e.Body.(*event.Asked); ok {
							asked++
						}
					}
					got := resultOf(t, r.Conversation, "tool")
					if ran.Swap(0) > 1 || asked != 1 || r.Text() != "ok" ||
						(answer == "false") != strings.Contains(got, "refused") {
						t.Errorf("%d questions, %q", asked, got)
					}
				})
		})
	}
}

// Tools have no hand in what is allowed: the keys in which a conversation keeps it are not
// theirs, and neither is a model told of them.
func TestToolsCannotGrant(t *testing.T) {
	t.Parallel()
	for _, set := range []func(context.Context) error{
		func(ctx context.Context) error { return tool.State[any]("braid.grant:x").Set(ctx, true) },
		func(ctx context.Context) error { return tool.State[any]("braid.grant:x").Delete(ctx) },
	} {
		got := oneCall(t, `{}`, braid.Func("tool", "Sets.", func(ctx context.Context, _ struct{}) (string, error) { return "set", set(ctx) }))
		if text := event.TextOf(got.Content); !got.IsError || !strings.Contains(text, "are taken") {
			t.Errorf("got %q", text)
		}
	}
}

// What a hook has set, and that it ends the turn, counts where it cancels the call, too.
func TestAHookThatCancelsAndSets(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	model := answers(asksFor("tool", `{"say":"a"}`), says("ok"))
	agent := braid.New("a", model, echo(&ran), braid.On(func(ctx context.Context, e *hook.BeforeTool) error {
		e.Cancel = "no"
		tool.EndTurn(ctx)
		return tool.State[any]("k").Set(ctx, 1)
	}))
	r, err := agent.Run(t.Context(), "go")
	if err != nil || r.Why != event.WhyToolStop || model.calls.Load() != 1 || ran.Load() != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if state, err := r.Conversation.State(t.Context()); err != nil || string(state["k"]) != "1" {
		t.Errorf("the state is %v, %v", state, err)
	}
}

// Weeks between question and answer, and a lease that ran out long before, change nothing.
func TestAnApprovalWeeksLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		store := journal.NewMemory(journal.MemoryOptions{})
		r, err := held(&ran).Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(21 * 24 * time.Hour)
		conv := braid.Open(store, "c")
		if err := conv.Answer(t.Context(), r.Questions[0].Token, true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(21 * 24 * time.Hour)
		if r, err = held(&ran).Resume(t.Context(), conv); err != nil || r.Text() != "ok" || ran.Load() != 1 {
			t.Error(r, err, ran.Load())
		}
	})
}
