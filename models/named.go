package models

import (
	"strings"
	"unicode"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// maxNamed bounds the length of a reference from a user.
const maxNamed = 200

// namedModel matches the model in a reference from a user. It allows the characters of providers'
// ids, such as "us.amazon.nova-pro-v1:0" and "Qwen/Qwen3-8B", and none that begins an address or a
// query.
var namedModel = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)

// Named checks a reference from a user of the program and returns its only spelling, without
// surrounding blanks. Open only what Named returned. It returns ErrModelNotFound for a reference
// with settings, with a path on this machine, or with characters that no provider uses.
func Named(ref string) (string, error) { return named(providers(), ref) }

func named(list []provider, ref string) (string, error) {
	name := strings.TrimFunc(ref, unicode.IsSpace)
	provider, rest, colon := strings.Cut(name, ":")
	p, known := providerIn(list, provider)
	switch {
	case len(name) > maxNamed, strings.Contains(rest, "?"), p.name == "demo" && isPath(rest):
		return "", &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "a model cannot be asked for by settings or by a file here",
			Hint: "name a provider and a model, such as anthropic:claude-sonnet-5-5",
		}
	case !known:
		return "", unknown(name)
	case colon && rest != "" && !isNamed(rest):
		return "", &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "the name of the model has letters that no provider uses",
			Hint: "name a provider and a model, such as anthropic:claude-sonnet-5-5",
		}
	}
	return name, nil
}

// isNamed reports whether rest can be a provider's name of a model. Some providers put it into a
// URL's path, so no part of it may be ".." or empty.
func isNamed(rest string) bool {
	if !namedModel.MatchString(rest) {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if strings.Trim(part, ".") == "" {
			return false
		}
	}
	return true
}
