package server

import (
	"net/http"

	"github.com/braidrun/braid/service/directory"
)

// tenantFields are the writable fields of a tenant.
type tenantFields struct {
	Name         string              `json:"name,omitempty"`
	Status       directory.Status    `json:"status,omitempty"`
	SystemPrompt string              `json:"system_prompt,omitempty"`
	Agent        string              `json:"default_agent,omitempty"`
	Model        string              `json:"default_model,omitempty"`
	Limits       directory.Limits    `json:"limits,omitzero"`
	Quota        directory.Quota     `json:"quota,omitzero"`
	Policy       directory.Policy    `json:"policy,omitzero"`
	Retention    directory.Retention `json:"retention,omitzero"`
	Isolation    directory.Isolation `json:"isolation,omitempty"`
	Approvals    directory.Approvals `json:"approvals,omitempty"`

	FailedRuns directory.FailedRuns `json:"failed_runs,omitempty"`
}

// tenantRequest creates a tenant.
type tenantRequest struct {
	tenantFields

	ID string `json:"id"`
}

func tenantFieldsOf(t *directory.Tenant) tenantFields {
	return tenantFields{
		t.Name, t.Status, t.SystemPrompt, t.Agent, t.Model, t.Limits, t.Quota, t.Policy, t.Retention, t.Isolation, t.Approvals, t.FailedRuns,
	}
}

func (f *tenantFields) into(t *directory.Tenant) {
	t.Name, t.Status, t.SystemPrompt, t.Agent, t.Model = f.Name, f.Status, f.SystemPrompt, f.Agent, f.Model
	t.Limits, t.Quota, t.Policy, t.Retention = f.Limits, f.Quota, f.Policy, f.Retention
	t.Isolation, t.Approvals, t.FailedRuns = f.Isolation, f.Approvals, f.FailedRuns
}

func (s *Server) createTenant(w http.ResponseWriter, r *http.Request) error {
	var in tenantRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	idem, err := idempotency(r)
	if err != nil {
		return err
	}
	t := directory.Tenant{ID: in.ID}
	in.into(&t)
	if t, err = s.options.Directory.CreateTenant(r.Context(), by(r), t, idem); err != nil {
		return err
	}
	w.Header().Set("Location", s.at("admin", "tenants", t.ID))
	return kept(w, http.StatusCreated, t.Revision, t)
}

func (s *Server) listTenants(w http.ResponseWriter, r *http.Request) error {
	return listed(w, r, func(q directory.Query) ([]directory.Tenant, string, error) {
		return s.options.Directory.ListTenants(r.Context(), q)
	})
}

func (s *Server) getTenant(w http.ResponseWriter, r *http.Request) error {
	t, err := s.options.Directory.GetTenant(r.Context(), tenantOf(r))
	if err != nil {
		return err
	}
	shown := tenantState{Tenant: t}
	if shown.InForce, _, err = s.options.Directory.Quota(r.Context(), t.ID); err != nil {
		return err
	}
	if shown.Use, err = s.service.Use(r.Context(), t.ID); err != nil {
		return err
	}
	return kept(w, http.StatusOK, t.Revision, shown)
}

// tenantState is a tenant with its quota and usage.
type tenantState struct {
	directory.Tenant

	// InForce is the tenant's quota with the server's defaults, and Use the used part of it.
	InForce directory.Quota `json:"quota_in_force"`
	Use     directory.Use   `json:"use"`
}

func (s *Server) updateTenant(w http.ResponseWriter, r *http.Request) error {
	patch, err := s.readPatch(w, r)
	if err != nil {
		return err
	}
	read, err := revision(r)
	if err != nil {
		return err
	}
	t, err := s.options.Directory.UpdateTenant(r.Context(), by(r), tenantOf(r), read, func(t *directory.Tenant) error {
		fields, err := merge(tenantFieldsOf(t), patch)
		if err == nil {
			fields.into(t)
		}
		return err
	})
	if err != nil {
		return err
	}
	if t.Status == directory.Inactive {
		// The tenant stays inactive even on an error: each server also looks for remaining
		// runs.
		if _, err := s.service.StopTenant(r.Context(), by(r), t.ID); err != nil {
			s.log.Warn("the runs of an inactive tenant could not all be cancelled yet", "tenant", t.ID, "error", err)
		}
	}
	return kept(w, http.StatusOK, t.Revision, t)
}

// eraseTenant removes everything of a tenant and responds with what it removed.
func (s *Server) eraseTenant(w http.ResponseWriter, r *http.Request) error {
	erased, err := s.service.EraseTenant(r.Context(), by(r), tenantOf(r))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, erased)
	return nil
}
