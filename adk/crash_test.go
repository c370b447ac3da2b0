package adk_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/adk"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/journal"
)

// noted is a store that notes where each commit ends.
type noted struct {
	*journal.Memory

	log  []*event.Event
	ends []int
}

func (n *noted) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	err := n.Memory.Commit(ctx, l, b)
	if err == nil && len(b.Events) > 0 {
		n.log = append(n.log, b.Events...)
		n.ends = append(n.ends, len(n.log))
	}
	return err
}

// Wherever a driver dies, the next one keeps the same answers, each once.
func TestOutputKeyAfterACrash(t *testing.T) {
	t.Parallel()
	agent := func() *braid.Agent {
		return flow.Sequence("paper",
			braid.New("writer", &says{text: "a draft"}, adk.OutputKey("draft")),
			braid.New("critic", &says{text: "fine"}, adk.Instructions("Judge: {draft}"), adk.OutputKey("verdict")),
		).Use(adk.OutputKey("all"))
	}
	whole := &noted{Memory: journal.NewMemory(journal.MemoryOptions{})}
	if _, err := agent().Run(t.Context(), "go", braid.In(braid.Open(whole, "c"))); err != nil {
		t.Fatal(err)
	}
	want := []string{`draft "a draft"`, `verdict "fine"`, `all "fine"`}
	if diff := cmp.Diff(want, kept(whole.log)); diff != "" {
		t.Fatal(diff)
	}
	for _, n := range whole.ends[:len(whole.ends)-1] {
		store := &noted{Memory: journal.NewMemory(journal.MemoryOptions{})}
		run := journal.Run{
			ID: whole.log[0].Run, Conversation: "c", Agent: "paper",
			Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}}},
		}
		if _, err := store.Admit(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		opened, err := store.Acquire(t.Context(), run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Commit(t.Context(), opened.Lease, journal.Batch{Events: whole.log[:n], Release: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := agent().Resume(t.Context(), braid.Open(store, "c")); err != nil {
			t.Errorf("cut after %d: %v", n, err)
		}
		if diff := cmp.Diff(want, kept(store.log)); diff != "" {
			t.Errorf("cut after %d: %s", n, diff)
		}
	}
}

// kept lists the values that a log keeps.
func kept(log []*event.Event) (list []string) {
	for _, e := range log {
		if b, ok := e.Body.(*event.StateChanged); ok {
			for key, value := range b.Set {
				list = append(list, key+" "+string(value))
			}
		}
	}
	return list
}
