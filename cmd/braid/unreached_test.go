package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// Tenants see no addresses of the operator's servers.
func TestATenantIsNotToldTheAddressOfTheModelsServer(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), nil, "--model", "openai:gpt-x?base="+gone.URL+"/v1", "--attempts", "1", "--tools", "none")
	conv := s.conversation("")
	status, answer := s.ask("", "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Hi."}`)
	_, events := s.ask("", "GET", "/v1/conversations/"+conv+"/events", "")
	host := strings.TrimPrefix(gone.URL, "http://")
	if status != http.StatusServiceUnavailable || strings.Contains(answer+events, host) || !strings.Contains(answer, "cannot be reached") {
		t.Errorf("%d %s\n%s", status, answer, events)
	}
}
