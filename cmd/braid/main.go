package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/admin"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/sandbox"
)

func main() {
	sandbox.Init()
	p := &process{
		System: conf.System{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			Getenv: os.Getenv, Environ: os.Environ, Now: time.Now, ConfigDir: os.UserConfigDir,
			DataDir: func() (string, error) { return conf.DataDir(runtime.GOOS, os.Getenv, os.UserHomeDir) },
		},
		freeSpace:    freeSpace,
		localServers: models.LocalServers,
	}
	os.Exit(p.run(context.Background()))
}

// run executes the command and returns the exit code.
func (p *process) run(ctx context.Context) int {
	defer p.cleanUp()
	return p.exit(p.dispatch(ctx, p.Args))
}

// entry makes a command of this name.
type entry struct {
	name string
	make func(*process) conf.Command
}

// allCommands lists all commands in the order of help. A command is made only for its use, because most
// have long texts and many flags.
func allCommands() []entry {
	return []entry{
		{"run", runCommand},
		{"chat", chatCommand},
		{"serve", serveCommand},
		{"conversations", conversationsCommand},
		{"show", showCommand},
		{"permissions", permissionsCommand},
		{"admin", func(p *process) conf.Command { return admin.Command(&p.System) }},
		{"agentcore", agentcoreCommand},
		{"migrate", migrateCommand},
		{"audits", auditsCommand},
		{"backup", backupCommand},
		{"secrets", secretsCommand},
		{"models", modelsCommand},
		{"doctor", doctorCommand},
		{"config", configCommand},
		{"version", versionCommand},
		{"help", func(p *process) conf.Command { return helpCommand(p, commands) }},
	}
}

// commands makes all commands.
func commands(p *process) []conf.Command {
	var all []conf.Command
	for _, k := range allCommands() {
		all = append(all, k.make(p))
	}
	return all
}

// dispatch finds the command, parses its flags and executes it.
func (p *process) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		_, _ = io.WriteString(p.Stderr, overview(commands(p)))
		return term.Shown{Err: term.Invalid("", "there is no command")}
	}
	name := args[0]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-v", "-version", "--version":
		name = "version"
	}
	var names []string
	for _, k := range allCommands() {
		names = append(names, k.name)
		if k.name != name {
			continue
		}
		c := k.make(p)
		in, err := conf.ParseFlags(&c, args[1:])
		if errors.Is(err, flag.ErrHelp) {
			return p.Print(commandHelp(&c))
		}
		if err != nil {
			return err
		}
		return c.Run(ctx, in)
	}
	return term.Invalid(term.DidYouMean(name, names, "braid ", "braid help lists the commands"),
		"there is no command %q", term.Fit(name, 40))
}
