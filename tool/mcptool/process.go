package mcptool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
)

const (
	// stderrBytes is how much of a child's last words is kept.
	stderrBytes = 8 << 10
	// linger is how long a dead child's output is still read: what inherited it
	// may hold it open for ever.
	linger = 500 * time.Millisecond
)

// process is a child that was started as the leader of a group of its own.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *tail
	// exited is closed when the child has been waited for and its group is gone.
	exited chan struct{}
	// drained is closed when nothing more is to be read.
	drained   chan struct{}
	drainOnce sync.Once
	endOnce   sync.Once
	grace     time.Duration
	// strays are what the child had started in other groups when it was to end.
	strays   []stray
	straysMu sync.Mutex
	// tooLarge is set when the child was ended because of what it sent.
	tooLarge atomic.Bool
}

// start starts a server's command.
func start(c *Config, o *Options) (*process, error) {
	path, err := find(c)
	if err != nil {
		return nil, err
	}
	p := &process{
		stderr: &tail{max: stderrBytes}, grace: o.Grace,
		exited: make(chan struct{}), drained: make(chan struct{}),
	}
	p.cmd = &exec.Cmd{
		Path: path, Args: append([]string{c.Command}, c.Args...), Env: environment(c, o), Dir: c.Dir,
		Stderr: p.stderr, SysProcAttr: ownGroup(), WaitDelay: linger,
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, cannotStart(c, err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, cannotStart(c, errors.Join(err, in.Close(), stdin.Close()))
	}
	p.stdin, p.stdout, p.cmd.Stdin, p.cmd.Stdout = stdin, stdout, in, out
	err = p.cmd.Start()
	// The child has its own copies by now.
	_, _ = in.Close(), out.Close()
	if err != nil {
		_, _ = stdin.Close(), stdout.Close()
		return nil, cannotStart(c, err)
	}
	go p.wait()
	return p, nil
}

// wait reaps the child, and takes what it started along.
func (p *process) wait() {
	_ = p.cmd.Wait() // how it ended stands in ProcessState
	// A group keeps its number as long as somebody is in it; where nobody is,
	// there is nothing to signal. That the number went to a new group since Wait
	// would take a whole round of the system's process numbers.
	killGroup(p.cmd.Process.Pid)
	p.straysMu.Lock()
	for _, s := range p.strays {
		s.end()
	}
	p.straysMu.Unlock()
	close(p.exited)
	t := time.NewTimer(linger)
	defer t.Stop()
	select {
	case <-p.drained:
	case <-t.C:
	}
	_ = p.stdout.Close()
	_ = p.stdin.Close()
}

// end ends the child in the order that the protocol asks for: its input is
// closed, then it is told to end, then it is killed; the latter two with all that
// it started. It returns at once; exited tells when it is done.
func (p *process) end() {
	p.endOnce.Do(func() {
		p.findStrays()
		_ = p.stdin.Close()
		go func() {
			if p.within(p.grace) {
				return
			}
			terminateGroup(p.cmd.Process)
			if p.within(p.grace) {
				return
			}
			p.kill()
		}()
	})
}

// findStrays notes what the child has started, while the child is still there to lead to it.
func (p *process) findStrays() {
	p.straysMu.Lock()
	defer p.straysMu.Unlock()
	p.strays = append(p.strays, straysOf(p.cmd.Process.Pid)...)
}

// kill ends the child now.
func (p *process) kill() {
	select {
	case <-p.exited:
	default:
		p.findStrays()
		_ = p.cmd.Process.Kill()
		killGroup(p.cmd.Process.Pid)
	}
}

func (p *process) within(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// drain says that the child's output has come to its end.
func (p *process) drain() { p.drainOnce.Do(func() { close(p.drained) }) }

// gone reports whether the child has ended, and how: "exit status 1".
func (p *process) gone() (how string, ok bool) {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.String(), true
	default:
		return "", false
	}
}

// environment is what the child gets: what may be inherited, then what is listed.
func environment(c *Config, o *Options) []string {
	env := []string{}
	for _, name := range o.Inherit {
		if _, listed := c.Env[name]; listed {
			continue
		}
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range c.Env {
		env = append(env, name+"="+v.Reveal())
	}
	slices.Sort(env)
	return slices.Compact(env)
}

// find looks a command up, where the child would: in the PATH that is listed for
// it, else in this process's own.
func find(c *Config) (string, error) {
	if c.Dir != "" {
		if st, err := os.Stat(c.Dir); err != nil || !st.IsDir() {
			return "", fault(c.Name, event.ErrNotFound, "cannot be started: its folder does not exist",
				`correct "cwd" in its configuration`, err)
		}
	}
	path, listed := c.Env["PATH"]
	var found string
	var err error
	switch {
	case strings.ContainsAny(c.Command, `/\`):
		file := c.Command
		if c.Dir != "" && !filepath.IsAbs(file) {
			// A relative command is meant from the folder that it runs in.
			if file, err = filepath.Abs(filepath.Join(c.Dir, file)); err != nil {
				break
			}
		}
		found, err = exec.LookPath(file)
	case listed && runtime.GOOS != "windows":
		found, err = lookIn(path.Reveal(), c.Command)
	default:
		found, err = exec.LookPath(c.Command)
	}
	if err != nil {
		return "", fault(c.Name, event.ErrNotFound, fmt.Sprintf("cannot be started: there is no command %q", base(c.Command)),
			installHint(base(c.Command)), err)
	}
	return found, nil
}

// lookIn looks for a command in the folders of path. Empty ones mean the current
// folder to a shell, and nothing here.
func lookIn(path, command string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			continue
		}
		if file, err := exec.LookPath(filepath.Join(dir, command)); err == nil {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

// installHint says what to do about a command that is not there.
func installHint(command string) string {
	const or = ", or write the command with its folder"
	switch strings.TrimSuffix(command, ".exe") {
	case "npx", "npm", "node":
		return command + " comes with Node.js: install that" + or
	case "uvx", "uv":
		return command + " comes with uv: install that" + or
	case "python", "python3", "pipx":
		return command + " comes with Python: install that" + or
	case "docker":
		return "install Docker" + or
	}
	return "install it, correct its spelling" + or
}

func cannotStart(c *Config, err error) *event.Error {
	return fault(c.Name, event.ErrUnavailable, "cannot be started", "start its command by hand to see why", err)
}
