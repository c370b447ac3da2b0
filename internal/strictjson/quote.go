package strictjson

import "unicode/utf8"

// AppendString appends s as a JSON string. It escapes only what JSON requires: quotes,
// backslashes and control characters, but not HTML's characters or U+2028. Each byte of invalid
// UTF-8 becomes U+FFFD, because a JSON text cannot hold it otherwise.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	switch {
	case plain(s):
		dst = append(dst, s...)
	case utf8.ValidString(s):
		dst = appendEscaped(dst, s)
	default:
		for _, c := range s { // yields U+FFFD for each invalid byte
			var one [utf8.UTFMax]byte
			dst = appendEscaped(dst, string(one[:utf8.EncodeRune(one[:], c)]))
		}
	}
	return append(dst, '"')
}

// plain reports whether s is ASCII that needs no escape. Names, ids and most pieces of text are.
func plain(s string) bool {
	for len(s) >= 8 {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if needsLook(w)|w&highs != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

func appendEscaped(dst []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, s[from:]...)
}
