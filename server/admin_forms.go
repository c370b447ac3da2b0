package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service/directory"
)

// page is a page of a list; Next is null on the last page.
type page[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next_cursor"`
}

// answerPage responds with a page of a list.
func answerPage[T any](w http.ResponseWriter, list []T, next string) error {
	out := page[T]{Data: list}
	if list == nil {
		out.Data = []T{}
	}
	if next != "" {
		out.Next = &next
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// listed responds with a page of one of the directory's lists.
func listed[T any](w http.ResponseWriter, r *http.Request, list func(q directory.Query) ([]T, string, error)) error {
	values, err := query(r, "status", "sort", "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	found, next, err := list(directory.Query{
		Status: directory.Status(values["status"]), Sort: directory.Sort(values["sort"]), Cursor: values["cursor"], Limit: int(limit),
	})
	if err != nil {
		return err
	}
	return answerPage(w, found, next)
}

// kept responds with an object and its revision.
func kept(w http.ResponseWriter, status int, revision int64, v any) error {
	w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(revision, 10)))
	writeJSON(w, status, v)
	return nil
}

// tenantOf returns the tenant of an address; "" for what all tenants share.
func tenantOf(r *http.Request) string { return r.PathValue("tenant") }

// by returns the author of a change.
func by(r *http.Request) directory.By { return callerOf(r).By() }

// adminAt returns the address of an object of the request's tenant.
func (s *Server) adminAt(r *http.Request, parts ...string) string {
	if t := tenantOf(r); t != "" {
		parts = append([]string{"tenants", t}, parts...)
	}
	return s.at(append([]string{"admin"}, parts...)...)
}

// idempotency returns the key under which a request may be repeated.
func idempotency(r *http.Request) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		return "", front.Bad("the Idempotency-Key is too long", "send at most 255 bytes")
	}
	return key, nil
}

// revision returns the revision in If-Match (RFC 9110, section 13.1.1); 0 accepts any revision.
func revision(r *http.Request) (int64, error) {
	lines := r.Header.Values("If-Match")
	if len(lines) == 0 || len(lines) == 1 && lines[0] == "*" {
		return 0, nil
	}
	text, opened := strings.CutPrefix(lines[0], `"`)
	text, closed := strings.CutSuffix(text, `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if len(lines) > 1 || err != nil || n < 1 || !opened || !closed {
		return 0, front.Bad("If-Match is not a revision", `send the ETag of what was read, such as "3"`)
	}
	return n, nil
}

// readPatch reads a merge patch.
func (s *Server) readPatch(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	var patch json.RawMessage
	err := s.readBody(w, r, &patch, false)
	return patch, err
}
