package agentcore_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/internal/schemacheck/hostile"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
)

// A payload with a schema that no check could finish is refused, and the handler goes on.
func TestHostileSchemasAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, func(so *service.Options, _ *agentcore.Options) {
		make := so.Agent
		so.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
			if r.OutputSchema == nil {
				return make(ctx, r)
			}
			agent := braid.New("guide", scripted{}, braid.OutputSchema(r.OutputSchema))
			return agent, agent.Err()
		}
	})
	for _, c := range hostile.Schemas() {
		body, err := json.Marshal(map[string]any{"prompt": "go", "output_schema": json.RawMessage(c.Text)})
		if err != nil {
			t.Fatal(err)
		}
		res := s.ask(http.MethodPost, "/invocations", string(body))
		if res.code != 400 || !strings.Contains(res.body, "the schema of the answer cannot be used") {
			t.Errorf("%s: %d %s", c.Name, res.code, res.body)
		}
	}
	if res := s.say("hello"); res.code != 200 {
		t.Errorf("the next request: %d", res.code)
	}
}
