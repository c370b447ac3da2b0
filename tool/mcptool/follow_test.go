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
)

// asking is a model that calls a tool in each cycle, and notes what it is offered.
type asking struct {
	mu      sync.Mutex
	calls   []string
	offered [][]string
}

func (*asking) Info() braid.ModelInfo { return braid.ModelInfo{Name: "test:asking"} }

func (m *asking) Stream(_ context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, len(req.Tools))
	for i := range req.Tools {
		names[i] = req.Tools[i].Name
	}
	m.offered = append(m.offered, names)
	return func(yield func(braid.Chunk, error) bool) {
		if req.Cycle > len(m.calls) {
			_ = yield(braid.Chunk{Kind: braid.ChunkText, Text: "done"}, nil) && yield(braid.Chunk{Kind: braid.ChunkStop}, nil)
			return
		}
		_ = yield(braid.Chunk{Kind: braid.ChunkCall, ID: "c", Text: m.calls[req.Cycle-1]}, nil) &&
			yield(braid.Chunk{Kind: braid.ChunkStop, Stop: event.StopToolUse}, nil)
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
			agent = braid.New("a", model, s.Part(), braid.Tools(wait))
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

// Where an agent has a tool of its own of that name, it keeps what it has, and somebody is told.
func TestAnAgentKeepsItsToolsWhereAListClashes(t *testing.T) {
	t.Parallel()
	s := connect(t, patient(), inside(t, "everything", everything(nil)))
	own := braid.Func("grown", "Is the agent's own.", func(context.Context, struct{}) (string, error) { return "own", nil })
	agent := braid.New("a", &asking{}, s.Part(), braid.Tools(own))
	failed := make(chan error, 8)
	defer s.Follow(agent, func(err error) { failed <- err })()
	before := agent.Tools()
	if got := text(t, s, "grow", "{}"); got != "grew" {
		t.Fatal(got)
	}
	if err := <-failed; event.KindOf(err) != event.ErrInvalid || !strings.Contains(err.Error(), "keeps the tools") {
		t.Error(err)
	}
	if !slices.Equal(before, agent.Tools()) {
		t.Error("its tools have changed")
	}
}
