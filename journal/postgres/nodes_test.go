package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// note returns a batch of one event at a position.
func note(l journal.Lease, seq int64, text string) journal.Batch {
	return journal.Batch{Events: []*event.Event{{
		Header: event.Header{Seq: seq, Conversation: l.Conversation, Run: l.Run}, Body: &event.Notice{Code: text},
	}}}
}

// ending returns the batch that ends the run.
func ending(l journal.Lease, seq int64) journal.Batch {
	return journal.Batch{
		Events: []*event.Event{{
			Header: event.Header{Seq: seq, Conversation: l.Conversation, Run: l.Run},
			Body:   &event.RunEnded{Status: event.RunCompleted},
		}},
		Status: event.RunCompleted,
	}
}

func must[V any](t *testing.T) func(V, error) V {
	t.Helper()
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatalf("%v, caused by %v", err, errors.Unwrap(err))
		}
		return v
	}
}

func codes(t *testing.T, s *postgres.Store, talk string) (texts []string) {
	t.Helper()
	for _, e := range must[[]*event.Event](t)(s.Read(context.Background(), talk, 0, 0)) {
		if n, ok := e.Body.(*event.Notice); ok {
			texts = append(texts, n.Code)
		}
	}
	return texts
}

// Two stores on one database behave like two processes: each sees the other's writes at once, and
// the database's clock counts.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	server, ctx := server(t), t.Context()
	o := migrated(t, server)
	advance := hold(t, server, o)
	a, b := open(t, o), open(t, o)
	run := journal.Run{ID: "run", Conversation: "talk", Tenant: "acme"}

	must[journal.Run](t)(a.Admit(ctx, run))
	if r := must[journal.Run](t)(b.Admit(ctx, run)); r.Turn != 1 {
		t.Errorf("the same run admitted elsewhere has turn %d", r.Turn)
	}
	first := must[journal.Opened](t)(a.Acquire(ctx, "run", 0)).Lease
	if err := a.Commit(ctx, first, note(first, 1, "a1")); err != nil {
		t.Fatal(err)
	}
	due := func(want int) {
		t.Helper()
		for name, s := range map[string]*postgres.Store{"one": a, "the other": b} {
			if n := len(must[[]journal.Run](t)(s.Due(ctx, 0))); n != want {
				t.Errorf("%s node finds %d runs due, want %d", name, n, want)
			}
		}
	}
	locked := func() {
		t.Helper()
		if _, err := b.Acquire(ctx, "run", 0); !errors.Is(err, event.ErrLocked) {
			t.Errorf("Acquire elsewhere: %v, want %s", err, event.ErrLocked)
		}
	}
	locked()
	due(0)
	// Renewing extends the lease.
	for range 3 {
		advance(journal.DefaultTerm * 2 / 3)
		must[journal.News](t)(a.Renew(ctx, first))
		locked()
	}
	// Mail posted on one node reaches the driver on the other.
	if err := b.Post(ctx, journal.Mail{ID: "c", Run: "run", Kind: journal.MailCancel}); err != nil {
		t.Fatal(err)
	}
	if news := must[journal.News](t)(a.Renew(ctx, first)); !news.Cancelled || len(news.Mail) != 1 {
		t.Errorf("the news are %+v, want a wish to cancel", news)
	}
	// The first node stops, and its lease expires.
	advance(journal.DefaultTerm - time.Microsecond)
	locked()
	due(0)
	advance(time.Microsecond)
	due(1)
	second := must[journal.Opened](t)(b.Acquire(ctx, "run", 0))
	if second.Lease.Epoch <= first.Epoch || second.Last != 1 || len(second.Events) != 1 {
		t.Errorf("the second node got %+v after epoch %d", second.Lease, first.Epoch)
	}
	due(0)
	// It comes back and cannot write, before or after the second one has.
	late := func() {
		t.Helper()
		for what, batch := range map[string]journal.Batch{
			"commit": note(first, 2, "late"), "end": ending(first, 2), "release": {Release: true}, "repeat": note(first, 1, "a1"),
		} {
			if err := a.Commit(ctx, first, batch); !errors.Is(err, event.ErrLeaseLost) {
				t.Errorf("late %s: %v, want %s", what, err, event.ErrLeaseLost)
			}
		}
		if _, err := a.Renew(ctx, first); !errors.Is(err, event.ErrLeaseLost) {
			t.Errorf("late Renew: %v, want %s", err, event.ErrLeaseLost)
		}
	}
	late()
	if err := b.Commit(ctx, second.Lease, note(second.Lease, 2, "b2")); err != nil {
		t.Fatal(err)
	}
	late()
	if got := fmt.Sprint(codes(t, a, "talk")); got != "[a1 b2]" {
		t.Errorf("the log is %s", got)
	}
}

