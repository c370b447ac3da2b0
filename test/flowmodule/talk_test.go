package talk

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// bidder is a model that adds its letter, and agrees when enough was said.
type bidder struct {
	letter string
	enough int
}

func (b bidder) Info() model.Info { return model.Info{Name: "test:" + b.letter, Simulated: true} }

func (b bidder) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		text := req.Messages[len(req.Messages)-1].Text() + b.letter
		if len(text) >= b.enough {
			text += " agreed"
		}
		if yield(model.Chunk{Kind: model.ChunkText, Text: text}, nil) {
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
		}
	}
}

func agent() *braid.Agent {
	return New("talk", "agreed", braid.New("buyer", bidder{"b", 6}), braid.New("seller", bidder{"s", 6}))
}

// dying is a store under which the driver dies after so many commits.
type dying struct {
	*journal.Memory

	commits, after int
	lease          journal.Lease
}

var errDied = errors.New("the process is gone")

func (d *dying) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if d.after > 0 && d.commits >= d.after {
		return errDied
	}
	d.lease = l
	d.commits++
	return d.Memory.Commit(ctx, l, b)
}

// run runs the agent to its end. Its driver dies after so many commits; 0 means never.
func run(t *testing.T, after int) (r *braid.Result, commits int) {
	t.Helper()
	store := &dying{Memory: journal.NewMemory(journal.MemoryOptions{}), after: after}
	r, err := agent().Run(t.Context(), "x", braid.In(braid.Open(store, "c")))
	commits = store.commits
	if after == 0 || r.Status.Ended() {
		if err != nil {
			t.Fatal(err)
		}
		return r, commits
	}
	if !errors.Is(err, errDied) {
		t.Fatalf("after %d commits: %v", after, err)
	}
	// What the driver held is free when its lease runs out; here that need not be waited for.
	if err := store.Memory.Commit(t.Context(), store.lease, journal.Batch{Release: true}); err != nil {
		t.Fatal(err)
	}
	if r, err = agent().Resume(t.Context(), braid.Open(store.Memory, "c")); err != nil {
		t.Fatalf("after %d commits: %v", after, err)
	}
	return r, commits
}

// Wherever the driver dies, the next one goes on with whose turn it is.
func TestTalkGoesOnAfterACrash(t *testing.T) {
	want, commits := run(t, 0)
	if want.Text() != "xbsbsb agreed" || commits < 6 {
		t.Fatalf("%q in %d commits", want.Text(), commits)
	}
	for after := 1; after < commits; after++ {
		if got, _ := run(t, after); got.Text() != want.Text() || got.Why != event.WhyFlow || got.Metrics.ModelCalls < 5 || got.Metrics.ModelCalls > 6 {
			t.Errorf("after %d commits: %q because of %s, %d calls", after, got.Text(), got.Why, got.Metrics.ModelCalls)
		}
	}
}
