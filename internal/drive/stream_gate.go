package drive

import "runtime"

// streamGate lets one goroutine at a time handle an answer of a model: the call that reads it, or the driver that
// abandons the call. It is a channel and no mutex, because a goroutine that waits for a mutex stops the clock of
// testing/synctest. A nil gate is always open.
type streamGate struct {
	// taken has capacity 1, and is full while somebody is inside.
	taken chan struct{}
	// abandoned is set once the driver has given the call up. Whoever is inside reads and writes it.
	abandoned bool
	// ended is set when the model has sent its last piece. Whoever is inside reads and writes it.
	ended bool
	// readerLeft is how the reader's loop left its body; nil where it did not.
	readerLeft *broken
}

func newStreamGate() *streamGate { return &streamGate{taken: make(chan struct{}, 1)} }

// enter waits until nobody is inside. It reports false, and does not enter, where the call was abandoned.
func (g *streamGate) enter() bool {
	if g == nil {
		return true
	}
	g.taken <- struct{}{}
	if g.abandoned {
		<-g.taken
		return false
	}
	return true
}

// leave lets the next one in.
func (g *streamGate) leave() {
	if g != nil {
		<-g.taken
	}
}

// end notes that the model has sent its last piece.
func (g *streamGate) end() {
	if g != nil && g.enter() {
		g.ended = true
		g.leave()
	}
}

// release is leave for a call whose reader may have panicked. The panic is kept for the reader's goroutine; the model
// is stopped, as by a reader that leaves its loop.
func (g *streamGate) release(a *assembler) {
	if g == nil {
		return
	}
	if a.sending {
		g.readerLeft = &broken{recover()}
	}
	g.leave()
}

// broken is how a reader's loop left its body other than by returning.
type broken struct{ panicked any }

// rethrow does to the driver's goroutine, which is the reader's, what the reader did.
func (b *broken) rethrow() {
	if b.panicked == nil {
		runtime.Goexit()
	}
	panic(b.panicked) //nolint:forbidigo // it is the reader's own
}
