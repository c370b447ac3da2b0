package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// node is one of several engines on one journal. Its drives take the lease, work for as
// long as work says, and end the run; one that finds the lease taken says so.
type node struct {
	local *engine.Local
	store *journal.Memory
	work  time.Duration
	// before is how long a drive takes to ask for its lease.
	before time.Duration

	mu sync.Mutex
	// driven are the runs that it has ended, at which time; refused counts the leases that
	// it did not get, rung the letters that it was told of, stopped why drives were.
	driven  map[string]time.Time
	refused int
	rung    int
	stopped []error
}

// nodes are engines on one journal, in a bubble; they are drained after the test.
func nodes(t *testing.T, n int, options engine.Options, work time.Duration) (*journal.Memory, []*node) {
	t.Helper()
	return nodesFor(t, journal.DefaultTerm, n, options, work)
}

// nodesFor is nodes with leases of another length.
func nodesFor(t *testing.T, term time.Duration, n int, options engine.Options, work time.Duration) (*journal.Memory, []*node) {
	t.Helper()
	store := journal.NewMemory(journal.MemoryOptions{Term: term})
	options.Shared = true
	all := make([]*node, n)
	for i := range all {
		one := &node{store: store, work: work, driven: map[string]time.Time{}}
		one.local = engine.NewLocal(store, one.drive, options)
		if err := one.local.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		all[i] = one
	}
	return store, all
}

func drainAll(t *testing.T, all []*node) {
	t.Helper()
	for i, one := range all {
		if err := one.local.Drain(t.Context()); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
		if got := one.local.Held(); got != 0 {
			t.Errorf("node %d holds %d things after its drain", i, got)
		}
	}
}

func (n *node) drive(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	time.Sleep(n.before)
	opened, err := n.store.Acquire(context.WithoutCancel(ctx), w.Run.ID, 0)
	n.mu.Lock()
	if err != nil {
		n.refused++
		n.mu.Unlock()
		return engine.Outcome{}, err
	}
	n.mu.Unlock()
	end, status := time.After(n.work), event.RunCompleted
	for status == event.RunCompleted {
		select {
		case <-w.Mail:
			n.mu.Lock()
			n.rung++
			n.mu.Unlock()
			continue
		case <-ctx.Done():
			n.mu.Lock()
			n.stopped = append(n.stopped, context.Cause(ctx))
			n.mu.Unlock()
			status = event.RunCancelled
		case <-end:
		}
		break
	}
	news, err := n.store.Renew(context.WithoutCancel(ctx), opened.Lease)
	if err != nil {
		return engine.Outcome{}, err
	}
	var read []string
	for _, m := range news.Mail {
		read = append(read, m.ID)
	}
	err = n.store.Commit(context.WithoutCancel(ctx), opened.Lease, journal.Batch{Status: status, Read: read, Events: []*event.Event{{
		Header: event.Header{Seq: opened.Last + 1, Run: w.Run.ID, Conversation: w.Run.Conversation}, Body: &event.RunEnded{Status: status},
	}}})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.driven[w.Run.ID] = time.Now()
	return engine.Outcome{Status: status}, err
}

// ends are the runs that it has ended, and when.
func (n *node) ends() map[string]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.driven)
}

func (n *node) count() (driven, refused int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.driven), n.refused
}

// slowDue is a store that takes its time to say what is due.
type slowDue struct {
	*journal.Memory

	took time.Duration
}

func (s slowDue) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	time.Sleep(s.took)
	return s.Memory.Due(ctx, limit)
}

// The runs of a process that died go on within 12 seconds, also where the journal is slow to say which they are.
func TestASlowJournalDelaysNoTakeover(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := journal.NewMemory(journal.MemoryOptions{})
			if _, err := store.Admit(t.Context(), run("a", "a")); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Acquire(t.Context(), "a", 0); err != nil {
				t.Fatal(err)
			}
			died := time.Now()
			one := &node{store: store, driven: map[string]time.Time{}}
			one.local = engine.NewLocal(slowDue{store, took}, one.drive, engine.Options{Shared: true})
			if err := one.local.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if late := one.ends()["a"].Sub(died); late < journal.DefaultTerm || late > 12*time.Second {
				t.Errorf("with a journal that takes %v it went on after %v", took, late)
			}
			drainAll(t, []*node{one})
		})
	}
}

// Who accepts a run drives it: its reader sits there. The others leave it alone.
func TestWhoAcceptsARunDrivesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := nodes(t, 3, engine.Options{}, 5*time.Second)
		for _, one := range all {
			one.before = 300 * time.Millisecond
		}
		for i := range 300 {
			id := fmt.Sprint(i)
			if _, err := all[i%3].local.Submit(t.Context(), run(id, id)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i, one := range all {
			if driven, refused := one.count(); driven != 100 || refused != 0 {
				t.Errorf("node %d drove %d runs and was refused %d, want its own 100 and none", i, driven, refused)
			}
		}
		drainAll(t, all)
	})
}

