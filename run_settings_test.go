package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// seenOf is what a request says of the settings of its run.
func seenOf(req *model.Request) string {
	names := make([]string, len(req.Tools))
	for i := range req.Tools {
		names[i] = req.Tools[i].Name
	}
	return fmt.Sprintf("%q %v max=%d verbosity=%q choice=%s/%s", req.Instructions, names, req.Options.MaxTokens, req.Options.Verbosity,
		req.ToolChoice.Mode, req.ToolChoice.Tool)
}

func subtract(_ context.Context, in addIn) (int, error) { return in.A - in.B, nil }

// The options of a run change what its model is asked, in that run alone.
func TestSettingsHoldForOneRun(t *testing.T) {
	t.Parallel()
	own := &heard{says: [][]model.Chunk{says("mine")}}
	other := &heard{says: [][]model.Chunk{asksFor("subtract", `{"a":7,"b":3}`), says("theirs")}}
	agent := braid.New("calc", own, braid.Instructions("Be brief."), braid.Func("add", "Adds.", add),
		braid.Options(model.Options{MaxTokens: 10, Verbosity: "low"}))
	conv := braid.NewConversation()
	r, err := agent.Run(t.Context(), "go", braid.In(conv),
		braid.WithInstructions("Speak French."), braid.WithInstructions("Rhyme."), braid.WithModelOptions(model.Options{MaxTokens: 99}),
		braid.WithModel(named{other, "test:other"}), braid.WithTools(braid.Func("subtract", "Subtracts.", subtract)),
		braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsOne, Tool: "subtract"}))
	if err != nil || r.Text() != "theirs" || len(own.asked) != 0 {
		t.Fatalf("%q, %v", r.Text(), err)
	}
	if got := resultOf(t, conv, "subtract"); got != "4" {
		t.Errorf("the run's own tool gave %q", got)
	}
	if r, err = agent.Run(t.Context(), "go", braid.In(conv)); err != nil || r.Text() != "mine" {
		t.Fatalf("%q, %v", r.Text(), err)
	}
	got := []string{seenOf(&other.asked[0]), seenOf(&other.asked[1]), seenOf(&own.asked[0])}
	want := []string{
		`"Be brief.\n\nSpeak French.\n\nRhyme." [add subtract] max=99 verbosity="low" choice=one/subtract`,
		`"Be brief.\n\nSpeak French.\n\nRhyme." [add subtract] max=99 verbosity="low" choice=/`,
		`"Be brief." [add] max=10 verbosity="low" choice=/`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
}

// Runs of one agent at the same time have their own settings.
func TestSettingsOfConcurrentRuns(t *testing.T) {
	t.Parallel()
	agent := braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		return chunks(says(req.Instructions))
	}}, braid.Func("add", "Adds.", add))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fmt.Sprint("run ", i)
			extra := braid.Func(fmt.Sprint("extra", i), "Adds.", add)
			r, err := agent.Run(t.Context(), "go", braid.WithInstructions(want), braid.WithTools(extra), braid.WithLimits(braid.Limits{Cycles: i + 1}))
			if err != nil || r.Text() != want {
				t.Errorf("%q, want %q: %v", r.Text(), want, err)
			}
		})
	}
	wg.Wait()
	if n := len(agent.Tools()); n != 1 {
		t.Errorf("the agent has %d tools", n)
	}
}

