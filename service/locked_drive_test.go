package service_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
)

// rowCounter counts the rows that a journal hands out to drives.
type rowCounter struct {
	*journal.Memory

	due, queued, events atomic.Int64
}

// Due counts only questions for all due runs; the engine's sweeps ask for pages.
func (c *rowCounter) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	runs, err := c.Memory.Due(ctx, limit)
	if limit <= 0 {
		c.due.Add(int64(len(runs)))
	}
	return runs, err
}

func (c *rowCounter) Queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	runs, err := c.Memory.Queue(ctx, conversation)
	c.queued.Add(int64(len(runs)))
	return runs, err
}

func (c *rowCounter) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	events, err := c.Memory.Read(ctx, conversation, after, limit)
	c.events.Add(int64(len(events)))
	return events, err
}

// A drive that finds its conversation locked reads the conversation's own open runs and not those of all tenants:
// what it costs does not depend on how many other runs are due.
func TestALockedDriveReadsOnlyItsConversation(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 2000} {
		t.Run(fmt.Sprint(others, " others"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &rowCounter{Memory: &journal.Memory{}}
				h := open(t, func(o *service.Options) { o.Journal = store })
				conv := h.conversation(t)
				h.wait(t, conv, must(h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})))
				// Another process drives a run of the conversation.
				if _, err := store.Admit(t.Context(), journal.Run{ID: "held", Conversation: conv, Tenant: ann.Tenant}); err != nil {
					t.Fatal(err)
				}
				held, err := store.Acquire(t.Context(), "held", 0)
				if err != nil {
					t.Fatal(err)
				}
				for i := range others {
					r := journal.Run{ID: fmt.Sprint("due ", i), Conversation: fmt.Sprint("other ", i), Tenant: fmt.Sprint("tenant ", i%50)}
					if _, err := store.Admit(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				store.due.Store(0)
				store.queued.Store(0)
				store.events.Store(0)
				if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "next", Policy: braid.Queue}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if due, queued, events := store.due.Load(), store.queued.Load(), store.events.Load(); due > 0 || queued > 8 || events > 0 {
					t.Errorf("beside %d others, a locked drive read %d due runs, %d open runs and %d events", others, due, queued, events)
				} else if queued == 0 {
					t.Error("no drive has looked at the conversation's open runs")
				}
				if err := store.Commit(t.Context(), held.Lease, journal.Batch{Release: true}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
