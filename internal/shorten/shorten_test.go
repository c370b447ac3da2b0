package shorten

import "testing"

func TestTextEndsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aéz", 2, "a…"}, // é has two bytes
		{"aéz", 3, "aé…"},
		{"日本", 5, "日…"},
		{"日本", 2, "…"},
		{"\x80\x80\x80", 2, "…"}, // no character begins here
		{"abc", 0, "…"},
	} {
		if got := Text(c.text, c.most, "…"); got != c.want {
			t.Errorf("%q to %d bytes: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
