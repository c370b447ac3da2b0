package models

import (
	"context"
	"strings"
)

// Variable is the environment variable that names the model.
const Variable = "BRAID_MODEL"

// Source says where a [Detection] found its model.
type Source string

// These are the sources in their order of precedence.
const (
	// FromArgument is a reference from the caller, for example a flag.
	FromArgument Source = "argument"
	// FromEnvironment is [Variable].
	FromEnvironment Source = "environment"
	// FromKey is a provider's key in the environment.
	FromKey Source = "key"
	// FromNothing is the simulated model, because nothing else was found.
	FromNothing Source = "nothing"
)

// Detection says which model is used and why.
type Detection struct {
	// Model is a reference for [Open].
	Model  string
	Source Source
	// Keys are the names of the environment variables with a provider's key. It never has their
	// values.
	Keys []string
	// Notes explain what each key led to, in the same order.
	Notes []string
	// Offers describe other possible models: see [Detection.Offer].
	Offers []string
	// Servers are the local servers of the offers.
	Servers []Server
}

// Detect decides which model to use: ref, [Variable], a provider's key, or else demo. env is
// os.Getenv or a replacement. It opens nothing and makes no network connection.
func Detect(env func(string) string, ref string) Detection {
	d := Detection{Model: strings.TrimSpace(ref), Source: FromArgument}
	if d.Model != "" {
		return d
	}
	if d.Model = strings.TrimSpace(env(Variable)); d.Model != "" {
		d.Source = FromEnvironment
		return d
	}
	d.Source, d.Model = FromNothing, "demo"
	var found []string // what each key lacks
	for _, p := range providers() {
		for _, key := range p.keys {
			if strings.TrimSpace(env(key)) == "" {
				continue
			}
			missing := ""
			switch {
			case p.needs != nil:
				missing = p.needs(env)
			case p.model == "":
				missing = "no model of " + p.title + " is named: write " + p.name + ":NAME"
			}
			d.Keys, found = append(d.Keys, key), append(found, missing)
			if d.Source == FromNothing && missing == "" {
				d.Source, d.Model = FromKey, p.model
			}
			break // one key of a provider is enough
		}
	}
	using := "using " + d.Model
	if d.Source == FromNothing {
		using = "using the simulated model"
	}
	for i, missing := range found {
		note := d.Keys[i] + " is set"
		if missing != "" {
			note += ", but " + missing
		}
		d.Notes = append(d.Notes, note+"; "+using)
	}
	return d
}

// Offer looks for model servers on this machine and adds them to Offers and Servers. It asks all
// default ports at once, each for at most 150 ms. It does not choose one: that is for a user.
func (d *Detection) Offer(ctx context.Context) {
	for _, s := range LocalServers(ctx) {
		d.Servers = append(d.Servers, s)
		d.Offers = append(d.Offers, s.Offer())
	}
}
