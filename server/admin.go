package server

import (
	"net/http"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
)

// administration wraps all handlers below /v1/admin.
func (s *Server) administration(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.options.Directory == nil {
			return &event.Error{
				Kind: event.ErrUnsupported, Message: "this server keeps no tenants", Hint: "start it with a directory",
			}
		}
		if err := s.ownTenant(r); err != nil {
			return addressed(err)
		}
		return addressed(handle(w, r))
	}
}

// ownTenant returns not found for another tenant's address.
func (s *Server) ownTenant(r *http.Request) error {
	id := r.PathValue("tenant")
	p := who(r)
	switch {
	case id == "": // no tenant; the route requires the scope operator
		return nil
	case id == p.Tenant:
		return nil
	case p.May(service.ScopeOperator):
		_, err := s.options.Directory.GetTenant(r.Context(), id)
		return err
	}
	return &event.Error{
		Kind: event.ErrNotFound, Code: "TENANT_NOT_FOUND", Message: "there is no such tenant", Hint: "check the id",
	}
}

// addressed turns an error about an unknown name into a 404, because the address contains the
// name.
func addressed(err error) error {
	if kind := event.KindOf(err); err == nil || kind != event.ErrNotFound && kind != event.ErrModelNotFound {
		return err
	}
	_, d := explain(err, "")
	return &statusError{http.StatusNotFound, d.Code, d.Message, d.Hint}
}
