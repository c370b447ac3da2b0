package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/braidrun/braid/cmd/braid/internal/admin"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

// entry is a command by its name, before it is made.
type entry struct {
	name string
	make func(*process) conf.Command
}

// allCommands lists what braid can do, in the order of help. A command is made when it is used: most
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
		{"help", helpCommand},
	}
}

// commands makes them all.
func commands(p *process) []conf.Command {
	var all []conf.Command
	for _, k := range allCommands() {
		all = append(all, k.make(p))
	}
	return all
}

func commandNames() []string {
	var names []string
	for _, k := range allCommands() {
		names = append(names, k.name)
	}
	return names
}

// dispatch finds the command, reads its flags and runs it.
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
	for _, k := range allCommands() {
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
	return term.Invalid(term.DidYouMean(name, commandNames(), "braid ", "braid help lists the commands"),
		"there is no command %q", term.Fit(name, 40))
}