// A limit of a run lies above or below the agent's, and bounds the agents below with it.
func TestLimitsOfARun(t *testing.T) {
	t.Parallel()
	loops := func() *script {
		return &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return chunks(asksFor("add", `{"a":1,"b":2}`))
		}}
	}
	many := braid.Limits{Cycles: 4, Repeats: -1, RepeatNote: -1}
	agent := braid.New("a", loops(), braid.Func("add", "Adds.", add), braid.Limit(many))
	for _, c := range []struct {
		limits braid.Limits
		cycles int
	}{{braid.Limits{}, 4}, {braid.Limits{Cycles: 2}, 2}, {braid.Limits{Cycles: 7}, 7}, {braid.Limits{Cycles: -1, ToolCalls: 9}, 9}} {
		r, err := agent.Run(t.Context(), "go", braid.WithLimits(c.limits))
		if !errors.Is(err, event.ErrLimit) || r.Metrics.ModelCalls != c.cycles {
			t.Errorf("with %+v: %d calls, %v", c.limits, r.Metrics.ModelCalls, err)
		}
	}
	// Two options set two limits.
	r, err := agent.Run(t.Context(), "go", braid.WithLimits(braid.Limits{Cycles: 9}), braid.WithLimits(braid.Limits{ToolCalls: 3}))
	if !errors.Is(err, event.ErrLimit) || r.Stop != event.StopLimitToolCalls || r.Metrics.ModelCalls != 3 {
		t.Errorf("%s after %d calls, %v", r.Stop, r.Metrics.ModelCalls, err)
	}
	child := braid.New("child", loops(), braid.Func("add", "Adds.", add), braid.Limit(braid.Limits{Cycles: 50, Repeats: -1, RepeatNote: -1}))
	root := braid.New("root", answers(asksFor("child", `{"input":"go"}`), says("done")), braid.AsTool(child, "Works."))
	r, err = root.Run(t.Context(), "go", braid.WithLimits(braid.Limits{AllCycles: 6}))
	if !errors.Is(err, event.ErrLimit) || r.Metrics.ModelCalls != 6 {
		t.Errorf("the tree made %d calls, %v", r.Metrics.ModelCalls, err)
	}
	if r, err = agent.Run(t.Context(), "go", braid.WithLimits(braid.Limits{CostNanoUSD: 5})); !errors.Is(err, event.ErrInvalid) || r.Metrics.ModelCalls > 0 {
		t.Errorf("a limit in money without a price: %v", err)
	}
}

// The agents below a run's own keep what they have.
func TestSettingsStayWithTheRootAgent(t *testing.T) {
	t.Parallel()
	below := &heard{says: [][]model.Chunk{says("below")}}
	root := &heard{says: [][]model.Chunk{asksFor("child", `{"input":"go"}`), says("done")}}
	agent := braid.New("root", answers(says("never")),
		braid.AsTool(braid.New("child", below, braid.Instructions("I am the child."), braid.Func("sum", "Adds.", add)), "Works."))
	r, err := agent.Run(t.Context(), "go", braid.WithModel(named{root, "test:root"}), braid.WithInstructions("Hurry."),
		braid.WithModelOptions(model.Options{MaxTokens: 5}), braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsAny}),
		braid.WithTools(braid.Func("add", "Adds.", add)))
	if err != nil || r.Text() != "done" {
		t.Fatalf("%q, %v", r.Text(), err)
	}
	if got, want := seenOf(&below.asked[0]), `"I am the child." [sum] max=0 verbosity="" choice=/`; got != want {
		t.Errorf("the agent below is asked %s, want %s", got, want)
	}
	if got, want := seenOf(&root.asked[0]), `"Hurry." [child add] max=5 verbosity="" choice=any/`; got != want {
		t.Errorf("the root is asked %s, want %s", got, want)
	}
}

// An agent that is its own tool is made to call tools once, by the run and not by each of its scopes.
func TestAChoiceIsNotOfTheScopesBelow(t *testing.T) {
	t.Parallel()
	m := &heard{says: [][]model.Chunk{asksFor("self", `{"input":"go"}`), says("below"), says("done")}}
	agent := braid.New("self", m)
	agent.Use(braid.AsTool(agent, "Works."))
	r, err := agent.Run(t.Context(), "go", braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsAny}))
	if err != nil || r.Text() != "done" || len(m.asked) != 3 {
		t.Fatalf("%q, %v", r.Text(), err)
	}
	for i, want := range []model.ToolMode{model.ToolsAny, model.ToolsFree, model.ToolsFree} {
		if got := m.asked[i].ToolChoice.Mode; got != want {
			t.Errorf("call %d has the choice %q, want %q", i, got, want)
		}
	}
}

// waiting is a run with settings in a store, which waits for an answer. clerk makes its agent as another process would.
func waiting(t *testing.T, opts ...braid.RunOption) (store *journal.Memory, clerk func() (*braid.Agent, *heard), token string) {
	t.Helper()
	store = journal.NewMemory(journal.MemoryOptions{})
	asks := braid.Func("ask", "Asks.", func(ctx context.Context, _ nothing) (bool, error) { return braid.Ask[bool](ctx, "Sure?") })
	clerk = func() (*braid.Agent, *heard) {
		m := &heard{says: [][]model.Chunk{says("done")}}
		return braid.New("clerk", m, asks, braid.Instructions("Be brief.")), m
	}
	first := braid.New("clerk", answers(asksFor("ask", "{}")), asks, braid.Instructions("Be brief."))
	r, err := first.Run(t.Context(), "go", append(opts, braid.In(braid.Open(store, "c")))...)
	if err != nil || len(r.Questions) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	return store, clerk, r.Questions[0].Token
}

