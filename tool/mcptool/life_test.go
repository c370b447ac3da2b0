package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// eventually waits for what another process does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(30 * time.Second)
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("still not: %s", what)
		}
	}
}

// moment lets news travel that nothing here can see arrive: the end of a
// connection that is not in use.
func moment(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKilledBetweenCallsItIsStartedAgain(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sdk", "old"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := connect(t, patient(), program(t, mode))
			first := number(t, text(t, s, "pid", "{}"))
			if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			// It is dead, whether that was noticed here or not.
			eventually(t, "the program is dead", func() bool { return !running(first) })
			second := number(t, text(t, s, "pid", "{}"))
			if second == first {
				t.Fatal("a dead program answers")
			}
			if err := syscall.Kill(second, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the death is noticed", func() bool { return s.Status()[0].State == mcptool.StateFailed })
			third := number(t, text(t, s, "pid", "{}"))
			if third == second || s.Status()[0].State != mcptool.StateConnected {
				t.Errorf("third program %d after %d, %+v", third, second, s.Status()[0])
			}
		})
	}
}

func TestKilledInTheMiddleOfACallIsInDoubt(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sdk", "old"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := connect(t, patient(), program(t, mode))
			_, err := call(t, s, "die", "{}")
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != event.ErrUnavailable ||
				!strings.Contains(e.Message, "ended (signal: killed) while the tool ran; it may have taken effect or not") {
				t.Errorf("the error is %v", err)
			}
			if !strings.Contains(mcptool.Stderr(err), "about to die") || strings.Contains(e.Error(), "about to die") {
				t.Errorf("the last words are %q, the text %q", mcptool.Stderr(err), e.Error())
			}
			if got := text(t, s, "echo", `{"a":1}`); got != `{"a":1}` {
				t.Errorf("afterwards echo gives %q", got)
			}
		})
	}
}

// A tool that may be repeated is repeated; each time its server dies, though, so
// that the bound is what ends it.
func TestAProgramThatKeepsEndingIsLeftAlone(t *testing.T) {
	t.Parallel()
	o := patient()
	o.Restarts = 2
	s := connect(t, o, program(t, "sdk"))
	var err error
	for range 4 {
		_, err = call(t, s, "die", "{}")
		if err == nil {
			t.Fatal("died without an error")
		}
	}
	var e *event.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "ended 3 times within a minute") || e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatCannotBeStartedIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		config mcptool.Config
		kind   event.ErrorKind
		want   string
		hint   string
		stderr string
	}{
		"no command": {
			config: mcptool.Config{Name: "x", Command: "no-such-command-anywhere"}, kind: event.ErrNotFound,
			want: `there is no command "no-such-command-anywhere"`, hint: "install it",
		},
		"no file": {
			config: mcptool.Config{Name: "x", Command: filepath.Join(dir, "secret-folder", "npx")}, kind: event.ErrNotFound,
			want: `there is no command "npx"`, hint: "Node.js",
		},
		"not in its own path": {
			config: mcptool.Config{Name: "x", Command: "sleep", Env: hidden(map[string]string{"PATH": dir + string(filepath.ListSeparator)})},
			kind:   event.ErrNotFound, want: `there is no command "sleep"`, hint: "install it",
		},
		"no folder": {
			config: mcptool.Config{Name: "x", Command: "sleep", Dir: filepath.Join(dir, "gone")}, kind: event.ErrNotFound,
			want: "its folder does not exist", hint: "cwd",
		},
		"ends at once": {
			config: program(t, "exit"), kind: event.ErrUnavailable, want: "ended (exit status 3)", hint: "log",
			stderr: "cannot find my configuration",
		},
		"floods and ends": {
			config: program(t, "flood-exit"), kind: event.ErrUnavailable, want: "ended (exit status 1)", hint: "log",
			stderr: "these are the last words",
		},
		"no server": {config: mcptool.Config{Name: "x", Command: "true"}, kind: event.ErrUnavailable, want: "ended (exit status 0)", hint: "log"},
		"garbage":   {config: program(t, "garbage"), kind: event.ErrTooLarge, want: "more than 16777216 bytes", hint: "less"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := mcptool.Connect(t.Context(), patient(), c.config)
			if s != nil {
				t.Error("there are servers in spite of the error")
			}
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Fatalf("the error is %v (%v)", err, event.KindOf(err))
			}
			if strings.Contains(err.Error(), dir) {
				t.Errorf("the error shows a path: %v", err)
			}
			if got := mcptool.Stderr(err); !strings.Contains(got, c.stderr) || len(got) > 9<<10 {
				t.Errorf("the last words are %d bytes: %.100q", len(got), got)
			}
		})
	}
}

