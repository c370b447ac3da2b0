package flow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// forest draws trees of agents of every kind. A tree is a function, because each driver makes its own.
type forest struct {
	t *rapid.T
	n int
	// asks says that functions may ask.
	asks bool
	// alone leaves parallel agents out: which of them reaches a limit first is a matter of time.
	alone bool
	// quiet leaves out functions that change state: in a race it is a matter of time whether a loser has changed it.
	quiet bool
	// blocks says that races have a runner that never ends by itself.
	blocks bool
}

// passes is a model that first calls a tool which names another agent, and answers like [echo] from then on.
type passes struct {
	echo

	to string
}

func (m *passes) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if len(req.Messages) > 1 {
		return m.echo.Stream(ctx, req)
	}
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range []model.Chunk{
			{Kind: model.ChunkCall, ID: "c1", Text: m.tool},
			{Kind: model.ChunkCallInput, Text: to(m.to, "")},
			{Kind: model.ChunkStop, Stop: event.StopToolUse},
		} {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func passing(name, tool, to string) *braid.Agent {
	return braid.New(name, &passes{echo{name: name, tool: tool}, to})
}

func (f *forest) name(kind string) string {
	f.n++
	return fmt.Sprint(kind, f.n)
}

func (f *forest) tree(depth int) func() *braid.Agent {
	kinds := 6
	if depth > 0 {
		kinds = 11
	}
	switch rapid.IntRange(0, kinds-1).Draw(f.t, "kind") {
	case 0:
		name := f.name("m")
		return func() *braid.Agent { return agent(name) }
	case 1:
		name := f.name("t")
		return func() *braid.Agent {
			return braid.New(name, &echo{name: name, tool: "look"}, braid.Func("look", "Looks.", look, tool.Pure()))
		}
	case 2:
		if f.quiet {
			return f.tree(depth)
		}
		name, escalates := f.name("f"), rapid.IntRange(0, 3).Draw(f.t, "escalates")
		return func() *braid.Agent { return counts(name, escalates) }
	case 3:
		name, asks := f.name("q"), f.asks
		return func() *braid.Agent {
			return Func(name, func(ctx context.Context, in string) (string, error) {
				if !asks {
					return in + name, nil
				}
				word, err := braid.Ask[string](ctx, name)
				return in + word, err
			}, tool.Idempotent())
		}
	case 4:
		return f.team()
	case 5:
		return f.swarm()
	case 6, 7:
		name, parts := f.name("s"), f.trees(depth)
		return func() *braid.Agent { return Sequence(name, agentsOf(parts)...) }
	case 8:
		if f.alone {
			return f.tree(depth)
		}
		return f.race(depth)
	case 9:
		if f.alone {
			return f.tree(depth)
		}
		name, parts, atOnce := f.name("p"), f.trees(depth), rapid.IntRange(0, 2).Draw(f.t, "at once")
		return func() *braid.Agent {
			return Parallel(name, ParallelOptions{AtOnce: atOnce, Policy: All, Merge: Join("+")}, agentsOf(parts)...)
		}
	default:
		name, parts, rounds := f.name("l"), f.trees(depth), rapid.IntRange(1, 2).Draw(f.t, "rounds")
		o := LoopOptions{Max: rounds, Until: func(_ context.Context, answer string) (bool, error) { return len(answer) > 200, nil }}
		if rapid.Bool().Draw(f.t, "everything") {
			o.Input = Everything
		}
		return func() *braid.Agent { return Loop(name, o, agentsOf(parts)...) }
	}
}

// team draws a team whose lead hands over to its second member.
func (f *forest) team() func() *braid.Agent {
	lead, first, second := f.name("lead"), f.name("sub"), f.name("sub")
	o := TeamOptions{Control: Control(rapid.IntRange(0, 2).Draw(f.t, "control")), Sees: Sees(rapid.IntRange(0, 2).Draw(f.t, "sees"))}
	return func() *braid.Agent {
		return Team(passing(lead, TransferTool, second), o, Sub{Agent: agent(first)}, Sub{Agent: agent(second)})
	}
}

// swarm draws a swarm of two whose first member hands off.
func (f *forest) swarm() func() *braid.Agent {
	name, first, second := f.name("w"), f.name("a"), f.name("b")
	s := Swarm{Name: name, Brief: rapid.Bool().Draw(f.t, "brief")}
	return func() *braid.Agent {
		mine := s
		mine.Members = []Member{{Agent: passing(first, handoffName, second)}, {Agent: agent(second)}}
		return mine.Agent()
	}
}

// race draws a race of trees that give the same answer, because which of them wins is a matter of time.
func (f *forest) race(depth int) func() *braid.Agent {
	quiet := f.quiet
	f.quiet = true
	name, part := f.name("r"), f.tree(depth-1)
	f.quiet = quiet
	o := ParallelOptions{AtOnce: rapid.IntRange(0, 2).Draw(f.t, "at once"), Policy: Race}
	runners, blocks := rapid.IntRange(1, 3).Draw(f.t, "runners"), f.blocks
	return func() *braid.Agent {
		list := slices.Repeat([]*braid.Agent{part()}, runners)
		if blocks {
			list = append(list, Func(name+"never", func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}, tool.Pure()))
		}
		return Parallel(name, o, list...)
	}
}

