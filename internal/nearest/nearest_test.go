package nearest

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	t.Parallel()
	words := []string{"run", "chat", "doctor", "config", "version", "help", "計算機"}
	for typed, want := range map[string]string{
		"run": "run", "rnu": "run", "docter": "doctor", "chta": "chat", "vresion": "version", "hlep": "help", "confg": "config",
		"計算": "", "計算器": "計算機", // letters count, not bytes
		"": "", "x": "", "serve": "", "rum-punch": "", "ch": "",
	} {
		if got := Word(typed, words); got != want {
			t.Errorf("Word(%q) = %q, want %q", typed, got, want)
		}
	}
	if got := Word("tree", []string{"trees", "tres"}); got != "trees" {
		t.Errorf("of two that are equally near, the second: %q", got)
	}
	if got := Word("x", nil); got != "" {
		t.Errorf("of no words %q", got)
	}
}

func TestSlips(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"abc", "abd", 1},
		{"abc", "xabc", 1},
		{"abcd", "badc", 2},
		{"計算", "計", 1},
		{"a", "abcd", 3},
		{strings.Repeat("a", 1<<20), "a", 3},
	} {
		if got := slips([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("slips(%.10q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := slips([]rune(c.b), []rune(c.a)); got != c.want {
			t.Errorf("slips(%q, %.10q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
