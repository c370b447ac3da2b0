// Package shorten keeps the beginning of a text that is too long for its place.
package shorten

import "unicode/utf8"

// Text returns s if it has at most most bytes. Otherwise it returns the beginning of s and mark, which says that something
// is missing. The beginning has at most most bytes and ends between two characters; mark comes in addition.
func Text(s string, most int, mark string) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + mark
}
