package server

import (
	"net/http"
)

// measures answers a scrape.
func (s *Server) measures(w http.ResponseWriter, r *http.Request) error {
	s.metrics.tenants.now() // so that a tenant that has something here has its label in all metrics
	s.metrics.all.ServeHTTP(w, r)
	return nil
}
