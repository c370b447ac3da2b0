package models

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// An error for a wrong setting ends without a full stop, and never repeats the value.
func TestWrongSettingsEndWithoutFullStop(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"cach=hour":  "is cache meant?",
		"xyzzy=1":    "top_p, version",
		"effort=":    "effort has no value that it can have",
		"cache=1day": "cache has no value that it can have",
	} {
		_, err := openIn(env("ANTHROPIC_API_KEY", "k"), "anthropic:claude-sonnet-5-5?"+query)
		e, ok := errors.AsType[*event.Error](err)
		if !ok || e.Kind != event.ErrInvalid || !strings.HasSuffix(e.Message, want) || strings.Contains(e.Message, "1day") {
			t.Errorf("%s: %v", query, err)
		}
	}
}
