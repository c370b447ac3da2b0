package directory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/braidrun/braid/service/database"
)

// used records that a key was used now. It does not query the database.
func (d *Directory) used(tenant, id string) {
	u, now := &d.uses, database.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	k := usedKey{tenant, id}
	if _, there := u.last[k]; u.shut || !there && len(u.last) >= mostCached {
		return
	}
	if u.last == nil {
		u.last = make(map[usedKey]time.Time)
	}
	u.last[k] = now
	if u.timer == nil {
		u.timer = time.AfterFunc(usedEvery, func() {
			ctx, stop := context.WithTimeout(context.Background(), usedEvery)
			defer stop()
			_ = d.WriteUsed(ctx) // the next use of a key is in the next write
		})
	}
}

// WriteUsed writes now when keys were last used, without waiting for the minute. Uses that cannot
// be written are dropped: the next use replaces them.
func (d *Directory) WriteUsed(ctx context.Context) error {
	u := &d.uses
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	last := u.last
	u.last = nil
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	u.mu.Unlock()
	tenants := make(map[string]map[string]int64)
	for k, at := range last {
		if tenants[k.tenant] == nil {
			tenants[k.tenant] = make(map[string]int64)
		}
		tenants[k.tenant][k.id] = database.Micros(at)
	}
	var failed error
	for tenant, keys := range tenants {
		// It does not change the directory: caches stay valid.
		err := d.db.Write(ctx, "note the use of keys", tenant, func(tx *database.Tx) error {
			for _, id := range slices.Sorted(maps.Keys(keys)) { // in one order, so that two servers cannot deadlock
				at := keys[id]
				if _, err := tx.Exec(`UPDATE api_key SET used = ? WHERE tenant = ? AND id = ? AND used < ?`, at, tenant, id, at); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			failed = err
		}
	}
	return failed
}

// closeUses writes the uses and stops recording.
func (d *Directory) closeUses() error {
	u := &d.uses
	u.mu.Lock()
	u.shut = true
	u.mu.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), refusedWrite)
	defer stop()
	return d.WriteUsed(ctx)
}
