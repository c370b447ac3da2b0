package models

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
)

// Own is a model with credentials of its own, such as a tenant's.
type Own struct {
	// Ref is a provider and a model, as for [Opener.OpenNamed].
	Ref string
	// Key replaces every credential of the environment. Empty means those of the environment.
	Key secret.Secret
	// Region is the provider's region, if it has regions. Empty means the environment's.
	Region string
	// Price is its price. nil means that it is looked up.
	Price *pricing.Price
}

// OpenOwn opens a model with its own key, region and price. It returns the errors of
// [Opener.OpenNamed], and an error of kind ErrInvalid for a key if the provider takes none.
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
		// A limiter of its own: the use of other keys does not count.
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

// over returns env with the model's own key and region and without other credentials.
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
