package models

import (
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
)

// Opener opens models that share prices and the limits of each key. It is safe for concurrent use.
type Opener struct {
	env       func(string) string
	prices    *pricing.Table
	limits    Limits
	warn      func(Warning)
	providers []provider
	// ownKey reports that env has the key of an [Own] model.
	ownKey bool

	mu       sync.Mutex
	limiters map[string]*Limiter
	warned   map[Warning]bool
}

// NewOpener returns an opener. It returns an error of kind ErrInvalid for invalid limits.
func NewOpener(o Options) (*Opener, error) {
	if _, err := NewLimiter(o.Limits); err != nil {
		return nil, err
	}
	opener := &Opener{env: o.Env, prices: o.Prices, limits: o.Limits, warn: o.Warn, limiters: map[string]*Limiter{}, warned: map[Warning]bool{}}
	if opener.env == nil {
		opener.env = os.Getenv
	}
	if opener.prices == nil {
		opener.prices = pricing.Default()
	}
	vendors := o.Vendors
	if vendors == nil {
		vendors = DefaultVendors()
	}
	opener.providers = append(ownProviders(), vendors.providers()...)
	return opener, nil
}

// Open opens the model that ref names, as [Open] does, with the opener's prices and limits. A
// reference may name files, addresses and variables, so it must come from whoever runs the program.
func (o *Opener) Open(ref string) (model.Model, error) {
	d := Detect(o.env, ref)
	m, err := o.open(d.Model, true)
	if e := new(event.Error); d.Source == FromEnvironment && errors.As(err, &e) {
		e.Op = "model (from " + Variable + ")"
	}
	return m, err
}

// OpenNamed is Open for a reference from a user of the program: a provider and a model, without
// settings and without a file. [Named] checks it.
func (o *Opener) OpenNamed(ref string) (model.Model, error) {
	name, err := o.Named(ref)
	if err != nil {
		return nil, err
	}
	return o.open(name, false)
}

// Named is the function [Named] with the opener's vendors.
func (o *Opener) Named(ref string) (string, error) { return named(o.providers, ref) }

// Detect is [Detect] in the opener's environment.
func (o *Opener) Detect(ref string) Detection { return Detect(o.env, ref) }

func (o *Opener) open(ref string, trusted bool) (model.Model, error) {
	name, rest := ref, ""
	if i := strings.IndexAny(ref, ":?"); i >= 0 {
		name, rest = ref[:i], strings.TrimPrefix(ref[i:], ":")
	}
	p, known := providerIn(o.providers, name)
	if !known {
		return nil, unknown(ref)
	}
	g := &opening{env: o.env, provider: p, ownKey: o.ownKey}
	g.name, g.query, g.asked = strings.Cut(rest, "?")
	g.trusted = trusted
	m, err := g.open()
	if err != nil {
		return nil, err
	}
	if m.Info().Simulated {
		return m, nil
	}
	m = withDefaults(m, g.defaults)
	if m, err = o.limit(m, g); err != nil {
		return nil, err
	}
	priced := withCost(m, o.prices, g.place)
	if trusted {
		o.doubt(priced, g)
	}
	return priced, nil
}

// limit returns a model that obeys the limits of its key.
func (o *Opener) limit(m model.Model, g *opening) (model.Model, error) {
	if o.limits == (Limits{}) {
		return m, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := g.provider.name + " " + g.key + " " + g.place
	l := o.limiters[key]
	if l == nil {
		var err error
		if l, err = NewLimiter(o.limits); err != nil {
			return nil, err
		}
		o.limiters[key] = l
	}
	return l.Wrap(m), nil
}

// doubt warns once of a model whose price has expired, or that no table knows.
func (o *Opener) doubt(m *priced, g *opening) {
	if o.warn == nil {
		return
	}
	w, ok := doubtful(m, g)
	if !ok {
		return
	}
	o.mu.Lock()
	said := o.warned[w]
	o.warned[w] = true
	o.mu.Unlock()
	if !said {
		o.warn(w)
	}
}
