//go:build unix

package nodes

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
)

// leaseNote is a change of a conversation's lease. Times are the database's, in microseconds. Until is 0 for a
// released lease.
type leaseNote struct{ Epoch, Until, At int64 }

// noteLeases makes the database record each change of a lease with its own clock.
func (b *base) noteLeases(t *testing.T) {
	t.Helper()
	err := sql(t.Context(), b.pg, b.name,
		`CREATE TABLE public.leases (n bigserial PRIMARY KEY, id text, epoch bigint, until bigint, at bigint)`,
		`CREATE FUNCTION public.note_lease() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
			INSERT INTO public.leases (id, epoch, until, at) VALUES (NEW.id, NEW.epoch, coalesce(NEW.until, 0), braid.store_clock());
			RETURN NULL;
		END $$`,
		`CREATE TRIGGER note_lease AFTER UPDATE ON braid.conversation FOR EACH ROW WHEN (NEW.until IS DISTINCT FROM OLD.until)
			EXECUTE FUNCTION public.note_lease()`)
	if err != nil {
		t.Fatal(err)
	}
}

// leases returns the changes of a conversation's lease, in order.
func (b *base) leases(t *testing.T, conversation string) []leaseNote {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.pg.URL("postgres", b.name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT epoch, until, at FROM public.leases WHERE id = $1 ORDER BY n`, conversation)
	if err != nil {
		t.Fatal(err)
	}
	notes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[leaseNote])
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

// moveClock shifts the database's clock relative to the servers'.
func (b *base) moveClock(t *testing.T, by time.Duration) {
	t.Helper()
	err := sql(t.Context(), b.pg, b.name, fmt.Sprintf(`CREATE OR REPLACE FUNCTION braid.store_clock() RETURNS bigint LANGUAGE sql VOLATILE AS
		$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %d $$`, by.Microseconds()))
	if err != nil {
		t.Fatal(err)
	}
}

// soon polls until a condition holds, or fails after a while.
func soon(t *testing.T, what string, there func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !there(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("after a minute %s", what)
		}
	}
}

// One of two servers is killed while a tool runs. The other continues the run once the lease has expired, and not
// before. What counts is the database's clock, however far it is from the servers', and the term that the killed
// server had set.
func TestLeasesOfADeadServer(t *testing.T) {
	t.Parallel()
	const short = 3 * time.Second // the shortest that can be set
	for name, c := range map[string]struct {
		// first are the flags of the server that is killed, second those of the other; term is the first one's lease.
		first, second []string
		term          time.Duration
		clock         time.Duration
	}{
		"as it is by default":       {term: 10 * time.Second},
		"shorter than the other's":  {first: []string{"--lease", "3s"}, second: []string{"--lease", "10m"}, term: short},
		"longer than the other's":   {first: []string{"--lease", "6s"}, second: []string{"--lease", "3s"}, term: 6 * time.Second},
		"a database's clock ahead":  {first: []string{"--lease", "3s"}, second: []string{"--lease", "3s"}, term: short, clock: time.Hour},
		"a database's clock behind": {first: []string{"--lease", "3s"}, second: []string{"--lease", "3s"}, term: short, clock: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := migrated(t, needed(t))
			b.noteLeases(t)
			if c.clock != 0 {
				b.moveClock(t, c.clock)
			}
			l := newLedger(t)
			l.took = func(string) time.Duration { return time.Minute } // the server that calls it is killed meanwhile
			env := []string{"BRAID_POSTGRES_URL=" + b.server}
			args := []string{"--token-file", tokenFile(t), "--mcp", l.config(t)}
			one := serve(t, env, append(args, c.first...)...)
			two := serve(t, env, append(args, c.second...)...)
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			conv, err := one.client().Create(ctx, client.NewConversation{})
			if err != nil {
				t.Fatal(err)
			}
			run, err := one.client().Start(ctx, conv.ID, "pay m1", client.RunOptions{})
			if err != nil {
				t.Fatal(err)
			}
			l.until("pay", 1)
			soon(t, "the lease was not renewed twice", func() bool { return len(b.leases(t, conv.ID)) >= 3 })
			one.signal(syscall.SIGKILL)
			<-one.ended
			soon(t, "the run did not go on at the other server", func() bool {
				r, err := two.client().GetRun(ctx, conv.ID, run.ID)
				return err == nil && r.Status == event.RunCompleted
			})
			b.checkTakeover(t, conv.ID, c.term)
			if n := l.count(effect{"pay", "m1", "first"}); n != 1 {
				t.Errorf("it was paid %d times", n)
			}
		})
	}
}

// checkTakeover requires that the first lease had its term and was renewed in time, and that the second began after
// its end, by the database's clock.
func (b *base) checkTakeover(t *testing.T, conversation string, term time.Duration) {
	t.Helper()
	var first []leaseNote
	var second *leaseNote
	for _, note := range b.leases(t, conversation) {
		switch {
		case note.Epoch == 1:
			first = append(first, note)
		case second == nil:
			second = &note
		}
	}
	if len(first) < 3 || second == nil {
		t.Fatalf("the leases are %+v and %+v", first, second)
	}
	longest := time.Duration(0)
	for i, note := range first {
		left := time.Duration(note.Until-note.At) * time.Microsecond
		longest = max(longest, left)
		if left > term {
			t.Errorf("lease %d lasts %v, want %v", i, left, term)
		}
		if i > 0 && note.At >= first[i-1].Until {
			t.Errorf("renewal %d came %v after the lease had run out", i, time.Duration(note.At-first[i-1].Until)*time.Microsecond)
		}
	}
	if longest < term/2 { // the difference is the duration of a statement
		t.Errorf("the lease lasts %v, want %v", longest, term)
	}
	last := first[len(first)-1]
	late := time.Duration(second.At-last.Until) * time.Microsecond
	if late < 0 {
		t.Errorf("the run was taken over %v before its lease ran out", -late)
	}
	// It takes less than two seconds (the engine's TestASlowJournalDelaysNoTakeover), unless the machine is busy.
	// This bound only detects whether there is a takeover at all.
	if late > 30*time.Second {
		t.Errorf("the run was taken over %v after its lease had run out", late)
	}
	t.Logf("taken over %v after the last renewal", (late + term).Round(time.Millisecond))
}
