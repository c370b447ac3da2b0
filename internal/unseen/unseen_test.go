package unseen_test

import (
	"testing"

	"github.com/braidrun/braid/internal/unseen"
)

func TestRune(t *testing.T) {
	t.Parallel()
	for _, r := range "\x00\n\x1b\x7f\u0085\u00ad\u034f\u061c\u115f\u1160\u17b4\u200b\u200e\u2028\u202e\u2060\u2066\u3164\ufe00\ufe0d\ufeff\uffa0\ufff9\U000e0001\U000e0041\U000e0100\U000e01ef" {
		if !unseen.Rune(r) {
			t.Errorf("%U counts as seen", r)
		}
	}
	for _, r := range "a é日\u0301\u0600\u180b\u200c\u200d\ufe0e\ufe0f👨🏽€\u3000\ufffd" {
		if unseen.Rune(r) {
			t.Errorf("%U counts as unseen", r)
		}
	}
}
