package shelltool

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/sandbox"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/workspace"
)

// Name is the name of the tool.
const Name = "shell"

// Options configure the tool. The zero value uses the defaults of package sandbox.
type Options struct {
	// Limits bound each command. Limits.Time is the most that a call may ask for; without asking, a call gets it all.
	Limits sandbox.Limits
	// Least is the weakest level of the sandbox. 0 means [sandbox.Full].
	Least sandbox.Level
	// Unattended says that the tool itself asks nobody. It is for an agent whose permissions say when to ask. By default the
	// tool asks a user before each command for which those have not asked already.
	Unattended bool
	// Env are variables of the form NAME=value that commands get. They get none of this program's own.
	Env []string
	// Readable are further folders of the system that commands may read, at their own absolute paths.
	Readable []string
}

// Set is the tool as a [tool.Source] for braid.From. It is safe for concurrent use.
type Set struct {
	open    func(ctx context.Context) (workspace.Files, error)
	options Options
}

var _ tool.Source = (*Set)(nil)

// New returns the tool for one workspace.
func New(files workspace.Files, o Options) *Set {
	return ForEach(func(context.Context) (workspace.Files, error) { return files, nil }, o)
}

// ForEach returns a tool that asks open for the workspace of each call. The context is that of the call: [tool.CallOf]
// names its conversation.
func ForEach(open func(ctx context.Context) (workspace.Files, error), o Options) *Set {
	if o.Limits.Time <= 0 {
		o.Limits.Time = sandbox.DefaultTime
	}
	return &Set{open: open, options: o}
}

// around is the time that a call has besides its command: for copying files.
const around = time.Minute

// Tools implements [tool.Source].
func (s *Set) Tools() []tool.Tool {
	return []tool.Tool{tool.Func(Name, "Runs a command of the POSIX shell in the workspace and returns its output and exit code. "+
		"The command has no network and no terminal, and all its processes end with it.",
		s.call, tool.Timeout(s.options.Limits.Time+around), tool.Parallel(1))}
}

// Instructions implements [tool.Source].
func (s *Set) Instructions() string {
	return "The tool " + Name + " runs commands in a sandbox. They work in the folder of the workspace, " + sandbox.Workspace +
		", and can write there and in " + sandbox.Scratch + " only, which is empty at each call. There is no network. " +
		"A command may run for at most " + s.options.Limits.Time.String() + "."
}

type shellCall struct {
	Command string `json:"command"           jsonschema:"the command, as for sh -c"`
	Folder  string `json:"folder,omitempty"  jsonschema:"the folder of the workspace in which the command starts; by default the workspace itself"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"after how many seconds the command is ended"`
}

func (s *Set) call(ctx context.Context, in shellCall) (tool.Output, error) {
	const op = "run command"
	folder := strings.TrimSuffix(in.Folder, "/")
	if folder == "." {
		folder = ""
	}
	switch {
	case strings.TrimSpace(in.Command) == "":
		return tool.Output{}, refused(op, "the command is empty", "pass a command, such as ls")
	case in.Timeout < 0:
		return tool.Output{}, refused(op, "the timeout is below 0", "pass a number of seconds, or leave it out")
	}
	if folder != "" {
		if err := workspace.CheckPath(op, folder); err != nil {
			return tool.Output{}, err
		}
	}
	files, err := s.open(ctx)
	if err == nil && files == nil {
		err = refused("open workspace", "this conversation has no workspace", "work without a shell")
	}
	if err != nil {
		return tool.Output{}, err
	}
	if err := s.permitted(ctx, in.Command); err != nil {
		return tool.Output{}, err
	}
	o := sandbox.Options{
		Args: []string{"/bin/sh", "-c", in.Command}, Dir: folder, Limits: s.options.Limits, Least: s.options.Least, Env: s.options.Env,
		Readable: s.options.Readable,
	}
	if asked := time.Duration(in.Timeout) * time.Second; asked > 0 && asked < o.Limits.Time {
		o.Limits.Time = asked
	}
	if at, ok := files.(*workspace.Folder); ok {
		return inPlace(ctx, at, &o)
	}
	return inCopy(ctx, files, &o)
}

// permitted asks a user, unless the permissions of the agent have.
func (s *Set) permitted(ctx context.Context, command string) error {
	if s.options.Unattended {
		return nil
	}
	if _, _, asked := tool.ApprovalOf(ctx); asked {
		return nil
	}
	answer, err := tool.Ask[event.Approval](ctx, "May the agent run this command in the sandbox?\n"+command)
	if err != nil || answer.Approved {
		return err
	}
	message := "the user does not allow this command"
	if answer.Reason != "" {
		message += ": " + answer.Reason
	}
	return &event.Error{Op: "run command", Kind: event.ErrPermission, Message: message, Hint: "do without it, or ask the user what to do"}
}

func refused(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// inPlace runs a command in the folder of a workspace.
func inPlace(ctx context.Context, files *workspace.Folder, o *sandbox.Options) (tool.Output, error) {
	before, err := files.List(ctx, workspace.Query{})
	if err != nil {
		return tool.Output{}, err
	}
	root, err := os.OpenRoot(files.Dir())
	if err != nil {
		return tool.Output{}, system("the folder cannot be opened", err)
	}
	defer root.Close()
	o.Folder = files.Dir()
	if o.Protected, err = protected(ctx, root); err != nil {
		return tool.Output{}, err
	}
	r, err := sandbox.Run(ctx, *o)
	left, e := removeNew(context.WithoutCancel(ctx), root, o.Protected)
	if err == nil {
		err = e
	}
	after, e := files.List(context.WithoutCancel(ctx), workspace.Query{}) // a command that was cancelled has changed files too
	if err == nil {
		err = e
	}
	changes := workspace.Changes(before, after)
	if e == nil {
		tool.FilesChanged(ctx, changes...)
	}
	if err != nil {
		return tool.Output{}, err
	}
	return told(&r, o, &outcome{changes: changes, left: left}), nil
}

// outcome is what a command did to the workspace.
type outcome struct {
	changes []workspace.Change
	// left are sentences about files that were not stored.
	left []string
}

// mostNamed bounds the changed files that the tool names to the model.
const mostNamed = 50

// told returns the result for the model.
func told(r *sandbox.Result, o *sandbox.Options, did *outcome) tool.Output {
	var b strings.Builder
	text := strings.ReplaceAll(strings.ToValidUTF8(string(r.Output), "\uFFFD"), "\x00", "\uFFFD")
	b.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	switch {
	case r.Stopped == sandbox.StoppedTime:
		b.WriteString("(The command was ended: it ran for more than " + o.Limits.Time.String() + ".)\n")
	case r.Stopped != "":
		b.WriteString("(The command was ended: it used too much of this: " + string(r.Stopped) + ".)\n")
	case r.Signal != 0:
		b.WriteString("(Signal " + strconv.Itoa(r.Signal) + " ended the command.)\n")
	default:
		b.WriteString("(exit code " + strconv.Itoa(r.Code) + ")\n")
	}
	if n := len(did.changes); n > 0 {
		b.WriteString("Changes of files:\n")
		for i, c := range did.changes {
			if i == mostNamed {
				b.WriteString("- and " + strconv.Itoa(n-i) + " more\n")
				break
			}
			b.WriteString("- " + c.Kind + " " + strconv.QuoteToGraphic(c.Path) + "\n")
		}
	}
	for _, line := range did.left {
		b.WriteString(line + "\n")
	}
	out := tool.Text(b.String())
	out.IsError = r.Stopped != "" || len(did.left) > 0
	return out
}
