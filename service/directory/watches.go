package directory

import "sync"

// watches are the identities whose end somebody waits for.
type watches struct {
	mu   sync.Mutex
	of   map[*watch]struct{}
	wake chan struct{}
	stop func()
	done chan struct{}
	shut bool
}

type watch struct {
	identity Identity
	gone     func()
}

// changed makes the watcher check the identities now.
func (v *watches) changed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wake != nil {
		select {
		case v.wake <- struct{}{}:
		default:
		}
	}
}

// close ends all watches.
func (v *watches) close() {
	v.mu.Lock()
	v.shut = true
	for w := range v.of {
		w.gone()
	}
	v.of = nil
	if v.stop != nil {
		v.stop()
		v.stop = nil
	}
	done := v.done
	v.mu.Unlock()
	if done != nil {
		<-done
	}
}
