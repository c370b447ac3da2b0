package models

import (
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
)

// setting sets the value of one setting after a reference's "?". It reports whether the value is
// valid.
type setting func(value string) bool

// settings parses "region=eu-west-1&stall=3m". Its errors repeat neither names nor values, which
// may be keys.
func (g *opening) settings(example string, known map[string]setting) error {
	if !g.asked {
		return nil
	}
	wrong := func(message string) error {
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the settings of the model are wrong: " + message,
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

// optionSettings returns the settings that every provider takes as options of each request.
// [withDefaults] merges them into requests; [Opener] does that for opening.defaults. A provider may
// override them with its own settings.
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

// together merges maps of settings; a later map wins.
func together(all ...map[string]setting) map[string]setting {
	one := map[string]setting{}
	for _, some := range all {
		maps.Copy(one, some)
	}
	return one
}

var vendorsWords = lazyre.New(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// effort takes a word for an effort. The provider decides which of a vendor's words a model
// supports.
func effort(to *model.Effort) setting {
	return func(v string) bool {
		*to = model.Effort(v)
		return vendorsWords.MatchString(v)
	}
}

// vendorsWord takes a word that the provider checks.
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

// address takes an address that the provider checks.
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

// keyIn takes the name of the variable that holds the key, never the key.
func keyIn(to *string) setting {
	return func(v string) bool {
		*to = v
		return variableNames.MatchString(v)
	}
}
