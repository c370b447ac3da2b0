package demo_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
)

// A script that is forced to call a tool does so, with arguments that fit its schema. So agents
// with an output schema work without a key.
func TestAScriptThatIsMadeToCallATool(t *testing.T) {
	t.Parallel()
	type part struct {
		Kind string   `json:"kind"`
		More *float64 `json:"more,omitempty"`
	}
	type report struct {
		Title string   `json:"title"`
		Pages int      `json:"pages"`
		Final bool     `json:"final"`
		Words []string `json:"words"`
		Parts []part   `json:"parts"`
		Any   any      `json:"any"`
	}
	model, err := demo.New(demo.Script{Rules: []demo.Rule{{Reply: []demo.Piece{{Text: "It is a fine\nreport."}}}}})
	if err != nil {
		t.Fatal(err)
	}
	got, r, err := braid.RunAs[report](t.Context(), braid.New("a", model), "Report.")
	if err != nil || got.Title != "It is a fine report." || got.Pages != 1 || !got.Final || len(got.Words) != 1 || len(got.Parts) != 1 ||
		*got.Parts[0].More != 1 || r.Stop != event.StopToolUse || r.Metrics.ModelCalls != 2 {
		t.Errorf("%+v, %+v, %v", got, r, err)
	}
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"const":7},"c":{"type":"integer","minimum":3},"d":{"type":"string","maxLength":2}}}`: `{"a":"x","b":7,"c":3,"d":"It"}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":["null","string"],"format":"date"}}}}}`: "",
		`{"type":"array","items":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"minItems":2}`:                                                           `[true,true]`,
		`{"type":"object"}`: `{}`,
	} {
		r, err := braid.New("a", model, braid.OutputSchema(json.RawMessage(schema))).Run(t.Context(), "Report.")
		if err != nil || want != "" && string(r.Output) != want {
			t.Errorf("%s: %s, %v", schema, r.Output, err)
		}
	}
	// A script ignores the parts of a schema that it does not know.
	if _, err := braid.New("a", model, braid.OutputSchema(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^[0-9]+$"}},"required":["a"]}`))).
		Run(t.Context(), "Report."); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a pattern: %v", err)
	}
}
