package models

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/model"
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
		if !strings.HasSuffix(message, "?") {
			message += "."
		}
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "The settings of the model are wrong: " + message,
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

// optionSettings are the settings that every provider takes as options of each request.
// What they set is merged into requests by [withDefaults]; [Opener] does that for
// opening.defaults. A provider may lay settings of its own over them.
func (g *opening) optionSettings(o *model.Options) map[string]setting {
	return map[string]setting{
		"effort":    effort(&o.Effort),
		"thinking":  budget(&o.Thinking),
		"top_p":     share(&o.TopP),
		"seed":      seed(&o.Seed),
		"verbosity": word(&o.Verbosity, "low", "medium", "high"),
		"tier":      vendorsWord(&o.ServiceTier),
		"show":      yes(&o.ShowThinking),
	}
}

// together puts settings into one map; those of a later map win.
func together(all ...map[string]setting) map[string]setting {
	one := map[string]setting{}
	for _, some := range all {
		maps.Copy(one, some)
	}
	return one
}

var vendorsWords = lazyre.New(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// effort takes a word for an effort. Which of a vendor's own words a model has, the
// provider says.
func effort(to *model.Effort) setting {
	return func(v string) bool {
		*to = model.Effort(v)
		return vendorsWords.MatchString(v)
	}
}

// vendorsWord takes a word whose meaning the provider knows.
func vendorsWord(to *string) setting {
	return func(v string) bool {
		*to = v
		return vendorsWords.MatchString(v)
	}
}

// mostThinking is more than any model thinks.
const mostThinking = 10_000_000

// budget takes a number of tokens.
func budget(to *int) setting {
	return func(v string) bool {
		n, err := strconv.Atoi(v)
		*to = n
		return err == nil && n > 0 && n <= mostThinking
	}
}

// share takes a number above 0 and at most 1.
func share(to **float64) setting {
	return func(v string) bool {
		f, err := strconv.ParseFloat(v, 64)
		*to = &f
		return err == nil && f > 0 && f <= 1
	}
}

// seed takes a whole number.
func seed(to **int64) setting {
	return func(v string) bool {
		n, err := strconv.ParseInt(v, 10, 64)
		*to = &n
		return err == nil
	}
}

// yes takes yes or no.
func yes(to *bool) setting {
	return func(v string) bool {
		*to = v == "yes"
		return *to || v == "no"
	}
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

var variableNames = lazyre.New(`^[A-Z_][A-Z0-9_]{0,63}$`)

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
	if !asked {
		return g.key, ""
	}
	// An address of the reference's own gets no key that the reference does not name.
	return cmp.Or(g.key, "key=NAME, which names the variable with the key for base="), "base="
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
