package scenario

import (
	"context"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/bench/floor"
	"github.com/braidrun/braid/journal"
)

func openDisk(t *testing.T, long bool) *disk {
	t.Helper()
	d := &disk{}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.open(long); err != nil {
		t.Fatal(err)
	}
	return d
}

// Both sides of a turn on disk write as often as the contract says.
func TestATurnIsTwoCommits(t *testing.T) {
	t.Parallel()
	r := &recorder{Memory: &journal.Memory{}}
	script := []answer{text(1)}
	var w Work
	agent := braidAgent(&scripted{answers: braidChunks(script)})
	if err := readBraid(&w, agent.Stream(t.Context(), "go", braid.In(braid.Open(r, "c")))); err != nil || len(r.batches) != 2 {
		t.Errorf("Braid has made %d commits: %v", len(r.batches), err)
	}

	d := openDisk(t, false)
	side := d.byHandOnDisk(shortTalk, false)
	if err := side.Do(1); err != nil {
		t.Fatal(err)
	}
	session, err := d.byHand.Load("talk-1", 0)
	if err != nil || len(session.Events()) != 2*shortTalk+2 {
		t.Errorf("the session by hand has %d events: %v", len(session.Events()), err)
	}
	// A row is a commit: the turns that filled it are one row each, the new one is two.
	if rest, err := d.byHand.Load("talk-1", shortTalk+2); err != nil || len(rest.Events()) != 1 {
		t.Errorf("the last row by hand has %d events: %v", len(rest.Events()), err)
	}
}

// Long conversations are as long as the row says; the models of both sides are shown all of one
// that is warm, and what stands behind the last compaction of one that is opened.
func TestTheTalksOnDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it writes 20,000 events")
	}
	d := openDisk(t, true)
	for _, warm := range []bool{true, false} {
		talks, err := d.prepare(1, longTalk, warm)
		if err != nil {
			t.Fatal(err)
		}
		id := talks[0].id
		events, err := d.journal.Read(t.Context(), id, 0, 0)
		if err != nil || len(events) < 5*longTalk {
			t.Fatalf("%d events: %v", len(events), err)
		}
		want := 2*longTalk + 1
		if !warm {
			want = 2*behind + 1
		}
		var byHand, withBraid int
		agent := braid.New("bench", &scripted{
			answers: braidChunks([]answer{text(1)}), called: func(_, n int) { withBraid = n },
		})
		var w Work
		if err := readBraid(&w, agent.Stream(t.Context(), "go on", braid.In(braid.Open(d.journal, id)))); err != nil {
			t.Fatal(err)
		}
		session, err := d.byHand.Load(id, talks[0].from)
		if err != nil {
			t.Fatal(err)
		}
		f := floor.New("bench", &byHandModel{
			answers: byHandChunks([]answer{text(1)}), called: func(_, n int) { byHand = n },
		})
		if err := readByHand(&w, f.Stream(t.Context(), session, "go on")); err != nil {
			t.Fatal(err)
		}
		if byHand != want || withBraid != want {
			t.Errorf("warm %v: the models were shown %d and %d messages, want %d", warm, byHand, withBraid, want)
		}
	}
}

func TestADiskLeavesNothing(t *testing.T) {
	t.Parallel()
	d := &disk{}
	if err := d.open(false); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil || d.folder != "" {
		t.Errorf("%q: %v", d.folder, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnTheWay(t *testing.T) {
	t.Parallel()
	p50, p99, err := OnTheWay(t.Context(), 50*time.Millisecond)
	if err != nil || p50 <= 0 || p99 < p50 {
		t.Errorf("%v and %v: %v", p50, p99, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := OnTheWay(ctx, time.Hour); err == nil {
		t.Error("a cancelled measurement went on")
	}
}
