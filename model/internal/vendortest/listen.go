package vendortest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// listen starts a server on loopback. In a bubble of testing/synctest, whose clock stands still
// while somebody waits for a socket, it listens in memory: only its own client reaches it there.
func listen(h http.Handler) *httptest.Server {
	if !bubbled() {
		return httptest.NewServer(h)
	}
	l := &memory{calls: make(chan net.Conn), closed: make(chan struct{})}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ReadHeaderTimeout: time.Hour}}
	s.Start()
	s.Client().Transport = &http.Transport{DialContext: l.dial}
	return s
}

// bubbled reports whether the caller is in a bubble: the clock of each begins at midnight of
// the first day of 2000.
func bubbled() bool { return time.Now().Year() < 2020 }

// memory is a listener without a socket.
type memory struct {
	calls  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.calls <- server:
		return client, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.calls:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
