//go:build unix

package nodes

import (
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/journal"
)

// One of three nodes is killed under load. Another is suspended for longer than its leases last, and then continues.
func TestANodeDiesAndAnotherStalls(t *testing.T) { //nolint:paralleltest // it needs the machine for itself
	pg := needed(t)
	b := migrated(t, pg)
	l := newLedger(t)
	l.took = func(tool string) time.Duration {
		if tool == "look" {
			return 1500 * time.Millisecond
		}
		return 300 * time.Millisecond
	}
	env, token, mcp := []string{"BRAID_POSTGRES_URL=" + b.server}, tokenFile(t), l.config(t)
	var nodes []*node
	for range 3 {
		nodes = append(nodes, serve(t, env, "--token-file", token, "--mcp", mcp))
	}
	c := newCrowd(t, newBalancer(t, nodes...).url, 60)
	time.Sleep(5 * time.Second)
	nodes[0].signal(syscall.SIGKILL)
	time.Sleep(3 * time.Second)
	nodes[1].signal(syscall.SIGSTOP)
	time.Sleep(journal.DefaultTerm + 10*time.Second)
	nodes[1].signal(syscall.SIGCONT)
	time.Sleep(10 * time.Second)
	c.end()
	f := c.check(b, l)
	t.Log(f)
	if f.takeovers == 0 || f.runs < 300 {
		t.Errorf("nothing was taken over, or too little happened: %s", f)
	}
	for _, n := range nodes[1:] {
		if took, code := n.stop(); code != 0 || took > 10*time.Second {
			t.Errorf("a node ended after %v with %d", took, code)
		}
	}
}
