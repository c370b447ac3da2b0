package agents

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service"
)

// namedModels are the models that runs have asked for by provider and name. The zero value is ready
// for use.
type namedModels struct {
	mu   sync.Mutex
	open map[string]braid.Model
}

// mostNamedModels bounds how many of them stay open: what clients name must not fill the memory.
const mostNamedModels = 64

// openNamed opens a model that a run names, once: it holds connections. The name is the run's own text,
// so it is checked here, and never opened as the operator's references are.
func (a *Factory) openNamed(ref string) (braid.Model, error) {
	unknown := func(err error) error {
		return &event.Error{
			Kind: event.ErrModelNotFound, Message: "a run cannot ask for that model",
			Hint: "name one as provider:model; GET /v1/models lists some", Err: err,
		}
	}
	if a.options.Models == nil {
		return nil, unknown(nil)
	}
	name, err := a.options.Models.Named(ref)
	if err != nil {
		return nil, unknown(err)
	}
	a.named.mu.Lock()
	defer a.named.mu.Unlock()
	if m := a.named.open[name]; m != nil {
		return m, nil
	}
	m, err := a.options.Models.OpenNamed(name)
	if err != nil {
		return nil, forTenant(err)
	}
	m = plainModel{m}
	if a.named.open == nil {
		a.named.open = make(map[string]braid.Model)
	}
	if len(a.named.open) < mostNamedModels {
		a.named.open[name] = m
	}
	return m, nil
}

// forTenant is what a tenant is told where a model cannot be opened. The cause names variables of the
// environment, addresses and files, so it is for the operator's log alone.
func forTenant(err error) error {
	e := &event.Error{
		Kind: event.ErrModelNotFound, Message: "this server cannot open that model", Hint: "name another model, or ask the operator of this service",
		Err: err,
	}
	if errors.Is(err, event.ErrModelAuth) {
		e.Message = "this server has no key for that model"
	}
	return e
}

// ownModels are the models of the directory that are open: one holds connections, and its key. The
// zero value is ready for use.
type ownModels struct {
	mu   sync.Mutex
	open map[ownName]*ownModel
}

// ownName names an entry of the directory. Another entry may have had the name before, so what is kept
// under it also says which entry it is of.
type ownName struct{ tenant, id string }

type ownModel struct {
	model braid.Model
	// entry is the directory's entry that the model was opened from.
	entry ownEntry
	used  time.Time
}

// ownEntry tells one state of one entry of the directory from every other one.
type ownEntry struct {
	// life is the entry's: one that is deleted and made again has another one.
	life string
	// revision counts the entry's changes.
	revision int64
}

const (
	// mostOwn bounds how many models of the directory stay open.
	mostOwn = 1024
	// ownIdle is how long one stays open that nobody uses.
	ownIdle = 10 * time.Minute
)

// openOwn opens a model of the directory with its key, once for each state of its entry.
func (a *Factory) openOwn(own *service.OwnModel) (braid.Model, error) {
	name, entry := ownName{own.Tenant, own.ID}, ownEntry{own.Life, own.Revision}
	now := time.Now()
	a.own.mu.Lock()
	defer a.own.mu.Unlock()
	if m := a.own.open[name]; m != nil && m.entry == entry {
		m.used = now
		return m.model, nil
	}
	if a.options.Models == nil {
		return nil, forTenant(nil)
	}
	model, err := a.options.Models.OpenOwn(models.Own{
		Ref: own.Provider + ":" + own.Name, Key: own.Key, Region: own.Region, Price: own.Prices.Price(),
	})
	if err != nil {
		return nil, forTenant(err)
	}
	model = plainModel{model}
	for k, m := range a.own.open {
		if now.Sub(m.used) > ownIdle || len(a.own.open) >= mostOwn {
			delete(a.own.open, k)
		}
	}
	if a.own.open == nil {
		a.own.open = make(map[ownName]*ownModel)
	}
	a.own.open[name] = &ownModel{model: model, entry: entry, used: now}
	return model, nil
}

// forgetModels closes the models of the directory that nobody has used for a while, and those whose
// entry is there no longer. is says whether an entry is still there, dropped whether any was closed.
func (a *Factory) forgetModels(
	ctx context.Context, is func(ctx context.Context, tenant, id, life string) (bool, error),
) (dropped bool, err error) {
	a.own.mu.Lock()
	open := maps.Clone(a.own.open)
	a.own.mu.Unlock()
	for name, m := range open {
		there, err := is(ctx, name.tenant, name.id, m.entry.life)
		if err != nil {
			return dropped, err
		}
		a.own.mu.Lock()
		if now := a.own.open[name]; now == m && (!there || time.Since(m.used) > ownIdle) {
			delete(a.own.open, name)
			dropped = true
		}
		a.own.mu.Unlock()
	}
	return dropped, nil
}

// nameable lists what a run may name as its model: the server's own, those of the providers that are ready, and why
// the others are not.
func (a *Factory) nameable() (list []service.Model) {
	add := func(m service.Model) {
		if m.Name != "" && !slices.ContainsFunc(list, func(o service.Model) bool { return o.Name == m.Name }) {
			list = append(list, m)
		}
	}
	add(service.Model{Name: a.options.ModelRef, Simulated: a.first.Info().Simulated})
	if a.options.Models == nil {
		return list
	}
	for _, ref := range []string{"demo", "demo:tour", "demo:approval"} {
		add(service.Model{Name: ref, Simulated: true})
	}
	for _, standing := range a.options.Models.Survey(nil) {
		for _, m := range standing.Models {
			if _, err := a.options.Models.Named(m.Ref); !m.Simulated && err == nil {
				add(service.Model{Name: m.Ref})
			}
		}
		if !standing.Ready && standing.Usual != "" {
			add(service.Model{Name: standing.Usual, Why: standing.Why})
		}
	}
	return list
}
