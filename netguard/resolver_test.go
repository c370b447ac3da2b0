package netguard_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// nameServer is a DNS server on loopback. It gives each name's addresses in turn: one more with every question of its type, and
// the last one for ever.
type nameServer struct {
	mu    sync.Mutex
	names map[string][]string
}

// resolver starts a name server and returns a resolver that asks it.
func resolver(t *testing.T, names map[string][]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{names: names}
	var wait sync.WaitGroup
	wait.Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := s.answer(buf[:n]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	})
	t.Cleanup(func() { _ = conn.Close(); wait.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer is the reply to a question of one name, as RFC 1035 writes both.
func (s *nameServer) answer(q []byte) []byte {
	if len(q) < 12 {
		return nil
	}
	var labels []string
	i := 12
	for i < len(q) && q[i] != 0 {
		end := i + 1 + int(q[i])
		if end >= len(q) {
			return nil
		}
		labels = append(labels, string(q[i+1:end]))
		i = end
	}
	if i+5 > len(q) {
		return nil
	}
	question, kind := q[12:i+5], q[i+2]
	reply := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	name := strings.ToLower(strings.Join(labels, "."))
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.names[name]
	if len(list) == 0 {
		reply[3] |= 3 // there is no such name
		return reply
	}
	a := netip.MustParseAddr(list[0])
	if (kind == 1) != a.Is4() || kind != 1 && kind != 28 {
		return reply
	}
	if len(list) > 1 {
		s.names[name] = list[1:]
	}
	raw := a.AsSlice()
	reply[7] = 1
	reply = append(reply, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
	return append(reply, raw...)
}