// The runs of a process that died are taken over once their leases have run out, by all
// who are left, and without all of them trying all of them.
func TestTheRunsOfADeadProcessAreTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const runs, left = 500, 10
		store, all := nodes(t, left, engine.Options{}, time.Second)
		for i := range runs {
			id := fmt.Sprint(i)
			if _, err := store.Admit(t.Context(), run(id, id)); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Acquire(t.Context(), id, 0); err != nil {
				t.Fatal(err)
			}
		}
		died := time.Now()
		time.Sleep(journal.DefaultTerm + 10*time.Second)
		synctest.Wait()
		driven, refused, most, last := 0, 0, 0, time.Duration(0)
		for _, one := range all {
			d, r := one.count()
			driven, refused, most = driven+d, refused+r, max(most, d)
			for _, at := range one.ends() {
				last = max(last, at.Sub(died))
			}
		}
		if late := journal.DefaultTerm + 5*time.Second; driven != runs || last > late {
			t.Errorf("%d of %d were taken over, the last after %v, want all within %v", driven, runs, last, late)
		}
		if most > runs/3 {
			t.Errorf("one of %d nodes took %d of %d", left, most, runs)
		}
		if refused > 2*runs {
			t.Errorf("%d tries were in vain for %d runs", refused, runs)
		}
		drainAll(t, all)
	})
}

// What is left for a run on one node reaches its drive on another, and so does the wish
// that it ends; each letter rings once.
func TestMailReachesARunElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, all := nodesFor(t, 30*time.Second, 2, engine.Options{}, 25*time.Second)
		here, there := all[0], all[1]
		for _, id := range []string{"a", "b"} {
			if _, err := here.local.Submit(t.Context(), run(id, id)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Second)
		rung := func(want int) {
			t.Helper()
			synctest.Wait()
			here.mu.Lock()
			defer here.mu.Unlock()
			if here.rung != want {
				t.Errorf("the drive was told %d times of mail, want %d", here.rung, want)
			}
		}
		rung(0)
		for i := range 2 {
			if err := store.Post(t.Context(), journal.Mail{ID: fmt.Sprint(i), Run: "a", Kind: journal.MailMessage}); err != nil {
				t.Fatal(err)
			}
			if err := there.local.Wake(t.Context(), run("a", "a")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			rung(i + 1)
			if got := there.local.Held(); got != 0 {
				t.Errorf("the other node keeps %d things of a run that it does not drive", got)
			}
			time.Sleep(3 * time.Second)
			rung(i + 1)
		}
		begun := time.Now()
		if err := there.local.Cancel(t.Context(), run("b", "b"), "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if at, ok := here.ends()["b"]; !ok || at.Sub(begun) > time.Second {
			t.Errorf("cancelled elsewhere: it ended %v after that", at.Sub(begun))
		}
		here.mu.Lock()
		if len(here.stopped) != 1 || !errors.Is(here.stopped[0], event.ErrCancelled) {
			t.Errorf("it was stopped by %v", here.stopped)
		}
		here.mu.Unlock()
		time.Sleep(30 * time.Second)
		if driven, _ := there.count(); driven != 0 {
			t.Errorf("the other node drove %d runs", driven)
		}
		drainAll(t, all)
	})
}

// A run behind another one that is driven elsewhere starts soon after that has ended.
func TestARunBehindOneElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := nodes(t, 2, engine.Options{}, 4*time.Second)
		for i, one := range all {
			if _, err := one.local.Submit(t.Context(), run(fmt.Sprint(i), "talk")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		ends := map[string]time.Time{}
		for _, one := range all {
			maps.Copy(ends, one.ends())
		}
		if wait := ends["1"].Sub(ends["0"]); len(ends) != 2 || wait > 6*time.Second {
			t.Errorf("%d runs ended, the second %v after the first, want within 6s", len(ends), wait)
		}
		drainAll(t, all)
	})
}

// A node that has all that it can drive takes nothing more; one that has room does.
func TestAFullNodeTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := nodes(t, 3, engine.Options{Running: 2}, 10*time.Second)
		for i, of := range []int{0, 0, 0, 0, 1, 1} {
			if _, err := all[of].local.Submit(t.Context(), run(fmt.Sprint(i), fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		for i, one := range all {
			driven, refused := one.count()
			if driven != 2 || i > 0 && refused != 0 {
				t.Errorf("after 15s node %d drove %d runs and was refused %d, want two each", i, driven, refused)
			}
		}
		drainAll(t, all)
	})
}
