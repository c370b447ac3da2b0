package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/internal/schemacheck/hostile"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// A request with a schema that no check could finish is refused with 422, and the server goes on.
func TestHostileSchemasAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, func(so *service.Options, _ *server.Options) {
		so.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			var parts []braid.Part
			if r.OutputSchema != nil {
				parts = append(parts, braid.OutputSchema(r.OutputSchema))
			}
			agent := braid.New("assistant", parrot{}, parts...)
			return agent, agent.Err()
		}
	})
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	for _, c := range hostile.Schemas() {
		body, err := json.Marshal(map[string]any{"user_input": "go", "output_schema": json.RawMessage(c.Text)})
		if err != nil {
			t.Fatal(err)
		}
		e := s.json(422, "POST", runs, string(body))["error"].(map[string]any)
		if message, _ := e["message"].(string); e["code"] != "SCHEMA_INVALID" || e["hint"] == "" || len(message) > 500 {
			t.Errorf("%s: %v", c.Name, e)
		}
	}
	if list := s.json(200, "GET", runs, "")["data"]; list != nil && len(list.([]any)) > 0 {
		t.Errorf("runs that were refused are there: %v", list)
	}
	if got := frames(t, s.ask("POST", runs, `{"user_input":"hello"}`).Body, nil); text(got) != "you said hello" {
		t.Errorf("the next run says %q", text(got))
	}
}
