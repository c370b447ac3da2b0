package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/braidrun/braid/event"
)

// interrupts turns signals into the end of a run, or of the program.
//
// While a run is in progress SIGINT cancels it, and so do SIGTERM and SIGHUP,
// which also end the program afterwards. Between runs each of them ends the
// program at once, but see steady. A run whose tools do not let go is abandoned when SIGINT
// comes patience times more.
type interrupts struct {
	signals  chan os.Signal
	patience int
	// steady ignores SIGINT between runs, for a prompt that reads Ctrl-C as a
	// key: what was meant for a run that has just ended must not end the program.
	steady bool
	// quit cleans up and ends the program from outside the main goroutine.
	quit func()

	mu      sync.Mutex
	cancel  context.CancelCauseFunc
	pressed int
	ending  bool
	stopped chan struct{}
}

// errInterrupted is the cause of a run that a signal cancelled.
var errInterrupted = &event.Error{Kind: event.ErrCancelled, Message: "the run was cancelled"}

// watchSignals begins to listen; stop ends it. A closed pipe is listened for
// as well, so that a write to it fails instead of killing the program with its
// scratch folder left behind.
func watchSignals(patience int, quit func()) *interrupts {
	i := &interrupts{
		signals: make(chan os.Signal, 4), patience: patience,
		quit:    quit,
		stopped: make(chan struct{}),
	}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go i.listen()
	return i
}

func (i *interrupts) stop() {
	signal.Stop(i.signals)
	close(i.signals)
	<-i.stopped
}

func (i *interrupts) listen() {
	defer close(i.stopped)
	for s := range i.signals {
		if s != syscall.SIGPIPE {
			i.take(s == os.Interrupt)
		}
	}
}

// take acts on a signal.
func (i *interrupts) take(interrupt bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !interrupt {
		i.ending = true
	}
	if interrupt && i.steady && i.cancel == nil {
		return
	}
	i.pressed++
	if i.cancel == nil || i.pressed > 1+i.patience {
		i.quit()
		return
	}
	i.cancel(errInterrupted)
}

// guard gives a run its context. Call release when the run is over.
func (i *interrupts) guard(ctx context.Context) (guarded context.Context, release func()) {
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

// pause takes the run out of reach of signals while a person is asked; resume
// puts it back.
func (i *interrupts) pause() (resume func()) {
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

// beSteady sets steady.
func (i *interrupts) beSteady(on bool) {
	i.mu.Lock()
	i.steady = on
	i.mu.Unlock()
}

// interrupted reports whether the last run was interrupted by a signal.
func (i *interrupts) interrupted() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.pressed > 0
}

// mustEnd reports whether a signal asked for the program to end.
func (i *interrupts) mustEnd() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ending
}
