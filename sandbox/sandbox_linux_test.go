//go:build amd64 || arm64

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/sandbox"
)

// need skips a test where the system gives no full sandbox. On the project's own machines that is a failure.
func need(tb testing.TB) {
	tb.Helper()
	r := sandbox.Probe(context.Background())
	if r.Level == sandbox.Full {
		return
	}
	message := fmt.Sprintf("this system gives sandboxes of the level %s: %s (%s)", r.Level, r.Why, r.Next)
	if os.Getenv("CI") != "" {
		tb.Fatal(message)
	}
	tb.Skip(message)
}

// shell runs a command of the shell.
func shell(tb testing.TB, o sandbox.Options, command string) sandbox.Result {
	tb.Helper()
	o.Args = []string{"/bin/sh", "-c", command}
	r, err := sandbox.Run(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	if r.Level != sandbox.Full {
		tb.Errorf("the level is %s", r.Level)
	}
	return r
}

// attacker returns a folder with the attacking program, and the options to run it there.
func attacker(tb testing.TB, args ...string) (folder string, o sandbox.Options) {
	tb.Helper()
	need(tb)
	folder = tb.TempDir()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "attacker"), data, 0o700)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return folder, sandbox.Options{Folder: folder, Args: append([]string{sandbox.Workspace + "/attacker", "inside"}, args...)}
}

// silent runs an attack that is to reach nothing.
func silent(tb testing.TB, o sandbox.Options) {
	tb.Helper()
	r, err := sandbox.Run(context.Background(), o)
	if err != nil || r.Code != 0 || len(r.Output) > 0 {
		tb.Errorf("%v: exit %d, signal %d, %v\n%s", o.Args[1:], r.Code, r.Signal, err, r.Output)
	}
}

