package server

import (
	"encoding/json"
	"net/http"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// modelFields are the writable fields of a model.
type modelFields struct {
	directory.Settings

	Status   directory.Status `json:"status,omitempty"`
	Provider string           `json:"provider,omitempty"`
	Name     string           `json:"name,omitempty"`
	Region   string           `json:"region,omitempty"`
	Aliases  []string         `json:"aliases,omitempty"`
	Prices   directory.Prices `json:"prices,omitzero"`
	// Credential is the key for the provider; without one the server uses its own environment.
	Credential *modelCredential `json:"credential,omitempty"`
}

// modelCredential is either a secret or the name of a variable of the server's environment. A
// secret can be written but not read.
type modelCredential struct {
	Env    string `json:"env,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// modelRequest creates a model.
type modelRequest struct {
	modelFields

	ID string `json:"id"`
}

func (f *modelFields) into(m *directory.Model) {
	m.Status, m.Provider, m.Name, m.Region, m.Aliases, m.Prices = f.Status, f.Provider, f.Name, f.Region, f.Aliases, f.Prices
	m.Settings = f.Settings
	m.Credential = directory.Credential{}
	if f.Credential != nil {
		m.Credential = directory.Credential{Env: f.Credential.Env, Secret: secret.New(f.Credential.Secret)}
	}
}

// patch changes the named fields. It replaces the credential as a whole, because a hidden secret
// cannot be merged.
func (f *modelFields) patch(m *directory.Model, patch json.RawMessage) error {
	old := m.Credential
	fields, err := merge(modelFields{m.Settings, m.Status, m.Provider, m.Name, m.Region, m.Aliases, m.Prices, nil}, patch)
	if err != nil {
		return err
	}
	fields.into(m)
	var named struct {
		Credential json.RawMessage `json:"credential"`
	}
	if err := json.Unmarshal(patch, &named); err != nil {
		return unreadable(err)
	}
	if named.Credential == nil {
		m.Credential = old
	}
	return nil
}

func (s *Server) createModel(w http.ResponseWriter, r *http.Request) error {
	var in modelRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	idem, err := idempotency(r)
	if err != nil {
		return err
	}
	m := directory.Model{Tenant: tenantOf(r), ID: in.ID}
	in.into(&m)
	if m, err = s.options.Directory.CreateModel(r.Context(), by(r), m, idem); err != nil {
		return err
	}
	w.Header().Set("Location", s.adminAt(r, "models", m.ID))
	return kept(w, http.StatusCreated, m.Revision, m)
}

func (s *Server) listModelsOf(w http.ResponseWriter, r *http.Request) error {
	return listed(w, r, func(q directory.Query) ([]directory.Model, string, error) {
		return s.options.Directory.ListModels(r.Context(), tenantOf(r), q)
	})
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) error {
	m, err := s.options.Directory.GetModel(r.Context(), tenantOf(r), r.PathValue("model"))
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, m.Revision, m)
}

func (s *Server) updateModel(w http.ResponseWriter, r *http.Request) error {
	patch, err := s.readPatch(w, r)
	if err != nil {
		return err
	}
	read, err := revision(r)
	if err != nil {
		return err
	}
	force, err := forced(r)
	if err != nil {
		return err
	}
	m, err := s.options.Directory.UpdateModel(r.Context(), by(r), tenantOf(r), r.PathValue("model"), read, func(m *directory.Model) error {
		return new(modelFields).patch(m, patch)
	}, force...)
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, m.Revision, m)
}

func (s *Server) deleteModel(w http.ResponseWriter, r *http.Request) error {
	read, err := revision(r)
	if err != nil {
		return err
	}
	force, err := forced(r)
	if err != nil {
		return err
	}
	if err := s.options.Directory.DeleteModel(r.Context(), by(r), tenantOf(r), r.PathValue("model"), read, force...); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// forced reports whether the request may remove names that are still in use.
func forced(r *http.Request) ([]directory.WriteOption, error) {
	values, err := query(r, "force")
	if err != nil {
		return nil, err
	}
	if force, err := yesNo(values, "force"); err != nil || !force {
		return nil, err
	}
	return []directory.WriteOption{directory.Force()}, nil
}