// A run that another process resumes goes on with the settings with which it began.
func TestSettingsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	zero, seed := 0.0, int64(1)<<60+1
	store, clerk, token := waiting(t, braid.WithInstructions("Rhyme."), braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsNone}),
		braid.WithModelOptions(model.Options{
			MaxTokens: 7, Temperature: &zero, Seed: &seed, Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"a": "<"}`)},
			ServerTools: []model.ServerTool{{Kind: model.WebSearch, Domains: []string{"a.example"}}},
		}), braid.WithLimits(braid.Limits{Cycles: 1}))
	agent, m := clerk()
	conv := braid.Open(store, "c")
	// The limit of one call was the run's, so no other one is made.
	r, err := agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: token, Value: true}))
	if !errors.Is(err, event.ErrLimit) || len(m.asked) != 0 || r.Stop != event.StopLimitCycles {
		t.Errorf("%d calls, %s, %v", len(m.asked), r.Stop, err)
	}

	store, clerk, token = waiting(t, braid.WithInstructions("Rhyme."), braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsNone}),
		braid.WithModelOptions(model.Options{MaxTokens: 7, Temperature: &zero, Seed: &seed, Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"a": "<"}`)}}))
	agent, m = clerk()
	conv = braid.Open(store, "c")
	if r, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: token, Value: true})); err != nil || r.Text() != "done" {
		t.Fatalf("%q, %v", r.Text(), err)
	}
	o := m.asked[0].Options
	if got, want := seenOf(&m.asked[0]), `"Be brief.\n\nRhyme." [ask] max=7 verbosity="" choice=none/`; got != want {
		t.Errorf("the model is asked %s, want %s", got, want)
	}
	if o.Temperature == nil || *o.Temperature != 0 || o.Seed == nil || *o.Seed != seed || !strings.Contains(string(o.Extra["x"]), `"a"`) {
		t.Errorf("the options have become %+v", o)
	}
	// The next run has settings of its own.
	if _, err = agent.Run(t.Context(), "and now?", braid.In(conv)); err != nil || seenOf(&m.asked[1]) != `"Be brief." [ask] max=0 verbosity="" choice=/` {
		t.Errorf("the next run is asked %s, %v", seenOf(&m.asked[1]), err)
	}
}

// Accepted input keeps its settings until it is driven.
func TestSettingsOfAcceptedInput(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	m := &heard{says: [][]model.Chunk{says("so")}}
	agent := func() *braid.Agent { return braid.New("a", m) }
	sent, err := agent().Send(t.Context(), braid.Open(store, "c"), "go", braid.WithInstructions("Rhyme."), braid.During(braid.Queue))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent().Drive(t.Context(), braid.Open(store, "c"), sent.Run, braid.Work{}); err != nil || m.asked[0].Instructions != "Rhyme." {
		t.Errorf("the model is asked %q, %v", m.asked[0].Instructions, err)
	}
	// Resume takes what was accepted as it was accepted.
	if _, err = agent().Send(t.Context(), braid.Open(store, "c"), "again", braid.WithInstructions("Sing.")); err != nil {
		t.Fatal(err)
	}
	if _, err := agent().Resume(t.Context(), braid.Open(store, "c")); err != nil || m.asked[1].Instructions != "Sing." {
		t.Errorf("the model is asked %q, %v", m.asked[1].Instructions, err)
	}
	if _, err = agent().Send(t.Context(), braid.Open(store, "c"), "no", braid.WithToolChoice(model.ToolChoice{Mode: "some"})); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("it accepted what cannot be: %v", err)
	}
}

