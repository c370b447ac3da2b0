package term

import (
	"strings"
	"testing"
)

func TestRedactHidesSecrets(t *testing.T) {
	t.Parallel()
	// The keys are assembled here, so that no scanner takes them for real ones.
	key := "sk-" + strings.Repeat("a1B2", 6)
	for _, c := range []struct{ in, secret string }{
		{"openai:http://me:hunter2@host/v1", "hunter2"},
		{"openai:http://host/v1?api_key=hunter2&x=1", "hunter2"},
		{key, key},
		{"use " + key + " please", key},
		{"AKIA" + strings.Repeat("A2", 8), "A2A2A2"},
		{strings.Repeat("x9", 30), "x9x9"},
	} {
		got := Redact(c.in)
		if strings.Contains(got, c.secret) || !strings.Contains(got, "[redacted]") || !LooksSecret(c.in) {
			t.Errorf("redact(%q) = %q", c.in, got)
		}
	}
	for _, plain := range []string{
		"demo:tour", "openai:http://127.0.0.1:11434/v1", "5m", "calculator,clock", "You are a helpful assistant that answers in Japanese.",
		"3と5を足して", "/home/me/some/rather/long/path/to/a/scratch/folder/for/braid", "auto",
	} {
		if got := Redact(plain); got != plain {
			t.Errorf("redact(%q) = %q", plain, got)
		}
	}
}
