//go:build unix

package nodes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/native"
)

// An error about an unusable database says what to do, and contains nothing of the address.
func TestDatabasesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	pg := needed(t)
	empty, ready := database(t, pg), migrated(t, pg)
	newer := migrated(t, pg)
	older := migrated(t, pg)
	if err := sql(t.Context(), pg, newer.name, `INSERT INTO braid.journal_version (version_id, is_applied) VALUES (999, true)`); err != nil {
		t.Fatal(err)
	}
	if err := sql(t.Context(), pg, older.name, `DELETE FROM braid.journal_version WHERE version_id > 1`); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ url, says, hint string }{
		"no address":      {"postgres://:port/%zz", "address cannot be read", "postgres://role@host/database"},
		"nobody answers":  {"postgres://braid_server:" + plantedPassword + "@127.0.0.1:1/x", "does not answer", "see that it runs"},
		"no database":     {withPassword(pg.URL(server, "nowhere"), plantedPassword), "no such database", "braid migrate"},
		"wrong password":  {withPassword(pg.URL(server, ready.name), "wrong"), "log in", "password"},
		"not migrated":    {empty.server, "no journal", "braid migrate --postgres URL --role"},
		"an older schema": {older.server, "older version", "braid migrate"},
		"a newer schema":  {newer.server, "newer version", "newer version"},
		"the owner":       {ready.owner, "see past row-level security", "not the owner"},
		"a superuser":     {pg.URL("postgres", ready.name), "see past row-level security", "no superuser"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, []string{"BRAID_POSTGRES_URL=" + c.url})
			<-n.ended
			says := n.log.String()
			if n.code == 0 || !strings.Contains(says, c.says) || !strings.Contains(says, c.hint) {
				t.Errorf("it ended with %d and said: %s", n.code, says)
			}
			for _, word := range []string{plantedPassword, plantedOwner, "host=", "127.0.0.1:1", "SELECT"} {
				if strings.Contains(says, word) {
					t.Errorf("it tells %q: %s", word, says)
				}
			}
		})
	}
	out, code := command(t, nil, "serve", "--postgres", ready.server)
	if code == 0 || !strings.Contains(out, "command line") || strings.Contains(out, plantedPassword) {
		t.Errorf("a password on the command line: %d, %s", code, out)
	}
	for _, args := range [][]string{{"migrate"}, {"migrate", "--postgres", "postgres://x/y"}, {"migrate", "--postgres-file", "/nowhere"}} {
		if out, code := command(t, nil, args...); code == 0 || !strings.Contains(out, "next:") {
			t.Errorf("%q: %d, %s", args, code, out)
		}
	}
	out, code = command(t, []string{"BRAID_POSTGRES_URL=" + ready.server}, "config", "show")
	if strings.Contains(out, plantedPassword) {
		t.Errorf("braid config shows the password: %d %s", code, out)
	}
}

func TestManyMigrate(t *testing.T) {
	t.Parallel()
	b := database(t, needed(t))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out, code := command(t, []string{"BRAID_POSTGRES_URL=" + b.owner}, "migrate", "--role", server); code != 0 {
				t.Errorf("it ended with %d: %s", code, out)
			}
		})
	}
	wg.Wait()
	n := serve(t, []string{"BRAID_POSTGRES_URL=" + b.server}, "--token-file", tokenFile(t))
	if _, code := n.stop(); code != 0 {
		t.Errorf("it ended with %d: %s", code, n.log)
	}
}

// A client of any node sees within two seconds what another node drives.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	b := migrated(t, needed(t))
	l := newLedger(t)
	l.took = func(string) time.Duration { return 2 * time.Second }
	env := []string{"BRAID_POSTGRES_URL=" + b.server}
	token, mcp := tokenFile(t), l.config(t)
	one := serve(t, env, "--token-file", token, "--mcp", mcp)
	two := serve(t, env, "--token-file", token, "--mcp", mcp)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	conv, err := one.client().Create(ctx, client.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	type sight struct {
		kind string
		at   time.Time
	}
	sights := make(chan []sight, 1)
	go func() {
		var saw []sight
		for e, err := range two.client().Follow(ctx, conv.ID, "", client.FollowOptions{}) {
			if err != nil {
				t.Error(err)
				break
			}
			saw = append(saw, sight{e.FrameName(), time.Now()})
			if native.Terminal(e) {
				break
			}
		}
		sights <- saw
	}()
	time.Sleep(time.Second)
	own := map[string]time.Time{}
	for f, err := range one.client().Stream(ctx, conv.ID, "pay m1", client.RunOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		own[f.FrameName()] = time.Now()
	}
	for _, s := range <-sights {
		if at, ok := own[s.kind]; ok && s.at.Sub(at) > 2*time.Second {
			t.Errorf("%s was seen %v later on the other node", s.kind, s.at.Sub(at))
		}
	}
	if n := l.count(effect{"pay", "m1", "first"}); n != 1 {
		t.Errorf("it was paid %d times", n)
	}
	if r, err := two.client().Run(ctx, conv.ID, "hello", client.RunOptions{}); err != nil || r.Turn != 2 || r.Status != event.RunCompleted {
		t.Errorf("the next turn on the other node: %+v, %v", r, err)
	}
	for _, n := range []*node{one, two} {
		if took, code := n.stop(); code != 0 || took > 10*time.Second {
			t.Errorf("it ended after %v with %d", took, code)
		}
	}
}

