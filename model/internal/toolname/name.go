package toolname

import (
	"fmt"
	"hash/fnv"

	"github.com/braidrun/braid/model"
)

// Rule is what a provider lets a tool's name be: ASCII letters, digits and _, at
// least one, at most Max.
type Rule struct {
	// Max is in bytes.
	Max int
	// Hyphen allows -.
	Hyphen bool
	// Letter wants the first one to be a letter or _.
	Letter bool
}

// Usual is the rule that most providers share: ^[a-zA-Z0-9_-]{1,64}$.
var Usual = Rule{Max: 64, Hyphen: true}

// Plain reports whether the provider takes the name as it is.
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

// Wire is the name as the provider takes it. It depends on the name alone.
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

// Back maps names on the wire back to those of the tools; nil where none was
// changed.
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
