package sandbox

import (
	"cmp"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// The names of the places inside a sandbox.
const (
	// Workspace is where the command finds [Options.Folder].
	Workspace = "/workspace"
	// Scratch is a folder in memory that is empty at first and gone afterwards. It is also the command's home.
	Scratch = "/tmp"
)

// Options say what runs and what it may use. Args is required.
type Options struct {
	// Args are the program, by its path inside the sandbox, and its arguments.
	Args []string
	// Folder is the folder that the command works with. Empty means none: it then works in [Scratch].
	Folder string
	// ReadOnly says that the command may not change the folder.
	ReadOnly bool
	// Protected are files and folders in Folder that the command may not change, by paths relative to it. One that does
	// not exist, or that a link leads to, is left out.
	Protected []string
	// Dir is the working folder, relative to Folder. Empty means Folder itself.
	Dir string
	// Readable are further folders of the system that the command may read, at their own absolute paths. The folders of
	// programs, such as /usr, are always readable. One that does not exist is an error.
	Readable []string
	// Env are variables of the form NAME=value. The command gets them, PATH, HOME and a few more; it gets none of this
	// program's own.
	Env []string
	// Limits bound what the command uses.
	Limits Limits
	// Least is the weakest level at which the command may run. 0 means [Full].
	Least Level
}

// Limits bound a command with all its processes. A field of 0 or less means its default.
type Limits struct {
	// Time bounds the run by the clock; by default [DefaultTime].
	Time time.Duration `json:"time"`
	// CPU bounds the processor time of all processes; by default as much as Time on two processors.
	CPU time.Duration `json:"cpu"`
	// Memory bounds the memory of all processes in bytes; by default [DefaultMemory].
	Memory int64 `json:"memory"`
	// Processes bounds how many processes and threads run at once; by default [DefaultProcesses].
	Processes int `json:"processes"`
	// Files bounds the open files of one process; by default [DefaultFiles].
	Files int `json:"files"`
	// FileSize bounds one file that the command writes, in bytes; by default [DefaultFileSize].
	FileSize int64 `json:"file_size"`
	// Folder bounds by how much the files of [Options.Folder] may grow, in bytes; by default [DefaultFolder]. It is measured
	// a few times a second.
	Folder int64 `json:"folder"`
	// Scratch bounds the folder [Scratch], in bytes; by default [DefaultScratch].
	Scratch int64 `json:"scratch"`
	// Output bounds the output that is kept, in bytes; by default [DefaultOutput].
	Output int `json:"output"`
}

// The defaults of [Limits].
const (
	DefaultTime      = 2 * time.Minute
	DefaultMemory    = 2 << 30
	DefaultProcesses = 1024
	DefaultFiles     = 512
	DefaultFileSize  = 256 << 20
	DefaultFolder    = 1 << 30
	DefaultScratch   = 256 << 20
	DefaultOutput    = 64 << 10
)

// or returns v, or its default if v is 0 or less.
func or[T cmp.Ordered](v, def T) T {
	var zero T
	if v <= zero {
		return def
	}
	return v
}

// filled returns the limits with their defaults.
func (l Limits) filled() Limits {
	l.Time = or(l.Time, DefaultTime)
	l.CPU = or(l.CPU, 2*l.Time)
	l.Memory = or(l.Memory, DefaultMemory)
	l.Processes = or(l.Processes, DefaultProcesses)
	l.Files = or(l.Files, DefaultFiles)
	l.FileSize = or(l.FileSize, DefaultFileSize)
	l.Folder = or(l.Folder, DefaultFolder)
	l.Scratch = or(l.Scratch, DefaultScratch)
	l.Output = or(l.Output, DefaultOutput)
	return l
}

// mostArgs bounds the bytes of Args and Env. Linux takes 128 KiB for one of them.
const mostArgs = 1 << 20

// check returns an error for options that no system takes.
func (o *Options) check() error {
	size := 0
	for _, list := range [][]string{o.Args, o.Env, o.Protected, o.Readable, {o.Folder, o.Dir}} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return invalid("a text of the command has a NUL byte", "leave it out")
			}
			size += len(s)
		}
	}
	switch {
	case len(o.Args) == 0 || !path.IsAbs(o.Args[0]):
		return invalid("the command has no absolute path to a program", `set Args, such as "/bin/sh", "-c", "ls"`)
	case size > mostArgs:
		return invalid("the command has more than "+strconv.Itoa(mostArgs)+" bytes", "put long texts into files")
	case o.Dir != "" && !inside(o.Dir):
		return invalid("the working folder leads out of the workspace", "pass a path that is relative to the workspace")
	case o.Least < None || o.Least > Full:
		return invalid("there is no such level", "choose Namespaces or Full")
	}
	for _, p := range o.Protected {
		if !inside(p) {
			return invalid("a protected path leads out of the folder", "pass paths that are relative to it")
		}
	}
	for _, p := range o.Readable {
		if !path.IsAbs(p) || path.Clean(p) == "/" {
			return invalid("a readable folder has no absolute path, or is the whole system", "name the folder that the command needs")
		}
	}
	for _, e := range o.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return invalid("a variable has no name", "pass variables as NAME=value")
		}
	}
	return nil
}

// inside reports whether a relative path stays below its folder. Links are another matter: the command's own mounts keep
// it inside.
func inside(p string) bool {
	p = path.Clean(p)
	return !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../")
}

func invalid(message, hint string) error {
	return &event.Error{Op: "sandbox", Kind: event.ErrInvalid, Message: message, Hint: hint}
}
