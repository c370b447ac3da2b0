package runset_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/internal/runset"
	"github.com/braidrun/braid/model"
)

// all has no zero field.
func all(t *testing.T) runset.Settings {
	t.Helper()
	zero, share, seed := 0.0, 0.5, int64(1)<<60+1
	s := runset.Settings{
		Instructions: "Rhyme <b>.",
		Options: model.Options{
			MaxTokens: 1, Temperature: &zero, TopP: &share, Seed: &seed, StopWords: []string{"stop"}, Thinking: 2, Effort: "low", ShowThinking: true,
			Verbosity: "low", ServiceTier: "flex", ServerTools: []model.ServerTool{{Kind: model.WebSearch, MaxUses: 3, Domains: []string{"a.example"}}},
			Context: model.ContextManagement{Compact: 9, Truncate: true},
			Extra:   map[string]json.RawMessage{"x": json.RawMessage(`{"a":1}`)}, Headers: map[string]string{"X-A": "b"},
		},
		Choice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add", Serial: true},
		Limits: json.RawMessage(`{"Cycles":3}`), Model: "m", Tools: []string{"one", "two"},
	}
	for i, v := 0, reflect.ValueOf(s.Options); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("the option %s is not tested", v.Type().Field(i).Name)
		}
	}
	return s
}

// A row keeps every setting, and nothing of those that are not set.
func TestALabelKeepsSettings(t *testing.T) {
	t.Parallel()
	s := all(t)
	label, err := s.Label()
	if err != nil {
		t.Fatal(err)
	}
	got, err := runset.Read(label)
	if diff := cmp.Diff(&s, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if again, err := got.Label(); err != nil || again != label {
		t.Errorf("it is written again as %s, %v", again, err)
	}
	for want, s := range map[string]runset.Settings{
		"":                           {},
		`{"Instructions":"Sing."}`:   {Instructions: "Sing."},
		`{"Choice":{"Mode":"none"}}`: {Choice: model.ToolChoice{Mode: model.ToolsNone}},
	} {
		if got, err := s.Label(); err != nil || got != want {
			t.Errorf("%+v is kept as %s, %v", s, got, err)
		}
	}
}

// What this version does not know cannot be kept to, so it is an error.
func TestUnknownSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for _, label := range []string{`{"Tone":"mild"}`, `{"Options":{"Tone":1}}`, `{"Options":{"ServerTools":[{"Kind":"x","Token":"y"}]}}`, `[]`, `{`, `{"Model":7}`} {
		if s, err := runset.Read(label); err == nil {
			t.Errorf("%s is read as %+v", label, s)
		}
	}
}

// Settings that are given again say nothing with their zero fields.
func TestKeeps(t *testing.T) {
	t.Parallel()
	s := all(t)
	for name, c := range map[string]struct {
		given runset.Settings
		keeps bool
	}{
		"nothing":             {runset.Settings{}, true},
		"all":                 {all(t), true},
		"the model":           {runset.Settings{Model: "m"}, true},
		"another model":       {runset.Settings{Model: "n"}, false},
		"fewer tools":         {runset.Settings{Tools: []string{"one"}}, false},
		"other instructions":  {runset.Settings{Instructions: "Sing."}, false},
		"part of the options": {runset.Settings{Options: model.Options{MaxTokens: 1}}, false},
	} {
		if s.Keeps(&c.given) != c.keeps {
			t.Errorf("%s: keeps is %v", name, !c.keeps)
		}
	}
	if none := (&runset.Settings{}); none.Keeps(&s) {
		t.Error("no settings keep all")
	}
}

// Set options come before those below, maps are joined, and neither side changes.
func TestOver(t *testing.T) {
	t.Parallel()
	below := all(t).Options
	one := 1.0
	got := runset.Over(model.Options{
		Temperature: &one, Context: model.ContextManagement{Compact: 5}, Extra: map[string]json.RawMessage{"y": json.RawMessage("2")},
		Headers: map[string]string{"X-A": "c"}, ServerTools: []model.ServerTool{},
	}, below)
	want := all(t).Options
	want.Temperature, want.Context.Compact, want.ServerTools = &one, 5, []model.ServerTool{}
	want.Extra["y"], want.Headers["X-A"] = json.RawMessage("2"), "c"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(all(t).Options, below); diff != "" {
		t.Errorf("the options below have changed\n%s", diff)
	}
	if diff := cmp.Diff(below, runset.Over(model.Options{}, below)); diff != "" || runset.Any(model.Options{}) || !runset.Any(below) {
		t.Errorf("nothing over them is\n%s", diff)
	}
	type inner struct{ A, B int }
	type outer struct {
		In inner
		C  string
	}
	if got := runset.Fill(outer{In: inner{A: 1}}, outer{inner{2, 3}, "c"}); got != (outer{inner{1, 3}, "c"}) {
		t.Errorf("filled: %+v", got)
	}
	if !strings.Contains(string(must(runset.Sparse(outer{C: "x"}))), `{"C":"x"}`) {
		t.Error("zero fields are written")
	}
}

func must(raw json.RawMessage, err error) json.RawMessage {
	if err != nil {
		panic(err)
	}
	return raw
}
