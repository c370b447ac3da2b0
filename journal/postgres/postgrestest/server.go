// Package postgrestest starts a private PostgreSQL server for tests, with the system's binaries. It does not use a
// server that is already running.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrMissing means that the system has no PostgreSQL server.
var ErrMissing = errors.New("there is no PostgreSQL server here: neither on the PATH nor below /usr/lib/postgresql; install one")

// Server is a database server with its own folder. It listens only on a socket in that folder, so only the user who
// runs the tests can connect.
type Server struct {
	bin     string
	folder  string
	socket  string
	options []string
	user    *runAs

	command *exec.Cmd
	stop    io.WriteCloser
	done    chan struct{}
}

// Superuser is the role with all rights. No role needs a password.
const Superuser = "postgres"

// New creates and starts a server; more are its settings, as "name=value". Call [Server.Close] at the end. The error
// is [ErrMissing] if the system has no server.
func New(ctx context.Context, more ...string) (_ *Server, err error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	// A socket's path must be short.
	folder, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, folder: folder, options: more}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.user, err = dropRights(); err != nil {
		return nil, err
	}
	if err := s.user.own(folder); err != nil {
		return nil, err
	}
	s.socket = folder
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata="+s.data(), "--username="+Superuser, //nolint:gosec // the system's
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir = folder
	s.user.run(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.Start(ctx)
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// guard runs the server until its input ends. That happens when the test process ends in any way.
const guard = `"$@" & pid=$!
read -r how
kill -"${how:-INT}" $pid
wait $pid`

// Start starts a stopped server and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	arguments := []string{"-c", guard, "sh", filepath.Join(s.bin, "postgres"), "-D", s.data()}
	for _, o := range append([]string{
		"listen_addresses=", "unix_socket_directories=" + s.socket, "unix_socket_permissions=0777", "max_connections=200",
		"logging_collector=off", "log_min_messages=fatal", "log_min_error_statement=panic",
	}, s.options...) {
		arguments = append(arguments, "-c", o)
	}
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command("/bin/sh", arguments...) //nolint:gosec,noctx // the system's; it outlives ctx
	command.Dir, command.Stdout, command.Stderr = s.folder, log, log
	s.user.run(command)
	if s.stop, err = command.StdinPipe(); err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	s.command, s.done = command, make(chan struct{})
	go func(done chan struct{}) {
		_ = command.Wait() // the exit status does not matter
		close(done)
	}(s.done)
	return s.ready(ctx)
}

// ready waits until the server answers.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		ask := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_isready"), "-q", "-h", s.socket, "-U", Superuser) //nolint:gosec // the system's
		if ask.Run() == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
			return fmt.Errorf("the server does not answer: %w\n%s", ctx.Err(), log)
		case <-s.done:
			log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
			return fmt.Errorf("the server ended by itself\n%s", log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop shuts the server down at once and closes its connections.
func (s *Server) Stop() error { return s.end("INT") }

// Crash stops the server as a crash does. The next Start recovers.
func (s *Server) Crash() error { return s.end("QUIT") }

func (s *Server) end(how string) error {
	if s.command == nil {
		return nil
	}
	_, err := io.WriteString(s.stop, how+"\n")
	err = errors.Join(err, s.stop.Close())
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		err = errors.Join(err, errors.New("the server does not end"))
	}
	s.command = nil
	return err
}

// Close stops the server and removes what it kept.
func (s *Server) Close() error { return errors.Join(s.Stop(), os.RemoveAll(s.folder)) }

// URL is the address of a database for a role.
func (s *Server) URL(role, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database, RawQuery: url.Values{"host": {s.socket}}.Encode()}
	return u.String()
}

// find gives the folder of the server's binaries, of the newest version that there is.
func find() (string, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is right
	slices.SortFunc(folders, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(b, a)
	})
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(path))
		}
	}
	for _, f := range folders {
		whole := true
		for _, name := range []string{"postgres", "initdb", "pg_isready"} {
			if _, err := os.Stat(filepath.Join(f, name)); err != nil {
				whole = false
			}
		}
		if whole {
			return f, nil
		}
	}
	return "", ErrMissing
}
