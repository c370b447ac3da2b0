package agentcore

import "sync"

// readers counts who reads each run: the last one that leaves cancels it. The zero value
// is ready for use.
type readers struct {
	mu   sync.Mutex
	runs map[string]int
}

func (r *readers) enter(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = make(map[string]int)
	}
	r.runs[run]++
}

// leave reports whether nobody reads the run any more.
func (r *readers) leave(run string) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[run]--
	if r.runs[run] > 0 {
		return false
	}
	delete(r.runs, run)
	return true
}
