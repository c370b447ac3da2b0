package main

import "testing"

func TestClosest(t *testing.T) {
	t.Parallel()
	words := []string{"run", "chat", "doctor", "config", "version", "help"}
	for word, want := range map[string]string{
		"rnu": "run", "docter": "doctor", "chta": "chat", "vresion": "version", "hlep": "help", "confg": "config",
		"": "", "x": "", "serve": "", "rum-punch": "", "ch": "",
	} {
		if got := closest(word, words); got != want {
			t.Errorf("closest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestSlips(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "xabc", 1}, {"計算", "計", 1}} {
		if got := slips(c.a, c.b); got != c.want {
			t.Errorf("slips(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := slips(c.b, c.a); got != c.want {
			t.Errorf("slips(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
