package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// A tenant reads no address of the operator's servers, and the loop still sees that none was there.
func TestATenantIsNotToldTheAddressOfTheModelsServer(t *testing.T) {
	t.Parallel()
	for _, code := range []string{model.CodeRefused, model.CodeNoHost, model.CodeUnreachable} {
		var e *event.Error
		err := plainError(&event.Error{
			Op: "model openai", Kind: event.ErrUnavailable, Code: code, Message: "the server cannot be reached: no server listens at 10.0.0.9:8000",
			Hint: "start the server, or correct its address, base=",
		})
		if !errors.As(err, &e) || e.Kind != event.ErrUnavailable || e.Code != code || strings.Contains(e.Error(), "10.0.0.9") || strings.Contains(e.Error(), "base=") {
			t.Errorf("%s: %v", code, err)
		}
	}
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
