package provider

import (
	"net/http"

	"github.com/braidrun/braid/event"
)

// Headers checks and returns header fields that a developer adds to each request. own are the names
// of fields that the provider writes itself. It refuses credentials, connection fields, and invalid
// names and values.
func Headers(op string, extra map[string]string, own ...string) (http.Header, error) {
	if len(extra) == 0 {
		return nil, nil //nolint:nilnil // no fields are no header
	}
	h := make(http.Header, len(extra))
	for name, value := range extra {
		canonical := http.CanonicalHeaderKey(name)
		for _, taken := range append([]string{
			"Authorization", "Proxy-Authorization", "Cookie", "Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection",
			"Accept", "Accept-Encoding", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "X-Amz-Security-Token", "Upgrade", "Te", "Trailer",
		}, own...) {
			if http.CanonicalHeaderKey(taken) == canonical {
				return nil, NotSent(op, event.ErrInvalid, "the header field %s cannot be added to requests",
					"leave it out: Braid writes it itself", canonical)
			}
		}
		if !token(name) || !plain(value) {
			return nil, NotSent(op, event.ErrInvalid, "an added header field has a name or a value that cannot be sent",
				"use ASCII letters, and no control characters")
		}
		h[canonical] = []string{value}
	}
	return h, nil
}

func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '_' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return len(s) <= 8<<10
}
