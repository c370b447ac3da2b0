package directory

import (
	"context"
	"time"
)

// Drop clears all caches of this process. A cache alone drops an entry only on a lookup of another
// one.
func (d *Directory) Drop() {
	d.tenants.drop()
	d.agents.drop()
	d.models.drop()
	d.mcpServers.drop()
	d.webhooks.drop()
	d.skills.drop()
	d.secrets.drop()
	d.bearers.drop()
}

// Settle waits until every process has noticed earlier changes. It returns at once if no other
// process writes the database.
func (d *Directory) Settle(ctx context.Context) error {
	if !d.db.Shared() {
		return nil
	}
	timer := time.NewTimer(2 * Stale)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return gaveUp(ctx)
	}
}

// Generation returns the number of changes of the directory. It is as new as the caches.
func (d *Directory) Generation(ctx context.Context) (int64, error) { return d.changes.generation(ctx) }
