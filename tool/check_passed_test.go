package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// A schema that passed is not compiled again, and a refused one is refused again.
func TestSchemasThatPassedAreRemembered(t *testing.T) { //nolint:paralleltest // AllocsPerRun
	good := tool.Spec{Name: "t", Schema: []byte(`{"type":"object","properties":{"query":{"type":"string","description":"` + t.Name() + `"}}}`)}
	check := func() {
		if err := tool.CheckSchema(good); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if n := testing.AllocsPerRun(10, check); n > 1 {
		t.Errorf("checking a schema again takes %g allocations", n)
	}
	for range 2 {
		for _, bad := range []string{`{"type":"array"}`, `{"type":"object","properties":7}`, `{`} {
			if err := tool.CheckSchema(tool.Spec{Name: "t", Schema: []byte(bad)}); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("%s: %v, want %v", bad, err, event.ErrInvalid)
			}
		}
	}
	changed := good
	changed.Schema = []byte(strings.Replace(string(good.Schema), `"object"`, `"arrays"`, 1))
	if err := tool.CheckSchema(changed); err == nil {
		t.Error("a changed schema passed")
	}
	for i := range 1000 { // more than are remembered
		if err := tool.CheckSchema(tool.Spec{Name: "t", Schema: fmt.Appendf(nil, `{"type":"object","title":"%d"}`, i)}); err != nil {
			t.Fatal(err)
		}
	}
	check()
}
