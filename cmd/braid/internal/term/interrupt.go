package term

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/braidrun/braid/event"
)

// Interrupts turns signals into the end of a run, or of the program.
//
// While a run is in progress SIGINT cancels it, and so do SIGTERM and SIGHUP,
// which also end the program afterwards. Between runs each of them ends the
// program at once, but see steady. A run whose tools do not let go is abandoned when SIGINT
// comes patience times more.
type Interrupts struct {
	signals  chan os.Signal
	Patience int
	// steady ignores SIGINT between runs, for a prompt that reads Ctrl-C as a
	// key: what was meant for a run that has just ended must not end the program.
	steady bool
	// Quit cleans up and ends the program from outside the main goroutine.
	Quit func()

	mu      sync.Mutex
	cancel  context.CancelCauseFunc
	pressed int
	ending  bool
	stopped chan struct{}
}

// ErrInterrupted is the cause of a run that a signal cancelled.
var ErrInterrupted = &event.Error{Kind: event.ErrCancelled, Message: "the run was cancelled"}

// WatchSignals begins to listen; stop ends it. A closed pipe is listened for
// as well, so that a write to it fails instead of killing the program with its
// scratch folder left behind.
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

// Take acts on a signal.
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

// Guard gives a run its context. Call release when the run is over.
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

// Pause takes the run out of reach of signals while a person is asked; resume
// puts it back.
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

// BeSteady sets steady.
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

// MustEnd reports whether a signal asked for the program to end.
func (i *Interrupts) MustEnd() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ending
}
