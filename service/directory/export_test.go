package directory

import (
	"context"
	"time"
)

// Forget has everything read anew.
func Forget(d *Directory) { d.changes.moved(d.changes.known + 1) }

// Sum is an entry's hash after the one before.
func Sum(e Entry, before []byte) []byte { return e.sum(before) }

// Behind has d learn of changes as another process does: by asking how many there are. each is how
// long that takes.
func Behind(d, writer *Directory, each time.Duration) {
	d.changes.ask = func(context.Context) (int64, error) {
		time.Sleep(each)
		writer.changes.mu.Lock()
		defer writer.changes.mu.Unlock()
		return writer.changes.known, nil
	}
}

// Lookup finds a tenant in memory, or by load.
func Lookup(ctx context.Context, d *Directory, id string, load func(ctx context.Context) (Tenant, error)) (Tenant, error) {
	return lookup(ctx, &d.changes, &d.tenants, id, load)
}
