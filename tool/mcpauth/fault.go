package mcpauth

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/oauth2"

	"github.com/braidrun/braid/event"
)

// CodeSignIn is the code of the error that says that a user must sign in: see [Needed].
const CodeSignIn = "SIGN_IN_NEEDED"

// Needed reports whether an error says that the user must sign in before the request can succeed.
func Needed(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == CodeSignIn
}

func fault(server string, kind event.ErrorKind, what, hint string, cause error) *event.Error {
	return &event.Error{Op: "mcp sign-in", Kind: kind, Message: fmt.Sprintf("the MCP server %q %s", server, what), Hint: hint, Err: cause}
}

func (c *Client) fault(kind event.ErrorKind, what, hint string, cause error) *event.Error {
	return fault(c.o.Server, kind, what, hint, cause)
}

// needed is the error of a request that only a signed-in user can make.
func (c *Client) needed() error {
	e := c.fault(event.ErrUnauthenticated, "needs the user to sign in", "open the link of the question, then try again", nil)
	e.Code = CodeSignIn
	return e
}

// codeOf returns the error code of an authorization server; "" for other errors. Its text is not used: it may repeat what
// it was sent.
func codeOf(err error) string {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return ""
	}
	if code := plainCode(e.ErrorCode); code != "" {
		return code
	}
	if e.Response != nil {
		return fmt.Sprintf("status %d", e.Response.StatusCode)
	}
	return ""
}

// plainCode returns an error code if it looks like one.
func plainCode(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return ""
	}
	return s
}

// withCode adds an error code to a text.
func withCode(text, code string) string {
	if code == "" {
		return text
	}
	return text + " (" + code + ")"
}