func TestACommandWorksInItsFolder(t *testing.T) {
	t.Parallel()
	need(t)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := shell(t, sandbox.Options{Folder: folder, Dir: "sub", Env: []string{"NAME=value", "LANG=C"}},
		`pwd; echo "$NAME $LANG $HOME"; id -un; hostname; echo out; echo err >&2; echo text > file; echo scratch > /tmp/x; cat /dev/shm/x; exit 7`)
	want := "/workspace/sub\nvalue C /tmp\nagent\nsandbox\nout\nerr\nscratch\n"
	if string(r.Output) != want || r.Code != 7 || r.Signal != 0 || r.Stopped != "" || r.Omitted != 0 {
		t.Errorf("got %q, %+v", r.Output, r)
	}
	info, err := os.Stat(filepath.Join(folder, "sub/file"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() {
		t.Errorf("the new file belongs to %d", owner)
	}
	if r := shell(t, sandbox.Options{}, "pwd; ls /workspace"); !strings.HasPrefix(string(r.Output), "/tmp\n") || r.Code == 0 {
		t.Errorf("without a folder: %q", r.Output)
	}
	if r := shell(t, sandbox.Options{}, "kill -ABRT $$"); r.Signal != int(syscall.SIGABRT) || r.Code != -1 {
		t.Errorf("a signal: %+v", r)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	need(t)
	folder := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	sh := []string{"/bin/sh", "-c", "echo ran"}
	for name, c := range map[string]struct {
		o    sandbox.Options
		kind event.ErrorKind
	}{
		"no such program":         {sandbox.Options{Args: []string{"/bin/none"}}, event.ErrNotFound},
		"no such folder":          {sandbox.Options{Args: sh, Folder: filepath.Join(folder, "none")}, event.ErrNotFound},
		"a file":                  {sandbox.Options{Args: sh, Folder: "/bin/sh"}, event.ErrNotFound},
		"no such working folder":  {sandbox.Options{Args: sh, Folder: folder, Dir: "none"}, event.ErrNotFound},
		"a link that leads out":   {sandbox.Options{Args: sh, Folder: folder, Dir: "link"}, event.ErrNotFound},
		"no such readable folder": {sandbox.Options{Args: sh, Readable: []string{"/none"}}, event.ErrNotFound},
	} {
		r, err := sandbox.Run(t.Context(), c.o)
		if event.KindOf(err) != c.kind || len(r.Output) > 0 {
			t.Errorf("%s: %v, %q", name, err, r.Output)
		}
	}
}

// TestNothingOutsideIsReached by paths, links and the files of other processes.
func TestNothingOutsideIsReached(t *testing.T) {
	t.Parallel()
	folder, o := attacker(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"file": secret, "folder": outside, "up": "../../../../../../" + secret, "proc": "/proc/1/root" + secret} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	o.Args = append(o.Args, "write", secret, outside+"/new", "file", "folder/secret", "folder/new", "up", "proc", "../x", "/x", "/usr/x", "/etc/x",
		"/dev/x", "/proc/x", "/etc/shadow", "/etc/ssh/sshd_config", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/1/environ",
		"/proc/self/root"+secret, "/proc/self/cwd/../"+secret, "/root/.bashrc", "/run/docker.sock", "/sys/kernel/uevent_helper")
	silent(t, o)
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside stand %v, %v", entries, err)
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("the secret is %q, %v", data, err)
	}
}

func TestForbiddenCalls(t *testing.T) {
	t.Parallel()
	_, o := attacker(t, "calls")
	silent(t, o)
}

func TestTheFirstProcessIsOutOfReach(t *testing.T) {
	t.Parallel()
	_, o := attacker(t, "first")
	silent(t, o)
}

func TestNoFileGetsItsOwnersRights(t *testing.T) {
	t.Parallel()
	_, o := attacker(t, "rights", "program")
	silent(t, o)
}

// TestThereIsNoNetwork though servers of this machine listen on every kind of address.
func TestThereIsNoNetwork(t *testing.T) {
	t.Parallel()
	_, o := attacker(t, "connect")
	var listen net.ListenConfig
	var closers []io.Closer
	for _, one := range []string{"tcp=127.0.0.1:0", "tcp=[::1]:0", "unix=@braid-sandbox-" + fmt.Sprint(os.Getpid())} {
		network, address, _ := strings.Cut(one, "=")
		l, err := listen.Listen(t.Context(), network, address)
		if err != nil {
			if strings.Contains(address, "::1") {
				continue // this system has no IPv6
			}
			t.Fatal(err)
		}
		closers = append(closers, l)
		o.Args = append(o.Args, network+"="+l.Addr().String())
	}
	packets, err := listen.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closers = append(closers, packets)
	o.Args = append(o.Args, "udp="+packets.LocalAddr().String(), "tcp=1.1.1.1:53", "tcp=169.254.169.254:80")
	silent(t, o)
	if err := packets.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, _, err := packets.ReadFrom(make([]byte, 10)); err == nil {
		t.Errorf("a packet of %d bytes came out", n)
	}
	for _, c := range closers {
		_ = c.Close()
	}
	_, o = attacker(t, "loopback")
	silent(t, o)
}

// TestSecretsOfTheEnvironment are not in the command's environment, nor in any process that it sees.
func TestSecretsOfTheEnvironment(t *testing.T) {
	need(t)
	t.Setenv("BRAID_SECRET", "canary-4711")
	r := shell(t, sandbox.Options{}, `env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; true`)
	if bytes.Contains(r.Output, []byte("canary-4711")) || !bytes.Contains(r.Output, []byte("HOME=/tmp")) {
		t.Errorf("the command sees %q", r.Output)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	folder, _ := attacker(t)
	busy := `for i in 1 2 3 4; do (while :; do :; done) & done; wait`
	for name, c := range map[string]struct {
		limits  sandbox.Limits
		command string
		stopped sandbox.Stop
		says    string
	}{
		"time":           {sandbox.Limits{Time: 3 * time.Second}, "echo begun; sleep 100", sandbox.StoppedTime, "begun"},
		"processor time": {sandbox.Limits{CPU: 200 * time.Millisecond}, busy, sandbox.StoppedCPU, ""},
		"processor time of processes that have ended": {
			sandbox.Limits{CPU: 300 * time.Millisecond},
			`while :; do (i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done); done`, sandbox.StoppedCPU, "",
		},
		// A bomb that the kernel refuses more processes may die out before the watcher looks; the processes after it stay.
		"a fork bomb":                 {sandbox.Limits{Processes: 50}, `b() { b | b & }; b; sleep 3; (i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done); sleep 100`, sandbox.StoppedProcesses, ""},
		"many threads":                {sandbox.Limits{Processes: 100}, "./attacker inside threads 1000", sandbox.StoppedProcesses, ""},
		"memory in one":               {sandbox.Limits{Memory: 200 << 20}, "./attacker inside memory 300 2>/dev/null || echo refused", "", "refused"},
		"memory in several":           {sandbox.Limits{Memory: 200 << 20}, "for i in 1 2 3 4 5 6; do (head -c 60000000 /dev/zero; sleep 100) | tail > /dev/null & done; wait", sandbox.StoppedMemory, ""},
		"a large file":                {sandbox.Limits{FileSize: 1 << 20}, "dd if=/dev/zero of=large bs=1M count=10 2>/dev/null; wc -c < large", "", "1048576"},
		"the scratch folder":          {sandbox.Limits{Scratch: 1 << 20}, "dd if=/dev/zero of=/dev/shm/x bs=1M count=10 2>/dev/null; wc -c < /tmp/x", "", "1048576"},
		"the folder":                  {sandbox.Limits{Folder: 10 << 20}, "mkdir a; for i in 1 2 3 4 5; do head -c 5000000 /dev/urandom > a/$i; done; sleep 100", sandbox.StoppedFolder, ""},
		"empty files":                 {sandbox.Limits{Folder: 1 << 20}, "mkdir b; i=0; while [ $i -lt 2000 ]; do : > b/$i; i=$((i+1)); done; sleep 100", sandbox.StoppedFolder, ""},
		"folders in each other":       {sandbox.Limits{Folder: 20 << 20}, "(while mkdir c 2>/dev/null; do cd c; done); sleep 100", sandbox.StoppedFolder, ""},
		"open files":                  {sandbox.Limits{Files: 20}, "ulimit -n; ulimit -n 100 || echo refused", "", "20\n"},
		"files in the scratch folder": {sandbox.Limits{Scratch: 1}, "i=0; while true > /tmp/$i; do i=$((i+1)); done 2>/dev/null; echo stopped", "", "stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sandbox.Options{Folder: folder, Limits: c.limits}
			if c.stopped == sandbox.StoppedFolder {
				o.Folder = t.TempDir()
			}
			r := shell(t, o, c.command)
			if r.Stopped != c.stopped || !strings.Contains(string(r.Output), c.says) {
				t.Errorf("stopped by %q, exit %d, signal %d: %.300s", r.Stopped, r.Code, r.Signal, r.Output)
			}
			if c.stopped != "" && r.Code != -1 {
				t.Errorf("a command that was stopped has exit code %d", r.Code)
			}
		})
	}
}

// TestOutputIsBounded though the command writes more than this machine has memory.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	need(t)
	r := shell(t, sandbox.Options{Limits: sandbox.Limits{Output: 1000}}, "echo first; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo last >&2")
	if len(r.Output) > 1100 || !bytes.HasPrefix(r.Output, []byte("first\n")) || !bytes.HasSuffix(r.Output, []byte("last\n")) {
		t.Errorf("got %d bytes: %.100q", len(r.Output), r.Output)
	}
	if r.Omitted != 300000012-1000 {
		t.Errorf("%d bytes are said to be left out", r.Omitted)
	}
}

// pipe makes a named pipe in a folder. What holds it open inside a sandbox is alive as long as the pipe can be read.
func pipe(tb testing.TB, folder string) string {
	tb.Helper()
	name := filepath.Join(folder, "alive")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

// dies waits for the end of all that holds a pipe open, once something does.
func dies(tb testing.TB, name string, then func()) {
	tb.Helper()
	f, err := os.OpenFile(name, os.O_RDONLY, 0) // waits for a writer
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if _, err := r.ReadString('\n'); err != nil {
		tb.Fatal(err)
	}
	then()
	if _, err := r.ReadByte(); err != io.EOF {
		tb.Errorf("a process lives on: %v", err)
	}
}

// daemons leaves processes behind in every way that a shell has.
const daemons = `exec 3>alive; (setsid sh -c 'trap "" HUP TERM INT; sleep 1000; sleep 1000' &) ; nohup sleep 1000 >/dev/null 2>&1 & (sleep 1000 &) ; echo up >&3; `

// TestDaemonsEndWithTheirCommand though they have left its session and hold its output open.
func TestDaemonsEndWithTheirCommand(t *testing.T) {
	t.Parallel()
	need(t)
	folder := t.TempDir()
	name := pipe(t, folder)
	var run sync.WaitGroup
	run.Go(func() {
		if r := shell(t, sandbox.Options{Folder: folder}, daemons+"echo done"); string(r.Output) != "done\n" || r.Code != 0 {
			t.Errorf("got %q, %d", r.Output, r.Code)
		}
	})
	dies(t, name, run.Wait)
}

// TestACancelledCommandEnds with all of its processes.
func TestACancelledCommandEnds(t *testing.T) {
	t.Parallel()
	need(t)
	folder := t.TempDir()
	name := pipe(t, folder)
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() {
		r, err := sandbox.Run(ctx, sandbox.Options{Folder: folder, Args: []string{"/bin/sh", "-c", "echo before; " + daemons + "sleep 1000"}})
		if event.KindOf(err) != event.ErrCancelled || string(r.Output) != "before\n" {
			t.Errorf("got %q, %v", r.Output, err)
		}
	})
	dies(t, name, cancel)
	run.Wait()
	if _, err := sandbox.Run(ctx, sandbox.Options{Args: []string{"/bin/sh"}}); event.KindOf(err) != event.ErrCancelled {
		t.Errorf("after the end: %v", err)
	}
}

// TestAKilledProgramLeavesNothing: SIGKILL gives it no time to end its commands.
func TestAKilledProgramLeavesNothing(t *testing.T) {
	t.Parallel()
	need(t)
	folder := t.TempDir()
	name := pipe(t, folder)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "inside", "run", folder)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dies(t, name, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
}

// runUntilKilled is the program that is killed.
func runUntilKilled(folder string) int {
	_, err := sandbox.Run(context.Background(), sandbox.Options{Folder: folder, Args: []string{"/bin/sh", "-c", daemons + "sleep 1000"}})
	fmt.Fprintln(os.Stderr, "the run has ended:", err)
	return 1
}

func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	need(t)
	folder := t.TempDir()
	for _, dir := range []string{".git/hooks", "a/b"} {
		if err := os.MkdirAll(filepath.Join(folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{".git/config", "a/b/kept"} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	o := sandbox.Options{Folder: folder, Protected: []string{".git", "a/b/kept", "none", "link", "link/passwd"}}
	r := shell(t, o, `echo x > .git/config; echo x > .git/hooks/post-commit; rm -rf .git; mv .git other; mv a other; mv a/b other; rm a/b/kept; echo x > a/b/kept
ln -sf /tmp .git/x; chmod 777 .git; mkdir -p a/b/new && echo made; rm link && echo removed`)
	if got := string(r.Output); !strings.HasSuffix(got, "made\nremoved\n") {
		t.Errorf("got %s", got)
	}
	for _, file := range []string{".git/config", "a/b/kept"} {
		if data, err := os.ReadFile(filepath.Join(folder, file)); err != nil || string(data) != "kept" {
			t.Errorf("%s is %q, %v", file, data, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(folder, ".git")); err != nil || len(entries) != 2 {
		t.Errorf(".git holds %v, %v", entries, err)
	}
	r = shell(t, sandbox.Options{Folder: folder, ReadOnly: true}, "echo x > new; rm -f a/b/kept; ls a/b/kept")
	if _, err := os.Stat(filepath.Join(folder, "new")); err == nil || r.Code != 0 {
		t.Errorf("a folder for reading was changed: %s", r.Output)
	}
}

func TestReadableFolders(t *testing.T) {
	t.Parallel()
	need(t)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := shell(t, sandbox.Options{Readable: []string{other}}, "cat "+other+"/file; echo x > "+other+"/file || echo; ls "+filepath.Dir(other))
	if !strings.HasPrefix(string(r.Output), "text") || r.Code != 0 {
		t.Errorf("got %q", r.Output)
	}
	if data, err := os.ReadFile(filepath.Join(other, "file")); err != nil || string(data) != "text" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

// TestManyAtOnce do not disturb each other.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	need(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			r := shell(t, sandbox.Options{Folder: t.TempDir()}, fmt.Sprintf("echo %d > x; cat x; ls | wc -l; exit %d", i, i))
			if string(r.Output) != fmt.Sprintf("%d\n1\n", i) || r.Code != i {
				t.Errorf("%d: got %q, %d", i, r.Output, r.Code)
			}
		})
	}
	all.Wait()
}
