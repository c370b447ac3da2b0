package models

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/secret"
)

// setting takes the value of one setting behind a reference's "?", and reports
// whether it can be one.
type setting func(value string) bool

// settings reads "region=eu-west-1&stall=3m" into those that the provider knows.
// Neither names nor values are repeated in an error: a key may stand there.
func (g *opening) settings(example string, known map[string]setting) error {
	if !g.asked {
		return nil
	}
	wrong := func(message string) error {
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "The settings of the model are wrong: " + message + ".",
			Hint: "write them as " + g.provider.name + ":" + example,
		}
	}
	values, err := url.ParseQuery(g.query)
	if err != nil {
		return wrong("they are no list of name=value")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		set, ok := known[name]
		switch {
		case !ok:
			names := slices.Sorted(maps.Keys(known))
			if s := nearest.Word(strings.ToLower(name), names); s != "" {
				return wrong("there is no setting of that name; is " + s + " meant?")
			}
			return wrong("there is no setting of that name; there are " + strings.Join(names, ", "))
		case len(values[name]) != 1:
			return wrong(name + " stands twice")
		case !set(values[name][0]):
			return wrong(name + " has no value that it can have")
		}
	}
	return nil
}

// word takes one of some words.
func word(to *string, words ...string) setting {
	return func(v string) bool {
		*to = v
		return slices.Contains(words, v)
	}
}

// address takes an address; the provider says what is wrong with it.
func address(to *string) setting {
	return func(v string) bool {
		*to = v
		return v != ""
	}
}

// patience takes how long a provider may be silent.
func patience(to **time.Duration) setting {
	return func(v string) bool {
		d, err := time.ParseDuration(v)
		*to = &d
		return err == nil && d >= 0
	}
}

var variableNames = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)

// keyIn takes the name of the variable that holds the key, never the key.
func keyIn(to *string) setting {
	return func(v string) bool {
		*to = v
		return variableNames.MatchString(v)
	}
}

// sources say for the hints of errors where key and address come from. asked says that the
// reference has the address.
func (g *opening) sources(asked bool) (key, base string) {
	if asked {
		base = "base="
	}
	return g.key, base
}

// secretOf reads the key. One that is meant for the vendor goes nowhere else: an
// address that a reference names gets the key that the reference names, or none.
func (g *opening) secretOf(named, usual string, elsewhere bool) secret.Secret {
	switch {
	case named != "":
		g.key = named
	case elsewhere:
		return secret.Secret{}
	default:
		g.key = usual
	}
	return secret.New(g.env(g.key))
}
