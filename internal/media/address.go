package media

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// Scheme returns an address's scheme in lower case: "https", "data", "s3", "gs", …; "" if it has
// none, for example a path.
func Scheme(address string) string {
	scheme, _, ok := strings.Cut(strings.TrimSpace(address), ":")
	if !ok || scheme == "" {
		return ""
	}
	for i := range len(scheme) {
		c := scheme[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(scheme[i]))) {
			return ""
		}
	}
	return strings.ToLower(scheme)
}

// Web reports whether a provider could fetch an address from the web.
func Web(address string) bool {
	s := Scheme(address)
	return s == "https" || s == "http"
}

// Data decodes a data address. kind is the declared kind, "" if there is none. ok is false for any
// other address and for invalid data. It accepts base64 with and without padding, in both
// alphabets, broken into lines, and percent-encoded, because all of these occur.
func Data(address string) (kind string, data []byte, ok bool) {
	if Scheme(address) != "data" {
		return "", nil, false
	}
	address = strings.TrimSpace(address)[len("data:"):]
	head, body, ok := strings.Cut(address, ",")
	if !ok {
		return "", nil, false
	}
	if strings.Contains(body, "%") {
		plain, err := url.PathUnescape(body)
		if err != nil {
			return "", nil, false
		}
		body = plain
	}
	at := strings.LastIndexByte(head, ';')
	if !strings.EqualFold(strings.TrimSpace(head[at+1:]), "base64") {
		return head, []byte(body), true
	}
	data, ok = fromBase64(body)
	return head[:max(at, 0)], data, ok
}

// fromBase64 decodes base64 of either alphabet.
func fromBase64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, " \t\r\n-_") {
		s = strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "", "-", "+", "_", "/").Replace(s)
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return data, err == nil
}
