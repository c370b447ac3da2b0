package models

import (
	"cmp"
	"errors"
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
)

// opening is the state of opening one reference.
type opening struct {
	env      func(string) string
	provider provider
	// name is the part after the colon.
	name string
	// query is the part after a "?".
	query string
	// asked reports that there is a "?".
	asked bool
	// trusted reports that the reference may name a file. [Named] has checked any other.
	trusted bool
	// place is where the model is served: "" for the vendor's default address, a region, or a host.
	// Opening the model sets it.
	place string
	// key is the variable with the key.
	key string
	// ownKey reports that no credentials but the key may be used.
	ownKey bool
	// defaults are options of each request from the reference's settings. Opening the model sets
	// them, with optionSettings.
	defaults model.Options
}

// variable returns an environment variable without surrounding blanks.
func (g *opening) variable(name string) string { return strings.TrimSpace(g.env(name)) }

// noSuch returns the error for an invalid name. example is a valid one.
func (g *opening) noSuch(example string) error {
	return &event.Error{
		Op: op, Kind: event.ErrModelNotFound, Message: g.provider.title + " has no model of such a name",
		Hint: "name one as " + cmp.Or(g.provider.names, "the vendor does") + ", such as " + g.provider.name + ":" + example,
	}
}

// from adds to an error the variable whose value was wrong.
func from(err error, variable, value string) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	if value != "" && e.Kind == event.ErrInvalid {
		e.Op = "model (from " + variable + ")"
	}
	return e
}

// host returns the host of an address that is not the vendor's. Limits and prices depend on it.
func host(address, vendors string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" || strings.EqualFold(u.Host, vendors) {
		return ""
	}
	if region, ok := strings.CutSuffix(strings.ToLower(u.Host), "."+vendors); ok {
		return region
	}
	return strings.ToLower(u.Host)
}

// noKey returns the error for a provider without a key.
func (g *opening) noKey(usual string, asked bool) error {
	e := &event.Error{Op: op, Kind: event.ErrModelAuth, Message: "there is no key for " + g.provider.title, Hint: "set " + usual}
	switch {
	case g.key != "" && g.key != usual:
		e.Hint = "set " + g.key + ", which the reference names for the key"
	case asked:
		e.Message = "there is no key for the address that the reference names"
		e.Hint = "name the variable with its key behind the address: &key=" + cmp.Or(usual, "NAME")
	}
	return e
}

// sources returns where hints say that key and address come from. asked reports that the reference
// has the address.
func (g *opening) sources(asked bool) (key, base string) {
	if !asked {
		return g.key, ""
	}
	// An address in a reference gets only a key that the reference names.
	return cmp.Or(g.key, "key=NAME, which names the variable with the key for base="), "base="
}

// secretOf returns the key. A vendor's key goes only to the vendor: an address that a reference
// names gets the key that the reference names, or none.
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
