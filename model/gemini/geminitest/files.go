package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// stored is an uploaded file (api/files).
type stored struct {
	name, kind string
	content    []byte
	whole      bool
	looks      int
}

const uploads = "/upload/v1beta/files"

var filePaths = regexp.MustCompile(`^/v1beta/files/([a-z0-9-]{1,40})$`)

// isFile reports whether a request is about a file.
func isFile(r *http.Request) bool {
	return r.URL.Path == uploads && r.Method == http.MethodPost ||
		filePaths.MatchString(r.URL.Path) && (r.Method == http.MethodGet || r.Method == http.MethodDelete)
}

// File returns the content and the MIME type of a completely uploaded file that was not deleted. address is the
// file's address on this server.
func (s *Server) File(address string) (content []byte, kind string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[address[strings.LastIndexByte(address, '/')+1:]]
	if f == nil || !f.whole {
		return nil, "", false
	}
	return f.content, f.kind, true
}

// file answers a request about a file, after the check of its key.
func (s *Server) file(r *http.Request, body []byte) *vendortest.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	no := func(status int, kind, message string) *vendortest.Refusal {
		return &vendortest.Refusal{Why: message, Answer: Error(status, kind, message)}
	}
	if r.URL.Path == uploads {
		return s.upload(r, body, no)
	}
	id := filePaths.FindStringSubmatch(r.URL.Path)[1]
	f := s.files[id]
	if f == nil || !f.whole {
		return no(http.StatusForbidden, "PERMISSION_DENIED", "You do not have permission to access the File "+id+" or it may not exist.")
	}
	if r.Method == http.MethodDelete {
		delete(s.files, id)
		return taken("{}\n")
	}
	f.looks++
	return taken(s.tell(id, f))
}

// upload handles the beginning of an upload, or a piece of it.
func (s *Server) upload(r *http.Request, body []byte, no func(int, string, string) *vendortest.Refusal) *vendortest.Refusal {
	id, command := r.URL.Query().Get("upload_id"), r.Header.Get("X-Goog-Upload-Command")
	if id == "" {
		var begun struct {
			File struct {
				DisplayName string `json:"displayName"`
			} `json:"file"`
		}
		kind := r.Header.Get("X-Goog-Upload-Header-Content-Type")
		if command != "start" || r.Header.Get("X-Goog-Upload-Protocol") != "resumable" || kind == "" || json.Unmarshal(body, &begun) != nil {
			return no(http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid upload request.")
		}
		id = "file-" + strconv.Itoa(len(s.files)+1)
		s.files[id] = &stored{name: begun.File.DisplayName, kind: kind}
		a := taken("")
		// The vendor names its own host here, whatever host was called.
		a.Answer.Header["X-Goog-Upload-Url"] = "https://generativelanguage.googleapis.com" +
			uploads + "?upload_id=" + id + "&upload_protocol=resumable"
		a.Answer.Header["X-Goog-Upload-Status"] = "active"
		return a
	}
	const granularity = 256 << 10
	f := s.files[id]
	switch {
	case f == nil || f.whole:
		return no(http.StatusNotFound, "NOT_FOUND", "There is no such upload.")
	case r.Header.Get("X-Goog-Upload-Offset") != strconv.Itoa(len(f.content)):
		return no(http.StatusBadRequest, "INVALID_ARGUMENT", "The offset does not match what was received.")
	case command == "upload" && len(body)%granularity != 0:
		return no(http.StatusBadRequest, "INVALID_ARGUMENT", "The size of a chunk must be a multiple of the chunk granularity.")
	case command != "upload" && command != "upload, finalize":
		return no(http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid upload command.")
	}
	f.content = append(f.content, body...)
	if command == "upload" {
		a := taken("")
		a.Answer.Header["X-Goog-Upload-Status"] = "active"
		return a
	}
	f.whole = true
	a := taken(`{"file": ` + s.tell(id, f) + `}`)
	a.Answer.Header["X-Goog-Upload-Status"] = "final"
	return a
}

// tell returns the API's description of a file.
func (s *Server) tell(id string, f *stored) string {
	state := "ACTIVE"
	switch {
	case f.looks < s.Looks:
		state = "PROCESSING"
	case s.Broken != "":
		state = `FAILED", "error": {"code": 3, "message": ` + quote(s.Broken) + `}, "source": "UPLOADED`
	}
	const uri = "https://generativelanguage.googleapis.com/v1beta/files/"
	return fmt.Sprintf(`{"name": "files/%s", "displayName": %s, "mimeType": %s, "sizeBytes": "%d", "uri": %s, "state": "%s"}`,
		id, quote(f.name), quote(f.kind), len(f.content), quote(uri+id), state)
}
