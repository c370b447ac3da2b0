package agentcore

import (
	"encoding/base64"
	"runtime"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
)

// people returns the scopes of a caller that is authenticated by something other than an API key.
func people() []service.Scope { return []service.Scope{service.ScopeRead, service.ScopeWrite} }

// authenticate takes the tenant from the credential only, and checks that the credential has the
// scope.
func (x *exchange) authenticate(scope service.Scope) error {
	o := &x.h.options
	given := x.R.Header.Get("Authorization")
	switch {
	case !x.door && o.TrustPlatform:
		x.Who.Tenant, x.Who.Scopes = o.Tenant, people()
	case x.door && strings.HasPrefix(given, "AWS4-"):
		if err := x.signed(); err != nil {
			return err
		}
	default:
		if err := x.token(given); err != nil {
			return err
		}
	}
	if err := x.Who.Require(scope); err != nil {
		return err
	}
	if user := x.R.Header.Get(userHeader); user != "" && x.Who.User == "" {
		if len(user) > 1024 {
			return &event.Error{Kind: event.ErrInvalid, Message: "the user's id is too long", Hint: "send at most 1024 bytes"}
		}
		x.Who.User = user
	}
	return nil
}

// token authenticates by a bearer token.
func (x *exchange) token(given string) error {
	token, ok := strings.CutPrefix(given, "Bearer ")
	if !ok {
		token = x.subprotocolToken()
	}
	c, err := x.h.entry.OpenFor(x.R, secret.New(token))
	switch {
	case err == nil:
		x.Who = c
		return nil
	case event.KindOf(err) != event.ErrUnauthenticated: // the token could not be checked
		x.Who = c // for the log and the audit only
		return err
	case x.door && given == "" && x.h.options.Keys != nil:
		return notSigned(sigv4.Missing, "Missing Authentication Token")
	}
	x.Who = c
	x.W.Header().Set("WWW-Authenticate", `Bearer realm="braid"`)
	return &fault{
		status: deniedStatus(x.door), exception: "AccessDeniedException", message: "the request has no valid token",
		hint: "send an API key, or the token that the server printed when it started: Authorization: Bearer …",
	}
}

// signed verifies a signature and finds the owner of its key. If the request has no header with
// the body's hash, it reads the body. Otherwise readBody compares the hash later.
func (x *exchange) signed() error {
	id := sigv4.ID(x.R)
	if x.h.options.Keys == nil {
		return notSigned(sigv4.Unrecognized, "The security token included in the request is invalid.")
	}
	key, ok := x.h.options.Keys(x.R.Context(), id)
	if !ok || key.Secret.Empty() || key.Tenant == "" {
		return notSigned(sigv4.Unrecognized, "The security token included in the request is invalid.")
	}
	x.hash = x.R.Header.Get("X-Amz-Content-Sha256")
	if x.hash == "" {
		body, err := x.readBody()
		if err != nil {
			return err
		}
		x.hash = sigv4.Hash(body)
		if key, ok = x.h.options.Keys(x.R.Context(), id); !ok || key.Secret.Empty() || key.Tenant == "" { // the key may have ended since
			return notSigned(sigv4.Unrecognized, "The security token included in the request is invalid.")
		}
	}
	keys := sigv4.Keys{ID: id, Secret: key.Secret.Reveal(), Token: key.Session.Reveal()}
	if code, message := sigv4.CheckHash(x.R, x.hash, keys, x.h.door.region, "bedrock-agentcore", time.Now()); code != "" {
		return notSigned(code, message)
	}
	x.Who = door.Caller{Principal: service.Principal{Tenant: key.Tenant, User: key.User, Scopes: people()}}
	return nil
}

// tokenProtocol is the WebSocket subprotocol that carries the token, because pages in a browser
// cannot set headers (AgentCore's documentation of WebSockets).
const tokenProtocol = "base64UrlBearerAuthorization" //nolint:gosec // it is the name, not the token

// subprotocolToken returns the token from the subprotocol; empty if there is none.
func (x *exchange) subprotocolToken() string {
	if x.R.Header.Get("Upgrade") == "" {
		return ""
	}
	for _, line := range x.R.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			coded, ok := strings.CutPrefix(strings.TrimSpace(p), tokenProtocol+".")
			if !ok {
				continue
			}
			if token, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(coded, "=")); err == nil {
				return string(token)
			}
		}
	}
	return ""
}

// readBody reads the body once and compares it with the signed hash.
func (x *exchange) readBody() ([]byte, error) {
	if x.read {
		return x.kept, x.sameHash(x.kept)
	}
	data, err := x.Body(func() error { return x.authenticate(x.scope) })
	if err != nil {
		return nil, err
	}
	// Yield to waiting goroutines, so that a full core serves all requests.
	runtime.Gosched()
	x.kept, x.read = data, true
	return x.kept, x.sameHash(x.kept)
}

func (x *exchange) sameHash(body []byte) error {
	if x.hash == "" || sigv4.Hash(body) == x.hash {
		return nil
	}
	return notSigned(sigv4.Invalid, "The SHA-256 of the body is not the one that was signed.")
}
