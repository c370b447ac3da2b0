package mcptool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// fault is an error about a server: "the MCP server "x" …".
func fault(server string, kind event.ErrorKind, what, hint string, cause error) *event.Error {
	return &event.Error{
		Op: "mcp", Kind: kind, Message: fmt.Sprintf("the MCP server %q %s", server, what), Hint: hint, Err: cause,
	}
}

// lastWords is a cause that carries what a child wrote to its stderr.
type lastWords struct {
	err    error
	stderr string
}

func (e *lastWords) Error() string {
	s := "the program's connection ended"
	if e.err != nil {
		s = e.err.Error()
	}
	if e.stderr != "" {
		s += "; its last words:\n" + e.stderr
	}
	return s
}

func (e *lastWords) Unwrap() error { return e.err }

// Stderr gives the last words of the server's program, from an error of this package: at
// most 8 KiB of what it wrote to its stderr; "" where there is nothing. They are
// for whoever runs the server. They may hold what the server was given, and are
// shown neither to the model nor in the error's text.
func Stderr(err error) string {
	if e, ok := errors.AsType[*lastWords](err); ok {
		return e.stderr
	}
	return ""
}

// errClosed is a call whose server was closed.
var errClosed = errors.New("the server was closed")

// lastWords adds what the child wrote to a cause, without the values that the
// child was given to keep.
func (s *server) lastWords(err error, p *process) error {
	words := p.stderr.String()
	for _, v := range s.config.Env {
		if len(v.Reveal()) >= secret.MaskFrom { // "1" and "true" are no secrets, and would be found everywhere
			words = v.Hide(words)
		}
	}
	return &lastWords{err: err, stderr: words}
}

const inDoubt = "; it may have taken effect or not"

// local tells the codes that the SDK gives to errors of its own side: closing
// (-32003, -32004) and rejected by the transport (-32005).
func local(code int64) bool { return code <= -32003 && code >= -32005 }

// serverError finds an error that the server itself answered with. f, where it
// is known, has seen whether there was one: servers send the local codes too.
func serverError(err error, f *flight) *jsonrpc.Error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if ok && (!local(e.Code) || f != nil && f.wasAnswered()) {
		return e
	}
	return nil
}

// errForgotten is an answer from a server that does not know the session.
var errForgotten = errors.New("the server has forgotten the session")

// forgotten reports whether the server does not know the session any more. The
// specification wants status 404 for that, which the SDK sees only where the
// answer has no JSON-RPC error in it, and many servers write one. Those that
// follow the examples of the TypeScript SDK say 400, and speak of the session.
func (one *session) forgotten(err error, f *flight) bool {
	words := f.refused()
	if e := serverError(err, f); e != nil {
		words = e.Message
	}
	if one.courier == nil || words == "" || one.cs.ID() == "" {
		return false
	}
	switch f.lastStatus() {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest:
		return strings.Contains(strings.ToLower(words), "session")
	}
	return false
}

// broken reports whether the session is of no use any more.
func broken(err error) bool {
	return errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed)
}

// transportFault says what became of a request that got no answer. doing is
// what was being done, such as "while the tool ran".
func (s *server) transportFault(ctx context.Context, err error, f *flight, p *process, doing string) error {
	if f != nil && f.failure() != nil {
		err = f.failure()
	}
	if p != nil && p.tooLarge.Load() && !errors.Is(err, errTooLarge) {
		err = errors.Join(errTooLarge, err)
	}
	err = s.quiet(err)
	cause := err
	how, gone := "", false
	if p != nil {
		how, gone = p.gone()
		cause = s.lastWords(err, p)
	}
	sent := f != nil && f.wasSent()
	doubt := ""
	if sent && doing != "" {
		doubt = " " + doing + inDoubt
	}
	look := "check before it is called again"
	if doubt == "" {
		look = "look at its log, then try again"
	}
	status := 0
	if f != nil {
		status = f.lastStatus()
	}
	switch {
	case errors.Is(err, errTooLarge):
		return fault(s.config.Name, event.ErrTooLarge,
			fmt.Sprintf("sent a message of more than %d bytes%s", s.options.MessageBytes, doubt), "ask for less", cause)
	case errors.Is(err, errDoubled):
		return fault(s.config.Name, event.ErrUnavailable, "gave an answer that says two things at once"+doubt, look, cause)
	case errors.Is(err, errClosed), s.life.Err() != nil: // a program may be quicker to end than its calls
		return fault(s.config.Name, event.ErrGone, "was closed"+doubt, look, cause)
	case ctx.Err() != nil:
		return ctx.Err()
	case s.needsSignIn(err, status):
		return s.signInFault(cause)
	case errors.Is(err, errElsewhere), status >= 300 && status < 400:
		return fault(s.config.Name, event.ErrPermission, "points to another address", "configure the address that it points to", cause)
	case status == http.StatusUnauthorized:
		return fault(s.config.Name, event.ErrUnauthenticated, "asks for a credential, or refuses the one it got",
			"set its Authorization header", cause)
	case status == http.StatusForbidden:
		return fault(s.config.Name, event.ErrPermission, "does not allow this with the credential it got", "use another credential", cause)
	case errors.Is(err, errForgotten), errors.Is(err, mcp.ErrSessionMissing):
		return fault(s.config.Name, event.ErrUnavailable, "has forgotten its session", look, cause)
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return fault(s.config.Name, event.ErrNotFound, "is not at its address", "correct the url: it often ends in /mcp or /sse", cause)
	case status == http.StatusTooManyRequests:
		return fault(s.config.Name, event.ErrThrottled, "asks for fewer requests", "try again later", cause)
	case status >= 400:
		return fault(s.config.Name, event.ErrUnavailable, fmt.Sprintf("answered with the status %d%s", status, doubt), look, cause)
	case gone:
		return fault(s.config.Name, event.ErrUnavailable, "ended ("+how+")"+doubt, look, cause)
	case sent:
		return fault(s.config.Name, event.ErrUnavailable, "broke the connection"+doubt, look, cause)
	}
	return fault(s.config.Name, event.ErrUnavailable, "cannot be reached", "see that it runs, then try again", cause)
}
