package door

import "sync"

// Readers counts the requests that read each run, for runs that end when their last reader leaves. The zero
// value is ready for use. It is safe for concurrent use.
type Readers struct {
	mu   sync.Mutex
	runs map[string]int
}

// Enter counts one more reader of the run. Leave must be called once for it.
func (r *Readers) Enter(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = make(map[string]int)
	}
	r.runs[run]++
}

// Leave counts one reader less, and reports whether it was the last one.
func (r *Readers) Leave(run string) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[run]--
	if r.runs[run] > 0 {
		return false
	}
	delete(r.runs, run)
	return true
}
