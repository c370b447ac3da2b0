package s3

import (
	"context"
	"sync"
	"time"
)

// totalAge is how long a total counts before the keys are listed again, for what other processes have stored.
const totalAge = time.Minute

// totals are the bytes of tenants. The zero value is ready for use.
type totals struct {
	mu sync.Mutex
	of map[string]*total
}

type total struct {
	bytes int64
	at    time.Time
}

// find returns a total that is young enough.
func (t *totals) find(tenant string) (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.of[tenant]; have != nil && time.Since(have.at) < totalAge {
		return have.bytes, true
	}
	return 0, false
}

// keep keeps a total, and drops the old ones.
func (t *totals) keep(tenant string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, have := range t.of {
		if time.Since(have.at) >= totalAge {
			delete(t.of, name)
		}
	}
	if t.of == nil {
		t.of = map[string]*total{}
	}
	t.of[tenant] = &total{bytes: bytes, at: time.Now()}
}

// add changes a total that is known.
func (t *totals) add(tenant string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.of[tenant]; have != nil {
		have.bytes += bytes
	}
}

// forget drops a total.
func (t *totals) forget(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, tenant)
}

// Stored implements [workspace.Backend].
func (b *Bucket) Stored(ctx context.Context, tenant string) (int64, error) {
	if n, known := b.totals.find(tenant); known {
		return n, nil
	}
	var n int64
	if err := b.each(ctx, b.ofTenant(tenant), "", 0, func(o object) bool { n += o.Size; return true }); err != nil {
		return 0, described("count files", "", err)
	}
	b.totals.keep(tenant, n)
	return n, nil
}