func TestServersWithBadManners(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"noisy", "flood", "binary-lines", "legacy-only", "family"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := connect(t, patient(), program(t, mode))
			if got := text(t, s, "call", "{}"); got != "called call" && mode != "family" {
				t.Errorf("the tool says %q", got)
			}
		})
	}
}

// A server that leaves what it does not know unanswered gets the older greeting.
func TestTheNewerGreetingIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	s := connect(t, patient(), program(t, "mute"))
	if st := s.Status()[0]; st.Protocol != "2025-11-25" || st.Tools == 0 {
		t.Errorf("status is %+v", st)
	}
}

func TestProtocolCanBeFixed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		o := patient()
		o.Protocol = version
		s := connect(t, o, program(t, "sdk"))
		if st := s.Status()[0]; st.Protocol != version {
			t.Errorf("asked for %s, status is %+v", version, st)
		}
		if got := text(t, s, "echo", `{"n":1}`); got != `{"n":1}` {
			t.Errorf("%s: echo gives %q", version, got)
		}
	}
}

func TestAServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	o := patient()
	o.ConnectTimeout, o.Grace = 300*time.Millisecond, time.Hour // which is longer than go test waits
	_, err := mcptool.Connect(t.Context(), o, program(t, "silent"))
	if event.KindOf(err) != event.ErrTimeout || !strings.Contains(err.Error(), "did not answer its greeting within 300ms") {
		t.Errorf("the error is %v", err)
	}
}

func TestACallHasItsTime(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			o := patient()
			o.CallTimeout = 300 * time.Millisecond
			s := connect(t, o, w.config(t))
			_, err := call(t, s, "slow", "{}")
			if event.KindOf(err) != event.ErrTimeout || !strings.Contains(err.Error(), "did not answer within 300ms") {
				t.Errorf("the error is %v (%v)", err, cause(err))
			}
			if got := text(t, s, "echo", "{}"); got != "{}" {
				t.Errorf("afterwards echo gives %q", got)
			}
		})
	}
}

// slowly makes a call that has begun and does not end.
func slowly(ctx context.Context, t *testing.T, s *mcptool.Servers) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	one := toolOf(t, s, "slow")
	go func() {
		_, err := one.Call(ctx, nil)
		ended <- err
	}()
	if got := text(t, s, "begun", "{}"); got != "begun" {
		t.Fatalf("begun gives %q", got)
	}
	return ended
}

func TestACancelledCallIsCancelledAtTheServer(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, patient(), w.config(t))
			ctx, cancel := context.WithCancel(t.Context())
			ended := slowly(ctx, t, s)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			if got := text(t, s, "cancelled", "{}"); got != "1" {
				t.Errorf("%s calls were cancelled at the server", got)
			}
		})
	}
}

// Nobody reads the pipe: a call must end all the same, and so must closing.
func TestAServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	o := patient()
	o.Grace = 50 * time.Millisecond
	s := connect(t, o, program(t, "deaf"))
	one := toolOf(t, s, "call")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	big := []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 3 {
		go func() {
			_, err := one.Call(ctx, big)
			ended <- err
		}()
	}
	time.AfterFunc(100*time.Millisecond, cancel)
	for range 3 {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("a call succeeded")
			}
		case <-time.After(time.Minute):
			t.Fatal("a call hangs")
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAMessageOfAHundredMegabytes(t *testing.T) {
	t.Parallel()
	s := connect(t, patient(), program(t, "huge"))
	_, err := call(t, s, "call", "{}")
	if event.KindOf(err) != event.ErrTooLarge || !strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("the error is %v", err)
	}
	eventually(t, "the program has gone", func() bool { return s.Status()[0].State == mcptool.StateFailed })
	s.Refresh(t.Context())
	if st := s.Status()[0]; st.State != mcptool.StateConnected {
		t.Errorf("afterwards: %+v", st)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	t.Run("a program that ends when its input does", func(t *testing.T) {
		t.Parallel()
		o := patient()
		o.Grace = time.Hour // never needed
		s := connect(t, o, program(t, "sdk"))
		pid := number(t, text(t, s, "pid", "{}"))
		if err := s.Close(); err != nil || running(pid) {
			t.Errorf("closing: %v, running: %v", err, running(pid))
		}
	})
	t.Run("what a program has started", func(t *testing.T) {
		t.Parallel()
		s := connect(t, patient(), program(t, "family"))
		grandchild := number(t, text(t, s, "call", "{}"))
		if !running(grandchild) {
			t.Fatal("there is no grandchild")
		}
		_ = s.Close()
		// It is a zombie until its new parent looks at it.
		eventually(t, "the grandchild is gone", func() bool { return !running(grandchild) || zombie(grandchild) })
	})
	t.Run("a program that will not end", func(t *testing.T) {
		t.Parallel()
		o := patient()
		o.Grace = 100 * time.Millisecond
		s := connect(t, o, program(t, "stubborn"))
		begin := time.Now()
		_ = s.Close()
		if d := time.Since(begin); d < 200*time.Millisecond {
			t.Errorf("it was killed after %v, want after twice the grace", d)
		}
	})
	t.Run("calls in flight", func(t *testing.T) {
		t.Parallel()
		for _, w := range ways() {
			s := connect(t, patient(), w.config(t))
			ended := slowly(t.Context(), t, s)
			one := toolOf(t, s, "slow")
			_ = s.Close()
			select {
			case err := <-ended:
				if event.KindOf(err) != event.ErrGone {
					t.Errorf("%s: the error is %v (%v)", w.name, err, cause(err))
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: the call hangs", w.name)
			}
			_ = s.Close() // twice is once
			if _, err := one.Call(t.Context(), nil); event.KindOf(err) != event.ErrGone {
				t.Errorf("%s: a call after the end gives %v", w.name, err)
			}
		}
	})
}

// zombie reports whether a process has ended and only waits to be looked at.
func zombie(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(raw), ") Z ")
}

