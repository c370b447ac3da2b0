package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// Cached forms equal new ones by the requested rules, and the cache is bounded.
func TestKeptForms(t *testing.T) {
	t.Parallel()
	asked := []*Rules{OpenAITools, GeminiOpenAPI}
	type made struct {
		schema   json.RawMessage
		forms    [2]json.RawMessage
		problems [2][]Problem
	}
	anew := make([]made, 2*mostForms)
	for i := range anew {
		m := &anew[i]
		m.schema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string","nullable":true,"not":{}}}}`, i))
		for j, rules := range asked {
			m.forms[j], m.problems[j] = Form(m.schema, rules)
		}
	}
	var k Forms
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 3 * mostForms {
				want := &anew[i%len(anew)]
				for j, rules := range asked {
					form, problems := k.Form(want.schema, rules)
					if string(form) != string(want.forms[j]) || !reflect.DeepEqual(problems, want.problems[j]) {
						t.Errorf("%s is %s with %v", want.schema, form, problems)
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
