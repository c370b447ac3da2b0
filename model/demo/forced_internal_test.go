package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// An example of a schema that grows exponentially is cut, in properties, lists and references.
func TestExamplesAreBounded(t *testing.T) {
	t.Parallel()
	var wide strings.Builder
	for i := range 60 {
		fmt.Fprintf(&wide, `"p%d":{"$ref":"#/$defs/a"},`, i)
	}
	properties := strings.TrimSuffix(wide.String(), ",")
	list := `{"type":"string"}`
	for range 10 {
		list = `{"type":"array","minItems":100,"items":` + list + `}`
	}
	for name, schema := range map[string]string{
		"references":  `{"type":"object","properties":{` + properties + `},"$defs":{"a":{"type":"object","properties":{` + properties + `}}}}`,
		"lists":       `{"type":"object","properties":{"a":` + list + `}}`,
		"both":        `{"type":"object","properties":{"l":` + list + `,` + properties + `},"$defs":{"a":` + list + `}}`,
		"a usual one": `{"type":"object","properties":{"a":{"type":"array","minItems":3,"items":{"type":"integer"}},"b":{"type":"string"}}}`,
	} {
		f := example{words: "word"}
		if err := json.Unmarshal([]byte(schema), &f.root); err != nil {
			t.Fatal(err)
		}
		v, _ := f.value(f.root, 0)
		if len(v) > 2*mostBytes || f.steps > 2*mostSteps || len(v) > 0 && !json.Valid(v) {
			t.Errorf("%s: %d bytes after %d steps", name, len(v), f.steps)
		}
		if name == "a usual one" && string(v) != `{"a":[1,1,1],"b":"word"}` {
			t.Errorf("%s: %s", name, v)
		}
	}
}
