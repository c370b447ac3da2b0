package demo

import (
	"testing"

	"github.com/braidrun/braid/event"
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
		info := m.Info()
		if info.Name != "demo:"+name || !info.Simulated || info.ContextWindow != 0 || info.Output {
			t.Errorf("Info = %+v", info)
		}
		if nano, known := info.Cost(event.Usage{Input: 1, Total: 1}); nano != 0 || !known {
			t.Errorf("%s costs %d, known %v", name, nano, known)
		}
	}
}
