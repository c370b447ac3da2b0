package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// What a reader keeps of a run stays as it was, whatever runs after it: also of runs
// that were left in the middle, failed, wait for an answer, or go on beside others.
func TestWhatAReaderKeepsStaysAsItWas(t *testing.T) {
	t.Parallel()
	ask := braid.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
		return braid.Ask[string](ctx, "well?")
	})
	add := braid.Func("add", "Adds.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
	var all sync.WaitGroup
	for lane := range 4 {
		all.Go(func() {
			var kept []event.Event
			var told []string
			for turn := range 40 {
				word := fmt.Sprintf("lane %d, turn %d. ", lane, turn)
				long := append(says(word), says(strings.Repeat(word, turn))...)
				agent := braid.New("a", answers(asksFor("add", fmt.Sprintf(`{"A":%d,"B":1}`, turn)), long), add, ask)
				switch turn % 4 {
				case 1:
					agent = braid.New("a", answers(asksFor("ask", `{}`), says(word)), ask)
				case 2:
					agent = braid.New("a", answers(asksFor("none", `{}`, "add", `{"A":"x"}`)), add)
				}
				n := 0
				for e, err := range agent.Stream(t.Context(), word) {
					if err != nil {
						break // a failed run says so at its end
					}
					raw, err := json.Marshal(e)
					if err != nil {
						t.Error(err)
					}
					kept, told = append(kept, e), append(told, string(raw))
					if n++; turn%4 == 3 && n > turn/4 {
						break
					}
				}
			}
			for i := range kept {
				if raw, err := json.Marshal(kept[i]); err != nil || string(raw) != told[i] {
					t.Errorf("event %d was %s, and is %s now (%v)", i, told[i], raw, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// A tool that was left behind finds nobody when it comes back, neither while another run is at work nor after it, and
// ends.
func TestAStragglerFindsNoOtherRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := []chan struct{}{make(chan struct{}), make(chan struct{})}
		deaf := braid.Func("deaf", "Ignores its context.", func(ctx context.Context, in struct{ N int }) (string, error) {
			<-release[in.N]
			tool.Progress(ctx, "still here")
			return "late", nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		both := asksFor("deaf", `{"N":0}`, "deaf", `{"N":1}`)
		if r, err := braid.New("a", answers(both), deaf).Run(ctx, "go"); err == nil || r.Metrics.Stragglers != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		hears := func(ctx context.Context, _ struct{}) (string, error) {
			close(release[0])
			synctest.Wait() // all of that straggler has happened
			return "on time", ctx.Err()
		}
		other := braid.New("b", answers(asksFor("hears", `{}`), says("good")), braid.Func("hears", "Lets it go.", hears))
		for e, err := range other.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if raw, _ := json.Marshal(e); strings.Contains(string(raw), "still here") || strings.Contains(string(raw), "late") {
				t.Errorf("another run was told of it: %s", raw)
			}
		}
		close(release[1])
	})
}

// A model that keeps a request, which it must not, does not see another run's in it.
func TestAKeptRequestIsNoOtherRuns(t *testing.T) {
	t.Parallel()
	kept := map[*model.Request]bool{}
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if kept[req] {
			t.Error("a run's request stands where an earlier run's stood")
		}
		kept[req] = true
		return chunks(says("ok"))
	}}
	agent := braid.New("a", m)
	for range 50 {
		for _, err := range agent.Stream(context.Background(), "go") {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The requests of one run that hooks have seen are apart: a hook may keep one.
func TestARequestThatAHookKeepsStaysAsItWas(t *testing.T) {
	t.Parallel()
	var kept []*model.Request
	keep := braid.On(func(_ context.Context, e *hook.BeforeModel) error { kept = append(kept, e.Request); return nil })
	none := braid.Func("none", "Does nothing.", func(context.Context, struct{}) (string, error) { return "", nil })
	agent := braid.New("a", answers(asksFor("none", `{}`), says("ok")), none, keep)
	for _, err := range agent.Stream(context.Background(), "go") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(kept) != 2 || len(kept[0].Messages) != 1 || len(kept[1].Messages) != 3 {
		t.Errorf("the requests are %+v", kept)
	}
}
