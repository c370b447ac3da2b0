package schemaform

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Kept forms are those that would be made anew, by the rules that are asked for, and
// there are never too many.
func TestKeptForms(t *testing.T) {
	t.Parallel()
	var k Forms
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 3 * mostForms {
				schema := json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string","nullable":true,"not":{}}}}`, i%(2*mostForms)))
				for _, rules := range []*Rules{OpenAITools, GeminiOpenAPI} {
					form, problems := k.Form(schema, rules)
					want, others := Form(schema, rules)
					if string(form) != string(want) || cmp.Diff(others, problems) != "" {
						t.Errorf("%s is %s", schema, form)
					}
				}
			}
		})
	}
	all.Wait()
	if len(k.made) > mostForms || len(k.made) == 0 {
		t.Errorf("%d forms are kept", len(k.made))
	}
	long := strings.Repeat("x", 100<<10)
	for i := range 200 {
		k.Form(json.RawMessage(fmt.Sprintf(`{"type":"object","description":"%d%s"}`, i, long)), OpenAITools)
		if k.held > mostHeld {
			t.Fatalf("%d bytes are kept", k.held)
		}
	}
}

func TestAKeptFormCostsNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	var k Forms
	schema := json.RawMessage(usual)
	if n := testing.AllocsPerRun(100, func() { k.Form(schema, NovaTools) }); n > 0 {
		t.Errorf("a kept form costs %v allocations", n)
	}
}
