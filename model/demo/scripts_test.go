package demo

import (
	"testing"

	"github.com/braidrun/braid"
)

func TestBuiltInScriptsAreValid(t *testing.T) {
	t.Parallel()
	if len(Scripts()) < 4 {
		t.Fatalf("scripts: %v", Scripts())
	}
	for _, name := range Scripts() {
		m, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Prompt("en") == "" || m.About() == "" {
			t.Errorf("%s has no prompt or does not say what it is about", name)
		}
		if want := (braid.ModelInfo{Name: "demo:" + name, Simulated: true}); m.Info() != want {
			t.Errorf("Info = %+v, want %+v", m.Info(), want)
		}
	}
}
