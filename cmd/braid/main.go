package main

import (
	"context"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/models"
)

// process is what the program touches of its surroundings, so that a test can
// stand in for each of them.
type process struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// getenv answers "" for what is not set; environ lists "NAME=value".
	getenv  func(string) string
	environ func() []string
	now     func() time.Time
	// configDir is the person's folder for settings.
	configDir func() (string, error)
	// dataDir is the person's folder for what braid keeps.
	dataDir func() (string, error)
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

func main() {
	p := &process{
		args:  os.Args[1:],
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, environ: os.Environ,
		now:          time.Now,
		configDir:    os.UserConfigDir,
		dataDir:      func() (string, error) { return dataDir(runtime.GOOS, os.Getenv, os.UserHomeDir) },
		freeSpace:    freeSpace,
		localServers: models.LocalServers,
	}
	os.Exit(p.run(context.Background()))
}

// run does what the arguments ask for and gives the exit code.
func (p *process) run(ctx context.Context) int {
	defer p.cleanUp()
	return p.exit(p.dispatch(ctx, p.args))
}
