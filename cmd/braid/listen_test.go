package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// socketFolder returns a folder whose path is short enough for a socket.
func socketFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestListenOnASocket(t *testing.T) {
	t.Parallel()
	dir := socketFolder(t)
	path := filepath.Join(dir, "braid.sock")
	// A socket that a dead process left behind.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := listen(t.Context(), conf.UnixPrefix+path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v: %v", info.Mode(), err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := listen(t.Context(), conf.UnixPrefix+path); term.KindOf(err) != event.ErrConflict {
		t.Errorf("where another one listens: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// A server that ends does not remove another server's socket.
func TestASocketOfSomebodyElseStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(socketFolder(t), "s")
	l, err := listen(t.Context(), conf.UnixPrefix+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := listen(t.Context(), conf.UnixPrefix+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("the other's socket has gone")
	}
}

func TestSocketsThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := socketFolder(t)
	file := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]event.ErrorKind{
		conf.UnixPrefix + file:                                         event.ErrConflict,
		conf.UnixPrefix + filepath.Join(dir, "none", "s"):              event.ErrNotFound,
		conf.UnixPrefix + filepath.Join(dir, strings.Repeat("x", 120)): event.ErrInvalid,
		"nowhere": event.ErrInvalid,
	} {
		l, err := listen(t.Context(), addr)
		if err == nil {
			_ = l.Close()
		}
		if term.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", addr, err, want)
		}
		if message, hint := term.Describe(err); hint == "" || strings.Contains(message+hint, dir) {
			t.Errorf("%s: %q, %q: want a hint, and no path", addr, message, hint)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file that stood there holds %q: %v", data, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
}
