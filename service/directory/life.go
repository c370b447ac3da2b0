package directory

import (
	"context"
	"crypto/rand"
	"time"
)

// newLife returns the life of a new object whose id was chosen. Ids are reused, lives are not. Who
// caches data of a tenant, an agent or a model beyond a request must compare its life, not only its
// id.
func newLife() string { return rand.Text() }

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