// A message that joins an open run may repeat settings of that run. Others are refused, and the message is not left.
func TestSettingsOfAMessageThatJoins(t *testing.T) {
	t.Parallel()
	store, clerk, token := waiting(t, braid.WithInstructions("Rhyme."), braid.WithLimits(braid.Limits{Cycles: 9}))
	agent, m := clerk()
	conv := braid.Open(store, "c")
	steer := func(text string, opts ...braid.SendOption) (braid.Sent, error) {
		return agent.Send(t.Context(), conv, text, append(opts, braid.During(braid.Steer))...)
	}
	for name, opt := range map[string]braid.SendOption{
		"instructions": braid.WithInstructions("Sing."), "limits": braid.WithLimits(braid.Limits{Cycles: 8}),
		"options": braid.WithModelOptions(model.Options{MaxTokens: 7}), "a choice": braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsNone}),
	} {
		if sent, err := steer("not this", opt); !errors.Is(err, event.ErrConflict) || sent.Joined || !strings.Contains(err.Error(), "did not begin with") {
			t.Errorf("other %s: %+v, %v", name, sent, err)
		}
	}
	for _, opts := range [][]braid.SendOption{nil, {braid.WithInstructions("Rhyme.")}, {braid.WithInstructions("Rhyme."), braid.WithLimits(braid.Limits{Cycles: 9})}} {
		if sent, err := steer("this", opts...); err != nil || !sent.Joined {
			t.Errorf("its own settings: %+v, %v", sent, err)
		}
	}
	if err := conv.Answer(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Resume(t.Context(), conv); err != nil {
		t.Fatal(err)
	}
	last := m.asked[len(m.asked)-1]
	text := last.Messages[len(last.Messages)-1].Text()
	if strings.Contains(text, "not") || strings.Count(text, "this") != 3 {
		t.Errorf("the model reads %q", text)
	}
}

