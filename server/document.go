package server

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// packedOpenAPI is openapi.json, the API's document, without spaces and compressed: it would be a fortieth of the program otherwise.
// The tests write it, and hold the document against the routes and the answers.
//
//go:embed openapi.json.gz
var packedOpenAPI []byte

// openAPI returns a reader of the API's document.
func openAPI() (io.Reader, error) { return gzip.NewReader(bytes.NewReader(packedOpenAPI)) }

func (s *Server) document(w http.ResponseWriter, _ *http.Request) error {
	r, err := openAPI()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, r) // who does not read it any more needs no error
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
	r, err := openAPI()
	if err != nil {
		return nil, err
	}
	if err := json.NewDecoder(r).Decode(&document); err != nil {
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
