package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service/directory"
)

// mcpServerFields are the writable fields of an MCP server.
type mcpServerFields struct {
	Status  directory.Status  `json:"status,omitempty"`
	Name    string            `json:"name,omitempty"`
	Type    directory.MCPType `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Program string            `json:"program,omitempty"`
	// Document is an OpenAPI document: a JSON object, or a text with JSON or YAML.
	Document json.RawMessage `json:"document,omitempty"`
	// DocumentURL is the address from which the service fetches the document when it is sent.
	DocumentURL       string                             `json:"document_url,omitempty"`
	Headers           map[string]string                  `json:"headers_template,omitempty"`
	SecretHeaders     map[string]string                  `json:"secret_headers,omitempty"`
	Credentials       map[string]directory.APICredential `json:"credentials,omitempty"`
	SecretCredentials map[string]string                  `json:"secret_credentials,omitempty"`
	OAuth             *directory.MCPOAuth                `json:"oauth,omitempty"`
	Tools             []string                           `json:"allowed_tools,omitzero"`
	Overrides         []directory.ToolOverride           `json:"tool_overrides,omitempty"`
	Seconds           int                                `json:"timeout_seconds,omitempty"`
	Required          bool                               `json:"required,omitempty"`
}

// mcpServerRequest creates an MCP server.
type mcpServerRequest struct {
	mcpServerFields

	ID string `json:"id"`
}

// testMCPServerRequest has the tokens for a test.
type testMCPServerRequest struct {
	Tokens map[string]string `json:"tokens,omitempty"`
}

func (f *mcpServerFields) into(s *directory.MCPServer) {
	s.Status, s.Name, s.Type, s.URL, s.Program = f.Status, f.Name, f.Type, f.URL, f.Program
	s.Headers, s.Credentials, s.OAuth, s.Tools, s.Overrides = f.Headers, f.Credentials, f.OAuth, f.Tools, f.Overrides
	s.Seconds, s.Required = f.Seconds, f.Required
}

// fieldsOfMCPServer returns a server's fields without what is stored beside them.
func fieldsOfMCPServer(s *directory.MCPServer) mcpServerFields {
	return mcpServerFields{
		Status: s.Status, Name: s.Name, Type: s.Type, URL: s.URL, Program: s.Program, Headers: s.Headers,
		Credentials: s.Credentials, OAuth: s.OAuth, Tools: s.Tools, Overrides: s.Overrides, Seconds: s.Seconds, Required: s.Required,
	}
}

// mcpStored are the fields that a body stores beside the spec. A header or credential that is null is removed.
type mcpStored struct {
	Document          json.RawMessage    `json:"document"`
	DocumentURL       string             `json:"document_url"`
	SecretHeaders     map[string]*string `json:"secret_headers"`
	SecretCredentials map[string]*string `json:"secret_credentials"`
}

// mcpInput returns what a body stores. It fetches the document if the body has an address of it.
func (s *Server) mcpInput(r *http.Request, f *mcpStored) (in directory.MCPServerInput, err error) {
	given := len(f.Document) > 0 && string(f.Document) != "null"
	switch {
	case given && f.DocumentURL != "":
		return in, front.Bad("there are both a document and a document_url", "send one of them")
	case given:
		if in.Document, err = documentText(f.Document); err != nil {
			return in, err
		}
	case f.DocumentURL != "":
		if in.Document, err = s.service.FetchDocument(r.Context(), f.DocumentURL); err != nil {
			return in, err
		}
		in.DocumentURL = f.DocumentURL
	}
	in.Headers, in.Credentials = secretValues(f.SecretHeaders), secretValues(f.SecretCredentials)
	return in, nil
}

// secretValues returns values of a body. One that is null is empty.
func secretValues(from map[string]*string) map[string]secret.Secret {
	if len(from) == 0 {
		return nil
	}
	values := make(map[string]secret.Secret, len(from))
	for name, value := range from {
		if values[name] = (secret.Secret{}); value != nil {
			values[name] = secret.New(*value)
		}
	}
	return values
}

func pointers(from map[string]string) map[string]*string {
	to := make(map[string]*string, len(from))
	for name, value := range from {
		to[name] = &value
	}
	return to
}

// documentText returns a document that was sent as an object or as a text.
func documentText(raw json.RawMessage) ([]byte, error) {
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case '{':
		return raw, nil
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, unreadable(err)
		}
		return []byte(text), nil
	}
	return nil, front.Bad("the document is neither an object nor a text", "send the OpenAPI document as JSON, or as a text with YAML")
}

func (s *Server) createMCPServer(w http.ResponseWriter, r *http.Request) error {
	var body mcpServerRequest
	if err := s.readBody(w, r, &body, false); err != nil {
		return err
	}
	idem, err := idempotency(r)
	if err != nil {
		return err
	}
	stored := mcpStored{
		Document: body.Document, DocumentURL: body.DocumentURL, SecretHeaders: pointers(body.SecretHeaders),
		SecretCredentials: pointers(body.SecretCredentials),
	}
	in, err := s.mcpInput(r, &stored)
	if err != nil {
		return err
	}
	m := directory.MCPServer{Tenant: tenantOf(r), ID: body.ID}
	body.into(&m)
	if m, err = s.options.Directory.CreateMCPServer(r.Context(), by(r), m, in, idem); err != nil {
		return err
	}
	w.Header().Set("Location", s.adminAt(r, "mcp-servers", m.ID))
	return kept(w, http.StatusCreated, m.Revision, m)
}

func (s *Server) listMCPServers(w http.ResponseWriter, r *http.Request) error {
	return listed(w, r, func(q directory.Query) ([]directory.MCPServer, string, error) {
		return s.options.Directory.ListMCPServers(r.Context(), tenantOf(r), q)
	})
}

func (s *Server) getMCPServer(w http.ResponseWriter, r *http.Request) error {
	m, err := s.options.Directory.GetMCPServer(r.Context(), tenantOf(r), r.PathValue("server"), 0)
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, m.Revision, m)
}

func (s *Server) updateMCPServer(w http.ResponseWriter, r *http.Request) error {
	patch, err := s.readPatch(w, r)
	if err != nil {
		return err
	}
	read, err := revision(r)
	if err != nil {
		return err
	}
	tenant, id := tenantOf(r), r.PathValue("server")
	old, err := s.options.Directory.GetMCPServer(r.Context(), tenant, id, 0)
	if err != nil {
		return err
	}
	// The whole body is checked before anything is fetched.
	if _, err := merge(fieldsOfMCPServer(&old), patch); err != nil {
		return err
	}
	var stored mcpStored
	if err := json.Unmarshal(patch, &stored); err != nil {
		return unreadable(err)
	}
	in, err := s.mcpInput(r, &stored)
	if err != nil {
		return err
	}
	m, err := s.options.Directory.UpdateMCPServer(r.Context(), by(r), tenant, id, read, func(m *directory.MCPServer,
		into *directory.MCPServerInput,
	) error {
		fields, err := merge(fieldsOfMCPServer(m), patch)
		if err == nil {
			fields.into(m)
			*into = in
		}
		return err
	})
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, m.Revision, m)
}

func (s *Server) deleteMCPServer(w http.ResponseWriter, r *http.Request) error {
	read, err := revision(r)
	if err != nil {
		return err
	}
	force, err := forced(r)
	if err != nil {
		return err
	}
	if err := s.options.Directory.DeleteMCPServer(r.Context(), by(r), tenantOf(r), r.PathValue("server"), read, force...); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) testMCPServer(w http.ResponseWriter, r *http.Request) error {
	var body testMCPServerRequest
	if err := s.readBody(w, r, &body, true); err != nil {
		return err
	}
	tokens := make(map[string]secret.Secret, len(body.Tokens))
	for name, value := range body.Tokens {
		tokens[name] = secret.New(value)
	}
	m, err := s.options.Directory.GetMCPServer(r.Context(), tenantOf(r), r.PathValue("server"), 0)
	if err != nil {
		return err
	}
	report, err := s.service.TestMCPServer(r.Context(), &m, tokens)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, report)
	return nil
}

func (s *Server) listMCPServerVersions(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	list, next, err := s.options.Directory.ListMCPServerVersions(
		r.Context(), tenantOf(r), r.PathValue("server"), directory.Query{Cursor: values["cursor"], Limit: int(limit)},
	)
	if err != nil {
		return err
	}
	return answerPage(w, list, next)
}

func (s *Server) getMCPServerVersion(w http.ResponseWriter, r *http.Request) error {
	version, err := strconv.Atoi(r.PathValue("version"))
	if err != nil || version < 1 {
		version = -1 // no version has this number
	}
	m, err := s.options.Directory.GetMCPServer(r.Context(), tenantOf(r), r.PathValue("server"), version)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, m)
	return nil
}