// What a row cannot keep must be given again. Until then the run waits.
func TestGoValuesAreGivenAgain(t *testing.T) {
	t.Parallel()
	more := braid.Func("more", "Adds.", add)
	store, clerk, token := waiting(t, braid.WithTools(more), braid.WithModel(named{answers(asksFor("ask", "{}")), "test:own"}))
	agent, m := clerk()
	conv := braid.Open(store, "c")
	if err := conv.Answer(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	own := func() braid.RunOption { return braid.WithModel(named{m, "test:own"}) }
	for name, c := range map[string]struct {
		opts []braid.RunOption
		want string
	}{
		"nothing":          {nil, "the model test:own"},
		"tools":            {[]braid.RunOption{braid.WithTools(more)}, "the model test:own"},
		"the model":        {[]braid.RunOption{own()}, "tools of its own, which this drive does not have: more"},
		"other tools":      {[]braid.RunOption{own(), braid.WithTools(more, braid.Func("yet", "Adds.", add))}, "other settings"},
		"another model":    {[]braid.RunOption{braid.WithModel(named{m, "test:other"}), braid.WithTools(more)}, "other settings"},
		"new instructions": {[]braid.RunOption{own(), braid.WithTools(more), braid.WithInstructions("x")}, "other settings"},
	} {
		if _, err := agent.Resume(t.Context(), conv, c.opts...); !errors.Is(err, event.ErrConflict) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if len(m.asked) != 0 {
		t.Fatal("a model was asked")
	}
	if _, err := agent.Drive(t.Context(), conv, "", braid.Work{}); err == nil {
		t.Error("it drove no run")
	}
	r, err := agent.Resume(t.Context(), conv, own(), braid.WithTools(more))
	if err != nil || r.Text() != "done" || seenOf(&m.asked[0]) != `"Be brief." [ask more] max=0 verbosity="" choice=/` {
		t.Errorf("%q, %v, %v", r.Text(), err, m.asked)
	}
	// An engine's program gives them with the work, and an agent that has the model needs none.
	store, clerk, token = waiting(t, braid.WithModel(named{answers(asksFor("ask", "{}")), "test:heard"}))
	agent, m = clerk()
	conv = braid.Open(store, "c")
	if err := conv.Answer(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	if r, err = agent.Resume(t.Context(), conv); err != nil || r.Text() != "done" || len(m.asked) != 1 {
		t.Errorf("%q, %v", r.Text(), err)
	}
	store, clerk, token = waiting(t, braid.WithTools(more))
	agent, m = clerk()
	conv = braid.Open(store, "c")
	if err := conv.Answer(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	run := newestRun(t, conv)
	if _, err := agent.Drive(t.Context(), conv, run, braid.Work{}); !errors.Is(err, event.ErrConflict) || len(m.asked) > 0 {
		t.Errorf("driven without its tools: %v", err)
	}
	if r, err = agent.Drive(t.Context(), conv, run, braid.Work{Options: []braid.RunOption{braid.WithTools(more)}}); err != nil || r.Text() != "done" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

func newestRun(t *testing.T, conv *braid.Conversation) (run string) {
	t.Helper()
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		run = e.Run
	}
	return run
}

// A cancelled run ends, whatever it would need to go on.
func TestACancelledRunNeedsNoSettings(t *testing.T) {
	t.Parallel()
	store, clerk, _ := waiting(t, braid.WithTools(braid.Func("more", "Adds.", add)))
	agent, m := clerk()
	conv := braid.Open(store, "c")
	if err := conv.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := agent.Run(t.Context(), "something else", braid.In(conv), braid.WithInstructions("Rhyme."), braid.During(braid.Queue))
	if err != nil || r.Text() != "done" || m.asked[0].Instructions != "Be brief.\n\nRhyme." {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// Settings that cannot be are refused before anything runs, also by Check.
func TestSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	m := &heard{says: [][]model.Chunk{says("never")}, check: func(req *model.Request) error {
		if req.ToolChoice.Serial || req.Options.Seed != nil {
			return &event.Error{Kind: event.ErrUnsupported, Message: "this model cannot do that"}
		}
		return nil
	}}
	agent := braid.New("a", m, braid.Func("add", "Adds.", add), braid.Func("drop", "Drops.", add), braid.Permit(braid.Permissions{Deny: []string{"drop"}}))
	one := func(tool string) braid.RunOption {
		return braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsOne, Tool: tool})
	}
	for name, c := range map[string]struct {
		opt  braid.RunOption
		kind event.ErrorKind
		says string
	}{
		"a nil model":             {braid.WithModel(nil), event.ErrInvalid, "the model of the run is nil"},
		"a typed nil":             {braid.WithModel((*script)(nil)), event.ErrInvalid, "the model of the run is nil"},
		"a model that panics":     {braid.WithModel(nameless{}), event.ErrInternal, "panicked"},
		"a model without a name":  {braid.WithModel(named{m, ""}), event.ErrInvalid, "has no name"},
		"a nil tool":              {braid.WithTools(nil), event.ErrInvalid, "a tool of the run is nil"},
		"a tool's name twice":     {braid.WithTools(braid.Func("add", "Adds.", add)), event.ErrInvalid, `two tools are called "add"`},
		"two tools of one name":   {braid.WithTools(braid.Func("x", "Adds.", add), braid.Func("x", "Adds.", add)), event.ErrInvalid, `two tools are called "x"`},
		"a wrong tool":            {braid.WithTools(braid.Func("no name", "Adds.", add)), event.ErrInvalid, "no name"},
		"an agent":                {braid.WithTools(braid.AsTool(braid.New("b", m), "").(braid.Tool)), event.ErrUnsupported, "an agent cannot become a tool"},
		"an unknown choice":       {braid.WithToolChoice(model.ToolChoice{Mode: "some"}), event.ErrInvalid, `no tool choice "some"`},
		"a choice of nothing":     {braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsOne}), event.ErrInvalid, "exactly if"},
		"a choice with a tool":    {braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsAny, Tool: "add"}), event.ErrInvalid, "exactly if"},
		"an unknown tool":         {one("dropp"), event.ErrInvalid, `did you mean "drop"?`},
		"a denied tool":           {one("drop"), event.ErrPermission, "permissions deny"},
		"what the model refuses":  {braid.WithToolChoice(model.ToolChoice{Serial: true}), event.ErrUnsupported, "cannot do that"},
		"an option it refuses":    {braid.WithModelOptions(model.Options{Seed: new(int64)}), event.ErrUnsupported, "cannot do that"},
		"a token":                 {braid.WithModelOptions(model.Options{ServerTools: []model.ServerTool{{Kind: model.RemoteMCP, Token: func() string { return "x" }}}}), event.ErrInvalid, "token"},
		"text that is not UTF-8":  {braid.WithInstructions("\xff"), event.ErrInvalid, "UTF-8"},
		"a zero character":        {braid.WithInstructions("a\x00"), event.ErrInvalid, "zero"},
		"a limit without a price": {braid.WithLimits(braid.Limits{Conversation: braid.Budget{CostNanoUSD: 1}}), event.ErrInvalid, "costs"},
	} {
		conv := braid.NewConversation()
		_, err := agent.Run(t.Context(), "go", braid.In(conv), c.opt)
		e := &event.Error{}
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error()+e.Hint, c.says) {
			t.Errorf("%s: %v, want %s %q", name, err, c.kind, c.says)
		}
		if checked := agent.Check(c.opt); checked == nil || checked.Error() != err.Error() {
			t.Errorf("%s: Check says %v, Run %v", name, checked, err)
		}
		for e, err := range conv.Events(t.Context(), 0) {
			t.Errorf("%s: something was written: %v, %v", name, e, err)
			break
		}
	}
	if len(m.asked) > 0 || agent.Err() != nil {
		t.Errorf("%d calls, %v", len(m.asked), agent.Err())
	}
	// Nothing set is nothing changed.
	for name, opt := range map[string]braid.RunOption{
		"limits": braid.WithLimits(braid.Limits{}), "options": braid.WithModelOptions(model.Options{}), "a choice": braid.WithToolChoice(model.ToolChoice{}),
		"instructions": braid.WithInstructions(""), "tools": braid.WithTools(), "answers": braid.WithAnswers(nil), "none": nil,
	} {
		r, err := braid.New("a", answers(says("so"))).Run(t.Context(), "go", opt)
		if err != nil || r.Text() != "so" {
			t.Errorf("%s: %v", name, err)
		}
		for e, err := range r.Conversation.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.RunStarted); ok && b.Metadata[journal.SettingsLabel] != "" {
				t.Errorf("%s: the log has the settings %s", name, b.Metadata[journal.SettingsLabel])
			}
		}
	}
}

