package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// says is a kind that always says the same.
type says struct{ cmd kind.Command }

func (k says) Next(kind.Scope) kind.Command { return k.cmd }

// opened opens a child of the root without a call, and closed closes it.
func opened(h *foldtest.History, id string) *foldtest.History {
	return h.Add(0, "", 0, &event.ScopeOpened{ID: id, Node: "n", Agent: "sub", Depth: 1})
}

func closed(h *foldtest.History, id string) *foldtest.History {
	return h.Add(0, "", 0, &event.ScopeClosed{ID: id, Stop: event.StopEndTurn})
}

// flowCases are in the order of Flow.Next.
var flowCases = []struct {
	name      string
	log       *foldtest.History
	says      kind.Command
	limits    decide.Limits
	cancelled bool

	do   decide.Do
	why  event.Why
	stop event.StopReason
	kind event.ErrorKind
}{
	{name: "cancelled", log: opened(foldtest.Asked(), "f1"), cancelled: true, do: decide.Finish, why: event.WhyCancelled, stop: event.StopCancelled, kind: event.ErrCancelled},
	{name: "the program calls a tool", log: foldtest.Called("a"), do: decide.Tools},
	{name: "and it is done", log: foldtest.Called("a").Ends(0, 0, false), do: decide.Finish, why: event.WhyDirectCall, stop: event.StopEndTurn},
	{
		name: "a hook has answered", log: foldtest.Asked().Model(1, 1).Add(1, "m1", 1, &event.AssistantMessage{Stop: event.StopEndTurn, Hook: true}),
		do: decide.Finish, why: event.WhyEndTurn, stop: event.StopEndTurn,
	},
	{name: "it opens", log: foldtest.Asked(), says: kind.Command{Open: []kind.Opening{{Agent: "sub"}}}, do: decide.Open, why: event.WhyFlow},
	{name: "it opens beside another", log: opened(foldtest.Asked(), "f1"), says: kind.Command{Open: []kind.Opening{{Agent: "sub"}}}, do: decide.Open, why: event.WhyFlow},
	{name: "it opens a stranger", log: foldtest.Asked(), says: kind.Command{Open: []kind.Opening{{Agent: "x"}}}, do: decide.Finish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrInvalid},
	{name: "it opens a stranger beside another", log: opened(foldtest.Asked(), "f1"), says: kind.Command{Open: []kind.Opening{{Agent: "x"}}}, do: decide.Wait, why: event.WhyWaiting},
	{
		name: "it opens where a limit is reached", log: opened(foldtest.Asked(), "f1").Add(1, "f1/m1", 1, &event.StepBegun{Step: event.StepModel}),
		says: kind.Command{Open: []kind.Opening{{Agent: "sub"}}}, limits: decide.Limits{All: decide.Bounds{Cycles: 1}}, do: decide.Wait, why: event.WhyWaiting,
	},
	{name: "it waits", log: opened(foldtest.Asked(), "f1"), do: decide.Wait, why: event.WhyWaiting},
	{name: "it waits for a time", log: foldtest.Asked(), says: kind.Command{Until: foldtest.Later}, do: decide.Wait, why: event.WhyWaiting},
	{name: "it waits for a time that is past", log: foldtest.Asked(), says: kind.Command{Until: foldtest.Noon}, do: decide.Finish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrInvalid},
	{name: "it waits for nothing", log: closed(opened(foldtest.Asked(), "f1"), "f1"), do: decide.Finish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrInvalid},
	{name: "it finishes", log: closed(opened(foldtest.Asked(), "f1"), "f1"), says: kind.Command{Finish: true}, do: decide.Finish, why: event.WhyFlow, stop: event.StopEndTurn},
	{name: "it finishes too early", log: opened(foldtest.Asked(), "f1"), says: kind.Command{Finish: true}, do: decide.Wait, why: event.WhyWaiting},
	{name: "it finishes its own way", log: foldtest.Asked(), says: kind.Command{Finish: true, Stop: "settled"}, do: decide.Finish, why: event.WhyFlow, stop: "settled"},
	{name: "it fails", log: foldtest.Asked(), says: kind.Command{Finish: true, Err: &event.Error{Kind: event.ErrModel}}, do: decide.Finish, why: event.WhyFailed, stop: event.StopError, kind: event.ErrModel},
	{
		name: "it ends by a limit", log: foldtest.Asked(), says: kind.Command{Finish: true, Stop: event.StopLimitCost, Err: &event.Error{Kind: event.ErrLimit}},
		do: decide.Finish, why: event.WhyLimit, stop: event.StopLimitCost, kind: event.ErrLimit,
	},
}

func TestFlowDecidesInItsOrder(t *testing.T) {
	t.Parallel()
	for _, c := range flowCases {
		p := decidetest.Policy(c.limits)
		p.Cancelled = c.cancelled
		f := decide.Flow{Kind: says{c.says}, Agents: []string{"sub"}}
		got := decide.Next(f, fold.New(c.log.Log).Run.Scopes[0], p, foldtest.Noon)
		is := event.ErrorKind("")
		if got.Err != nil {
			is = got.Err.Kind
		}
		if got.Do != c.do || got.Why != c.why || got.Stop != c.stop || is != c.kind {
			t.Errorf("%s: do %d why %q stop %q kind %q, want do %d why %q stop %q kind %q", c.name, got.Do, got.Why, got.Stop, is, c.do, c.why, c.stop, c.kind)
		}
		agent := func(*fold.Conversation, *fold.Scope) (decide.Kind, *decide.Policy) { return f, p }
		if err := decidetest.OneCommand(c.log.Log, agent, nil); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A kind sees what the log says of its children: not their thinking, and nothing of an earlier message's.
func TestWhatAKindSees(t *testing.T) {
	t.Parallel()
	h := closed(opened(foldtest.Asked(), "f1"), "f1")
	h.Add(0, "", 0, &event.AssistantMessage{Content: []event.Block{&event.Text{Text: "done"}}, Stop: event.StopEndTurn})
	h.Add(0, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: "more"}}})
	opened(h, "f2").Add(0, "", 0, &event.ScopeClosed{ID: "f2", Stop: event.StopEndTurn, Output: []event.Block{
		&event.Thinking{Text: "hm"}, &event.Text{Text: "so", Signature: "s"}, &event.ToolCall{ID: "c"},
	}})
	opened(h, "f3")
	var seen kind.Scope
	look := func(s kind.Scope) kind.Command { seen = s; return kind.Command{} }
	decide.Next(decide.Flow{Kind: kindFunc(look), Agents: []string{"sub"}}, fold.New(h.Log).Run.Scopes[0], decidetest.Policy(decide.Limits{}), foldtest.Noon)
	var children []string
	for _, c := range seen.Children {
		children = append(children, strings.Join([]string{c.Node, c.Agent, event.TextOf(c.Output), string(c.Stop)}, " "))
	}
	if got := strings.Join(children, ", "); got != "n sub so end_turn, n sub  " || len(seen.Children[0].Output) != 1 || !seen.Children[1].Open {
		t.Errorf("the children are %q", got)
	}
	if event.TextOf(seen.Input) != "more" || !seen.Now.Equal(foldtest.Noon) || seen.Now.Equal(time.Time{}) {
		t.Errorf("it was asked %q at %v", event.TextOf(seen.Input), seen.Now)
	}
}

type kindFunc func(kind.Scope) kind.Command

func (f kindFunc) Next(s kind.Scope) kind.Command { return f(s) }
