package models

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
)

// Own is a model that somebody brings along, such as a tenant of a service.
type Own struct {
	// Ref is a provider and a model, as [Opener.OpenNamed] takes it.
	Ref string
	// Key is what the provider is asked with, in the place of every credential of the
	// environment; empty means those.
	Key secret.Secret
	// Region is where it is asked, where the provider has regions; empty means the environment's.
	Region string
	// Price is what it costs; nil looks it up.
	Price *pricing.Price
}

// OpenOwn opens a model with a key, a region and a price of its own. Its errors are those of
// [Opener.OpenNamed]; a key for a provider that takes none is of kind ErrInvalid.
func (o *Opener) OpenOwn(own Own) (model.Model, error) {
	ref, err := o.Named(own.Ref)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(ref, ":")
	opener := o
	if !own.Key.Empty() || own.Region != "" {
		p, _ := providerIn(o.providers, name) // Named knows it
		if !own.Key.Empty() && len(p.keys) == 0 {
			return nil, &event.Error{Op: op, Kind: event.ErrInvalid, Message: p.title + " takes no key", Hint: "leave the key out"}
		}
		// A limiter of its own: what another key is asked too often is none of its business.
		opener = &Opener{
			env: own.over(o.env, p), prices: o.prices, limits: o.limits, providers: o.providers,
			limiters: map[string]*Limiter{}, ownKey: !own.Key.Empty(),
		}
	}
	m, err := opener.OpenNamed(ref)
	if err != nil || own.Price == nil || m.Info().Simulated {
		return m, err
	}
	priced := &ownPrice{Model: m, info: m.Info(), price: own.Price}
	priced.info.Cost = own.Price.Cost
	return priced, nil
}

// over is an environment with the model's own key and region in it, and no other credential.
func (own *Own) over(env func(string) string, p provider) func(string) string {
	credentials := append(slices.Clone(p.keys), awsKey, awsSession)
	return func(name string) string {
		switch {
		case own.Region != "" && slices.Contains([]string{awsRegion, awsDefaultRegion, googleLocation, googleOtherLocation}, name):
			return own.Region
		case own.Key.Empty() || !slices.Contains(credentials, name):
			return env(name)
		case name == p.keys[0]:
			return own.Key.Reveal()
		}
		return ""
	}
}

// ownPrice is a model with a price of its own.
type ownPrice struct {
	model.Model

	info  model.Info
	price *pricing.Price
}

// Info implements [model.Model].
func (m *ownPrice) Info() model.Info { return m.info }

// Unwrap gives the model that is priced.
func (m *ownPrice) Unwrap() model.Model { return m.Model }

// Cancellable implements [model.Cancellable] where the model does.
func (m *ownPrice) Cancellable() model.Model {
	if model.IsCancellable(m.Model) {
		return m
	}
	return nil
}
