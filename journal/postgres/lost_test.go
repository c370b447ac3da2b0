package postgres_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// cutter is a proxy in front of the database. Once armed, it breaks the connection on which the
// next commit is confirmed, and drops the confirmation.
type cutter struct {
	armed atomic.Bool
	cuts  atomic.Int64
	addr  string
}

func newCutter(t *testing.T, s *postgrestest.Server) *cutter {
	t.Helper()
	config, err := pgx.ParseConfig(s.URL(guest, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	c := &cutter{addr: listener.Addr().String()}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", config.Host+"/.s.PGSQL."+strconv.Itoa(int(config.Port)))
			if err != nil {
				_ = near.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(far, near)
				_ = far.Close()
			}()
			go c.answers(near, far)
		}
	}()
	return c
}

func (c *cutter) answers(near, far net.Conn) {
	defer near.Close()
	defer far.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := far.Read(buffer)
		if bytes.Contains(buffer[:n], []byte("COMMIT\x00")) && c.armed.CompareAndSwap(true, false) {
			c.cuts.Add(1)
			return
		}
		if _, failed := near.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// If the answer to Acquire is lost, the lease belongs to this store: it can acquire the run again
// at once. Other stores wait until the lease expires.
func TestAnAcquireWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	server := server(t)
	ctx := t.Context()
	o := migrated(t, server)
	other := open(t, o)
	c := newCutter(t, server)
	o.URL = "postgres://" + guest + "@" + c.addr + "/postgres?sslmode=disable"
	s := open(t, o)
	for name, lose := range map[string]func(run string) error{
		"acquire": func(run string) error {
			if _, err := s.Admit(ctx, journal.Run{ID: run, Conversation: "talk of " + run, Tenant: "acme"}); err != nil {
				t.Fatal(err)
			}
			c.armed.Store(true)
			_, err := s.Acquire(ctx, run, 0)
			return err
		},
		"start": func(run string) error {
			c.armed.Store(true)
			_, err := s.Start(ctx, journal.Run{ID: run, Conversation: "talk of " + run, Tenant: "acme"}, 0)
			return err
		},
	} {
		before := c.cuts.Load()
		if err := lose(name); !errors.Is(err, event.ErrUnavailable) || c.cuts.Load() != before+1 {
			t.Fatalf("%s: its answer was not lost: %v", name, err)
		}
		if _, err := other.Acquire(ctx, name, 0); !errors.Is(err, event.ErrLocked) {
			t.Errorf("%s: another store takes the run: %v", name, err)
		}
		opened, err := s.Acquire(ctx, name, 0)
		if err != nil || opened.Lease.Epoch != 2 {
			t.Fatalf("%s: the same store may not take it again: %+v, %v", name, opened.Lease, err)
		}
		if opened.Run.Lost != 0 {
			t.Errorf("%s: the run is said to have lost %d drivers, and had none", name, opened.Run.Lost)
		}
		if _, err := s.Acquire(ctx, name, 0); !errors.Is(err, event.ErrLocked) {
			t.Errorf("%s: it takes a run that it drives: %v", name, err)
		}
		if err := s.Commit(ctx, opened.Lease, journal.Batch{Release: true}); err != nil {
			t.Error(err)
		}
	}
}
