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

// process is one run of the program. Tests replace the parts of the system that it uses.
type process struct {
	conf.System

	// freeSpace returns the bytes that the user may still write in a folder.
	freeSpace func(dir string) (uint64, error)
	// openRef, if a test sets it, replaces the models.
	openRef func(ref string) (braid.Model, error)
	// localServers finds the model servers on this machine.
	localServers func(context.Context) []models.Server

	// undo lists the functions of onExit.
	mu   sync.Mutex
	undo []func()
	// opened is the opener of the configuration's models; see opener.
	opened *models.Opener
	// doubt receives warnings about models; nil writes them to stderr.
	doubt func(models.Warning)
}

// onExit registers a function that runs before the program ends, also after a signal. done runs it now.
func (p *process) onExit(undo func()) (done func()) {
	once := sync.OnceFunc(undo)
	p.mu.Lock()
	p.undo = append(p.undo, once)
	p.mu.Unlock()
	return once
}

// cleanUp runs the registered functions in reverse order.
func (p *process) cleanUp() {
	p.mu.Lock()
	undo := p.undo
	p.undo = nil
	p.mu.Unlock()
	for i := len(undo) - 1; i >= 0; i-- {
		undo[i]()
	}
}

// exit prints err and returns the exit code of its kind.
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

// watchSignals starts to handle signals, which may end the process.
func (p *process) watchSignals(patience int) *term.Interrupts {
	return term.WatchSignals(patience, func() { p.cleanUp(); os.Exit(event.ErrCancelled.Info().Exit) })
}

// newLineReader reads what the user types; see [term.NewLineReader].
func (p *process) newLineReader(echo io.Writer, ints *term.Interrupts) term.LineReader {
	return term.NewLineReader(term.Keyboard{Stdin: p.Stdin, Stdout: p.Stdout, Getenv: p.Getenv, OnExit: p.onExit}, echo, ints)
}
