package term

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/braidrun/braid/event"
)

// Interrupts maps signals to the end of a run or of the program.
//
// During a run SIGINT cancels the run. SIGTERM and SIGHUP cancel it and then end the program. Between runs
// each of them ends the program at once, except SIGINT while steady is set. If tools ignore the
// cancellation, pressing Ctrl-C patience more times abandons the run.
//
// Its methods are safe for concurrent use.
type Interrupts struct {
	signals  chan os.Signal
	Patience int
	// steady ignores SIGINT between runs. A prompt that reads Ctrl-C as a key sets it: a Ctrl-C for a run
	// that has just ended must not end the program.
	steady bool
	// Quit cleans up and ends the program. It is not called on the main goroutine.
	Quit func()

	mu      sync.Mutex
	cancel  context.CancelCauseFunc
	pressed int
	ending  bool
	stopped chan struct{}
}

// ErrInterrupted is the cause of a run that a signal cancelled.
var ErrInterrupted = &event.Error{Kind: event.ErrCancelled, Message: "the run was cancelled"}

// WatchSignals starts to handle signals until Stop. It also catches SIGPIPE: a write to a closed pipe then
// returns an error, so that the program can remove its scratch folder.
func WatchSignals(patience int, quit func()) *Interrupts {
	i := &Interrupts{
		signals: make(chan os.Signal, 4), Patience: patience,
		Quit:    quit,
		stopped: make(chan struct{}),
	}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go i.listen()
	return i
}

// Stop ends the handling of signals.
func (i *Interrupts) Stop() {
	signal.Stop(i.signals)
	close(i.signals)
	<-i.stopped
}

func (i *Interrupts) listen() {
	defer close(i.stopped)
	for s := range i.signals {
		if s != syscall.SIGPIPE {
			i.Take(s == os.Interrupt)
		}
	}
}

// Take handles one signal; interrupt is set for SIGINT.
func (i *Interrupts) Take(interrupt bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !interrupt {
		i.ending = true
	}
	if interrupt && i.steady && i.cancel == nil {
		return
	}
	i.pressed++
	if i.cancel == nil || i.pressed > 1+i.Patience {
		i.Quit()
		return
	}
	i.cancel(ErrInterrupted)
}

// Guard returns a context for a run that signals cancel. Call release when the run is over.
func (i *Interrupts) Guard(ctx context.Context) (guarded context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	i.mu.Lock()
	i.cancel, i.pressed = cancel, 0
	i.mu.Unlock()
	return ctx, func() {
		i.mu.Lock()
		i.cancel = nil
		i.mu.Unlock()
		cancel(nil)
	}
}

// Pause keeps signals from cancelling the run while the user answers a question. Call resume afterwards.
func (i *Interrupts) Pause() (resume func()) {
	i.mu.Lock()
	cancel := i.cancel
	i.cancel = nil
	i.mu.Unlock()
	return func() {
		i.mu.Lock()
		i.cancel = cancel
		i.mu.Unlock()
	}
}

// BeSteady switches whether SIGINT is ignored between runs.
func (i *Interrupts) BeSteady(on bool) {
	i.mu.Lock()
	i.steady = on
	i.mu.Unlock()
}

// Interrupted reports whether the last run was interrupted by a signal.
func (i *Interrupts) Interrupted() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.pressed > 0
}

// MustEnd reports whether a signal requested the end of the program.
func (i *Interrupts) MustEnd() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ending
}
