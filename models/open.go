package models

import (
	"os"
	"strings"
	"unicode"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/model"
)

const op = "model"

// Open opens the model that ref names; "" means the one that [Detect] finds. It makes no network
// connection. It returns *[event.Error]s:
//
//   - ErrModelNotFound: there is no such model. The hint says what was probably meant and what
//     exists.
//   - ErrUnsupported: the provider does not support a setting.
//   - ErrModelAuth: the provider needs a key. The hint names its variable.
//   - ErrInvalid: a setting, a region or a script is wrong.
//
// The model's Info has the prices of its calls, from pricing.Default(). Use an [Opener] for other
// prices and for limits.
//
// "demo:./file.yaml" reads a script from a file, and settings name addresses. So a reference must
// come from whoever runs the program, never from its users; for those there is [Opener.OpenNamed].
func Open(ref string) (model.Model, error) {
	return openIn(os.Getenv, ref)
}

func openIn(env func(string) string, ref string) (model.Model, error) {
	o, err := NewOpener(Options{Env: env})
	if err != nil {
		return nil, err
	}
	return o.Open(ref)
}

// unknown returns the error for an unknown reference.
func unknown(ref string) error {
	e := &event.Error{Op: op, Kind: event.ErrModelNotFound, Message: "there is no such model", Hint: have()}
	if shown := presentable(ref); shown != "" {
		e.Message = "there is no model \"" + shown + "\""
		if s := suggest(ref); s != "" {
			e.Hint = "did you mean " + s + "? " + e.Hint
		}
	}
	return e
}

var plainRef = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_.:/@?=&-]{0,63}$`)

// presentable returns ref if it may be shown to users. It may be a key that somebody put in the
// wrong place.
func presentable(ref string) string {
	if !plainRef.MatchString(ref) || strings.HasPrefix(ref, "sk-") {
		return ""
	}
	for _, run := range strings.FieldsFunc(ref, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(run) >= 20 {
			return ""
		}
	}
	return ref
}

// suggest returns what an unknown reference probably meant; "" if nothing is similar.
func suggest(ref string) string {
	lower := strings.ToLower(ref)
	for _, p := range providers() {
		for _, family := range p.families {
			if strings.HasPrefix(lower, family) {
				return p.name + ":" + ref
			}
		}
	}
	name, rest, colon := strings.Cut(lower, ":")
	words := make([]string, 0, 16)
	for _, p := range providers() {
		words = append(words, p.name)
	}
	if s := nearest.Word(name, words); s != "" {
		if colon && rest != "" {
			s += ":" + rest
		}
		return s
	}
	for _, n := range Names() {
		if _, script, ok := strings.Cut(n, ":"); ok && nearest.Word(lower, []string{script}) != "" {
			return n
		}
	}
	return ""
}
