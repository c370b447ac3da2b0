//go:build unix

package nodes

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// balancer distributes connections over the nodes in turn, as a load balancer does. It skips a node that refuses
// them, but cannot detect one that hangs.
type balancer struct {
	url string

	mu    sync.Mutex
	nodes []string
	next  int
}

func newBalancer(t *testing.T, nodes ...*node) *balancer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	b := &balancer{url: "http://" + listener.Addr().String()}
	b.use(nodes...)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.pass(conn)
		}
	}()
	return b
}

// use sets the nodes.
func (b *balancer) use(nodes ...*node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes = nil
	for _, n := range nodes {
		b.nodes = append(b.nodes, strings.TrimPrefix(n.url, "http://"))
	}
}

func (b *balancer) pass(conn net.Conn) {
	defer conn.Close()
	b.mu.Lock()
	b.next++
	first, nodes := b.next, b.nodes
	b.mu.Unlock()
	for i := range nodes {
		node, err := net.DialTimeout("tcp", nodes[(first+i)%len(nodes)], time.Second)
		if err != nil {
			continue
		}
		go func() {
			_, _ = io.Copy(node, conn)
			_ = node.Close()
		}()
		_, _ = io.Copy(conn, node)
		_ = node.Close()
		return
	}
}
