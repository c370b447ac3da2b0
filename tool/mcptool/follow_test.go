package mcptool_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool/mcptool"
)

// asking is a model that calls a tool in each cycle, and notes what it is offered.
type asking struct {
	mu      sync.Mutex
	calls   []string
	offered [][]string
}

func (*asking) Info() model.Info { return model.Info{Name: "test:asking"} }

func (m *asking) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, len(req.Tools))
	for i := range req.Tools {
		names[i] = req.Tools[i].Name
	}
	m.offered = append(m.offered, names)
	return func(yield func(model.Chunk, error) bool) {
		if req.Cycle > len(m.calls) {
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "done"}, nil) && yield(model.Chunk{Kind: model.ChunkStop}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: m.calls[req.Cycle-1]}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
	}
}

// A list that changes in the middle of a run is what the next model call is offered; the log says so.
func TestAnAgentFollowsAList(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, patient(), w.config(t))
			model := &asking{calls: []string{"grow", "wait", "grown"}}
			var agent *braid.Agent
			wait := braid.Func("wait", "Waits for the new tool.", func(context.Context, struct{}) (string, error) {
				eventually(t, "the agent has the new tool", func() bool {
					return slices.ContainsFunc(agent.Tools(), func(t braid.Tool) bool { return t.Spec().Name == "grown" })
				})
				return "it is there", nil
			})
			agent = braid.New("a", model, braid.From(s), braid.Tools(wait))
			stop := s.Follow(agent, func(err error) { t.Error(err) })
			conv := braid.NewConversation()
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if err != nil || r.Text() != "done" {
				t.Fatal(r, err)
			}
			has := func(i int) bool { return slices.Contains(model.offered[i], "grown") }
			if has(0) || !has(2) || !has(3) || !slices.Contains(model.offered[3], "wait") {
				t.Errorf("the model was offered %q", model.offered)
			}
			said := 0
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch b := e.Body.(type) {
				case *event.StepBegun:
					if slices.Contains(b.Tools, "grown") {
						said++
					}
				case *event.StepEnded:
					if b.Result != nil && b.Result.IsError {
						t.Errorf("%s: %s", b.Result.Name, event.TextOf(b.Result.Content))
					}
				}
			}
			if said != 1 {
				t.Errorf("the log names the new tool %d times", said)
			}
			stop()
		})
	}
}

// Where an agent has a tool of its own of that name, it keeps that one, and somebody is told.
func TestAnAgentKeepsItsToolsWhereAListClashes(t *testing.T) {
	t.Parallel()
	o, skipped := patient(), make(chan mcptool.Skipped, 8)
	o.Skipped = func(_ string, s mcptool.Skipped) { skipped <- s }
	s := connect(t, o, inside(t, "everything", everything(nil)))
	own := braid.Func("grown", "Is the agent's own.", func(context.Context, struct{}) (string, error) { return "own", nil })
	agent := braid.New("a", &asking{}, braid.From(s), braid.Tools(own))
	defer s.Follow(agent, func(err error) { t.Error(err) })()
	before := len(agent.Tools())
	if got := text(t, s, "grow", "{}"); got != "grew" {
		t.Fatal(got)
	}
	if got := <-skipped; got.Tool != "grown" || !strings.Contains(got.Why, "two tools are called") {
		t.Error(got)
	}
	eventually(t, "the agent has its tools", func() bool { return len(agent.Tools()) == before })
	for _, one := range agent.Tools() {
		if _, theirs := one.(*mcptool.Tool); theirs && one.Spec().Name == "grown" {
			t.Error("its tool is the server's")
		}
	}
}

// choosy is a model that cannot be told of some tools.
type choosy struct {
	asking

	refuses []string
}

func (*choosy) Info() model.Info { return model.Info{Name: "test:choosy"} }

func (m *choosy) Check(req *model.Request) error {
	for i := range req.Tools {
		if slices.Contains(m.refuses, req.Tools[i].Name) {
			return &event.Error{Kind: event.ErrInvalid, Message: "the tool " + req.Tools[i].Name + " cannot be told"}
		}
	}
	return nil
}

// A tool that a model cannot be told of is left out for that model, from the start and when it comes later. The agents of other models
// have it, and no run fails.
func TestOneToolOfAServerIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			told := map[mcptool.Skipped]int{}
			o := patient()
			o.Skipped = func(_ string, s mcptool.Skipped) { mu.Lock(); told[s]++; mu.Unlock() }
			s := connect(t, o, w.config(t))
			picky, other := &choosy{refuses: []string{"echo", "grown"}}, &asking{}
			agents := []*braid.Agent{braid.New("a", picky, braid.From(s)), braid.New("b", other, braid.From(s))}
			for _, agent := range agents {
				defer s.Follow(agent, func(err error) { t.Error(err) })()
			}
			run := func() (skipped []string) {
				t.Helper()
				for _, agent := range agents {
					conv := braid.NewConversation()
					if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
						t.Fatal(err)
					}
					for e, err := range conv.Events(t.Context(), 0) {
						if err != nil {
							t.Fatal(err)
						}
						if b, ok := e.Body.(*event.RunStarted); ok {
							for _, one := range b.Servers[0].Skipped {
								skipped = append(skipped, agent.Name()+" "+one.Tool)
							}
						}
					}
				}
				return skipped
			}
			has := func(m *asking, name string) bool { return slices.Contains(m.offered[len(m.offered)-1], name) }
			if got := run(); !slices.Equal(got, []string{"a echo"}) || has(&picky.asking, "echo") || !has(&picky.asking, "grow") || !has(other, "echo") {
				t.Errorf("left out: %q; one model has %q, the other %q", got, picky.offered, other.offered)
			}
			if got := text(t, s, "grow", "{}"); got != "grew" {
				t.Fatal(got)
			}
			eventually(t, "both agents have the new list", func() bool {
				return !slices.ContainsFunc(agents, func(a *braid.Agent) bool {
					return !slices.ContainsFunc(a.Tools(), func(t braid.Tool) bool { return t.Spec().Name == "grown" })
				})
			})
			if got := run(); !slices.Equal(got, []string{"a echo", "a grown"}) || has(&picky.asking, "grown") || !has(&picky.asking, "grow") || !has(other, "grown") {
				t.Errorf("after the change are left out: %q; one model has %q, the other %q", got, picky.offered, other.offered)
			}
			var status []string
			for _, one := range s.Status()[0].Skipped {
				status = append(status, one.Tool+" "+one.Why)
			}
			all := strings.Join(status, "\n")
			if !strings.Contains(all, "echo it is left out for the model test:choosy: the tool echo cannot be told") || !strings.Contains(all, "grown it is left") {
				t.Errorf("the status says %s", all)
			}
			mu.Lock()
			defer mu.Unlock()
			for one, n := range told {
				if n != 1 {
					t.Errorf("%+v is told %d times", one, n)
				}
			}
			if len(told) != 2 {
				t.Errorf("it is told of %v", told)
			}
		})
	}
}
