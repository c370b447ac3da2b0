package client

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
)

// unixPrefix begins the address of a server on a Unix socket.
const unixPrefix = "unix:"

// socketOf parses the address of a socket, such as "unix:/run/braid.sock", with an optional base
// path: "unix:/run/braid.sock:/braid". ok is false for another kind of address.
func socketOf(address string) (path string, base *url.URL, ok bool, err error) {
	path, ok = strings.CutPrefix(address, unixPrefix)
	if !ok {
		return "", nil, false, nil
	}
	under := ""
	if i := strings.LastIndex(path, ":/"); i > 0 {
		path, under = path[:i], path[i+1:]
	}
	if path == "" || strings.HasPrefix(path, "//") || strings.ContainsAny(under, "?#%") {
		return "", nil, true, &event.Error{
			Op: "client", Kind: event.ErrInvalid, Message: "the server's socket has no path", Hint: "give it as unix:/run/braid/braid.sock",
		}
	}
	// The server there regards itself as a local one.
	return path, &url.URL{Scheme: "http", Host: "localhost", Path: strings.TrimSuffix(under, "/")}, true, nil
}

// through makes an HTTP client connect to the socket for every host.
func through(own *http.Client, path string) error {
	var t *http.Transport
	switch given := own.Transport.(type) {
	case nil:
		t = http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own
	case *http.Transport:
		t = given.Clone()
	default:
		return &event.Error{
			Op: "client", Kind: event.ErrInvalid, Message: "a custom transport cannot be redirected to a socket",
			Hint: "have it connect to the socket itself, and give the address as http://localhost",
		}
	}
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	own.Transport = t
	return nil
}
