package openaitest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// File is a stored file.
type File struct {
	Name, Purpose, MIME string
	Content             []byte
}

// Files returns the stored files by id.
func (s *Server) Files() map[string]File {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]File, len(s.files))
	maps.Copy(all, s.files)
	return all
}

// purposes are the purposes that a file can have (api-reference/files/create).
var purposes = []string{"assistants", "batch", "fine-tune", "vision", "user_data", "evals"}

// file is the Files API (api-reference/files).
func (s *Server) file(r *http.Request, body []byte) Answer {
	no := func(message string) Answer { return Error(http.StatusBadRequest, "invalid_request_error", "", message) }
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1/files"), "/")
	switch {
	case r.Method == http.MethodDelete && id != "":
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, ok := s.files[id]; !ok {
			return Error(http.StatusNotFound, "invalid_request_error", "", "No such File object: "+id)
		}
		delete(s.files, id)
		return reply(http.StatusOK, fmt.Sprintf(`{"id":%q,"object":"file","deleted":true}`, id))
	case r.Method != http.MethodPost || id != "":
		return Error(http.StatusMethodNotAllowed, "invalid_request_error", "", "Not allowed to "+r.Method+" on "+r.URL.Path)
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return no("We could not parse your multipart form.")
	}
	var f File
	form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := form.NextPart()
		if err == io.EOF { //nolint:errorlint // NextPart returns it unwrapped
			break
		}
		if err != nil {
			return no("We could not parse your multipart form.")
		}
		content, err := io.ReadAll(part)
		switch {
		case err != nil:
			return no("We could not parse your multipart form.")
		case part.FormName() == "purpose":
			f.Purpose = string(content)
		case part.FormName() == "file":
			f.Name, f.MIME, f.Content = part.FileName(), part.Header.Get("Content-Type"), content
		default:
			return no("Unknown parameter: '" + part.FormName() + "'.")
		}
	}
	switch {
	case f.Name == "":
		return no("'file' is a required property")
	case !slices.Contains(purposes, f.Purpose):
		return no("'" + f.Purpose + "' is not one of ['fine-tune', 'assistants', 'batch', 'user_data', 'vision', 'evals'] - 'purpose'")
	case len(f.Content) == 0:
		return no("The file is empty.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named++
	id = fmt.Sprintf("file-test%d", s.named)
	s.files[id] = f
	return reply(http.StatusOK, fmt.Sprintf(`{"id":%q,"object":"file","bytes":%d,`+
		`"created_at":1782321900,"filename":%s,"purpose":%q,"status":"processed"}`,
		id, len(f.Content), quote(f.Name), f.Purpose))
}

var fileNames = regexp.MustCompile(`(?:"type":"input_(?:file|image)"[^{}]*|"file":\{)"file_id":"(file-[^"]*)"`)

// unknownFile reports whether a request refers to a file that the server does not have.
func (s *Server) unknownFile(body []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, found := range fileNames.FindAllSubmatch(body, -1) {
		if _, ok := s.files[string(found[1])]; !ok {
			return true
		}
	}
	return false
}

func reply(status int, body string) Answer {
	return Answer{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: body}
}