// A process that stops in the middle of a transaction blocks others only until their timeout.
func TestANodeThatStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	server, ctx := server(t), t.Context()
	o := migrated(t, server)
	s := open(t, o)
	l := must[journal.Opened](t)(s.Start(ctx, journal.Run{ID: "run", Conversation: "talk"}, 0)).Lease
	hurried := o
	hurried.Patience = 300 * time.Millisecond
	h := open(t, hurried)

	stopped := login(t, server, guest, o)
	for _, statement := range []string{
		`SET idle_in_transaction_session_timeout = '900ms'`, `BEGIN`, `SELECT set_config('braid.tenant', '=', true)`,
		`SELECT 1 FROM conversation WHERE id = 'talk' FOR UPDATE`,
	} {
		if _, err := stopped.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, "Commit of a node without patience", h.Commit(ctx, l, note(l, 1, "x")), event.ErrUnavailable)
	if err := s.Commit(ctx, l, note(l, 1, "y")); err != nil {
		t.Errorf("Commit of a node with patience: %v", err)
	}
	if got := fmt.Sprint(codes(t, s, "talk")); got != "[y]" {
		t.Errorf("the log is %s", got)
	}
}

// A call that is cancelled while it waits has no effect.
func TestACallerWhoGivesUp(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	s := open(t, o)
	l := must[journal.Opened](t)(s.Start(t.Context(), journal.Run{ID: "run", Conversation: "talk"}, 0)).Lease
	holder := login(t, server, guest, o)
	for _, statement := range []string{
		`BEGIN`, `SELECT set_config('braid.tenant', '=', true)`, `SELECT 1 FROM conversation WHERE id = 'talk' FOR UPDATE`,
	} {
		if _, err := holder.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.Commit(ctx, l, note(l, 1, "x"))
	if !errors.Is(err, event.ErrTimeout) {
		t.Errorf("Commit: %v, caused by %v, want %s", err, errors.Unwrap(err), event.ErrTimeout)
	}
	if _, err := holder.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), l, note(l, 1, "y")); err != nil {
		t.Errorf("Commit after that: %v", err)
	}
	if got := fmt.Sprint(codes(t, s, "talk")); got != "[y]" {
		t.Errorf("the log is %s", got)
	}
}

