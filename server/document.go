package server

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
)

// openAPI is the API's document. The tests hold it against the routes and the answers.
//
//go:embed openapi.json
var openAPI []byte

func (s *Server) document(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // who does not read it any more needs no error
	return nil
}

// documentedParameters returns the names that the address of each operation may have behind its ?, by method
// and path. They come from the document, so that what it says and what is taken cannot differ.
func documentedParameters() (map[string][]string, error) {
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				In   string `json:"in"`
				Name string `json:"name"`
			} `json:"parameters"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(openAPI, &document); err != nil {
		return nil, err
	}
	names := make(map[string][]string)
	for path, methods := range document.Paths {
		for method, operation := range methods {
			for _, p := range operation.Parameters {
				if p.In == "query" {
					at := strings.ToUpper(method) + " " + path
					names[at] = append(names[at], p.Name)
				}
			}
		}
	}
	return names, nil
}
