//go:build unix

package nodes

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// ownServer starts a PostgreSQL server for one test only.
func ownServer(t *testing.T, more ...string) *postgrestest.Server {
	t.Helper()
	needed(t)
	pg, err := postgresServer(t.Context(), append([]string{"max_connections=100"}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Close() })
	return pg
}

// loaded starts two nodes on a database, and clients.
func loaded(t *testing.T, pg *postgrestest.Server, people int) (*base, *ledger, []*node, *crowd) {
	t.Helper()
	b, l := migrated(t, pg), newLedger(t)
	l.took = func(string) time.Duration { return 100 * time.Millisecond }
	env, token, mcp := []string{"BRAID_POSTGRES_URL=" + b.server}, tokenFile(t), l.config(t)
	nodes := []*node{
		serve(t, env, "--token-file", token, "--mcp", mcp), serve(t, env, "--token-file", token, "--mcp", mcp),
	}
	return b, l, nodes, newCrowd(t, newBalancer(t, nodes...).url, people)
}

// settle ends the crowd, checks it, and stops the nodes.
func settle(t *testing.T, b *base, l *ledger, nodes []*node, c *crowd) {
	t.Helper()
	c.end()
	f := c.check(b, l)
	t.Log(f)
	if f.runs < len(c.talks) {
		t.Errorf("too little happened: %s", f)
	}
	for _, n := range nodes {
		if took, code := n.stop(); code != 0 || took > 10*time.Second {
			t.Errorf("a node ended after %v with %d", took, code)
		}
	}
}

// The database restarts under load, with a clean shutdown and with a crash.
func TestTheDatabaseIsRestarted(t *testing.T) { //nolint:paralleltest // it needs the machine for itself
	pg := ownServer(t)
	b, l, nodes, c := loaded(t, pg, 30)
	for _, stop := range []func() error{pg.Crash, pg.Stop, pg.Crash} {
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second)
	settle(t, b, l, nodes, c)
}

// The servers' role loses its rights and gets them back.
func TestTheRoleLosesItsRights(t *testing.T) { //nolint:paralleltest // it needs the machine for itself
	pg := ownServer(t)
	b, l, nodes, c := loaded(t, pg, 10)
	time.Sleep(3 * time.Second)
	if err := sql(t.Context(), pg, b.name, `REVOKE ALL ON braid.conversation, braid.run FROM `+server); err != nil {
		t.Fatal(err)
	}
	refused(t, nodes[0], http.StatusServiceUnavailable)
	time.Sleep(3 * time.Second)
	if err := sql(t.Context(), pg, b.name, `GRANT SELECT, INSERT, UPDATE, DELETE ON braid.conversation, braid.run TO `+server); err != nil {
		t.Fatal(err)
	}
	settle(t, b, l, nodes, c)
}

// refused requires that a run is refused with one of the statuses and a message without details.
func refused(t *testing.T, n *node, statuses ...int) {
	t.Helper()
	if status, said := ready(t, n); status != http.StatusServiceUnavailable {
		t.Errorf("readyz says %d %s", status, said)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	c, err := n.client().Create(ctx, client.NewConversation{})
	if err == nil {
		_, err = n.client().Start(ctx, c.ID, "hello", client.RunOptions{})
	}
	var e *event.Error
	if !errors.As(err, &e) {
		t.Errorf("a run is answered with %v", err)
		return
	}
	for _, word := range []string{plantedPassword, "SELECT", "INSERT", "braid.", server, "pq:", "pgx", "SQLSTATE"} {
		if strings.Contains(e.Error()+e.Hint, word) {
			t.Errorf("a client is told %q: %v (%s)", word, e, e.Hint)
		}
	}
	status := e.Kind.Info().HTTP
	if !slices.Contains(statuses, status) {
		t.Errorf("a run is refused with %d: %v, want %v", status, e, statuses)
	}
}

// The database's disk is full, and then has space again.
func TestTheDiskIsFull(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("a small disk can be made on Linux, by root")
	}
	needed(t)
	disk, err := os.MkdirTemp("", "disk") //nolint:usetesting // the server's user must have access
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(disk) })
	if err := smallDisk(disk); err != nil {
		t.Skipf("a small disk cannot be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 2) })
	t.Setenv("TMPDIR", disk)
	pg := ownServer(t, "wal_level=minimal", "max_wal_senders=0", "max_wal_size=48MB", "min_wal_size=32MB", "fsync=off")
	b, l, nodes, c := loaded(t, pg, 10)
	time.Sleep(3 * time.Second)
	if err := os.Unsetenv("TMPDIR"); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	told := false
	for begun := time.Now(); time.Since(begun) < 20*time.Second && !told; time.Sleep(100 * time.Millisecond) {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		k, err := nodes[0].client().Create(ctx, client.NewConversation{Title: strings.Repeat("x", 150)})
		if err == nil {
			_, err = nodes[0].client().Start(ctx, k.ID, strings.Repeat("hello ", 20_000), client.RunOptions{})
		}
		stop()
		told = errors.Is(err, event.ErrStorageFull) || errors.Is(err, event.ErrUnavailable)
		if told {
			t.Logf("on a full disk a run is refused: %v", err)
		}
		if e := (*event.Error)(nil); errors.As(err, &e) && strings.Contains(e.Error()+e.Hint, plantedPassword) {
			t.Errorf("a client is told %v", e)
		}
	}
	if !told {
		t.Error("nobody was told that the disk is full")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	// PostgreSQL may have stopped because it could not write its own log.
	if err := sql(t.Context(), pg, "postgres", `SELECT 1`); err != nil {
		_ = pg.Crash()
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, b, l, nodes, c)
}

// fill writes until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); ; {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}
