package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// adminRoutes returns the routes below /v1/admin. A caller with a route's scope may use it for
// the tenant of the credential, and with the scope operator for every tenant.
func (s *Server) adminRoutes() []route {
	const read, write, operator = service.ScopeAdminRead, service.ScopeAdminWrite, service.ScopeOperator
	const tenant = "/v1/admin/tenants/{tenant}"
	list := []route{
		{"POST", "/v1/admin/tenants", operator, s.createTenant},
		{"GET", "/v1/admin/tenants", operator, s.listTenants},
		{"GET", "/v1/admin/runs", operator, s.findRuns},
		{"GET", "/v1/admin/runs/{run}", operator, s.findRun},
		{"POST", "/v1/admin/runs/{run}/cancel", operator, s.cancelAnyRun},
		{"GET", tenant, read, s.getTenant},
		{"PATCH", tenant, write, s.updateTenant},
		{"DELETE", tenant, operator, s.eraseTenant},
		{"POST", tenant + "/agents", write, s.createAgent},
		{"GET", tenant + "/agents", read, s.listAgents},
		{"GET", tenant + "/agents/{agent}", read, s.getAgent},
		{"PATCH", tenant + "/agents/{agent}", write, s.updateAgent},
		{"GET", tenant + "/agents/{agent}/versions", read, s.listAgentVersions},
		{"GET", tenant + "/agents/{agent}/versions/{version}", read, s.getAgentVersion},
		{"GET", tenant + "/conversations", read, s.listTenantConversations},
		{"GET", tenant + "/usage", read, s.listUsage},
		{"GET", tenant + "/usage/sums", read, s.sumUsage},
		{"GET", tenant + "/tools", read, s.listToolCalls},
		{"GET", tenant + "/conversations/{id}/messages", read, s.listMessages},
	}
	// The routes below a tenant exist once more for what belongs to no tenant: shared models,
	// the operator's own keys, and the audit of operations on several tenants.
	for _, at := range []string{tenant, "/v1/admin"} {
		r, w := read, write
		if at != tenant {
			r, w = operator, operator
		}
		list = append(
			list,
			route{"POST", at + "/models", w, s.createModel},
			route{"GET", at + "/models", r, s.listModelsOf},
			route{"GET", at + "/models/{model}", r, s.getModel},
			route{"PATCH", at + "/models/{model}", w, s.updateModel},
			route{"DELETE", at + "/models/{model}", w, s.deleteModel},
			route{"POST", at + "/keys", w, s.createKey},
			route{"GET", at + "/keys", r, s.listKeys},
			route{"GET", at + "/keys/{key}", r, s.getKey},
			route{"DELETE", at + "/keys/{key}", w, s.revokeKey},
			route{"GET", at + "/audit", r, s.listAudit},
			route{"GET", at + "/audit/verify", r, s.verifyAudit},
		)
	}
	for i := range list {
		list[i].handle = s.administration(list[i].handle)
	}
	return list
}

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

// tenantOf returns the tenant of an address; "" for what all tenants share.
func tenantOf(r *http.Request) string { return r.PathValue("tenant") }

// adminAt returns the address of an object of the request's tenant.
func (s *Server) adminAt(r *http.Request, parts ...string) string {
	if t := tenantOf(r); t != "" {
		parts = append([]string{"tenants", t}, parts...)
	}
	return s.at(append([]string{"admin"}, parts...)...)
}

// by returns the author of a change.
func by(r *http.Request) directory.By { return callerOf(r).By() }

// idempotency returns the key under which a request may be repeated.
func idempotency(r *http.Request) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		return "", front.Bad("the Idempotency-Key is too long", "send at most 255 bytes")
	}
	return key, nil
}

// revision returns the revision in If-Match (RFC 9110, section 13.1.1); 0 accepts any revision.
func revision(r *http.Request) (int64, error) {
	lines := r.Header.Values("If-Match")
	if len(lines) == 0 || len(lines) == 1 && lines[0] == "*" {
		return 0, nil
	}
	text, opened := strings.CutPrefix(lines[0], `"`)
	text, closed := strings.CutSuffix(text, `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if len(lines) > 1 || err != nil || n < 1 || !opened || !closed {
		return 0, front.Bad("If-Match is not a revision", `send the ETag of what was read, such as "3"`)
	}
	return n, nil
}

// kept responds with an object and its revision.
func kept(w http.ResponseWriter, status int, revision int64, v any) error {
	w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(revision, 10)))
	writeJSON(w, status, v)
	return nil
}

// page is a page of a list; Next is null on the last page.
type page[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next_cursor"`
}

// answerPage responds with a page of a list.
func answerPage[T any](w http.ResponseWriter, list []T, next string) error {
	out := page[T]{Data: list}
	if list == nil {
		out.Data = []T{}
	}
	if next != "" {
		out.Next = &next
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// listed responds with a page of one of the directory's lists.
func listed[T any](w http.ResponseWriter, r *http.Request, list func(q directory.Query) ([]T, string, error)) error {
	values, err := query(r, "status", "sort", "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	found, next, err := list(directory.Query{
		Status: directory.Status(values["status"]), Sort: directory.Sort(values["sort"]), Cursor: values["cursor"], Limit: int(limit),
	})
	if err != nil {
		return err
	}
	return answerPage(w, found, next)
}

// readPatch reads a merge patch.
func (s *Server) readPatch(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	var patch json.RawMessage
	err := s.readBody(w, r, &patch, false)
	return patch, err
}
