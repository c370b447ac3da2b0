package server

import (
	"net/http"
	"slices"
)

// cross tells a browser what pages of the operator's other sites may do, and answers where
// it asks before it asks (the Fetch standard's CORS protocol). The token is a header that
// the page itself must know: no cookie and no other credential of the browser counts.
func (s *Server) cross(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.options.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.options.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Location, Retry-After, X-Request-Id, X-Run-Id")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Prefer")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
