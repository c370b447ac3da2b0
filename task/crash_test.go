package task_test

import (
	"context"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/task"
)

// commits is a store that notes the events of each commit.
type commits struct {
	*journal.Memory

	log []*event.Event
}

func (c *commits) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	err := c.Memory.Commit(ctx, l, b)
	if err == nil {
		c.log = append(c.log, b.Events...)
	}
	return err
}

// cut is a conversation whose driver died after n events of its first run.
func cut(t *testing.T, log []*event.Event, n int) *braid.Conversation {
	t.Helper()
	store := journal.NewMemory(journal.MemoryOptions{})
	run := journal.Run{
		ID: log[0].Run, Conversation: log[0].Conversation, Agent: "lead",
		Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}}},
	}
	if _, err := store.Admit(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	opened, err := store.Acquire(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), opened.Lease, journal.Batch{Events: log[:n], Release: true}); err != nil {
		t.Fatal(err)
	}
	return braid.Open(store, run.Conversation)
}

// Wherever a driver dies, the next one goes on with the same agents and models to the same end.
func TestTasksGoOnAfterACrash(t *testing.T) {
	t.Parallel()
	made := func(models func(context.Context, string, string) (task.Model, error)) *braid.Agent {
		middle := braid.New("middle", lead(with("haiku", call("finder", "deep"))), braid.Tools(task.New(task.Options{Models: models}, team()...)))
		return braid.New("lead", lead(with("opus", call("finder2", "x")), call("middle", "y")), braid.Tools(task.New(task.Options{Models: models},
			task.Type{Agent: middle}, task.Type{Agent: braid.New("finder2", echo("m:own", 3))})))
	}
	store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
	want, err := made(known.Models).Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
	if err != nil || want.Text() != "m:opus: x | m:haiku: deep" {
		t.Fatalf("%q, %v", want.Text(), err)
	}
	gone := func(context.Context, string, string) (task.Model, error) {
		return task.Model{}, &event.Error{Kind: event.ErrModelNotFound, Message: "it was taken away"}
	}
	lost := 0
	for n := 1; n < len(store.log); n++ {
		r, err := made(known.Models).Resume(t.Context(), cut(t, store.log, n))
		if err != nil || r.Text() != want.Text() {
			t.Errorf("after %d events: %q, %v", n, r.Text(), err)
		}
		// Where the model is gone, the agent ends with an error, and never works with another model.
		r, err = made(gone).Resume(t.Context(), cut(t, store.log, n))
		if err != nil {
			t.Errorf("after %d events, without models: %v", n, err)
			continue
		}
		if strings.Contains(r.Text(), "m:own") {
			t.Errorf("after %d events, another model worked: %q", n, r.Text())
		}
		if strings.Contains(r.Text(), `Error: agent "finder2": the agent cannot work with the model "opus": it was taken away`) {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no agent was told that its model is gone")
	}
}

// A model that hangs while it is opened does not hold a run that is cancelled.
func TestOpeningAModelCanBeCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	models := func(ctx context.Context, _, _ string) (task.Model, error) {
		cancel()
		<-ctx.Done()
		return task.Model{}, ctx.Err()
	}
	agent := braid.New("lead", lead(with("x", call("one", "y"))), braid.Tools(task.New(task.Options{Models: models},
		task.Type{Agent: braid.New("one", &brain{name: "m", think: func(context.Context, *model.Request) ([]model.Chunk, error) {
			t.Error("the agent worked")
			return says(""), nil
		}})})))
	if r, err := agent.Run(ctx, "go"); err == nil {
		t.Errorf("the run ended with %q", r.Text())
	}
}
