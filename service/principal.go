package service

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// Principal is on whose behalf something is done. It comes from the credential.
type Principal struct {
	// Tenant is the isolation boundary; empty is refused.
	Tenant string
	// User is the person inside it; it may be empty.
	User string
	// Key is the id of the API key that was shown; empty where it was another credential.
	Key string
	// Scopes are what the credential may be used for. The service does not look at them:
	// who lets requests in does.
	Scopes []Scope
}

// Scope is something that a credential may be used for. None contains another one, but
// for [ScopeOperator], which contains those of administration in every tenant.
type Scope = directory.Scope

// The scopes; package directory says what each is for.
const (
	ScopeRead       = directory.ScopeRead
	ScopeWrite      = directory.ScopeWrite
	ScopeAdminRead  = directory.ScopeAdminRead
	ScopeAdminWrite = directory.ScopeAdminWrite
	ScopeOperator   = directory.ScopeOperator
)

// Scopes lists all of them.
func Scopes() []Scope { return directory.Scopes() }

// May reports whether the credential may be used for what asks for the scope. "" asks for none.
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

// The beginnings of ids tell people what an id names.
const (
	conversationPrefix = "conv_"
	runPrefix          = "run_"
)

// newID is random and hard to guess, so that an id that was never given out is
// never met by chance.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// checkID refuses what no id of ours looks like before any store is asked.
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
		Message: "there is no such " + what, Hint: "list what there is, and look at the id",
	}
}

func invalid(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}
