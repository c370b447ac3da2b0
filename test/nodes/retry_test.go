//go:build unix

package nodes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// Runs fail before or after they pay. A server with another model retries them, and is killed twice while it streams
// them. One run continues each to its end with a complete stream, and nothing is paid twice.
func TestARetryOverKills(t *testing.T) {
	t.Parallel()
	needed(t)
	l := newLedger(t)
	l.took = func(string) time.Duration { return 100 * time.Millisecond }
	args := []string{"--token-file", tokenFile(t), "--data", t.TempDir(), "--mcp", l.config(t), "--model"}
	pick := rand.New(rand.NewPCG(16, 6))
	rounds, cuts := 4, 0
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		// Even rounds fail at their second model call, after the payment, odd ones at the first.
		cycle := 2 - round%2
		n := serve(t, nil, append(args, fmt.Sprintf("%s?fault=model_auth&cycle=%d", script(), cycle))...)
		list := people(t, n, round, 8)
		for i, r := range list {
			if i%4 == 3 && cycle == 2 {
				r.body = strings.ReplaceAll(r.body, "hello", "pay") // a direct answer does not fail
			}
		}
		all(list, func(_ int, r *repeater) { r.connect(t.Context(), n.url, everything) })
		for _, r := range list {
			runs, err := n.client().Runs(t.Context(), r.conv)
			if err != nil || len(runs) != 1 || runs[0].Status != event.RunFailed {
				t.Fatalf("%+v, %v", runs, err)
			}
			r.path, r.body, r.lists = r.path+"/"+runs[0].ID+"/retry", "{}", nil
			r.runs, r.calls = 2, 3-cycle
			r.header.Set("Idempotency-Key", "again")
		}
		n.signal(syscall.SIGKILL)
		<-n.ended

		n = serve(t, nil, append(args, paced())...)
		over := make([]bool, len(list))
		for range 2 {
			most := make([]int, len(list))
			for i := range most {
				most[i] = 1 + pick.IntN(10)
			}
			all(list, func(i int, r *repeater) { over[i] = over[i] || r.connect(t.Context(), n.url, most[i]) })
			n.signal(syscall.SIGKILL)
			<-n.ended
			n = serve(t, nil, append(args, paced())...)
		}
		all(list, func(_ int, r *repeater) {
			if !r.connect(t.Context(), n.url, everything) {
				t.Errorf("the stream of the run in %s does not end", r.conv)
			}
		})
		for i, r := range list {
			r.check(n, 2)
			if !over[i] {
				cuts++
			}
		}
		n.signal(syscall.SIGKILL)
		<-n.ended
	}
	paidOnce(t, l)
	if cuts == 0 {
		t.Error("no run was under way when the server was killed")
	}
	t.Logf("%d of %d runs were under way when the server was killed", cuts, 8*rounds)
}

// A run fails at one node and is retried at the other. That one is killed, and the first takes the run over.
func TestARetryAtAnotherNode(t *testing.T) {
	t.Parallel()
	b := migrated(t, needed(t))
	l := newLedger(t)
	l.took = func(string) time.Duration { return 200 * time.Millisecond }
	env := []string{"BRAID_POSTGRES_URL=" + b.server}
	args := []string{"--token-file", tokenFile(t), "--mcp", l.config(t), "--model"}
	bad := serve(t, env, append(args, script()+"?fault=model_auth&cycle=2")...)
	list := people(t, bad, 0, 8)
	for i, r := range list {
		if i%4 == 3 {
			r.body = strings.ReplaceAll(r.body, "hello", "pay")
		}
	}
	all(list, func(_ int, r *repeater) { r.connect(t.Context(), bad.url, everything) })
	bad.signal(syscall.SIGKILL)
	<-bad.ended
	one, two := serve(t, env, append(args, paced())...), serve(t, env, append(args, paced())...)
	for _, r := range list {
		runs, err := one.client().Runs(t.Context(), r.conv)
		if err != nil || len(runs) != 1 || runs[0].Status != event.RunFailed {
			t.Fatalf("%+v, %v", runs, err)
		}
		r.path, r.body, r.lists = r.path+"/"+runs[0].ID+"/retry", "{}", nil
		r.runs, r.calls = 2, 1
		r.header.Set("Idempotency-Key", "again")
	}
	all(list, func(i int, r *repeater) { r.connect(t.Context(), two.url, 1+i) })
	two.signal(syscall.SIGKILL)
	<-two.ended
	all(list, func(_ int, r *repeater) {
		if !r.connect(t.Context(), one.url, everything) {
			t.Errorf("the stream of the run in %s does not end at the other node", r.conv)
		}
	})
	for _, r := range list {
		r.check(one, 1)
	}
	paidOnce(t, l)
}