// A key that one node revokes is refused on the other within two seconds, including open streams.
func TestAKeyIsRevokedOnAnotherNode(t *testing.T) {
	t.Parallel()
	b := migrated(t, needed(t))
	env, token := []string{"BRAID_POSTGRES_URL=" + b.server}, tokenFile(t)
	one, two := serve(t, env, "--token-file", token), serve(t, env, "--token-file", token)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	admin := one.client().Admin()
	if _, err := admin.CreateTenant(ctx, "acme", client.TenantSpec{}); err != nil {
		t.Fatal(err)
	}
	key, its, err := admin.CreateKey(ctx, "acme", client.NewKey{Scopes: []string{"read", "write"}})
	if err != nil {
		t.Fatal(err)
	}
	there, err := client.New(two.url, its, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conv, err := there.Create(ctx, client.NewConversation{})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, two.url+"/v1/conversations/"+conv.ID+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+its.Reveal())
	res, err := http.DefaultClient.Do(req) // the header arrives at once
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	defer res.Body.Close()
	if _, err := admin.RevokeKey(ctx, "acme", key.ID); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	stream, err := io.ReadAll(res.Body)
	took := time.Since(begun)
	if err != nil || !strings.Contains(string(stream), `"UNAUTHENTICATED"`) {
		t.Errorf("%v: the stream ends with %s", err, stream)
	}
	if took > 2*time.Second {
		t.Errorf("it was cut after %v", took)
	}
	if _, err := there.Get(ctx, conv.ID); !errors.Is(err, event.ErrUnauthenticated) {
		t.Errorf("afterwards: %v", err)
	}
	t.Logf("it was cut after %v", took)
}

// A server whose database accepts no writes is not ready, but alive. It becomes ready once the database accepts
// writes again.
func TestReadyOfADatabaseThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	const full = `CREATE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`
	for name, c := range map[string]struct {
		// breaks and mends are the superuser's statements; write is a client's call in between.
		breaks, mends []string
		write         func(ctx context.Context, c *client.Client, conversation string) error
		kind          event.ErrorKind
	}{
		"read only": {
			breaks: []string{
				`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
				`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = '` + server + `'`,
			},
			mends: []string{
				`BEGIN READ WRITE`,
				`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`,
				`COMMIT`,
				`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = '` + server + `'`,
			},
			write: createOne, kind: event.ErrUnavailable,
		},
		"no space for conversations": {
			breaks: []string{
				full, `CREATE TRIGGER full_disk BEFORE INSERT ON braid_service.conversation EXECUTE FUNCTION public.full_disk()`,
				`CREATE TRIGGER full_disk BEFORE INSERT ON braid_service.reservation EXECUTE FUNCTION public.full_disk()`,
			},
			mends: []string{`DROP FUNCTION public.full_disk CASCADE`},
			write: createOne, kind: event.ErrStorageFull,
		},
		"no space for runs": {
			breaks: []string{
				full, `CREATE TRIGGER full_disk BEFORE INSERT ON braid.run EXECUTE FUNCTION public.full_disk()`,
				`CREATE TRIGGER full_disk BEFORE INSERT ON braid.state EXECUTE FUNCTION public.full_disk()`,
			},
			mends: []string{`DROP FUNCTION public.full_disk CASCADE`},
			write: startOne, kind: event.ErrStorageFull,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := migrated(t, needed(t))
			n := serve(t, []string{"BRAID_POSTGRES_URL=" + b.server}, "--token-file", tokenFile(t))
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			conv, err := n.client().Create(ctx, client.NewConversation{})
			if err != nil {
				t.Fatal(err)
			}
			if status, said := ready(t, n); status != http.StatusOK {
				t.Fatalf("before: %d %s", status, said)
			}
			if err := sql(ctx, b.pg, b.name, c.breaks...); err != nil {
				t.Fatal(err)
			}
			once, err := client.New(n.url, secret.New(plantedToken), client.Options{Tries: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.write(ctx, once, conv.ID); !errors.Is(err, c.kind) {
				t.Errorf("a write is answered with %v, want %s", err, c.kind)
			}
			for range 3 {
				status, said := ready(t, n)
				if status != http.StatusServiceUnavailable || strings.Contains(said, "SQL") || strings.Contains(said, "braid.") {
					t.Errorf("it says %d %s", status, said)
				}
			}
			if err := sql(ctx, b.pg, b.name, c.mends...); err != nil {
				t.Fatal(err)
			}
			soon(t, "the server is not ready", func() bool { status, _ := ready(t, n); return status == http.StatusOK })
			if r, err := n.client().Run(ctx, conv.ID, "hello", client.RunOptions{}); err != nil || r.Status != event.RunCompleted {
				t.Errorf("afterwards: %+v, %v", r, err)
			}
		})
	}
}

func createOne(ctx context.Context, c *client.Client, _ string) error {
	_, err := c.Create(ctx, client.NewConversation{})
	return err
}

func startOne(ctx context.Context, c *client.Client, conversation string) error {
	_, err := c.Start(ctx, conversation, "hello", client.RunOptions{})
	return err
}

// ready asks a node whether it is ready.
func ready(t *testing.T, n *node) (status int, said string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
