package flow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// echo is a model that answers with its name around the newest words, by the request alone: a driver after a crash meets the same
// model. With tool it first calls that tool, and answers with its result.
type echo struct {
	name string
	tool string
	fail event.ErrorKind
}

func (m *echo) Info() model.Info { return model.Info{Name: "test:" + m.name} }

func (m *echo) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		chunks := []model.Chunk{
			{Kind: model.ChunkText, Text: m.name + "(" + last.Text() + wordsOf(last) + ")"}, {Kind: model.ChunkStop, Stop: event.StopEndTurn},
		}
		if m.tool != "" && len(req.Messages) == 1 {
			chunks = []model.Chunk{
				{Kind: model.ChunkCall, ID: "c1", Text: m.tool},
				{Kind: model.ChunkCallInput, Text: `{"input":"` + last.Text() + `"}`},
				{Kind: model.ChunkStop, Stop: event.StopToolUse},
			}
		}
		if m.fail != "" {
			yield(model.Chunk{}, &event.Error{Kind: m.fail, Message: "no"})
			return
		}
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// wordsOf are the words of a message's results.
func wordsOf(m event.Message) (text string) {
	for _, b := range m.Content {
		if r, ok := b.(*event.ToolResult); ok {
			text += event.TextOf(r.Content)
		}
	}
	return text
}

type input struct {
	Input string `json:"input"`
}

func look(_ context.Context, in input) (string, error) { return "found " + in.Input, nil }

func agent(name string) *braid.Agent { return braid.New(name, &echo{name: name}) }

// report is a sequence of three: an agent with a tool, an agent, and a sequence of two of which one stands twice.
func report() *braid.Agent {
	again := agent("d")
	return Sequence("report",
		braid.New("a", &echo{name: "a", tool: "look"}, braid.Func("look", "Looks.", look, tool.Pure())), agent("b"),
		Sequence("inner", again, agent("c"), again))
}

func TestASequenceHandsOn(t *testing.T) {
	t.Parallel()
	r, err := report().Run(t.Context(), "go")
	if err != nil || r.Text() != "d(c(d(b(a(found go)))))" || r.Why != event.WhyFlow || r.Stop != event.StopEndTurn || r.Status != event.RunCompleted {
		t.Fatalf("%q, %s, %s, %s, %v", r.Text(), r.Why, r.Stop, r.Status, err)
	}
	if r.Metrics.ModelCalls != 6 || r.Metrics.ToolCalls != 1 {
		t.Errorf("%d model calls, %d tool calls", r.Metrics.ModelCalls, r.Metrics.ToolCalls)
	}
}

// In a conversation each turn is asked what its own input was.
func TestASequenceInAConversation(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	for _, word := range []string{"one", "two"} {
		r, err := Sequence("s", agent("a"), agent("b")).Run(t.Context(), word, braid.In(conv))
		if err != nil || r.Text() != "b(a("+word+"))" {
			t.Errorf("%q, %v", r.Text(), err)
		}
	}
}

// A flow is a tool of another agent, and takes an agent with tools.
func TestASequenceIsATool(t *testing.T) {
	t.Parallel()
	boss := braid.New("boss", &echo{name: "boss", tool: "report"}, braid.AsTool(report(), "Reports."))
	r, err := boss.Run(t.Context(), "go")
	if err != nil || r.Text() != "boss(d(c(d(b(a(found go))))))" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// What ends an agent without an answer ends the sequence.
func TestASequenceEndsWithTheErrorOfAnAgent(t *testing.T) {
	t.Parallel()
	bad := braid.New("bad", &echo{name: "bad", fail: event.ErrModelAuth})
	r, err := Sequence("s", agent("a"), bad, agent("c")).Run(t.Context(), "go")
	if !errors.Is(err, event.ErrModelAuth) || r.Status != event.RunFailed || r.Why != event.WhyFailed || r.Metrics.ModelCalls != 2 {
		t.Errorf("%v, %s, %s, %d calls", err, r.Status, r.Why, r.Metrics.ModelCalls)
	}
}

// A failed sequence that is continued goes on with the agent that failed.
func TestASequenceIsContinued(t *testing.T) {
	t.Parallel()
	m := &echo{name: "b", fail: event.ErrModelAuth}
	conv := braid.NewConversation()
	s := Sequence("s", agent("a"), braid.New("b", m), agent("c"))
	if _, err := s.Run(t.Context(), "go", braid.In(conv)); !errors.Is(err, event.ErrModelAuth) {
		t.Fatal(err)
	}
	m.fail = ""
	r, err := s.Resume(t.Context(), conv)
	if err != nil || r.Text() != "c(b(a(go)))" || r.Metrics.ModelCalls != 2 {
		t.Errorf("%q, %d calls, %v", r.Text(), r.Metrics.ModelCalls, err)
	}
}

// Limits of a flow bound what is below it.
func TestTheLimitsOfAFlow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits braid.Limits
		stop   event.StopReason
		calls  int
	}{
		{braid.Limits{AllCycles: 1}, event.StopLimitCycles, 1},
		{braid.Limits{Scopes: 3}, event.StopLimitScopes, 2},
		{braid.Limits{Depth: -1}, event.StopEndTurn, 3},
	} {
		s := Sequence("s", agent("a"), agent("b"), agent("c")).Use(braid.Limit(c.limits))
		r, err := s.Run(t.Context(), "go")
		if r.Stop != c.stop || r.Metrics.ModelCalls != c.calls || r.Status != event.RunCompleted || (err != nil) != (c.stop != event.StopEndTurn) {
			t.Errorf("%+v: %s after %d calls, %s, %v", c.limits, r.Stop, r.Metrics.ModelCalls, r.Status, err)
		}
	}
}

