//go:build unix

package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onSocket has a site be asked by its socket.
func onSocket(t *testing.T, s *site, path, base string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	s.http, s.url = &http.Client{Transport: transport}, "http://localhost"+base
}

// On a socket the server is reached by its own user alone. What a dead one has left behind is
// replaced, a live one's is not, and neither is anything else that stands there.
func TestServeOnASocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path, data := filepath.Join(dir, "braid.sock"), filepath.Join(t.TempDir(), "data")
	s := startServer(t, data, "--addr", "unix:"+path, "--model", "demo")
	if s.url != "unix:"+path {
		t.Fatalf("it serves on %s", s.url)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v: %v", info.Mode(), err)
	}
	s.tells()
	if a := tell(t, nil, "run", "-q", "--server", s.url, "--data", data, "What is 6 times 7?"); a.exit != 0 {
		t.Errorf("with the data folder's own token: %+v", a)
	}
	onSocket(t, s, path, "")
	conv := s.json(201, "POST", "/v1/conversations", "")["id"].(string)
	stream, err := io.ReadAll(s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"What is 6 times 7?"}`).Body)
	if err != nil || strings.Count(string(stream), "event: result\n") != 1 || !strings.Contains(string(stream), "42") {
		t.Errorf("%v: the stream is\n%s", err, stream)
	}
	// While it lives its place is taken, and it lives on.
	file := filepath.Join(dir, "notes")
	write(t, file, "mine")
	serveRefusesNow(t, "another program answers", 13, "--addr", "unix:"+path)
	serveRefusesNow(t, "is not a socket", 13, "--addr", "unix:"+file)
	serveRefusesNow(t, "no folder", 12, "--addr", "unix:"+filepath.Join(dir, "none", "s"))
	serveRefusesNow(t, "too long", 2, "--addr", "unix:"+filepath.Join(dir, strings.Repeat("x", 120)))
	s.json(200, "GET", "/v1/conversations/"+conv, "")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("beside the socket there is %v: %v", left, err)
	}
	// Killed, it leaves its socket behind. The next one takes the place, below a path now.
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("a server that was killed has removed its socket: %v", err)
	}
	next := startServer(t, data, "--addr", "unix:"+path, "--base-path", "/braid", "--model", "demo")
	if next.url != "unix:"+path+":/braid" {
		t.Errorf("it serves on %s", next.url)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v: %v", info.Mode(), err)
	}
	next.tells()
	onSocket(t, next, path, "/braid")
	next.json(200, "GET", "/v1/conversations/"+conv, "")
	if err := next.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := next.wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, next.log)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left: %v", left, err)
	}
}

// serveRefusesNow is for a server that must not start while others are at work.
func serveRefusesNow(t *testing.T, says string, exit int, args ...string) {
	t.Helper()
	a := tell(t, nil, append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--log", "none"}, args...)...)
	if a.exit != exit || !strings.Contains(a.errs, says) || !strings.Contains(a.errs, "next:") || a.out != "" {
		t.Errorf("%v: want exit %d and %q: %+v", args, exit, says, a)
	}
}
