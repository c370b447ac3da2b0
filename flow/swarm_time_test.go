package flow

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// slow is a model that takes its time and then hands the work on, or answers if it names nobody.
type slow struct {
	name, next string
	takes      time.Duration
}

func (m *slow) Info() model.Info { return model.Info{Name: "test:" + m.name} }

func (m *slow) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		select {
		case <-time.After(m.takes):
		case <-ctx.Done():
			yield(model.Chunk{}, ctx.Err())
			return
		}
		h := &hands{name: m.name}
		if m.next != "" {
			h.args = []string{to(m.next, "")}
		}
		h.Stream(ctx, req)(yield)
	}
}

func takes(name string, d time.Duration, next string) Member {
	return Member{Agent: braid.New(name, &slow{name: name, next: next, takes: d})}
}

// A swarm and its turns end in time, with an error that says whose time was over.
func TestTheTimeOfASwarm(t *testing.T) {
	t.Parallel()
	const second = time.Second
	own := takes("a", 3*second, "b")
	own.Timeout = 2 * second
	longer := takes("a", 3*second, "b")
	longer.Timeout = 4 * second
	for name, c := range map[string]struct {
		swarm Swarm
		want  string
		took  time.Duration
	}{
		"in time":             {Swarm{Timeout: 7 * second, NodeTimeout: 4 * second, Members: []Member{takes("a", 3*second, "b"), takes("b", 3*second, "")}}, "", 6 * second},
		"the whole":           {Swarm{Timeout: 5 * second, Members: []Member{takes("a", 3*second, "b"), takes("b", 3*second, "")}}, "the swarm took longer than 5s", 5 * second},
		"a turn":              {Swarm{NodeTimeout: 4 * second, Members: []Member{takes("a", 3*second, "b"), takes("b", 5*second, "")}}, `agent "b" took longer than 4s`, 7 * second},
		"the first that ends": {Swarm{Timeout: 9 * second, NodeTimeout: 2 * second, Members: []Member{takes("a", 3*second, ""), takes("b", 0, "")}}, `agent "a" took longer than 2s`, 2 * second},
		"a member's own":      {Swarm{NodeTimeout: 9 * second, Members: []Member{own, takes("b", 0, "")}}, `agent "a" took longer than 2s`, 2 * second},
		"a member's longer":   {Swarm{NodeTimeout: 2 * second, Members: []Member{longer, takes("b", second, "")}}, "", 4 * second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := c.swarm
			s.Name = "team"
			began := time.Now()
			r, err := s.Agent().Run(t.Context(), "start")
			switch {
			case c.want == "" && (err != nil || r.Text() != "b is done"):
				t.Errorf("%s: %q, %v", name, r.Text(), err)
			case c.want != "" && (!errors.Is(err, event.ErrTimeout) || !strings.Contains(err.Error(), c.want) || r.Stop != event.StopTimeout):
				t.Errorf("%s: %v, %s", name, err, r.Stop)
			}
			if took := time.Since(began); took != c.took {
				t.Errorf("%s: took %s, want %s", name, took, c.took)
			}
		})
	}
}

// The time of a swarm goes on while a member waits for an answer of a human. The run is parked until then, and the time is
// its alarm.
func TestTheTimeOfASwarmThatWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		swarm Swarm
		away  time.Duration
		want  string
	}{
		"in time":   {Swarm{Timeout: time.Hour, NodeTimeout: time.Hour}, time.Minute, ""},
		"the whole": {Swarm{Timeout: time.Hour, NodeTimeout: 3 * time.Hour}, time.Hour, "the swarm took longer than 1h0m0s"},
		"a turn":    {Swarm{Timeout: 3 * time.Hour, NodeTimeout: time.Hour}, time.Hour, `agent "asks" took longer than 1h0m0s`},
	} {
		synctest.Test(t, func(t *testing.T) {
			team := func() *braid.Agent {
				s := c.swarm
				s.Name, s.Members = "team", []Member{{Agent: Func("asks", func(ctx context.Context, _ string) (string, error) {
					return braid.Ask[string](ctx, "which?")
				}, tool.Idempotent())}}
				return s.Agent()
			}
			store := journal.NewMemory(journal.MemoryOptions{})
			conv := braid.Open(store, "c")
			sent, err := team().Send(t.Context(), conv, "start")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r, err := team().Drive(t.Context(), conv, sent.Run, braid.Work{})
			if err != nil || r.Status != event.RunWaiting || len(r.Questions) != 1 || !r.WakeAt.Equal(began.Add(time.Hour)) {
				t.Fatalf("%s: %s, %v, wakes at %s", name, r.Status, err, r.WakeAt)
			}
			time.Sleep(c.away)
			if c.want == "" {
				if err := conv.Answer(t.Context(), r.Questions[0].Token, "this"); err != nil {
					t.Fatal(err)
				}
			}
			r, err = team().Drive(t.Context(), braid.Open(store, "c"), sent.Run, braid.Work{})
			why := endOf(conv)
			if err != nil || c.want == "" && r.Text() != "this" ||
				c.want != "" && (!errors.Is(why, event.ErrTimeout) || !strings.Contains(why.Error(), c.want) || r.Stop != event.StopTimeout) {
				t.Errorf("%s: %q, %s, %s, %v, %v", name, r.Text(), r.Status, r.Stop, why, err)
			}
			if left := leftOpen(conv); left != 0 {
				t.Errorf("%s: %d scopes are left open", name, left)
			}
		})
	}
}

// endOf returns the error with which the last run of a conversation ended.
func endOf(conv *braid.Conversation) (why error) {
	for e, err := range conv.Events(context.Background(), 0) {
		if end, ok := e.Body.(*event.RunEnded); err == nil && ok && end.Err != nil {
			why = end.Err
		}
	}
	return why
}