// drive drives a run of several commits to its end. If the database is unavailable, it retries. It
// adds acknowledged events to acked.
func drive(ctx context.Context, s *postgres.Store, run journal.Run, commits int, acked *sync.Map) error {
	patiently := func(do func() error) error {
		for {
			err := do()
			if !errors.Is(err, event.ErrUnavailable) || ctx.Err() != nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	if err := patiently(func() error { _, err := s.Admit(ctx, run); return err }); err != nil {
		return fmt.Errorf("admit: %w", err)
	}
	for {
		var o journal.Opened
		err := patiently(func() (err error) { o, err = s.Acquire(ctx, run.ID, 0); return err })
		switch {
		case errors.Is(err, event.ErrConflict):
			return nil // the run has ended
		case errors.Is(err, event.ErrLocked):
			// An Acquire whose answer was lost holds a short lease.
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
			continue
		case err != nil:
			return fmt.Errorf("acquire: %w", err)
		}
		for seq := o.Last + 1; ; seq++ {
			b := note(o.Lease, seq, fmt.Sprint(run.ID, "/", seq))
			if seq > int64(commits) {
				b = ending(o.Lease, seq)
			}
			err := patiently(func() error { return s.Commit(ctx, o.Lease, b) })
			if errors.Is(err, event.ErrLeaseLost) {
				break
			}
			if err != nil {
				return fmt.Errorf("commit: %w", err)
			}
			acked.Store(fmt.Sprint(run.Conversation, " ", seq), true)
			if b.Status != "" {
				return nil
			}
		}
	}
}

// wantWhole checks that each conversation's log is complete and has all acknowledged events.
func wantWhole(t *testing.T, s *postgres.Store, conversations, commits int, acked *sync.Map) {
	t.Helper()
	for i := range conversations {
		talk := fmt.Sprint("talk ", i)
		log := must[[]*event.Event](t)(s.Read(context.Background(), talk, 0, 0))
		if len(log) != commits+1 {
			t.Errorf("%s has %d events, want %d", talk, len(log), commits+1)
		}
		for at, e := range log {
			if e.Seq != int64(at)+1 {
				t.Errorf("%s: event %d stands at %d", talk, e.Seq, at+1)
			}
			acked.Delete(fmt.Sprint(talk, " ", e.Seq))
		}
	}
	acked.Range(func(what, _ any) bool {
		t.Errorf("%s was acknowledged and is not there", what)
		return true
	})
	if due := must[[]journal.Run](t)(s.Due(context.Background(), 0)); len(due) > 0 {
		t.Errorf("%d runs are left", len(due))
	}
}

// 64 drivers on two nodes: two for each conversation, in eight tenants.
func TestManyDrivers(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	o.Term = 200 * time.Millisecond
	nodes := []*postgres.Store{open(t, o), open(t, o)}
	const conversations, commits = 32, 20
	var acked sync.Map
	var wg sync.WaitGroup
	for i := range conversations {
		for _, node := range nodes {
			wg.Go(func() {
				run := journal.Run{
					ID: fmt.Sprint("run ", i), Conversation: fmt.Sprint("talk ", i), Tenant: fmt.Sprint("tenant ", i%8),
				}
				if err := drive(t.Context(), node, run, commits, &acked); err != nil {
					t.Errorf("%s: %v, caused by %v", run.ID, err, errors.Unwrap(err))
				}
			})
		}
	}
	wg.Wait()
	wantWhole(t, nodes[1], conversations, commits, &acked)
}

// The database is killed twice under load and stopped once. The stores report that it is
// unavailable, lose nothing acknowledged, and recover by themselves.
func TestTheDatabaseRestarts(t *testing.T) {
	t.Parallel()
	server(t)
	// A server of its own, because it is killed.
	mine := must[*postgrestest.Server](t)(postgrestest.New(t.Context()))
	t.Cleanup(func() {
		if err := mine.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := roles(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	o := migrated(t, mine)
	o.Term, o.Patience = 200*time.Millisecond, 5*time.Second
	s := open(t, o)
	const conversations, commits = 16, 150
	var acked sync.Map
	var running atomic.Int64
	running.Store(conversations)
	var wg sync.WaitGroup
	for i := range conversations {
		wg.Go(func() {
			defer running.Add(-1)
			run := journal.Run{ID: fmt.Sprint("run ", i), Conversation: fmt.Sprint("talk ", i), Tenant: "acme"}
			if err := drive(t.Context(), s, run, commits, &acked); err != nil {
				t.Errorf("%s: %v, caused by %v", run.ID, err, errors.Unwrap(err))
			}
		})
	}
	for n, end := range []func() error{mine.Crash, mine.Stop, mine.Crash} {
		for size := 0; size < (n+1)*conversations*commits/5; {
			time.Sleep(5 * time.Millisecond)
			size = 0
			acked.Range(func(any, any) bool { size++; return true })
		}
		if running.Load() == 0 {
			t.Error("there was no load any more")
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		_, err := s.Due(t.Context(), 0)
		refused(t, "Due while the database is away", err, event.ErrUnavailable)
		if err := mine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	wantWhole(t, s, conversations, commits, &acked)
}

// Conversations that change the same values of their tenant, in different orders, do not deadlock.
func TestStateInAnyOrder(t *testing.T) {
	t.Parallel()
	server := server(t)
	s := must[*postgres.Store](t)(postgres.Open(t.Context(), migrated(t, server)))
	const values, rounds = 40, 40
	var wg sync.WaitGroup
	for d := range 8 {
		wg.Go(func() {
			talk := fmt.Sprint("talk ", d)
			o, err := s.Start(t.Context(), journal.Run{ID: talk, Conversation: talk, Tenant: "acme"}, 0)
			if err != nil {
				t.Error(err)
				return
			}
			for seq := int64(1); seq <= rounds*values; seq += values {
				var b journal.Batch
				for i := range values {
					n := i
					if d%2 == 1 {
						n = values - i
					}
					b.Events = append(b.Events, &event.Event{
						Header: event.Header{Seq: seq + int64(i), Conversation: talk, Run: talk},
						Body:   &event.StateChanged{Set: map[string]jsonText{fmt.Sprint("app:", n): jsonText("1")}},
					})
				}
				if err := s.Commit(t.Context(), o.Lease, b); err != nil {
					t.Errorf("Commit: %v, caused by %v", err, errors.Unwrap(err))
					return
				}
			}
		})
	}
	wg.Wait()
	shut(t, s) // a session reports its counts when it ends
	var n int
	err := login(t, server, postgrestest.Superuser, postgres.Options{}).
		QueryRow(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'`).Scan(&n)
	if err != nil || n > 0 {
		t.Errorf("%d deadlocks: %v", n, err)
	}
}
