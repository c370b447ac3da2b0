// Package stacks runs calls that need a large stack on a few kept goroutines, so that their callers keep small stacks.
//
// A goroutine's stack grows as far as its deepest call and shrinks slowly. SQLite needs some 50 KiB: if each of many
// goroutines that wait for long had called it once, their stacks would take more memory than everything else that they
// hold.
package stacks

import (
	"runtime"
	"sync"
)

// Pool runs functions on a fixed number of goroutines. Make it with [New]. Its methods are safe for concurrent use.
type Pool struct {
	calls chan *call
	work  sync.WaitGroup

	mu   sync.Mutex
	free []*call
}

// call is one function to run.
type call struct {
	do func()
	// done receives a value when the function has ended.
	done chan struct{}
	// returned reports that the function returned. Otherwise it panicked with panicked, or ended its goroutine.
	returned bool
	panicked any
}

// New starts a pool of at least one goroutine. The caller must call Close.
func New(goroutines int) *Pool {
	p := &Pool{calls: make(chan *call)}
	for range max(1, goroutines) {
		p.work.Go(p.run)
	}
	return p
}

// Do runs f on one of the goroutines and waits until it has returned. If all are busy it waits for one. A panic of f
// is a panic of Do, and if f ends its goroutine, Do ends the caller's. f must not call Do. Do must not be called after
// Close.
func (p *Pool) Do(f func()) {
	c := p.get()
	c.do = f
	p.calls <- c
	<-c.done
	returned, panicked := c.returned, c.panicked
	p.put(c)
	switch {
	case returned:
	case panicked != nil:
		panic(panicked) //nolint:forbidigo // it is the function's, and belongs to its caller
	default:
		runtime.Goexit()
	}
}

// Close waits for the running functions and ends the goroutines.
func (p *Pool) Close() {
	close(p.calls)
	p.work.Wait()
}

func (p *Pool) run() {
	for c := range p.calls {
		if !p.carryOut(c) {
			return
		}
	}
}

// carryOut runs a function. If that ends the goroutine, carryOut starts another one.
func (p *Pool) carryOut(c *call) (alive bool) {
	defer func() {
		if !c.returned {
			c.panicked = recover()
			if alive = c.panicked != nil; !alive {
				p.work.Go(p.run)
			}
		}
		c.done <- struct{}{}
	}()
	c.do()
	c.returned = true
	return true
}

// get returns an unused call.
func (p *Pool) get() *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	return &call{done: make(chan struct{}, 1)}
}

// mostFree bounds the calls that are kept for reuse.
const mostFree = 64

func (p *Pool) put(c *call) {
	c.do, c.returned, c.panicked = nil, false, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < mostFree {
		p.free = append(p.free, c)
	}
}
