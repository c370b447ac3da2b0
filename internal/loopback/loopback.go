// Package loopback starts HTTP servers for tests, including tests in a testing/synctest bubble.
package loopback

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Start starts a server on loopback. In a synctest bubble it listens in memory, because the
// bubble's clock stops while a goroutine waits for a socket. Only the server's own client reaches
// it there.
func Start(h http.Handler) *httptest.Server {
	s, start := Prepare(h)
	start()
	return s
}

// Prepare returns the server of [Start] and the function that starts it. The listener has its
// address before that.
func Prepare(h http.Handler) (s *httptest.Server, start func()) {
	if !bubbled() {
		s = httptest.NewUnstartedServer(h)
		return s, s.Start
	}
	l := Listen()
	s = &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ReadHeaderTimeout: time.Hour}}
	return s, func() {
		s.Start()
		s.Client().Transport = &http.Transport{DialContext: l.Dial}
	}
}

// bubbled reports whether the caller is in a bubble, whose clock begins on 2000-01-01.
func bubbled() bool { return time.Now().Year() < 2020 }

// Listener is a listener in memory. Its connections have no buffer: a write waits for a read.
type Listener struct {
	calls  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Listen returns a new listener.
func Listen() *Listener {
	return &Listener{calls: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the listener and ignores the address. It has the signature that
// [http.Transport] needs.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.calls <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener]. The address is made up.
func (*Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
