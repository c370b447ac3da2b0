package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
)

// process is what the program touches of its surroundings, so that a test can
// stand in for each of them.
type process struct {
	conf.System

	// freeSpace is how many bytes a person may still write in a folder.
	freeSpace func(dir string) (uint64, error)
	// openRef, where a test sets it, stands in for the models that there are.
	openRef func(ref string) (braid.Model, error)
	// localServers finds the model servers on this machine.
	localServers func(context.Context) []models.Server

	// undo is what must happen before the program ends; see onExit.
	mu   sync.Mutex
	undo []func()
	// opened is the opener of the configuration; see opener.
	opened *models.Opener
	// doubt is told what is not known of a model; nil writes it on stderr.
	doubt func(models.Warning)
}

// onExit registers what must be undone before the program ends, on whatever
// way it ends. done undoes it now.
func (p *process) onExit(undo func()) (done func()) {
	once := sync.OnceFunc(undo)
	p.mu.Lock()
	p.undo = append(p.undo, once)
	p.mu.Unlock()
	return once
}

// cleanUp undoes everything, the last thing first.
func (p *process) cleanUp() {
	p.mu.Lock()
	undo := p.undo
	p.undo = nil
	p.mu.Unlock()
	for i := len(undo) - 1; i >= 0; i-- {
		undo[i]()
	}
}

// exit tells the person about err and gives the exit code of its kind.
func (p *process) exit(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, syscall.EPIPE):
		return term.ExitPipe
	}
	if _, shown := errors.AsType[term.Shown](err); !shown {
		term.WriteError(p.Stderr, err)
	}
	return term.KindOf(err).Info().Exit
}

// watchSignals begins to listen for signals, which may end the process.
func (p *process) watchSignals(patience int) *term.Interrupts {
	return term.WatchSignals(patience, func() { p.cleanUp(); os.Exit(event.ErrCancelled.Info().Exit) })
}

// newLineReader reads what the user types; see [term.NewLineReader].
func (p *process) newLineReader(echo io.Writer, ints *term.Interrupts) term.LineReader {
	return term.NewLineReader(term.Keyboard{Stdin: p.Stdin, Stdout: p.Stdout, Getenv: p.Getenv, OnExit: p.onExit}, echo, ints)
}
