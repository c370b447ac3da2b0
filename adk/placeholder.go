package adk

import (
	"strings"
	"unicode"

	"github.com/braidrun/braid/internal/userdata"
)

// artifactPrefix begins the placeholders of artifacts.
const artifactPrefix = "artifact."

// piece is a text, or a placeholder for a value.
type piece struct {
	// text is the text as it is written, also of a placeholder.
	text string
	// key names a value of the state, and artifact an artifact; both are empty for a text.
	key, artifact string
	// optional says that a value that is not there stands for nothing.
	optional bool
}

// parse splits a template at its placeholders. Braces around anything else stay as they are, so JSON may stand in it.
func parse(template string) (pieces []piece, open bool) {
	from := 0
	for at := 0; at < len(template); {
		begin := strings.IndexByte(template[at:], '{')
		if begin < 0 {
			break
		}
		begin += at
		inner := begin + len(template[begin:]) - len(strings.TrimLeft(template[begin:], "{"))
		length := strings.IndexAny(template[inner:], "{}")
		if length < 0 {
			break
		}
		if template[inner+length] == '{' {
			at = inner + length
			continue
		}
		end := len(template) - len(strings.TrimLeft(template[inner+length:], "}"))
		p := placeholder(template[inner : inner+length])
		at = end
		if p.key == "" && p.artifact == "" {
			continue
		}
		p.text = template[begin:end]
		if begin > from {
			pieces = append(pieces, piece{text: template[from:begin]})
		}
		pieces, from, open = append(pieces, p), end, true
	}
	if from < len(template) {
		pieces = append(pieces, piece{text: template[from:]})
	}
	return pieces, open
}

// placeholder reads what is between braces. It returns neither key nor artifact for what is no placeholder.
func placeholder(inner string) (p piece) {
	name := strings.TrimSpace(inner)
	name, p.optional = strings.CutSuffix(name, "?")
	if artifact, ok := strings.CutPrefix(name, artifactPrefix); ok {
		p.artifact = artifact
		return p
	}
	bare := name
	for _, prefix := range []string{userdata.AppPrefix, userdata.UserPrefix, userdata.TempPrefix, userdata.RunPrefix} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			bare = rest
			break
		}
	}
	if isIdentifier(bare) {
		p.key = name
	}
	return p
}

// isIdentifier reports whether a name is letters, digits and underscores, and does not begin with a digit.
func isIdentifier(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}
