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
	// Authenticate returns the identity of a token. The error is [event.ErrUnauthenticated] if the token is unknown,
	// has expired or was revoked, and [event.ErrPermission] if its tenant is not active. With an
	// error, the identity, if any, is only for the audit.
	Authenticate(ctx context.Context, token string) (directory.Identity, error)
	// Watch calls gone once when the identity's token ends, about a second later at most.
	// stop must be called.
	Watch(i directory.Identity, gone func()) (stop func())
	// Refused counts a refused request for the audit. It is quick.
	Refused(r directory.Refused)
}

// Caller is the owner of a request's credential.
type Caller struct {
	service.Principal

	// identity is the API key's; zero for another credential.
	identity directory.Identity
}

// Door authenticates requests. Make it with [New]; it is safe for concurrent use.
type Door struct {
	token  secret.Secret
	tenant string
	keys   Keys
	rates  rates

	attempts attempts
}

// New makes a door. token is the operator's: it belongs to the tenant and has every scope. An empty token is
// never accepted. keys may be nil: then there are no API keys. If keys also implements [Quotas],
// the requests of each tenant are bounded.
func New(token secret.Secret, tenant string, keys Keys) *Door {
	d := &Door{token: token, tenant: tenant, keys: keys}
	d.Bound(Attempts{})
	return d
}

// Open returns the caller with a token. The error is [event.ErrUnauthenticated] if the token is unknown,
// and [event.ErrUnavailable] if that cannot be checked. With an error, the caller is only
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

// unknown is the error for every invalid token, whatever the reason: an attacker must
// not learn that a token was valid once.
func unknown() error {
	return &event.Error{
		Op: "door", Kind: event.ErrUnauthenticated, Message: "the request has no valid token",
		Hint: "send an API key, or the token that the server printed when it started: Authorization: Bearer …",
	}
}

// Require returns an error if the caller's credential lacks the scope. "" needs none.
func (c *Caller) Require(s service.Scope) error {
	if c.May(s) {
		return nil
	}
	return &event.Error{
		Op: "door", Kind: event.ErrPermission, Code: "SCOPE_MISSING", Message: "the credential does not allow this",
		Hint: "use one with the scope " + string(s),
	}
}

// By returns the caller as the audit names it.
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

// Ended returns the error for a reader whose credential has ended; nil if
// ctx has not ended, or ended for another reason.
func Ended(ctx context.Context) *event.Error {
	if _, ok := context.Cause(ctx).(ended); !ok { //nolint:errorlint // it is never wrapped
		return nil
	}
	return &event.Error{
		Op: "door", Kind: event.ErrUnauthenticated, Message: "the credential has expired or was revoked",
		Hint: "come again with another one",
	}
}

// Watch returns a context that ends about a second after the caller's credential at most;
// [Ended] then returns why. stop must be called.
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
