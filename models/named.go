package models

import (
	"strings"
	"unicode"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// maxNamed bounds the length of a reference that a user names.
const maxNamed = 200

// namedModel is what stands behind the colon of a reference that a user names: the letters that
// providers use in ids, such as "us.amazon.nova-pro-v1:0" and "Qwen/Qwen3-8B". No blank, no sign of
// an address and no sign of a query is among them.
var namedModel = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)

// Named checks a reference that comes from a user of the program and returns it in its only
// spelling, without surrounding blanks. Everything that opens such a reference must open what Named
// returns. A reference with settings, with a path on this machine, or with letters that no provider
// uses is ErrModelNotFound.
func Named(ref string) (string, error) { return named(providers(), ref) }

func named(list []provider, ref string) (string, error) {
	name := strings.TrimFunc(ref, unicode.IsSpace)
	provider, rest, colon := strings.Cut(name, ":")
	p, known := providerIn(list, provider)
	switch {
	case len(name) > maxNamed, strings.Contains(rest, "?"), p.name == "demo" && isPath(rest):
		return "", &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "A model cannot be asked for by settings or by a file here.",
			Hint: "name a provider and a model, such as anthropic:claude-sonnet-5-5",
		}
	case !known:
		return "", unknown(name)
	case colon && rest != "" && !isNamed(rest):
		return "", &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "The name of the model has letters that no provider uses.",
			Hint: "name a provider and a model, such as anthropic:claude-sonnet-5-5",
		}
	}
	return name, nil
}

// isNamed reports whether rest can be a provider's name for a model. Some providers put it into the
// path of an address, so no part of it may be ".." or empty.
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
