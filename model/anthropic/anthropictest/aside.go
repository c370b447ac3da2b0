package anthropictest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// File is an uploaded file.
type File struct {
	Name, MIME string
	Content    []byte
}

// Files returns the uploaded files that were not deleted, by id.
func (s *Server) Files() map[string]File {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]File, len(s.kept))
	maps.Copy(all, s.kept)
	return all
}

// given returns a successful response of the server itself.
func given(body string) *vendortest.Refusal {
	return &vendortest.Refusal{Answer: Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: body}}
}

// countMembers are the members that messages/count_tokens accepts.
var countMembers = []string{
	"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control", "context_management", "mcp_servers",
}

// aside answers requests other than messages: the count of tokens, and the Files API (api/messages-count-tokens,
// api/files-create, api/files-delete). It returns nil for a message.
func (s *Server) aside(r *http.Request, body []byte) *vendortest.Refusal {
	no := func(status int, kind, message string) *vendortest.Refusal {
		return &vendortest.Refusal{Why: message, Answer: Error(status, kind, message)}
	}
	counting, filing := r.URL.Path == "/v1/messages/count_tokens", r.URL.Path == "/v1/files" || strings.HasPrefix(r.URL.Path, "/v1/files/")
	switch {
	case counting && len(body) <= largest:
		if status, kind, message := s.check(r, body); status != 0 {
			return no(status, kind, message)
		}
		return given(fmt.Sprintf(`{"input_tokens":%d}`, len(body)/4))
	case !filing:
		return nil
	case strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") != Key && r.Header.Get("X-Api-Key") != Key:
		return no(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	case r.Header.Get("Anthropic-Version") == "":
		return no(http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required")
	case r.URL.Path == "/v1/files" && r.Method == http.MethodPost:
		return s.upload(r, body)
	case r.URL.Path != "/v1/files" && r.Method == http.MethodDelete:
		return s.erase(path.Base(r.URL.Path))
	default:
		return no(http.StatusMethodNotAllowed, "invalid_request_error", "Method Not Allowed")
	}
}

// fileNames matches the allowed names of files.
var fileNames = regexp.MustCompile(`^[^<>:"|?*\\/\x00-\x1f]{1,255}$`)

func (s *Server) upload(r *http.Request, body []byte) *vendortest.Refusal {
	no := func(message string) *vendortest.Refusal {
		return &vendortest.Refusal{Why: message, Answer: Error(http.StatusBadRequest, "invalid_request_error", message)}
	}
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return no("content-type must be multipart/form-data")
	}
	form := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	part, err := form.NextRawPart()
	if err != nil || part.FormName() != "file" {
		return no("file: Field required")
	}
	f := File{Name: part.FileName(), MIME: part.Header.Get("Content-Type")}
	f.Content, err = io.ReadAll(part)
	switch {
	case err != nil:
		return no("file: the form ends before the file does")
	case len(f.Content) == 0:
		return no("file: File is empty")
	case !fileNames.MatchString(f.Name):
		return no("file: Invalid filename")
	}
	if _, err := form.NextRawPart(); err != io.EOF {
		return no("Extra inputs are not permitted")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]File{}
	}
	id := fmt.Sprintf("file_test%d", len(s.kept)+1)
	s.kept[id] = f
	return given(fmt.Sprintf(`{"id":%q,"type":"file","filename":%s,"mime_type":%s,"size_bytes":%d,"created_at":"2026-11-23T00:00:00Z",`+
		`"downloadable":false}`, id, quote(f.Name), quote(f.MIME), len(f.Content)))
}

func (s *Server) erase(id string) *vendortest.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.kept[id]; !ok {
		message := "File not found: " + id
		return &vendortest.Refusal{Why: message, Answer: Error(http.StatusNotFound, "not_found_error", message)}
	}
	delete(s.kept, id)
	return given(fmt.Sprintf(`{"id":%q,"type":"file_deleted"}`, id))
}

// kept reports whether a block may refer to a file of a kind. kinds are the allowed kinds of data.
func kept(kinds []string, kind string) bool {
	return slices.Contains(kinds, kind) || kind == "text/plain" && slices.Contains(kinds, "application/pdf")
}

// file looks a file up.
func (c *checker) file(o object, at string) File {
	id := c.str(o, at, "file_id")
	c.server.mu.Lock()
	f, ok := c.server.kept[id]
	c.server.mu.Unlock()
	if !ok && c.problem == "" {
		c.lost = true
		c.fail("File not found: %s", id)
	}
	return f
}
