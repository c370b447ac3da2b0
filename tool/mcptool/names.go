package mcptool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name that all providers take.
const maxName = 64

// nameTools gives each tool its name for the model: unique, and of letters that
// every provider takes. The tools are those of all servers, in order. Names depend
// on nothing else, so that the same servers give the same names.
func nameTools(tools []*Tool, style Naming, reserved []string) []string {
	count := map[string]int{}
	for _, r := range reserved {
		count[r] += 2 // even one tool of that name is one too many
	}
	for _, t := range tools {
		if t.own == "" {
			count[legal(t.name)]++
		}
	}
	names, taken := make([]string, len(tools)), map[string]bool{}
	for _, r := range reserved {
		taken[r] = true
	}
	for i, t := range tools {
		name := legal(t.name)
		switch {
		case style == ClaudeStyle:
			name = "mcp__" + legal(t.server) + "__" + name
		case style == Prefixed || count[name] > 1 || t.own != "":
			name = legal(t.server) + "___" + name
		}
		if len(name) > maxName || taken[name] {
			name = marked(name, t.server+"\x00"+t.name)
		}
		names[i], taken[name] = name, true
	}
	return names
}

// legal replaces what cannot stand in a tool's name ("files.read", "読む").
func legal(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "_"
	}
	return s
}

// marked shortens a name and tells it apart from all others by a digest of what
// it stands for.
func marked(name, of string) string {
	sum := sha256.Sum256([]byte(of))
	return name[:min(len(name), maxName-9)] + "_" + hex.EncodeToString(sum[:4])
}
