package door

import (
	"sync"
	"time"
)

// Readers counts the requests that read each run, for runs that end when their last reader leaves. The zero
// value is ready for use. It is safe for concurrent use.
type Readers struct {
	mu     sync.Mutex
	runs   map[string]*reading
	closed bool
	// ending counts the functions given to LeaveFor that are being called.
	ending sync.WaitGroup
}

// reading is who reads a run.
type reading struct {
	readers int
	// expiry ends the time in which a reader may come back, and gone is called then; both are nil while
	// somebody reads.
	expiry *time.Timer
	gone   func()
	// left counts how often the last reader left: a timer of before says nothing.
	left int
	// wanted counts the requests that wait for the run to end.
	wanted int
}

// Enter counts one more reader of the run. Leave or LeaveFor must be called once for it.
func (r *Readers) Enter(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.of(run)
	of.stop()
	of.readers++
}

func (r *Readers) of(run string) *reading {
	of := r.runs[run]
	if of == nil {
		if r.runs == nil {
			r.runs = make(map[string]*reading)
		}
		of = &reading{}
		r.runs[run] = of
	}
	return of
}

// Leave counts one reader less, and reports whether it was the last one.
func (r *Readers) Leave(run string) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.runs[run]
	of.readers--
	last = of.readers == 0
	r.forget(run, of)
	return last
}

// LeaveFor counts one reader less. If it was the last one and no other enters within grace, it calls gone, on
// a goroutine of its own.
func (r *Readers) LeaveFor(run string, grace time.Duration, gone func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.runs[run]
	of.readers--
	if of.readers > 0 || r.closed {
		r.forget(run, of)
		return
	}
	if of.wanted > 0 {
		grace = 0
	}
	of.left++
	left := of.left
	of.gone = gone
	of.expiry = time.AfterFunc(grace, func() { r.expire(run, of, left) })
}

// Want says that a request waits for the run to end: a reader that has left, or leaves meanwhile, is not waited
// for. If nobody reads the run, gone of LeaveFor has been called when Want returns. done must be called once.
func (r *Readers) Want(run string) (done func()) {
	r.mu.Lock()
	of := r.of(run)
	of.wanted++
	left := of.left
	r.mu.Unlock()
	r.expire(run, of, left)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		of.wanted--
		r.forget(run, of)
	}
}

// forget drops a run that nobody reads, comes back to or waits for.
func (r *Readers) forget(run string, of *reading) {
	if of.readers == 0 && of.wanted == 0 && of.expiry == nil && r.runs[run] == of {
		delete(r.runs, run)
	}
}

func (r *Readers) expire(run string, of *reading, left int) {
	r.mu.Lock()
	gone := of.gone
	if r.closed || gone == nil || of.left != left {
		r.mu.Unlock()
		return
	}
	of.stop()
	r.forget(run, of)
	r.ending.Add(1)
	r.mu.Unlock()
	defer r.ending.Done()
	gone()
}

// Close waits for the functions that are being called, and calls no other: a run whose time is not over is
// left alone.
func (r *Readers) Close() {
	r.mu.Lock()
	r.closed = true
	for run, of := range r.runs {
		if of.expiry != nil {
			of.stop()
			r.forget(run, of)
		}
	}
	r.mu.Unlock()
	r.ending.Wait()
}

func (of *reading) stop() {
	if of.expiry != nil {
		of.expiry.Stop()
		of.expiry, of.gone = nil, nil
	}
}