func (f *forest) trees(depth int) (list []func() *braid.Agent) {
	for range rapid.IntRange(1, 3).Draw(f.t, "parts") {
		list = append(list, f.tree(depth-1))
	}
	return list
}

func agentsOf(parts []func() *braid.Agent) (agents []*braid.Agent) {
	for _, p := range parts {
		agents = append(agents, p())
	}
	return agents
}

// end runs or resumes a tree to its end, and answers its questions on the way.
func end(ctx context.Context, a *braid.Agent, conv *braid.Conversation, resumes bool) (*braid.Result, error) {
	var r *braid.Result
	var err error
	if resumes {
		r, err = a.Resume(ctx, conv)
	} else {
		r, err = a.Run(ctx, "go", braid.In(conv))
	}
	for err == nil && r.Status == event.RunWaiting {
		if len(r.Questions) == 0 {
			return r, errors.New("it waits for nothing")
		}
		for i := range r.Questions {
			q := &r.Questions[len(r.Questions)-1-i]
			if err := conv.Answer(ctx, q.Token, "<"+q.Prompt+">"); err != nil {
				return r, err
			}
		}
		r, err = a.Resume(ctx, conv)
	}
	return r, err
}

// Any tree of agents comes to the same end, wherever its driver died.
func TestTreesGoOnAfterACrash(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &forest{t: t, asks: rapid.Bool().Draw(t, "asks"), alone: rapid.IntRange(0, 3).Draw(t, "limited") == 0}
		f.blocks = !f.asks
		made := f.tree(3)
		limits := braid.Limits{Depth: 20, Scopes: 200}
		if f.alone {
			limits.Scopes = rapid.IntRange(1, 6).Draw(t, "scopes")
		}
		tree := func() *braid.Agent { return Sequence("root", made()).Use(braid.Limit(limits)) }
		store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
		want, failed := end(context.Background(), tree(), braid.Open(store, "c"), false)
		if want.Status != event.RunCompleted {
			t.Fatalf("%s, %v", want.Status, failed)
		}
		if failed != nil && want.Stop != event.StopLimitScopes {
			t.Fatal(failed)
		}
		state := fmt.Sprint(want.State)
		for _, n := range store.ends[:len(store.ends)-1] {
			conv := cutRun(t, store.log, n)
			got, err := end(context.Background(), tree(), conv, true)
			if (err == nil) != (failed == nil) || got.Status != want.Status || got.Stop != want.Stop || failed == nil && got.Text() != want.Text() {
				t.Fatalf("cut after event %d: %q, %s, %s, %v\nwant %q, %s, %v", n, got.Text(), got.Status, got.Stop, err, want.Text(), want.Stop, failed)
			}
			if failed == nil && fmt.Sprint(got.State) != state {
				t.Fatalf("cut after event %d: the state is %v, want %s", n, got.State, state)
			}
			if left := leftOpen(conv); left != 0 {
				t.Fatalf("cut after event %d: %d scopes are left open", n, left)
			}
		}
	})
}

