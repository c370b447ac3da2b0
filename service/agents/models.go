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

// namedModels are the open models that runs named by provider and name. The zero value is ready for
// use.
type namedModels struct {
	mu   sync.Mutex
	open map[string]braid.Model
}

// mostNamedModels bounds how many stay open, so that the names in requests cannot fill the memory.
const mostNamedModels = 64

// openNamed returns a model that a run names and keeps it open, because it holds connections. The
// name comes from a request, so it is checked here and never opened as the operator's references
// are.
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

// forTenant returns the error that a tenant sees if a model cannot be opened. The cause contains
// names of variables, addresses and files, and goes only to the operator's log.
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

// ownModels are the open models of the directory. Each holds connections and its key. The zero
// value is ready for use.
type ownModels struct {
	mu   sync.Mutex
	open map[ownName]*ownModel
}

// ownName names an entry of the directory. The name can be reused: ownEntry says which entry the
// model belongs to.
type ownName struct{ tenant, id string }

type ownModel struct {
	model braid.Model
	// entry is the directory's entry that the model was opened from.
	entry ownEntry
	used  time.Time
}

// ownEntry identifies one state of one entry of the directory.
type ownEntry struct {
	// life is the entry's life: an entry that is deleted and created again has another one.
	life string
	// revision counts the entry's changes.
	revision int64
}

const (
	// mostOwn bounds how many models of the directory stay open.
	mostOwn = 1024
	// ownIdle is how long an unused model stays open.
	ownIdle = 10 * time.Minute
)

// openOwn returns a model of the directory with its key. It opens one model for each state of its
// entry.
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

// forgetModels closes the directory's models that were not used for a while or whose entry no
// longer exists. is reports whether an entry exists, dropped whether any model was closed.
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

// nameable lists the models that a run may name: the server's own and those of the providers. For a
// provider that is not ready it gives the reason.
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
