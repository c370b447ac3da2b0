package toolname

import (
	"fmt"
	"hash/fnv"

	"github.com/braidrun/braid/model"
)

// Rule is a provider's rule for tools' names: 1 to Max ASCII letters, digits and _.
type Rule struct {
	// Max is in bytes.
	Max int
	// Hyphen allows -.
	Hyphen bool
	// Letter requires the first character to be a letter or _.
	Letter bool
}

// Usual is the rule that most providers share: ^[a-zA-Z0-9_-]{1,64}$.
var Usual = Rule{Max: 64, Hyphen: true}

// Plain reports whether the provider accepts the name unchanged.
func (r Rule) Plain(name string) bool {
	if name == "" || len(name) > r.Max || !r.first(name[0]) {
		return false
	}
	for i := range len(name) {
		if !r.letter(name[i]) {
			return false
		}
	}
	return true
}

func (r Rule) first(c byte) bool { return !r.Letter || c == '_' || c >= 'A' }

func (r Rule) letter(c byte) bool { return letter(c) && (c != '-' || r.Hyphen) }

// letter reports whether c is one of the letters that some rule allows.
func letter(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Wire returns the name for the provider. It depends on the name alone.
func (r Rule) Wire(name string) string {
	if r.Plain(name) {
		return name
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	mark := fmt.Sprintf("_%08x", uint32(h.Sum64()^h.Sum64()>>32))
	b := []byte(name)
	if len(b) > 0 && !r.first(b[0]) {
		b = append([]byte{'_'}, b...)
	}
	b = b[:min(len(b), r.Max-len(mark))]
	for i, c := range b {
		if !r.letter(c) {
			b[i] = '_'
		}
	}
	return string(b) + mark
}

// Back maps names on the wire to the tools' names. It is nil if no name was changed.
func (r Rule) Back(tools []model.ToolSpec) map[string]string {
	var back map[string]string
	for i := range tools {
		if n := tools[i].Name; !r.Plain(n) {
			if back == nil {
				back = make(map[string]string)
			}
			back[r.Wire(n)] = n
		}
	}
	return back
}
