package openai

import (
	"fmt"
	"hash/fnv"

	"github.com/braidrun/braid"
)

// maxName is how long the APIs let a tool's name be.
const maxName = 64

// plainName reports whether the APIs take the name: ^[a-zA-Z0-9_-]{1,64}$.
func plainName(s string) bool {
	return s != "" && len(s) <= maxName && plainID(s)
}

// plainID reports whether s has only the characters of names and ids.
func plainID(s string) bool {
	for i := range len(s) {
		if !plainByte(s[i]) {
			return false
		}
	}
	return true
}

func plainByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// wireName is a tool's name as the APIs take it. It depends on the name alone,
// so that a call in the history keeps its name when its tool is gone. What is
// lost by cutting comes back as a hash: two long names do not become one.
func wireName(s string) string {
	if plainName(s) {
		return s
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash never fails
	mark := fmt.Sprintf("_%08x", uint32(h.Sum64()^h.Sum64()>>32))
	b := []byte(s)
	if len(b) > maxName-len(mark) {
		b = b[:maxName-len(mark)]
	}
	for i, c := range b {
		if !plainByte(c) {
			b[i] = '_'
		}
	}
	return string(b) + mark
}

// backNames maps wire names back; nil where none was changed.
func backNames(tools []braid.ToolSpec) map[string]string {
	var back map[string]string
	for i := range tools {
		if n := tools[i].Name; !plainName(n) {
			if back == nil {
				back = make(map[string]string)
			}
			back[wireName(n)] = n
		}
	}
	return back
}
