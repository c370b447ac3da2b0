package service

import "strings"

// maxState bounds a tracestate, as its standard does.
const maxState = 512

// TraceOf returns the [RunRequest].Trace for the headers traceparent and tracestate of a request,
// or "" without a valid traceparent. It drops a tracestate that is too long or not text, as W3C
// Trace Context requires.
func TraceOf(parent, state []string) string {
	if len(parent) != 1 || !validParent(parent[0]) {
		return ""
	}
	s := strings.Join(state, ",")
	if s == "" || len(s) > maxState || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return parent[0]
	}
	return parent[0] + " " + s
}

// validParent reports whether s is a traceparent: version, trace, span and flags in lower-case
// hexadecimal digits. The additions of later versions are not accepted.
func validParent(s string) bool {
	if len(s) != 55 || strings.HasPrefix(s, "ff") {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 2, 35, 52:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}
