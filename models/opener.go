package models

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
)

// Options configure an [Opener]. The zero Options are those of [Open].
type Options struct {
	// Env looks up keys, addresses and regions. nil means os.Getenv. The AWS SDK looks up its own
	// sources, such as profile files and roles of a machine, in the process's environment.
	Env func(string) string
	// Prices give models their costs. nil means pricing.Default(). To add your own table, use its
	// With.
	Prices *pricing.Table
	// Vendors are named servers with OpenAI's Chat Completions. nil means DefaultVendors().
	// ParseVendors reads more.
	Vendors *Vendors
	// Limits are limits of each provider's key.
	Limits Limits
	// Warn is called once for each model that [Opener.Open] opens and that is not fully known. nil
	// means no warnings. It may be called concurrently.
	Warn func(Warning)
}

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
	m, err := p.open(g)
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

// priced is a model with its costs, if they are known.
type priced struct {
	model.Model
	info   model.Info
	prices *pricing.Table
	place  string
}

// withCost returns a model with its costs.
func withCost(m model.Model, prices *pricing.Table, place string) *priced {
	p := &priced{m, m.Info(), prices, place}
	if p.info.ContextWindow == 0 {
		p.info.ContextWindow = prices.Context(p.info.Name)
	}
	p.info.Cost = func(u event.Usage) (int64, bool) { return prices.Cost(p.info.Name, place, time.Now(), u) }
	return p
}

// price returns the model's price on a day; nil means unknown.
func (m *priced) price(at time.Time) *pricing.Price {
	p, _ := m.prices.Find(m.info.Name, m.place, at)
	return p
}

// Info implements [model.Model].
func (m *priced) Info() model.Info { return m.info }

// Unwrap returns the wrapped model.
func (m *priced) Unwrap() model.Model { return m.Model }

// Cancellable implements [model.Cancellable] if the wrapped model does.
func (m *priced) Cancellable() model.Model {
	if model.IsCancellable(m.Model) {
		return m
	}
	return nil
}
