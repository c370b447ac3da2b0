package service_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
)

// readJournal counts the events that it hands out, and the tails that it is asked for.
type readJournal struct {
	*journal.Memory
	events, tails atomic.Int64
}

func (j *readJournal) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	events, err := j.Memory.Read(ctx, conversation, after, limit)
	j.events.Add(int64(len(events)))
	return events, err
}

func (j *readJournal) ReadPage(
	ctx context.Context, conversation string, after int64, limit int, most int64,
) ([]*event.Event, bool, error) {
	events, more, err := j.Memory.ReadPage(ctx, conversation, after, limit, most)
	j.events.Add(int64(len(events)))
	return events, more, err
}

func (j *readJournal) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	j.tails.Add(1)
	return j.Memory.Tail(ctx, conversation)
}

func (j *readJournal) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	j.tails.Add(1)
	return j.Memory.StoredTail(ctx, conversation)
}

// asked resets the counts and returns them.
func (j *readJournal) asked() (events, tails int64) { return j.events.Swap(0), j.tails.Swap(0) }

// A message that joins a run, and a tracker that has not seen the run, read the events of that run, however long the
// conversation is.
func TestOnlyTheRunIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, store := &service.MemoryRows{}, &readJournal{Memory: &journal.Memory{}}
		shared := func(o *service.Options) { o.Rows, o.Journal, o.Shared = rows, store, true }
		here, there := open(t, shared), open(t, shared)
		conv := here.conversation(t)
		for range 60 {
			here.wait(t, conv, begin(t, here, conv, "use sleep"))
			for len(here.seen) > 0 {
				<-here.seen
			}
			for len(there.seen) > 0 {
				<-there.seen
			}
		}
		started := begin(t, here, conv, "use sleep")
		time.Sleep(3 * time.Second)
		all, err := store.Memory.Read(t.Context(), conv, 0, 0)
		if err != nil || len(all) < 500 {
			t.Fatal(len(all), err)
		}
		own := int64(0)
		for _, e := range all {
			if e.Run == started.Run.ID {
				own++
			}
		}
		store.asked()

		joined, err := there.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "and this", Policy: braid.Steer})
		if err != nil || !joined.Joined || joined.After < int64(len(all))-own || joined.After >= int64(len(all)) {
			t.Fatalf("%+v: %v", joined, err)
		}
		if events, tails := store.asked(); events > own || tails > 0 {
			t.Errorf("the message has %d events of %d and %d tails read, the run has %d", events, len(all), tails, own)
		}

		last := all[len(all)-1]
		next := event.Event{Header: last.Header, Body: &event.Notice{Code: "n"}}
		next.Seq++
		lease := journal.Lease{Conversation: conv, Run: last.Run, Epoch: 99}
		if err := service.NewToolTracker(store, nil).Fill(t.Context(), lease, &journal.Batch{Events: []*event.Event{&next}}); err != nil {
			t.Fatal(err)
		}
		if events, tails := store.asked(); events == 0 || events > own+1 || tails > 0 {
			t.Errorf("the tracker has %d events of %d and %d tails read, the run has %d", events, len(all), tails, own)
		}
		here.wait(t, conv, started)
	})
}
