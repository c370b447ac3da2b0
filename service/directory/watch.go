package directory

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
)

// Watch calls gone once the identity's key is revoked or expired, or its tenant inactive: the
// caller must then stop what it does for the identity. gone is called at once if this process made
// the change, and within 2 s otherwise. gone must be quick, and may be called before Watch returns
// and during stop.
//
// The caller must call stop, but not from gone. An identity without a key never ends.
func (d *Directory) Watch(i Identity, gone func()) (stop func()) {
	if i.hash == ([32]byte{}) {
		return func() {}
	}
	w := &watch{identity: i, gone: gone}
	v := &d.watches
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut {
		gone()
		return func() {}
	}
	if v.of == nil {
		v.of, v.wake = make(map[*watch]struct{}), make(chan struct{}, 1)
	}
	v.of[w] = struct{}{}
	if v.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		v.stop, v.done = cancel, make(chan struct{})
		go d.look(ctx, v.done)
	}
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.of, w)
		if len(v.of) == 0 && v.stop != nil {
			v.stop()
			v.stop = nil
		}
	}
}

// look checks the watched identities until nobody watches any more.
func (d *Directory) look(ctx context.Context, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(Stale)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.watches.wake:
		}
		d.watches.mu.Lock()
		open := make([]*watch, 0, len(d.watches.of))
		for w := range d.watches.of {
			open = append(open, w)
		}
		d.watches.mu.Unlock()
		for _, w := range open {
			_, err := d.bearer(ctx, "watch", w.identity.Key, w.identity.hash)
			if errors.Is(err, event.ErrUnauthenticated) || errors.Is(err, event.ErrPermission) {
				d.cut(w)
			}
		}
	}
}

func (d *Directory) cut(w *watch) {
	v := &d.watches
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.of[w]; ok {
		delete(v.of, w)
		w.gone()
	}
}
