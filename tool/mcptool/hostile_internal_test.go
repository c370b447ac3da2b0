package mcptool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/schemacheck/hostile"
)

// A tool or a form whose schema no check could finish is left out with a reason; nothing checks it.
func TestHostileSchemasAreLeftOut(t *testing.T) {
	t.Parallel()
	passed := false
	handle := (&server{}).receive(&session{})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		passed = true
		return &mcp.ElicitResult{}, nil
	})
	ask := func(schema string) error {
		_, err := handle(t.Context(), "elicitation/create", &mcp.ElicitRequest{Params: &mcp.ElicitParams{RequestedSchema: json.RawMessage(schema)}})
		return err
	}
	for _, s := range hostile.Schemas() {
		if _, why := fitSchema(json.RawMessage(s.Text)); !strings.Contains(why, "cannot be used") {
			t.Errorf("%s, as a tool's: %q", s.Name, why)
		}
		if err := ask(s.Text); err == nil || passed {
			t.Errorf("%s, as a form's: %v", s.Name, err)
		}
	}
	if err := ask(`{"type":"object","properties":{"n":{"type":"string"}}}`); err != nil || !passed {
		t.Errorf("a usual form: %v", err)
	}
}

// A result of very many blocks keeps the first ones and says that there were more.
func TestAResultOfManyBlocks(t *testing.T) {
	t.Parallel()
	out, err := output(json.RawMessage(`{"content":[`+strings.Repeat(`{"type":"text","text":""},`, 199_999)+`{"type":"text","text":""}]}`), 1<<10)
	if err != nil || len(out.Content) != maxBlocks+1 {
		t.Fatalf("%d blocks, %v", len(out.Content), err)
	}
	if last, ok := out.Content[maxBlocks].(*event.Text); !ok || !strings.Contains(last.Text, "199000 more blocks") {
		t.Errorf("the last block is %v", out.Content[maxBlocks])
	}
}
