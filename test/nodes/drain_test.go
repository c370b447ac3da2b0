//go:build unix

package nodes

import (
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// A server is asked to stop while 50 clients read runs with tools of ten seconds. It stops in time, interrupts
// nothing and repeats nothing, and the clients continue with another server.
func TestADrain(t *testing.T) {
	t.Parallel()
	needed(t)
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			drain(t, store)
		})
	}
}

func drain(t *testing.T, store string) {
	t.Helper()
	const streams = 50
	l := newLedger(t)
	l.took = func(string) time.Duration { return 10 * time.Second }
	var env []string
	args := []string{"--token-file", tokenFile(t), "--mcp", l.config(t)}
	if store == "postgres" {
		env = []string{"BRAID_POSTGRES_URL=" + migrated(t, needed(t)).server}
	} else {
		args = append(args, "--data", t.TempDir())
	}
	one := serve(t, env, args...)
	b := newBalancer(t, one)
	api := clientOf(t, b.url)
	var mu sync.Mutex
	results := map[string]*native.Result{}
	var people sync.WaitGroup
	for i := range streams {
		conv, err := api.Create(t.Context(), client.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		mark := "d" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		people.Go(func() {
			r, err := api.Run(t.Context(), conv.ID, "pay "+mark, client.RunOptions{})
			mu.Lock()
			defer mu.Unlock()
			if results[mark] = r; err != nil {
				t.Errorf("%s: %v", mark, err)
			}
		})
	}
	l.until("pay", streams)
	time.Sleep(2 * time.Second)
	took, code := one.stop()
	if code != 0 || took > 30*time.Second {
		t.Errorf("the server ended after %v with %d", took, code)
	}
	t.Logf("%s: the server ended %v after it was asked to", store, took.Round(10*time.Millisecond))
	b.use(serve(t, env, args...))
	people.Wait()
	for mark, r := range results {
		if r == nil || r.Status != event.RunCompleted || r.IsError {
			t.Errorf("%s came out as %+v", mark, r)
		}
		if n := l.count(effect{"pay", mark, "first"}); n != 1 {
			t.Errorf("%s was paid %d times", mark, n)
		}
	}
	if len(results) != streams {
		t.Errorf("%d of %d clients came to an end", len(results), streams)
	}
}
