package server

import (
	"net/http"
	"time"

	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service/directory"
)

// keyRequest creates an API key.
type keyRequest struct {
	// Name describes the key's purpose; User is the user that it acts for.
	Name   string            `json:"name,omitempty"`
	User   string            `json:"user,omitempty"`
	Scopes []directory.Scope `json:"scopes"`
	// Expires is when the key expires; nil is never.
	Expires *time.Time `json:"expires_at,omitempty"`
}

// newKeyBody is a created key. Token is the key itself: only the first response has it, not the
// response to a repetition.
type newKeyBody struct {
	directory.Key

	Token string `json:"token,omitempty"`
}

func (s *Server) createKey(w http.ResponseWriter, r *http.Request) error {
	var in keyRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	idem, err := idempotency(r)
	if err != nil {
		return err
	}
	k := directory.Key{Tenant: tenantOf(r), Name: in.Name, User: in.User, Scopes: in.Scopes}
	if in.Expires != nil {
		if k.Expires = *in.Expires; k.Expires.IsZero() {
			return front.Bad("the expiry is in the past", "choose a later time, or none")
		}
	}
	k, token, err := s.options.Directory.CreateKey(r.Context(), by(r), k, idem)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.adminAt(r, "keys", k.ID))
	return kept(w, http.StatusCreated, k.Revision, newKeyBody{k, token.Reveal()})
}

func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) error {
	return listed(w, r, func(q directory.Query) ([]directory.Key, string, error) {
		return s.options.Directory.ListKeys(r.Context(), tenantOf(r), q)
	})
}

func (s *Server) getKey(w http.ResponseWriter, r *http.Request) error {
	k, err := s.options.Directory.GetKey(r.Context(), tenantOf(r), r.PathValue("key"))
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, k.Revision, k)
}

// revokeKey revokes a key and closes its open requests. The key stays visible.
func (s *Server) revokeKey(w http.ResponseWriter, r *http.Request) error {
	k, err := s.options.Directory.RevokeKey(r.Context(), by(r), tenantOf(r), r.PathValue("key"))
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, k.Revision, k)
}
