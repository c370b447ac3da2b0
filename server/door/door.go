package door

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// Keys knows API keys; a [directory.Directory] does. All methods are safe for concurrent use.
type Keys interface {
	// Authenticate says whose token it is: [event.ErrUnauthenticated] where it is nobody's,
	// has expired or was revoked, and [event.ErrPermission] where its tenant is not active. Beside
	// an error the identity, if any, is only for the audit.
	Authenticate(ctx context.Context, token string) (directory.Identity, error)
	// Watch calls gone once when that is no longer so, about a second after it at most.
	// stop must be called.
	Watch(i directory.Identity, gone func()) (stop func())
	// Refused counts a refused request for the audit. It is quick.
	Refused(r directory.Refused)
}

// Caller is who shows a credential.
type Caller struct {
	service.Principal

	// identity is whose key it is; the zero one where it was another credential.
	identity directory.Identity
}

// Door is the one way in. Make it with [New]; it is safe for concurrent use.
type Door struct {
	token  secret.Secret
	tenant string
	keys   Keys
	rates  rates

	attempts attempts
}

// New makes a door. Who shows token is the operator, and at the same time of the tenant,
// with every scope; an empty token is nobody's. keys may be nil: then there are none. If keys are [Quotas], too,
// the requests of each tenant are bounded.
func New(token secret.Secret, tenant string, keys Keys) *Door {
	d := &Door{token: token, tenant: tenant, keys: keys}
	d.Bound(Attempts{})
	return d
}

// Open says whose token it is. The error is [event.ErrUnauthenticated] where it is
// nobody's, and [event.ErrUnavailable] where that cannot be found out. Beside an error the caller is only
// for [Door.Refused].
func (d *Door) Open(ctx context.Context, token secret.Secret) (Caller, error) {
	if token.Empty() {
		return Caller{}, unknown()
	}
	if !d.token.Empty() && d.token.Equal(token) {
		return Caller{Principal: service.Principal{Tenant: d.tenant, Scopes: service.Scopes()}}, nil
	}
	if d.keys == nil {
		return Caller{}, unknown()
	}
	i, err := d.keys.Authenticate(ctx, token.Reveal())
	switch {
	case event.KindOf(err) == event.ErrUnauthenticated: // whatever is wrong with it, it is told in the same words
		return Caller{identity: i}, unknown()
	case err != nil:
		return Caller{identity: i}, err
	}
	return Caller{service.Principal{Tenant: i.Tenant, User: i.User, Key: i.Key, Scopes: i.Scopes}, i}, nil
}

// unknown is the error for a token that is nobody's, for whatever reason: who guesses is
// not to learn of one that was good once.
func unknown() error {
	return &event.Error{
		Op: "door", Kind: event.ErrUnauthenticated, Message: "the request has no valid token",
		Hint: "send an API key, or the token that the server printed when it started: Authorization: Bearer …",
	}
}

// Require says that the caller's credential is not for what asks for the scope; nil where
// it is. "" asks for none.
func (c *Caller) Require(s service.Scope) error {
	if c.May(s) {
		return nil
	}
	return &event.Error{
		Op: "door", Kind: event.ErrPermission, Code: "SCOPE_MISSING", Message: "the credential does not allow this",
		Hint: "use one with the scope " + string(s),
	}
}

// By is the caller as the audit names who does something.
func (c *Caller) By() directory.By {
	return directory.By{
		Tenant: c.Tenant, Key: c.Key, User: c.User, Operator: c.May(service.ScopeOperator), Scopes: c.Scopes, Expires: c.identity.Expires,
	}
}

// Named returns who the caller is for logs and audits: also one whose key was good once and is refused now.
func (c *Caller) Named() directory.By {
	if c.Tenant == "" && len(c.Scopes) == 0 {
		return directory.By{Tenant: c.identity.Tenant, Key: c.identity.Key, User: c.identity.User}
	}
	by := c.By()
	by.Scopes, by.Expires = nil, time.Time{}
	return by
}

// Refused counts a request that was refused for the audit, if it is about authority: what asks without a
// valid credential (401, or 429 for too many wrong ones) or beyond it (403), for what is not there for the caller (404), or for what a policy
// forbids (422). Other refusals are mistakes, and only in the log. r.By is set here.
func (d *Door) Refused(c *Caller, err error, r directory.Refused) {
	if d.keys == nil {
		return
	}
	r.By = c.Named()
	if strings.Contains(r.Path, directory.KeyPrefix) || !d.token.Empty() && strings.Contains(r.Path, d.token.Reveal()) {
		r.Path = "" // a credential that came to stand in the wrong place
	}
	known := r.By.Tenant != "" || r.By.Key != ""
	switch {
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden, r.Code == codeWrongCredentials:
	case known && (r.Status == http.StatusNotFound || event.KindOf(err) == event.ErrModelNotFound || event.KindOf(err) == event.ErrPermission):
	default:
		return
	}
	d.keys.Refused(r)
}

// ended is why what was watched is over.
type ended struct{}

func (ended) Error() string { return "the credential has ended" }

// Ended says what the reader of a stream is told whose credential has ended; nil where
// ctx goes on, or ended for another reason.
func Ended(ctx context.Context) *event.Error {
	if _, ok := context.Cause(ctx).(ended); !ok { //nolint:errorlint // it is never wrapped
		return nil
	}
	return &event.Error{
		Op: "door", Kind: event.ErrUnauthenticated, Message: "the credential has expired or was revoked",
		Hint: "come again with another one",
	}
}

// Watch gives a context that ends with the caller's credential, or about a second after it;
// [Ended] then says why. stop must be called.
func (d *Door) Watch(ctx context.Context, c *Caller) (_ context.Context, stop func()) {
	if c.Key == "" || d.keys == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := d.keys.Watch(c.identity, func() { cancel(ended{}) })
	return ctx, func() {
		unwatch()
		cancel(nil)
	}
}
