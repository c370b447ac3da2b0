package server

import "net/http"

// modelBody is a model that a run may name. Why says why it is not available.
type modelBody struct {
	Name      string   `json:"name"`
	Aliases   []string `json:"aliases,omitempty"`
	Simulated bool     `json:"simulated"`
	Available bool     `json:"available"`
	Why       string   `json:"why,omitempty"`
}

// listModels lists the models that a run of the caller may name.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) error {
	models, err := s.service.Models(r.Context(), who(r))
	if err != nil {
		return err
	}
	out := list[modelBody]{Data: []modelBody{}}
	for _, m := range models {
		out.Data = append(out.Data, modelBody{m.Name, m.Aliases, m.Simulated, m.Why == "", m.Why})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
