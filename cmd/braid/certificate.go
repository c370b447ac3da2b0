package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// certificate is the server's TLS certificate. It reloads its two files after a renewal, for new
// connections.
type certificate struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time

	mu      sync.Mutex
	pair    *tls.Certificate
	state   [2]stamp
	looked  time.Time
	trouble bool
}

// stamp identifies the version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// certificateLook is the interval of checks for a renewal.
const certificateLook = 10 * time.Second

// openTLS reads the certificate of the flags; nil is none.
func (p *process) openTLS(in *conf.Invocation, log *slog.Logger) (*tls.Config, error) {
	cert, key := in.Flags["tls-cert"], in.Flags["tls-key"]
	switch {
	case cert == "" && key == "":
		return nil, nil //nolint:nilnil // there is none
	case cert == "" || key == "":
		return nil, term.Invalid("give both: the certificate with its chain, and its private key", "--tls-cert and --tls-key belong together")
	case strings.HasPrefix(in.Flags["addr"], conf.UnixPrefix):
		return nil, term.Invalid("leave both files out: nothing of it leaves this machine", "a socket needs no certificate")
	case in.On("chat"):
		return nil, term.Invalid("leave --chat out, and open braid chat --server https://NAME beside it", "--chat talks to a server without TLS")
	}
	c := &certificate{cert: cert, key: key, log: log, now: p.Now}
	state, err := c.stamps()
	if err == nil {
		err = c.read(state)
	}
	if err != nil {
		return nil, certificateError(err)
	}
	if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o007 != 0 {
		log.Warn("everybody on this machine can read the private key of the server's certificate")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
}

func certificateError(err error) error {
	e := &event.Error{
		Kind: event.ErrInvalid, Message: "the server's certificate and its key cannot be used together", Err: err,
		Hint: "give PEM files: --tls-cert with the certificate and its chain, --tls-key with the private key of that certificate",
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Message, e.Hint = event.ErrNotFound, "there is no such file with a certificate or its key", "check --tls-cert and --tls-key"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Message, e.Hint = event.ErrPermission, "the certificate or its key cannot be read", "let this user read both files"
	}
	return e
}

// get returns the certificate for a connection. If the files cannot be read, the old certificate stays in
// use: a renewal may be in progress.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= certificateLook {
		c.looked = now
		c.look()
	}
	return c.pair, nil
}

func (c *certificate) look() {
	state, err := c.stamps()
	if err == nil {
		if state == c.state {
			return
		}
		err = c.read(state)
	}
	switch {
	case err != nil && !c.trouble:
		c.log.Warn("the server's certificate has changed and cannot be used: the one before stays in use", "error", certificateError(err))
	case err == nil:
		c.log.Info("the server's certificate was read again", "until", c.pair.Leaf.NotAfter)
	}
	c.trouble = err != nil
}

// read loads both files.
func (c *certificate) read(state [2]stamp) error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return err
		}
	}
	c.pair, c.state = &pair, state
	return nil
}

func (c *certificate) stamps() (state [2]stamp, err error) {
	for i, file := range []string{c.cert, c.key} {
		info, err := os.Stat(file)
		if err != nil {
			return state, err
		}
		state[i] = stamp{info.ModTime(), info.Size()}
	}
	return state, nil
}
