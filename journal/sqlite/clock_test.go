package sqlite_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// Setting the clock back changes no lease, whether the store is open or closed.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"while it is open": false, "while it is closed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newManual()
			folder := t.TempDir()
			o := sqlite.Options{Now: c.Now, Term: time.Minute}
			s := open(t, folder, o)
			l := take(t, s, "talk", "run")
			c.Advance(20 * time.Second)
			if _, err := s.Due(t.Context(), 0); err != nil { // reads the clock
				t.Fatal(err)
			}
			if closed {
				shut(t, s)
			}
			c.Advance(-time.Hour)
			if closed {
				s = open(t, folder, o)
			}
			held := func(when string) {
				t.Helper()
				_, err := s.Acquire(t.Context(), "run", 0)
				wantKind(t, "Acquire "+when, err, event.ErrLocked)
			}
			held("after the clock went back")
			c.Advance(39 * time.Second)
			held("a second before the lease runs out")
			c.Advance(2 * time.Second)
			due, err := s.Due(t.Context(), 0)
			if err != nil || len(due) != 1 {
				t.Errorf("due are %v: %v", due, err)
			}
			got, err := s.Acquire(t.Context(), "run", 0)
			if err != nil || got.Lease.Epoch <= l.Epoch {
				t.Errorf("Acquire after the term: %+v: %v", got.Lease, err)
			}
			if want := c.Now().Add(time.Minute); !got.Lease.Until.Equal(want) || got.Lease.Term != time.Minute {
				t.Errorf("the lease is until %v, want %v", got.Lease.Until, want)
			}
		})
	}
}

// The time that passes while the store is closed counts.
func TestClosedForAWhile(t *testing.T) {
	t.Parallel()
	c := newManual()
	folder := t.TempDir()
	o := sqlite.Options{Now: c.Now, Term: time.Minute}
	s := open(t, folder, o)
	take(t, s, "talk", "run")
	shut(t, s)
	c.Advance(59 * time.Second)
	s = open(t, folder, o)
	_, err := s.Acquire(t.Context(), "run", 0)
	wantKind(t, "Acquire before the term is over", err, event.ErrLocked)
	shut(t, s)
	c.Advance(2 * time.Second)
	s = open(t, folder, o)
	if _, err := s.Acquire(t.Context(), "run", 0); err != nil {
		t.Errorf("Acquire after the term: %v", err)
	}
}

// A run is never due before its time, however small the difference.
func TestWakeUp(t *testing.T) {
	t.Parallel()
	c := newManual()
	s := open(t, t.TempDir(), sqlite.Options{Now: c.Now})
	l := take(t, s, "talk", "run")
	wake := c.Now().Add(time.Second + time.Nanosecond)
	b := journal.Batch{Status: event.RunWaiting, WakeAt: wake}
	for range 2 { // twice, as after a lost answer
		if err := s.Commit(t.Context(), l, b); err != nil {
			t.Fatal(err)
		}
	}
	due := func(want int) {
		t.Helper()
		if due, err := s.Due(t.Context(), 0); err != nil || len(due) != want {
			t.Errorf("due are %v, want %d: %v", due, want, err)
		}
	}
	c.Advance(time.Second)
	due(0)
	c.Advance(time.Microsecond)
	due(1)
}

// The store also works in a simulation, with the simulation's clock.
func TestSimulatedTime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, folder, sqlite.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o, err := s.Start(ctx, journal.Run{ID: "run", Conversation: "talk"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, o.Lease, kibibyte("talk", "run", 1))
		time.Sleep(journal.DefaultTerm - time.Second)
		_, err = s.Acquire(ctx, "run", 0)
		wantKind(t, "Acquire a second before the lease runs out", err, event.ErrLocked)
		time.Sleep(2 * time.Second)
		if due, err := s.Due(ctx, 0); err != nil || len(due) != 1 {
			t.Errorf("due are %v: %v", due, err)
		}
		if _, err = s.Acquire(ctx, "run", 0); err != nil {
			t.Errorf("Acquire after the term: %v", err)
		}
	})
}
