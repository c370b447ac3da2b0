package service

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// Principal is who makes a request. It comes from the credential.
type Principal struct {
	// Tenant is the isolation boundary. It must not be empty.
	Tenant string
	// User is the user in the tenant. It may be empty.
	User string
	// Key is the id of the API key. It is empty for another kind of credential.
	Key string
	// Scopes say what the credential may be used for. The service does not check them: the caller
	// must.
	Scopes []Scope
}

// Scope is a permission of a credential. No scope contains another one, except that [ScopeOperator]
// contains those of administration in every tenant.
type Scope = directory.Scope

// These are the scopes. Package directory describes them.
const (
	ScopeRead       = directory.ScopeRead
	ScopeWrite      = directory.ScopeWrite
	ScopeAdminRead  = directory.ScopeAdminRead
	ScopeAdminWrite = directory.ScopeAdminWrite
	ScopeOperator   = directory.ScopeOperator
)

// Scopes returns all scopes.
func Scopes() []Scope { return directory.Scopes() }

// May reports whether the credential has the scope. It always has "".
func (p Principal) May(s Scope) bool {
	return s == "" || slices.Contains(p.Scopes, s) ||
		(s == ScopeAdminRead || s == ScopeAdminWrite) && slices.Contains(p.Scopes, ScopeOperator)
}

func (p Principal) check(op string) error {
	if p.Tenant == "" {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "the request belongs to no tenant", Hint: "send a credential",
		}
	}
	return nil
}

// These prefixes of ids tell readers what an id names.
const (
	conversationPrefix = "conv_"
	runPrefix          = "run_"
)

// newID returns a random id that cannot be guessed.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// checkID refuses an id that cannot be ours, before any store is asked.
func checkID(op, what, prefix, id string) error {
	rest, ok := strings.CutPrefix(id, prefix)
	ok = ok && rest != "" && len(rest) <= 64
	for i := 0; ok && i < len(rest); i++ {
		c := rest[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+'
	}
	if ok {
		return nil
	}
	return notFound(op, what)
}

func notFound(op, what string) error {
	return &event.Error{
		Op: op, Kind: event.ErrNotFound, Code: strings.ToUpper(what) + "_NOT_FOUND",
		Message: "there is no such " + what, Hint: "check the id",
	}
}

func invalid(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
