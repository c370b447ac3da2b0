package openapitool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a tool or argument that all providers accept.
const maxName = 64

// toolName returns the name of an operation's tool. taken has the names that are in use; a name that is taken or too long gets
// a digest of what it stands for.
func toolName(prefix string, id, method, path string, taken map[string]bool) string {
	name := id
	if strings.Trim(legal(id), "_") == "" {
		name = strings.ToLower(method) + "_" + strings.Trim(legal(strings.Map(pathRune, path)), "_")
	}
	return unique(prefix+legal(name), method+" "+path, taken)
}

func pathRune(r rune) rune {
	if r == '{' || r == '}' {
		return -1
	}
	return r
}

// unique returns a name that is not taken, and takes it.
func unique(name, of string, taken map[string]bool) string {
	if len(name) > maxName || taken[name] {
		for salt := of; ; salt += "+" {
			sum := sha256.Sum256([]byte(salt))
			marked := name[:min(len(name), maxName-9)] + "_" + hex.EncodeToString(sum[:4])
			if !taken[marked] {
				name = marked
				break
			}
		}
	}
	taken[name] = true
	return name
}

// legal replaces what a name of a tool cannot contain.
func legal(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "_"
	}
	return s
}

// line makes a text of a document one line without control characters, of limited length.
func line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return cut(s, most)
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
