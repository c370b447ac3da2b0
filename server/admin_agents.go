package server

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/braidrun/braid/service/directory"
)

// agentFields are the writable fields of an agent. Changing the spec creates a new version.
type agentFields struct {
	directory.AgentSpec

	Status directory.Status `json:"status,omitempty"`
}

// agentRequest creates an agent.
type agentRequest struct {
	agentFields

	ID string `json:"id"`
}

func (s *Server) createAgent(w http.ResponseWriter, r *http.Request) error {
	var in agentRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	idem, err := idempotency(r)
	if err != nil {
		return err
	}
	if err := s.service.CheckAgent(r.Context(), tenantOf(r), &in.AgentSpec); err != nil {
		return err
	}
	a, err := s.options.Directory.CreateAgent(r.Context(), by(r), directory.Agent{
		Tenant: tenantOf(r), ID: in.ID, Status: in.Status, AgentSpec: in.AgentSpec,
	}, idem)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.adminAt(r, "agents", a.ID))
	return kept(w, http.StatusCreated, a.Revision, a)
}

func (s *Server) listAgents(w http.ResponseWriter, r *http.Request) error {
	return listed(w, r, func(q directory.Query) ([]directory.Agent, string, error) {
		return s.options.Directory.ListAgents(r.Context(), tenantOf(r), q)
	})
}

func (s *Server) getAgent(w http.ResponseWriter, r *http.Request) error {
	a, err := s.options.Directory.GetAgent(r.Context(), tenantOf(r), r.PathValue("agent"), 0)
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, a.Revision, a)
}

func (s *Server) updateAgent(w http.ResponseWriter, r *http.Request) error {
	patch, err := s.readPatch(w, r)
	if err != nil {
		return err
	}
	read, err := revision(r)
	if err != nil {
		return err
	}
	change := func(a *directory.Agent) error {
		fields, err := merge(agentFields{a.AgentSpec, a.Status}, patch)
		if err == nil {
			a.Status, a.AgentSpec = fields.Status, fields.AgentSpec
		}
		return err
	}
	if err := s.checkChanged(r, change); err != nil {
		return err
	}
	a, err := s.options.Directory.UpdateAgent(r.Context(), by(r), tenantOf(r), r.PathValue("agent"), read, change)
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, a.Revision, a)
}

// checkChanged checks the settings of a change before the agent is locked. A change of other
// fields, such as the status, is accepted although the model no longer supports the settings.
func (s *Server) checkChanged(r *http.Request, change func(a *directory.Agent) error) error {
	old, err := s.options.Directory.GetAgent(r.Context(), tenantOf(r), r.PathValue("agent"), 0)
	if err != nil {
		return err
	}
	a := old
	if err := change(&a); err != nil {
		return err
	}
	if a.Context == old.Context && a.Model == old.Model && reflect.DeepEqual(a.Settings, old.Settings) {
		return nil
	}
	return s.service.CheckAgent(r.Context(), tenantOf(r), &a.AgentSpec)
}

func (s *Server) listAgentVersions(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	list, next, err := s.options.Directory.ListAgentVersions(
		r.Context(), tenantOf(r), r.PathValue("agent"), directory.Query{Cursor: values["cursor"], Limit: int(limit)},
	)
	if err != nil {
		return err
	}
	return answerPage(w, list, next)
}

func (s *Server) getAgentVersion(w http.ResponseWriter, r *http.Request) error {
	version, err := strconv.Atoi(r.PathValue("version"))
	if err != nil || version < 1 {
		version = -1 // no version has this number
	}
	a, err := s.options.Directory.GetAgent(r.Context(), tenantOf(r), r.PathValue("agent"), version)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}
