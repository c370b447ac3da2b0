// Package loopback starts the HTTP servers of tests, also where testing/synctest keeps the clock.
package loopback

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Start starts a server on loopback. In a bubble of testing/synctest, whose clock stands still
// while somebody waits for a socket, it listens in memory: only its own client reaches it there.
func Start(h http.Handler) *httptest.Server {
	s, start := Prepare(h)
	start()
	return s
}

// Prepare makes the server of [Start], and what starts it. Its listener has its address before.
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

// bubbled reports whether the caller is in a bubble: the clock of each begins at midnight of
// the first day of 2000.
func bubbled() bool { return time.Now().Year() < 2020 }

// Listener is a listener without a socket. Its connections keep no byte: who writes waits for
// who reads.
type Listener struct {
	calls  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Listen makes a listener.
func Listen() *Listener {
	return &Listener{calls: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to it, whatever the address is. It has the form that [http.Transport] wants.
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

// Addr implements [net.Listener]; nobody listens at that address.
func (*Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