// It changes this process's environment, so it runs alone.
func TestAChildGetsOnlyTheListedEnvironment(t *testing.T) {
	t.Setenv("SECRET_KEY", "not for children")
	t.Setenv("LANG", "C.UTF-8")
	look := func(o mcptool.Options, extra map[string]string) []string {
		s := connect(t, o, with(program(t, "sdk"), extra))
		return strings.Split(text(t, s, "env", "{}"), "\n")
	}
	for _, line := range look(patient(), map[string]string{"MINE": "a b"}) {
		name, value, _ := strings.Cut(line, "=")
		switch {
		case name == "MCPTOOL_CHILD", name == "GORACE", name == "MINE" && value == "a b", slices.Contains(mcptool.DefaultInherit(), name):
		default:
			t.Errorf("the child has %q", line)
		}
	}
	for _, value := range []string{"A", "xx"} {
		env := look(patient(), map[string]string{"LANG": value})
		if !slices.Contains(env, "LANG="+value) || slices.Contains(env, "LANG=C.UTF-8") {
			t.Errorf("what is listed does not count: %q", env)
		}
	}
	o := patient()
	o.Inherit = []string{"SECRET_KEY"}
	if env := look(o, nil); !slices.Equal(env, []string{"GORACE=atexit_sleep_ms=0", "MCPTOOL_CHILD=sdk", "SECRET_KEY=not for children"}) {
		t.Errorf("with a list of one: %q", env)
	}
	o.Inherit = []string{}
	if env := look(o, nil); !slices.Equal(env, []string{"GORACE=atexit_sleep_ms=0", "MCPTOOL_CHILD=sdk"}) {
		t.Errorf("with an empty list: %q", env)
	}
}

// Many calls, and a server that is killed again and again in the middle of them:
// each ends with its own answer or says that it is in doubt.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	o := patient()
	o.Restarts = 1000
	s := connect(t, o, program(t, "sdk"))
	echo, pid := toolOf(t, s, "echo"), toolOf(t, s, "pid")
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	var answered, doubted atomic.Int64
	for i := range 8 {
		wait.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				want := fmt.Sprintf(`{"i":%d,"n":%d}`, i, n)
				out, err := echo.Call(t.Context(), json.RawMessage(want))
				switch {
				case err == nil && event.TextOf(out.Content) == want:
					answered.Add(1)
				case event.KindOf(err) == event.ErrUnavailable:
					doubted.Add(1)
				default:
					t.Errorf("asked %s, got %+v, %v", want, out, err)
				}
			}
		})
	}
	for range 10 {
		out, err := pid.Call(t.Context(), nil)
		if err != nil {
			t.Errorf("pid: %v", err)
			break
		}
		before := answered.Load()
		eventually(t, "there are answers", func() bool { return answered.Load() > before })
		_ = syscall.Kill(number(t, event.TextOf(out.Content)), syscall.SIGKILL)
		eventually(t, "it is dead", func() bool { return !running(number(t, event.TextOf(out.Content))) })
	}
	stop()
	wait.Wait()
	if answered.Load() == 0 || doubted.Load() == 0 {
		t.Errorf("%d calls were answered, %d in doubt", answered.Load(), doubted.Load())
	}
}
