package main

import (
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service"
)

// ownModels are the models of the directory that are open: one holds connections, and its key. The
// zero value is ready for use.
type ownModels struct {
	mu   sync.Mutex
	open map[ownName]*ownModel
}

type ownName struct{ tenant, id string }

type ownModel struct {
	model braid.Model
	// revision is that of the directory's entry: another one is another model, or another key.
	revision int64
	used     time.Time
}

const (
	// mostOwn bounds how many are open, ownIdle how long one is that nobody uses.
	mostOwn = 1024
	ownIdle = 10 * time.Minute
)

// openOwn opens a model of the directory with its key, once for each of its revisions.
func (a *agents) openOwn(own *service.OwnModel) (braid.Model, error) {
	name := ownName{own.Tenant, own.ID}
	now := time.Now()
	a.own.mu.Lock()
	defer a.own.mu.Unlock()
	if m := a.own.open[name]; m != nil && m.revision == own.Revision {
		m.used = now
		return m.model, nil
	}
	opener, err := a.p.opener(&a.cfg.settings)
	if err != nil {
		return nil, err
	}
	model, err := opener.OpenOwn(models.Own{
		Ref: own.Provider + ":" + own.Name, Key: own.Key, Region: own.Region, Price: own.Prices.Price(),
	})
	if err != nil {
		return nil, err
	}
	for k, m := range a.own.open {
		if now.Sub(m.used) > ownIdle || len(a.own.open) >= mostOwn {
			delete(a.own.open, k)
		}
	}
	if a.own.open == nil {
		a.own.open = make(map[ownName]*ownModel)
	}
	a.own.open[name] = &ownModel{model: model, revision: own.Revision, used: now}
	return model, nil
}
