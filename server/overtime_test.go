package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// A run whose time is over answers with what there is, as a stream's result does, and the
// conversation takes another run.
func TestTimeIsOver(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *service.Options, _ *server.Options) { o.RunTime = 300 * time.Millisecond })
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	got := s.json(http.StatusGatewayTimeout, "POST", runs, `{"user_input":"speak slowly please"}`, "Accept", "application/json")
	fault, _ := got["error"].(map[string]any)
	if got["result"] != "you " || got["is_error"] != true || fault["code"] != "TIMEOUT" || got["session_id"] == nil {
		t.Errorf("the answer is %v", got)
	}
	close(s.gate)
	if next := s.json(http.StatusOK, "POST", runs, `{"user_input":"hello"}`, "Accept", "application/json"); next["turn"] != 2.0 || next["is_error"] != false {
		t.Errorf("the next answer is %v", next)
	}
}
