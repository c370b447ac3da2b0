package term

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanMakesHiddenCharactersVisible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain text", "3と5を足した結果は8です。\n\tok", "3と5を足した結果は8です。\n\tok"},
		{"colour sequence", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		{"title sequence", "\x1b]0;owned\a", "␛]0;owned␇"},
		{"one-byte CSI", "\u009b31m", "<U+009B>31m"},
		{"raw CSI byte", "\x9b31m", "<9B>31m"},
		{"right-to-left override", "a\u202etxt.exe", "a<U+202E>txt.exe"},
		{"a word in selectors of variants", "a\U000e0141\u3164", "a<U+E0141><U+3164>"},
		{"isolates", "\u2066x\u2069", "<U+2066>x<U+2069>"},
		{"zero-width space and mark", "a\u200bb\u200e", "a<U+200B>b<U+200E>"},
		{"tags", "\U000e0041", "<U+E0041>"},
		{"line separator", "a\u2028b", "a<U+2028>b"},
		{"delete", "a\x7f", "a␡"},
		{"line ends of another system", "a\r\nb", "a\nb"},
		{"a return that would overwrite", "good\rbad", "good␍bad"},
		{"a return at the end", "x\r", "x␍"},
		{"emoji with joiner stays", "👩‍💻 👍🏽", "👩‍💻 👍🏽"},
		{"persian joiner stays", "می\u200cخواهم", "می\u200cخواهم"},
		{"cut character", "a\xe3\x81", "a<E3><81>"},
		{"null", "\x00", "␀"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Clean(c.in); got != c.want {
				t.Errorf("clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCleanLineStaysOnOneLine(t *testing.T) {
	t.Parallel()
	if got := CleanLine("a\nb\tc\x1b"); got != "a␊b c␛" {
		t.Errorf("got %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"\x1b[2J", "a\r\nb\r", "\xe3\x81\x82", "\xe3\x81", "\u202e", "\U000e0041", "3と5"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		whole := Clean(s)
		if !utf8.ValidString(whole) {
			t.Fatalf("clean(%q) is no UTF-8: %q", s, whole)
		}
		for _, r := range whole {
			if r != '\n' && r != '\t' && hidden(r) {
				t.Fatalf("clean(%q) lets %U through", s, r)
			}
		}
		if len(s) == 0 {
			return
		}
		cut = (cut%len(s) + len(s)) % len(s)
		var c Cleaner
		pieces := string(c.Flush(c.Add(c.Add(nil, s[:cut]), s[cut:])))
		if pieces != whole {
			t.Fatalf("cut at %d: %q, whole: %q", cut, pieces, whole)
		}
	})
}

func FuzzCleanJSON(f *testing.F) {
	f.Add("a\u202eb\U000e0041\x7f")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		cleaned := CleanJSON(nil, raw)
		for _, r := range string(cleaned) {
			if hidden(r) {
				t.Fatalf("%q lets %U through", cleaned, r)
			}
		}
		var back string
		if err := json.Unmarshal(cleaned, &back); err != nil || back != s {
			t.Fatalf("%q became %q (%v)", s, back, err)
		}
	})
}
