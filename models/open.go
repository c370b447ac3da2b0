package models

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"unicode"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
)

const op = "model"

// Open gives the model that ref names; "" is the one that [Detect] finds. It
// makes no network connection. Errors are *[event.Error]s:
//
//   - ErrModelNotFound: the reference means nothing; the hint says what was
//     probably meant and what there is.
//   - ErrUnsupported: the provider is known, but not in this build.
//   - ErrModelAuth: the provider needs a key; the hint names its variable.
//   - ErrInvalid: a setting or a script is wrong.
//
// "demo:./file.yaml" and other paths read a script from a file, so a
// reference must come from whoever runs the program, never from its users.
func Open(ref string) (braid.Model, error) {
	return openIn(os.Getenv, ref)
}

func openIn(env func(string) string, ref string) (braid.Model, error) {
	d := Detect(env, ref)
	m, err := open(env, d.Model)
	if e := new(event.Error); d.Source == FromEnvironment && errors.As(err, &e) {
		e.Op = "model (from " + Variable + ")"
	}
	return m, err
}

func open(env func(string) string, ref string) (braid.Model, error) {
	name, rest := ref, ""
	if i := strings.IndexAny(ref, ":?"); i >= 0 {
		name, rest = ref[:i], strings.TrimPrefix(ref[i:], ":")
	}
	p, known := providerOf(name)
	switch {
	case !known:
		return nil, unknown(ref)
	case p.open == nil:
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "This build has no " + p.title + " provider yet.", Hint: have(),
		}
	}
	return p.open(env, rest)
}

// unknown is the error for a reference that means nothing.
func unknown(ref string) error {
	e := &event.Error{Op: op, Kind: event.ErrModelNotFound, Message: "There is no such model.", Hint: have()}
	if shown := presentable(ref); shown != "" {
		e.Message = "There is no model \"" + shown + "\"."
		if s := suggest(ref); s != "" {
			e.Hint = "did you mean " + s + "? " + e.Hint
		}
	}
	return e
}

var plainRef = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/@?=&-]{0,63}$`)

// presentable is ref where it may be repeated to people: a key that somebody
// put in the wrong place may not.
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

// suggest gives what was probably meant by a reference without meaning; ""
// where nothing is near.
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
