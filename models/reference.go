package models

import (
	"strings"
	"unicode"

	"github.com/braidrun/braid/internal/lazyre"
)

const op = "model"

var plainRef = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_.:/@?=&-]{0,63}$`)

// presentable returns ref if it may be shown to users. It may be a key that somebody put in the
// wrong place.
func presentable(ref string) string {
	if !plainRef.MatchString(ref) || strings.HasPrefix(ref, "sk-") {
		return ""
	}
	for _, run := range strings.FieldsFunc(ref, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(run) >= 20 {
			return ""
		}
	}
	return ref
}
