package service

import (
	"testing"

	"github.com/rivo/uniseg"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"  hello\n\tthere ", "hello there"},
		{"exactly fifty characters are in this very long line", "exactly fifty characters are in this very long…"},
		{"a sentence that goes on, and on, and on, until there is no room", "a sentence that goes on, and on, and on, until…"},
		{"日本の首都はどこですか。そしてその人口は何人ですか。できるだけ詳しく、しかし短く教えてください。お願いします。", "日本の首都はどこですか。そしてその人口は何人ですか。できるだけ詳しく、しかし短く教えてください。お…"},
		{"onewordthatisverylongindeedandhasnospaceinitanywhereatall", "onewordthatisverylongindeedandhasnospaceinitanywh…"},
	} {
		got := shorten(c.text)
		if got != c.want || uniseg.GraphemeClusterCount(got) > mostTitleSigns {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
	}
}
