package claude

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/braidrun/braid/event"
)

// process is a running program with all that it started.
type process struct {
	cmd *exec.Cmd
	in  *os.File
	out *os.File
	// tree ends what the program started.
	tree tree
	said *lastWords
	// done is closed when the process has ended, and with it, as far as the system permits, all that it started.
	done chan struct{}
	exit *ExitError
	once sync.Once
}

// startProcess starts the program. What it starts must be closed.
func startProcess(c *config) (*process, error) {
	program, err := Find(c.process.path)
	if err != nil {
		return nil, err
	}
	p := &process{done: make(chan struct{}), said: &lastWords{to: c.process.stderr}}
	files, err := p.pipes()
	if err != nil {
		return nil, cannotStart(err)
	}
	started := make(chan error, 1)
	go p.live(func(t tree) *exec.Cmd {
		cmd := exec.Command(program.Path, c.arguments()...) //nolint:gosec,noctx // that is what it is for; the client ends it
		cmd.Dir, cmd.Env = c.process.dir, append(c.environment(os.Environ()), t.env()...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
		return cmd
	}, started)
	err = <-started
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		_ = p.in.Close()
		_ = p.out.Close()
		<-p.said.done
		return nil, cannotStart(err)
	}
	return p, nil
}

func cannotStart(err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the program could not be started",
		Hint: "See that the program and its working folder exist and may be used.", Err: err,
	}
}

// pipes makes the pipes and returns the program's ends.
func (p *process) pipes() (ends [3]*os.File, err error) {
	var errs *os.File
	if ends[0], p.in, err = os.Pipe(); err != nil {
		return ends, err
	}
	if p.out, ends[1], err = os.Pipe(); err != nil {
		closeAll(ends[0], p.in)
		return ends, err
	}
	if errs, ends[2], err = os.Pipe(); err != nil {
		closeAll(ends[0], p.in, p.out, ends[1])
		return ends, err
	}
	p.said.start(errs)
	return ends, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// live starts the process and waits for its end. The kernel may bind a process to the thread that started it, so this
// goroutine keeps its thread until then.
func (p *process) live(command func(tree) *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var err error
	for _, t := range trees() {
		p.tree, p.cmd = t, command(t)
		p.cmd.SysProcAttr = t.attributes()
		if err = p.cmd.Start(); err == nil || !t.mayFail() {
			break
		}
	}
	started <- err
	if err != nil {
		return
	}
	state, _ := p.cmd.Process.Wait() // an error leaves no state
	p.tree.end(p.cmd.Process.Pid)
	select {
	case <-p.said.done:
	case <-time.After(time.Second):
		p.said.stop() // something that the system does not let us end holds the pipe
	}
	p.exit = &ExitError{Code: -1, Stderr: p.said.String()}
	if state != nil {
		p.exit.Code = state.ExitCode()
		if w, ok := state.Sys().(syscall.WaitStatus); ok && signaled(w) {
			p.exit.Signal = signalOf(w)
		}
	}
	close(p.done)
}

// kill ends the process and all that it started, at once. It returns before they have ended: see done.
func (p *process) kill() { p.tree.kill(p.cmd.Process) }

// close ends the program: first by the end of its input, after a grace by a signal, and then by force. It waits for the end.
func (p *process) close(grace time.Duration) {
	p.once.Do(func() { _ = p.in.Close() })
	if p.wait(grace) {
		return
	}
	p.tree.ask(p.cmd.Process)
	if p.wait(grace) {
		return
	}
	p.kill()
	<-p.done
}

func (p *process) wait(d time.Duration) bool {
	if d <= 0 {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// lastWords keeps the end of the program's standard error.
type lastWords struct {
	to   io.Writer
	from *os.File
	done chan struct{}

	mu   sync.Mutex
	text []byte
}

// mostWords is how much of the standard error is kept.
const mostWords = 8 << 10

func (l *lastWords) start(from *os.File) {
	l.from, l.done = from, make(chan struct{})
	go func() {
		defer close(l.done)
		defer from.Close()
		_, _ = io.Copy(l, from) // Write never fails
	}()
}

// Write implements io.Writer.
func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.text = append(l.text, p...)
	if over := len(l.text) - mostWords; over > 0 {
		l.text = append([]byte(nil), l.text[over:]...)
	}
	l.mu.Unlock()
	if l.to != nil {
		_ = guarded("the writer of the standard error", func() error {
			_, err := l.to.Write(p)
			return err
		})
	}
	return len(p), nil
}

// stop ends the reading.
func (l *lastWords) stop() {
	_ = l.from.Close()
	<-l.done
}

// String returns the end of the standard error.
func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
