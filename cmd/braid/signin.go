package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcptool"
)

// These are in the data folder: the encrypted grants of MCP servers, and the keys for them.
const (
	grantsFolder = "mcp-grants"
	grantsKeys   = "mcp-grants-keys.json"
)

// signIns signs the user of this command in to MCP servers. The authorization server sends the browser to an address of
// this process, or the user pastes that address. The nil value signs nobody in.
type signIns struct {
	base     mcpauth.Options
	folder   io.Closer
	listener net.Listener
	server   *http.Server
	done     chan struct{}

	mu      sync.Mutex
	servers *mcptool.Servers
	// signed has the servers that the user has signed in to; each channel is closed then.
	signed map[string]chan struct{}
}

// openSignIns returns nil if no server of the settings can want its user to sign in.
func (p *process) openSignIns(s *conf.Settings) (*signIns, error) {
	if s.MCP == "" {
		return nil, nil //nolint:nilnil // nobody signs in
	}
	configs, err := p.readMCP(s)
	if err != nil {
		return nil, err
	}
	port, wanted := 0, false
	for i := range configs {
		c := &configs[i]
		if c.URL == "" || c.SSE || c.Disabled || c.OAuth != nil && c.OAuth.Off {
			continue
		}
		wanted = true
		if c.OAuth != nil && c.OAuth.CallbackPort > 0 {
			port = c.OAuth.CallbackPort
		}
	}
	if !wanted {
		return nil, nil //nolint:nilnil // nobody signs in
	}
	a := &signIns{signed: map[string]chan struct{}{}, done: make(chan struct{})}
	a.base.ClientName = "braid"
	if a.base.Store, a.folder, err = openGrants(s); err != nil {
		return nil, err
	}
	// Without a listener the user pastes the address.
	a.base.Redirect = "http://127.0.0.1:" + strconv.Itoa(max(port, 1)) + callbackPath
	if l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
		a.listener = l
		a.base.Redirect = "http://" + l.Addr().String() + callbackPath
	}
	return a, nil
}

// callbackPath is where the authorization server sends the browser.
const callbackPath = "/callback"

// openGrants opens the store of grants: in the data folder, or in memory for an ephemeral conversation.
func openGrants(s *conf.Settings) (mcpauth.Store, io.Closer, error) {
	if s.Ephemeral {
		return mcpauth.Memory(), io.NopCloser(nil), nil
	}
	folder := filepath.Join(s.Data, grantsFolder)
	f, err := mcpauth.OpenFolder(folder, nil)
	if err == nil {
		_ = f.Close() // it made the data folder, which the keys need
		var keys *keyset.Keyset
		if keys, err = keyset.Open(filepath.Join(s.Data, grantsKeys)); err == nil {
			f, err = mcpauth.OpenFolder(folder, keys)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return f, f, nil
}

// client is for [mcptool.Options].SignIn.
func (a *signIns) client(c mcptool.Config) (*mcpauth.Client, error) {
	return mcptool.SignInWith(a.base)(c)
}

// serve listens for browsers that come back to sign-ins of these servers.
func (a *signIns) serve(servers *mcptool.Servers) {
	if a == nil {
		return
	}
	a.servers = servers
	if a.listener == nil {
		close(a.done)
		return
	}
	a.server = &http.Server{Handler: http.HandlerFunc(a.callback), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(a.done)
		_ = a.server.Serve(a.listener) // it ends with close
	}()
}

// close stops listening and waits for it.
func (a *signIns) close() {
	if a == nil {
		return
	}
	switch {
	case a.server != nil:
		_ = a.server.Close() // nobody waits for a browser
		<-a.done
	case a.listener != nil:
		_ = a.listener.Close() // it was never used
	}
	_ = a.folder.Close() // everything is stored
}

// callback answers a browser. It says nothing about an unknown sign-in: any page of the web can send a browser here.
func (a *signIns) callback(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || r.Host != a.listener.Addr().String() {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	server, err := a.complete(r.Context(), r.URL.RawQuery)
	switch {
	case errors.Is(err, event.ErrNotFound), errors.Is(err, event.ErrInvalid):
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "There is no such sign-in. It may have ended: begin again.\n") // the browser may have gone
	case err != nil:
		message, hint := term.Describe(err)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "%s (%s)\n", printer.OneLine(message), printer.OneLine(hint)) //nolint:gosec // the type is text/plain
	default:
		const done = "You are signed in to %s. You can close this page and go back to braid.\n"
		_, _ = fmt.Fprintf(w, done, term.CleanLine(server)) //nolint:gosec // the type is text/plain
	}
}

// complete ends a sign-in with the address that the browser came back to.
func (a *signIns) complete(ctx context.Context, address string) (server string, err error) {
	if server, err = a.servers.CompleteSignIn(ctx, address); err != nil {
		return server, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.waiting(server):
	default:
		close(a.waiting(server))
	}
	return server, nil
}

// waiting returns the channel that is closed once the user has signed in to a server. The caller holds a.mu.
func (a *signIns) waiting(server string) chan struct{} {
	if a.signed[server] == nil {
		a.signed[server] = make(chan struct{})
	}
	return a.signed[server]
}

// begin returns the channel that is closed once the user signs in to a server from now on.
func (a *signIns) begin(server string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.waiting(server):
		delete(a.signed, server)
	default:
	}
	return a.waiting(server)
}

// askSignIn waits until the browser has come back, or the user enters something: the address that the
// browser was sent to, or no. A user at a terminal presses Enter at the end, because a line that is being edited cannot be
// taken away.
func (a *asker) askSignIn(ctx context.Context, s mcptool.SignIn) (any, error) {
	signed := a.signIns.begin(s.Server)
	const words = "  Open the link in a browser, then press Enter. On another computer, paste the address that the browser ends at; n declines.\n"
	if _, err := io.WriteString(a.out, words); err != nil {
		return nil, term.OutputError(err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-signed:
			stop(errSignedIn)
		case <-ctx.Done():
		}
	}()
	for {
		line, err := a.lines.Line(ctx, "sign in> ", true) // the address has a code in it
		if isClosed(signed) {
			_, err := fmt.Fprintf(a.out, "  signed in to %s\n", term.CleanLine(s.Server))
			return true, term.OutputError(err)
		}
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		why := "not signed in yet: open the link, or paste the address that the browser ends at"
		switch {
		case slices.Contains([]string{"n", "no", "いいえ"}, strings.ToLower(line)):
			return false, nil
		case strings.Contains(line, "state="):
			if _, err := a.signIns.complete(ctx, line); err == nil {
				return true, nil
			} else if ctx.Err() == nil {
				message, hint := term.Describe(err)
				why = message + ": " + hint
			}
		}
		if _, err := fmt.Fprintf(a.out, "  %s\n", term.Clean(why)); err != nil {
			return nil, term.OutputError(err)
		}
	}
}

var errSignedIn = errors.New("the user has signed in")

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
