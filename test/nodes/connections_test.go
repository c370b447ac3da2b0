//go:build unix

package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
)

// stock are the default settings of a PostgreSQL server.
const stock = "max_connections=100"

// sampler counts the servers' connections to a database periodically.
type sampler struct {
	stop chan struct{}
	done sync.WaitGroup
	// most is the largest number, and samples the number of counts.
	most, samples int
}

func (b *base) sample(t *testing.T) *sampler {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.pg.URL("postgres", b.name))
	if err != nil {
		t.Fatal(err)
	}
	s := &sampler{stop: make(chan struct{})}
	s.done.Go(func() {
		defer conn.Close(context.WithoutCancel(t.Context()))
		for {
			var now int
			err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND datname = $2`, server, b.name).Scan(&now)
			if err != nil {
				t.Error(err)
				return
			}
			s.most, s.samples = max(s.most, now), s.samples+1
			select {
			case <-s.stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return s
}

// end returns the largest number of connections.
func (s *sampler) end() int {
	close(s.stop)
	s.done.Wait()
	return s.most
}

// allowed returns the number of connections that a server may open.
func (n *node) allowed() (all int) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.url+"/metrics", http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+plantedToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^braid_database_connections_max\{.*\} (\d+)$`).FindAllSubmatch(body, -1) {
		most, err := strconv.Atoi(string(found[1]))
		if err != nil {
			n.t.Fatal(err)
		}
		all += most
	}
	return all
}

// ask lets clients send requests concurrently, each one after the other, over all servers. None may be refused.
func ask(t *testing.T, nodes []*node, clients, requests int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			one := make([]*client.Client, len(nodes))
			for k, n := range nodes {
				one[k] = n.client()
			}
			conv, err := one[i%len(nodes)].Create(ctx, client.NewConversation{})
			if err != nil {
				t.Errorf("client %d: no conversation: %v", i, err)
				return
			}
			for n := next.Add(1); n <= int64(requests); n = next.Add(1) {
				mark := fmt.Sprint("m", n)
				r, err := one[int(n)%len(nodes)].Run(ctx, conv.ID, "hello "+mark, client.RunOptions{Key: mark})
				if err != nil || r.Status != event.RunCompleted {
					t.Errorf("request %d: %+v, %v (%v)", n, r, err, errors.Unwrap(err))
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if done.Load() != int64(requests) {
		t.Errorf("%d of %d requests were answered", done.Load(), requests)
	}
	for _, n := range nodes {
		if status := regexp.MustCompile(`"status":5\d\d`).FindString(n.log.String()); status != "" {
			t.Errorf("a server has answered with %s", status)
		}
	}
}

// Ten servers with default settings share a PostgreSQL server with default settings.
func TestTenServersShareAStockDatabase(t *testing.T) { //nolint:paralleltest // it needs the machine for itself
	needed(t)
	pg, err := postgresServer(t.Context(), stock, "fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Close() })
	b, token := migrated(t, pg), tokenFile(t)
	nodes := make([]*node, 10)
	var started sync.WaitGroup
	for i := range nodes {
		started.Go(func() { nodes[i] = start(t, []string{"BRAID_POSTGRES_URL=" + b.server}, "--token-file", token) })
	}
	started.Wait()
	for _, n := range nodes {
		if n.url == "" {
			t.Fatalf("a server does not start: %s", n.log)
		}
		if most := n.allowed(); most != 8 {
			t.Errorf("a server may have %d connections, want 8", most)
		}
	}
	s := b.sample(t)
	ask(t, nodes, 50, 500)
	most := s.end()
	t.Logf("at most %d connections at once, in %d samples", most, s.samples)
	if most > 10*8 || most < 10*2 {
		t.Errorf("the ten servers had %d connections at once", most)
	}
}

// A flag, a variable or the address sets a server's number of connections, in this order.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		address string
		env     []string
		args    []string
		want    int
	}{
		"nothing":                 {want: 8},
		"the address":             {address: "&pool_max_conns=3", want: 3},
		"a variable":              {env: []string{"BRAID_POSTGRES_CONNECTIONS=4"}, want: 4},
		"a variable, the address": {address: "&pool_max_conns=3", env: []string{"BRAID_POSTGRES_CONNECTIONS=5"}, want: 5},
		"a flag, all of the others": {
			address: "&pool_max_conns=3", env: []string{"BRAID_POSTGRES_CONNECTIONS=5"}, args: []string{"--postgres-connections", "2"}, want: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := migrated(t, needed(t))
			n := serve(t, append(c.env, "BRAID_POSTGRES_URL="+b.server+c.address), append(c.args, "--token-file", tokenFile(t))...)
			if most := n.allowed(); most != c.want {
				t.Errorf("it may have %d connections, want %d", most, c.want)
			}
			s := b.sample(t)
			ask(t, []*node{n}, 20, 60)
			if most := s.end(); most > c.want || most < min(c.want, 2) {
				t.Errorf("it had %d connections at once, want at most %d", most, c.want)
			}
		})
	}
}