// A question inside parks the run, and the answer goes on.
func TestAQuestionInsideAFlow(t *testing.T) {
	t.Parallel()
	ask := braid.Func("look", "Asks.", func(ctx context.Context, in input) (string, error) {
		word, err := braid.Ask[string](ctx, "Which?")
		return in.Input + " " + word, err
	})
	s := Sequence("s", agent("a"), braid.New("b", &echo{name: "b", tool: "look"}, ask), agent("c"))
	conv := braid.NewConversation()
	r, err := s.Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Status != event.RunWaiting || len(r.Questions) != 1 {
		t.Fatal(err, r.Status, r.Questions)
	}
	if err := conv.Answer(t.Context(), r.Questions[0].Token, "this"); err != nil {
		t.Fatal(err)
	}
	if r, err = s.Resume(t.Context(), conv); err != nil || r.Text() != "c(b(a(go) this))" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// Cancelling closes every scope.
func TestCancellingAFlow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stop := braid.Func("look", "Stops.", func(ctx context.Context, _ input) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	inner := Sequence("inner", braid.New("b", &echo{name: "b", tool: "look"}, stop))
	conv := braid.NewConversation()
	r, err := Sequence("s", agent("a"), inner).Run(ctx, "go", braid.In(conv))
	if !errors.Is(err, context.Canceled) || r.Status != event.RunCancelled {
		t.Fatal(err, r.Status)
	}
	open := 0
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Body.(type) {
		case *event.ScopeOpened:
			open++
		case *event.ScopeClosed:
			open--
		}
	}
	if open != 0 {
		t.Errorf("%d scopes are left open", open)
	}
}

// kindFunc is a kind of one function.
type kindFunc func(Scope) Command

func (f kindFunc) Next(s Scope) Command { return f(s) }

// What a kind does wrong fails the run, never the process.
func TestAKindThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next kindFunc
		want string
	}{
		"panics":               {func(Scope) Command { panic("oh") }, "panicked: oh"},
		"waits for nothing":    {func(Scope) Command { return Command{} }, "nothing is left to wait for"},
		"opens somebody else":  {func(Scope) Command { return Command{Open: []Opening{{Agent: "x"}}} }, `the agent "x"`},
		"opens and never ends": {func(Scope) Command { return Command{Open: []Opening{{Agent: "a"}}} }, "as many agents as it may"},
	} {
		s := braid.NewFlow("s", c.next, agent("a")).Use(braid.Limit(braid.Limits{Scopes: 5}))
		if r, err := s.Run(t.Context(), "go"); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, %s", name, err, r.Stop)
		}
	}
}

func TestAFlowThatIsMadeWrong(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*braid.Agent{
		"no name": Sequence("", agent("a")), "no kind": braid.NewFlow("s", nil), "a nil": Sequence("s", nil),
		"two of one name": Sequence("s", agent("a"), agent("a")), "its own name": Sequence("a", agent("a")),
		"a wrong agent": Sequence("s", braid.New("a", nil)),
	} {
		if _, err := a.Run(t.Context(), "go"); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// all opens all its agents at once, and joins their answers in the order of the agents.
type all struct{}

func (all) Next(s Scope) Command {
	if len(s.Children) == 0 {
		var open []Opening
		for i, a := range s.Agents {
			open = append(open, Opening{Agent: a, Input: s.Input, Node: fmt.Sprint("n", i)})
		}
		return Command{Open: open}
	}
	cmd := Command{Finish: true}
	for _, c := range s.Children {
		cmd.Output = append(cmd.Output, c.Output...)
	}
	return cmd
}

// A kind that opens several at once waits for all of them, also where it says that it is done.
func TestSeveralAtOnce(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	r, err := braid.NewFlow("s", all{}, agent("x"), report(), agent("z")).Run(t.Context(), "go", braid.In(conv))
	if got := strings.ReplaceAll(r.Text(), "\n", ""); err != nil || got != "x(go)d(c(d(b(a(found go)))))z(go)" {
		t.Errorf("%q, %v", got, err)
	}
	var nodes []string
	for e, err := range conv.Events(t.Context(), 0) {
		if b, ok := e.Body.(*event.ScopeOpened); err == nil && ok && b.Parent == "" {
			nodes = append(nodes, b.ID+" "+b.Node)
		}
	}
	if want := []string{"f1 n0", "f2 n1", "f3 n2"}; !slices.Equal(nodes, want) {
		t.Errorf("%q", nodes)
	}
}
