package main

import (
	"context"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/sandbox"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/shelltool"
	"github.com/braidrun/braid/workspace"
)

// shellOptions returns the options of the tool shell. The command's permissions say when a user is asked.
func shellOptions(s *conf.Settings) shelltool.Options {
	return shelltool.Options{
		Unattended: true, Least: s.ShellLevel, Limits: sandbox.Limits{Time: s.ShellTime, Memory: s.ShellMemory},
	}
}

// checkShell returns an error if this system cannot give the sandbox that the options ask for.
func checkShell(ctx context.Context, s *conf.Settings) error {
	r := sandbox.Probe(ctx)
	if r.Level >= s.ShellLevel {
		return nil
	}
	hint := r.Next
	if r.Level == sandbox.Namespaces {
		hint += ", or choose --shell-level namespaces"
	}
	return &event.Error{
		Op: "shell", Kind: event.ErrUnsupported, Hint: hint,
		Message: "--shell needs a sandbox of the level " + s.ShellLevel.String() + ", and this system gives " + r.Level.String() + ": " + r.Why,
	}
}

// openShell returns the tool of the option shell for a workspace. Without the option there is none.
func openShell(ctx context.Context, s *conf.Settings, files workspace.Files) (tool.Source, error) {
	if !s.Shell {
		return noTools{}, nil
	}
	if files == nil {
		return nil, &event.Error{
			Op: "shell", Kind: event.ErrInvalid, Message: "--shell needs a folder in which commands work", Hint: "name one with --workspace",
		}
	}
	if err := checkShell(ctx, s); err != nil {
		return nil, err
	}
	return shelltool.New(files, shellOptions(s)), nil
}

// serverShell returns the options of the tool for the agents of a server; nil for none.
func serverShell(ctx context.Context, s *conf.Settings) (*shelltool.Options, error) {
	if !s.Shell {
		return nil, nil //nolint:nilnil // there is none
	}
	if !s.Workspaces {
		return nil, &event.Error{
			Op: "shell", Kind: event.ErrInvalid, Message: "--shell needs conversations with files, in which commands work", Hint: "add --workspaces",
		}
	}
	if err := checkShell(ctx, s); err != nil {
		return nil, err
	}
	return new(shellOptions(s)), nil
}

// asksForShell adds to the permissions that a user is asked before each command, unless one of the lists names the tool.
func asksForShell(s *conf.Settings, p *braid.Permissions) {
	if !s.Shell || slices.Contains(p.Allow, shelltool.Name) || slices.Contains(p.Deny, shelltool.Name) {
		return
	}
	p.Ask = append(slices.Clip(p.Ask), shelltool.Name)
}

// checkSandbox reports the level of sandbox that this system gives, by starting one.
func checkSandbox(ctx context.Context, d *diagnosis) {
	r := sandbox.Probe(ctx)
	level := "commands of the tool shell can run in a sandbox of the level " + r.Level.String()
	switch s := &d.cfg.Settings; {
	case s.Shell && r.Level < s.ShellLevel:
		d.brokenBy(checkShell(ctx, s), "")
	case r.Level == sandbox.None:
		d.note(r.Next, "there is no sandbox, so --shell is refused: %s", r.Why)
	case r.Level < sandbox.Full:
		d.note(r.Next, "%s: %s", level, r.Why)
	default:
		d.ok("%s: namespaces, seccomp, limits, and Landlock %d", level, r.Landlock)
	}
}