// cutRun is cut for a log in which the run may have parked and been answered.
func cutRun(t *rapid.T, log []*event.Event, n int) *braid.Conversation {
	store := journal.NewMemory(journal.MemoryOptions{})
	run := journal.Run{
		ID: log[0].Run, Conversation: log[0].Conversation, Agent: "root",
		Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}}},
	}
	_, err := store.Admit(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := store.Acquire(context.Background(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(context.Background(), opened.Lease, journal.Batch{Events: log[:n], Release: true}); err != nil {
		t.Fatal(err)
	}
	return braid.Open(store, run.Conversation)
}

// leftOpen counts the scopes without an end.
func leftOpen(conv *braid.Conversation) (open int) {
	for e, err := range conv.Events(context.Background(), 0) {
		if err != nil {
			return -1
		}
		switch e.Body.(type) {
		case *event.ScopeOpened:
			open++
		case *event.ScopeClosed:
			open--
		}
	}
	return open
}

// stopper cancels a run at its n-th commit.
type stopper struct {
	*journal.Memory

	at   int
	stop context.CancelFunc
}

func (s *stopper) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if s.at--; s.at == 0 {
		s.stop()
	}
	return s.Memory.Commit(ctx, l, b)
}

// A tree that is cancelled at any commit ends as cancelled and leaves nothing open.
func TestTreesAreCancelled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &forest{t: t, blocks: true}
		made := f.tree(3)
		tree := func() *braid.Agent {
			return Sequence("root", made()).Use(braid.Limit(braid.Limits{Depth: 20, Scopes: 200}))
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		store := &stopper{Memory: journal.NewMemory(journal.MemoryOptions{}), at: rapid.IntRange(1, 30).Draw(t, "commit"), stop: stop}
		conv := braid.Open(store, "c")
		r, err := end(ctx, tree(), conv, false)
		switch {
		case r.Status == event.RunCompleted && err == nil:
		case r.Status == event.RunCancelled && errors.Is(err, context.Canceled):
		default:
			t.Fatalf("%s, %v", r.Status, err)
		}
		if left := leftOpen(conv); left != 0 {
			t.Fatalf("%d scopes are left open", left)
		}
		if strings.Contains(r.Text(), "panic") {
			t.Fatal(r.Text())
		}
	})
}

// scopesOf counts the scopes of a conversation.
func scopesOf(conv *braid.Conversation) (n int) {
	for e, err := range conv.Events(context.Background(), 0) {
		if _, ok := e.Body.(*event.ScopeOpened); ok && err == nil {
			n++
		}
	}
	return n
}

// A bound on scopes holds for branches side by side, too, and after a crash anywhere. Which of the branches reaches it first is a
// matter of time, so the answers may differ.
func TestTreesWithABoundGoOnAfterACrash(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &forest{t: t, asks: rapid.Bool().Draw(t, "asks")}
		var parts []func() *braid.Agent
		for range rapid.IntRange(2, 4).Draw(t, "branches") {
			parts = append(parts, f.tree(2))
		}
		policy := Policy(rapid.IntRange(0, 2).Draw(t, "policy"))
		bound := rapid.IntRange(1, 12).Draw(t, "scopes")
		tree := func() *braid.Agent {
			whole := Parallel("whole", ParallelOptions{Policy: policy}, agentsOf(parts)...)
			return Sequence("root", whole).Use(braid.Limit(braid.Limits{Depth: 20, Scopes: bound}))
		}
		check := func(what string, conv *braid.Conversation, r *braid.Result, err error) {
			switch {
			case r.Status != event.RunCompleted || err != nil && r.Stop != event.StopLimitScopes:
				t.Fatalf("%s: %s, %s, %v", what, r.Status, r.Stop, err)
			case scopesOf(conv)+1 > bound:
				t.Fatalf("%s: %d scopes were opened with the root, %d are allowed", what, scopesOf(conv)+1, bound)
			case leftOpen(conv) != 0:
				t.Fatalf("%s: %d scopes are left open", what, leftOpen(conv))
			}
		}
		store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
		conv := braid.Open(store, "c")
		r, err := end(context.Background(), tree(), conv, false)
		check("whole", conv, r, err)
		for _, n := range store.ends[:len(store.ends)-1] {
			conv := cutRun(t, store.log, n)
			r, err := end(context.Background(), tree(), conv, true)
			check(fmt.Sprint("cut after event ", n), conv, r, err)
		}
	})
}
