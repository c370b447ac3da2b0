package models

import (
	"cmp"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
)

// openAnthropic opens "", which is the vendor's model for most work, or a model
// by the vendor's name. The key is ANTHROPIC_API_KEY; ANTHROPIC_BASE_URL, where
// it is set, is the address of a gateway.
func openAnthropic(g *opening) (model.Model, error) {
	name := cmp.Or(g.name, anthropic.Default)
	if presentable(name) == "" {
		return nil, g.noSuch(anthropic.Default)
	}
	var base, key, cache string
	var stall *time.Duration
	err := g.settings(anthropic.Default+"?stall=3m", map[string]setting{
		"base": address(&base), "key": keyIn(&key), "stall": patience(&stall),
		"cache": word(&cache, string(anthropic.CacheAuto), string(anthropic.CacheExplicit), string(anthropic.CacheOff)),
	})
	if err != nil {
		return nil, err
	}
	asked := base != ""
	if !asked {
		base = g.variable(anthropic.BaseVariable)
	}
	g.place = host(base, "api.anthropic.com")
	opts := []anthropic.Option{anthropic.BaseURL(base)}
	if stall != nil {
		opts = append(opts, anthropic.Stall(*stall))
	}
	if cache != "" {
		opts = append(opts, anthropic.Cache(anthropic.CachePoints(cache)))
	}
	secret := g.secretOf(key, anthropic.KeyVariable, asked && g.place != "")
	if secret.Empty() {
		return nil, g.noKey(anthropic.KeyVariable, asked)
	}
	m, err := anthropic.New(name, secret, append(opts, anthropic.Sources(g.sources(asked)))...)
	if err != nil {
		if asked {
			return nil, err
		}
		return nil, from(err, anthropic.BaseVariable, base)
	}
	return m, nil
}

// noKey is the error for a provider without a key.
func (g *opening) noKey(usual string, asked bool) error {
	e := &event.Error{Op: op, Kind: event.ErrModelAuth, Message: "There is no key for " + g.provider.title + ".", Hint: "set " + usual}
	switch {
	case g.key != "" && g.key != usual:
		e.Hint = "set " + g.key + ", which the reference names for the key"
	case asked:
		e.Message = "There is no key for the address that the reference names."
		e.Hint = "name the variable with its key behind the address: &key=" + cmp.Or(usual, "NAME")
	}
	return e
}
