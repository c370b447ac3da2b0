package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// listen opens the port or the socket. Its errors name the next step.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(addr, conf.UnixPrefix); ok {
		return listenUnix(ctx, path)
	}
	if addr == "" {
		addr = conf.DefaultAddr
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, term.Invalid("write it as 127.0.0.1:7421, or unix:PATH for a socket", "--addr: %q is no address with a port", term.Fit(addr, 60))
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &event.Error{
			Kind: event.ErrConflict, Message: "another program answers on " + addr, Hint: "end it, or choose another port with --addr", Err: err,
		}
	case errors.Is(err, syscall.EACCES):
		return nil, &event.Error{
			Kind: event.ErrPermission, Message: "this user may not answer on " + addr, Hint: "choose a port above 1023 with --addr", Err: err,
		}
	default:
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "the server cannot answer on " + term.Fit(addr, 60),
			Hint: "choose an address of this machine with --addr", Err: err,
		}
	}
}

// socket is a listener that removes its socket when it is closed, unless another socket has replaced it.
type socket struct {
	net.Listener

	path string
	file os.FileInfo
}

// Close stops listening.
func (s *socket) Close() error {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		_ = os.Remove(s.path) // the next server replaces it anyway
	}
	return s.Listener.Close()
}

// longestSocket is the maximum length of a socket's path on all systems.
const longestSocket = 100

// listenUnix opens a socket that only this user can reach. It creates the socket in a private folder and
// then moves it to its place: no other user can ever connect, and the move replaces the socket of a dead
// process in one step.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	fault := func(kind event.ErrorKind, message, hint string, err error) error {
		return &event.Error{Kind: kind, Message: message, Hint: hint, Err: err}
	}
	path, err := filepath.Abs(path)
	if err != nil || strings.HasSuffix(path, string(filepath.Separator)) {
		return nil, term.Invalid("write it as unix:/run/braid/braid.sock", "--addr: the socket has no path")
	}
	folder, err := os.MkdirTemp(filepath.Dir(path), ".sock")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault(event.ErrNotFound, "there is no folder for the socket", "make it first", err)
	case err != nil:
		return nil, fault(event.ErrPermission, "the socket cannot be made", "let this user write in its folder", err)
	}
	defer os.RemoveAll(folder)
	made := filepath.Join(folder, "s")
	if max(len(path), len(made)) > longestSocket {
		return nil, term.Invalid("choose a shorter one: the system allows about a hundred characters", "--addr: the socket's path is too long")
	}
	if err := replaceable(ctx, path); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", made)
	if err != nil {
		return nil, fault(event.ErrUnsupported, "the socket cannot be made", "choose a folder of a local disk, or a port", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, path)
	}
	var file os.FileInfo
	if err == nil {
		file, err = os.Lstat(path)
	}
	if err != nil {
		_ = l.Close()
		return nil, fault(event.ErrPermission, "the socket cannot be put in its place", "let this user write in its folder", err)
	}
	return &socket{l, path, file}, nil
}

// replaceable returns an error if a socket must not replace the file at the path. A missing file and the
// socket of a dead process may be replaced.
func replaceable(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		return &event.Error{
			Kind: event.ErrConflict, Message: "the path of the socket exists and is not a socket",
			Hint: "choose another path, or move it away",
		}
	}
	conn, dialErr := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil && errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil
	}
	if dialErr == nil {
		_ = conn.Close()
	}
	return &event.Error{
		Kind: event.ErrConflict, Message: "another program answers on the socket, or it cannot be looked at",
		Hint: "end that program, or choose another path with --addr", Err: errors.Join(err, dialErr),
	}
}
