// Package shorten keeps the beginning of a text that is too long for its place.
package shorten

import "unicode/utf8"

// Text returns s if it has at most limit bytes. Otherwise it returns the beginning of s and mark, which says that something
// is missing. The beginning has at most limit bytes and ends between two characters; mark comes in addition.
func Text(s string, limit int, mark string) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + mark
}