// A run's own tools stay while the agent's change, and a model that looks for its tools is shown them.
func TestAnAgentsToolsChangeBesideTheRunsOwn(t *testing.T) {
	t.Parallel()
	m := &heard{says: [][]model.Chunk{asksFor("own", `{"a":1,"b":2}`), asksFor("own", `{"a":1,"b":3}`), says("done")}}
	var agent *braid.Agent
	agent = braid.New("a", m, braid.Func("old", "Adds.", add), braid.On(func(context.Context, *hook.AfterTool) error {
		return agent.ReplaceTools([]string{"old", "own", "new"}, braid.Func("new", "Adds.", add), braid.Func("own", "Adds.", subtract))
	}))
	r, err := agent.Run(t.Context(), "go", braid.WithTools(braid.Func("own", "Adds.", add)))
	if err != nil || resultOf(t, r.Conversation, "own") != "4" {
		t.Errorf("the run's tool gave %q, %v", resultOf(t, r.Conversation, "own"), err)
	}
	if got, want := seenOf(&m.asked[2]), `"" [new own] max=0 verbosity="" choice=/`; got != want {
		t.Errorf("the model is asked %s, want %s", got, want)
	}
	m = &heard{says: [][]model.Chunk{says("done")}}
	agent = braid.New("a", m, braid.Func("one", "Adds.", add), braid.Func("two", "Adds.", add), braid.SearchTools(braid.ToolSearch{Above: 1}))
	if _, err = agent.Run(t.Context(), "go", braid.WithTools(braid.Func("own", "Adds.", add)),
		braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsOne, Tool: "two"})); err != nil {
		t.Fatal(err)
	}
	if got, want := seenOf(&m.asked[0]), `"" [two find_tools own] max=0 verbosity="" choice=one/two`; got != want {
		t.Errorf("the model is asked %s, want %s", got, want)
	}
}

// A call by the program may be one of a tool that only this run has, and a typed output one of a model that only this
// run has.
func TestSettingsOfCallsAndTypedOutput(t *testing.T) {
	t.Parallel()
	agent := braid.New("a", answers(says("never")))
	out, err := agent.Call(t.Context(), "own", addIn{1, 2}, braid.WithTools(braid.Func("own", "Adds.", add)))
	if err != nil || event.TextOf(out.Content) != "3" {
		t.Errorf("%+v, %v", out, err)
	}
	m := &heard{output: true, says: [][]model.Chunk{says(kyoto)}}
	got, _, err := braid.RunAs[city](t.Context(), agent, "go", braid.WithModel(named{m, "test:own"}))
	if err != nil || got.Name != "Kyōto" {
		t.Errorf("%+v, %v", got, err)
	}
	if !slices.ContainsFunc(m.asked, func(r model.Request) bool { return r.Output != nil || len(r.Tools) > 0 }) {
		t.Error("the model was not asked for the form")
	}
}
