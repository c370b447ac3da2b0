package client_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

func TestAServerOnASocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 10)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host + r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"id":"conv_1"}`))
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	for address, want := range map[string]string{
		"unix:" + path:              "localhost/v1/conversations/conv_1 Bearer t",
		"unix:" + path + ":/braid":  "localhost/braid/v1/conversations/conv_1 Bearer t",
		"unix:" + path + ":/braid/": "localhost/braid/v1/conversations/conv_1 Bearer t",
	} {
		c, err := client.New(address, secret.New("t"), client.Options{HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if _, err := c.Get(t.Context(), "conv_1"); err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := <-asked; got != want {
			t.Errorf("%s: it was asked %q, want %q", address, got, want)
		}
	}
	for _, address := range []string{"unix:", "unix://localhost/x", "unix:/s:/a?b"} {
		if _, err := client.New(address, secret.New("t"), client.Options{}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
