// Package unseen finds characters that people do not see, or that change how the text around them is
// shown. Names and prompts could carry instructions in them that a model reads and no user notices.
package unseen

import "unicode"

// Rune reports whether r is invisible or changes the order of the text around it: control and format
// characters, tags, fillers, and selectors of variants. It is false for the joiners that scripts and emoji
// need, for the two selectors that choose between a text and an emoji, for those of Mongolian, and for
// marks that enclose numbers. It is true for line feeds and tabs too.
func Rune(r rune) bool {
	switch {
	case r < 0xa0:
		return unicode.IsControl(r)
	case r == '\u200c', r == '\u200d', r == '\ufe0e', r == '\ufe0f', r >= '\u180b' && r <= '\u180f':
		return false
	case r == '\u2028', r == '\u2029', r >= 0xe0000 && r <= 0xe0fff:
		return true
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
