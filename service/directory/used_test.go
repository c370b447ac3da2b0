package directory_test

import (
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// A key says when it was last used. That is written now and then: it is no change of the key, and a refused
// credential uses none.
func TestWhenAKeyWasLastUsed(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		_, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "acme"}, "")
		done(t, err)
		reading := directory.Key{Tenant: "acme", Scopes: []directory.Scope{directory.ScopeRead}}
		made, token, err := d.CreateKey(t.Context(), operator, reading, "")
		done(t, err)
		other, _, err := d.CreateKey(t.Context(), operator, reading, "")
		done(t, err)
		stored := func(id string) directory.Key {
			t.Helper()
			done(t, d.WriteUsed(t.Context()))
			k, err := d.GetKey(t.Context(), "acme", id)
			done(t, err)
			return k
		}
		if k := stored(made.ID); !k.LastUsed.IsZero() || !made.LastUsed.IsZero() {
			t.Errorf("before its first use it is %+v", k)
		}
		wrong, end := token.Reveal()[:len(token.Reveal())-1], "2"
		if wrong+end == token.Reveal() {
			end = "3"
		}
		if _, err := d.Authenticate(t.Context(), wrong+end); event.KindOf(err) != event.ErrUnauthenticated {
			t.Errorf("a wrong secret: %v", err)
		}
		if k := stored(made.ID); !k.LastUsed.IsZero() {
			t.Errorf("after a wrong secret it is %+v", k)
		}
		before := time.Now().Add(-time.Millisecond)
		for range 3 {
			_, err := d.Authenticate(t.Context(), token.Reveal())
			done(t, err)
		}
		k := stored(made.ID)
		if k.LastUsed.Before(before) || k.LastUsed.After(time.Now().Add(time.Millisecond)) || k.Revision != 1 || !k.Updated.Equal(made.Updated) {
			t.Errorf("after its use it is %+v", k)
		}
		if k := stored(other.ID); !k.LastUsed.IsZero() {
			t.Errorf("another key has been used: %+v", k)
		}
		revoked, err := d.RevokeKey(t.Context(), operator, "acme", made.ID)
		done(t, err)
		if !revoked.LastUsed.Equal(k.LastUsed) || !stored(made.ID).LastUsed.Equal(k.LastUsed) {
			t.Errorf("after the end it is %+v", revoked)
		}
	})
}
