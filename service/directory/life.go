package directory

import (
	"context"
	"crypto/rand"
	"time"
)

// newLife makes the life of what is about to be made under an id that people choose. Ids are used
// again, lives are not: whatever remembers a tenant, an agent or a model beyond a request must compare
// its life, and not only its id.
func newLife() string { return rand.Text() }

// Settle waits until every process of the database has noticed the changes that were made before. It
// returns at once where no other process writes the database.
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

// Generation counts the changes of the directory. It is as new as what the directory remembers.
func (d *Directory) Generation(ctx context.Context) (int64, error) { return d.changes.generation(ctx) }
