package claude

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/internal/race"
)

// leftBehind waits until a stand-in has told of the processes that have left its session.
func leftBehind(t *testing.T, file string) (pids []int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		text, _ := os.ReadFile(file)
		if len(strings.Fields(string(text))) == 3 {
			return sleepers(t, file)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the stand-in started nothing")
	return nil
}

// sleepers returns the processes, as seen from here, whose environment names the file.
func sleepers(t *testing.T, file string) (pids []int) {
	t.Helper()
	folders, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil || isZombie(pid) {
			continue
		}
		env, _ := os.ReadFile("/proc/" + f.Name() + "/environ")
		if strings.Contains(string(env), "BRAID_STANDIN=tree "+file) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits for the end of the processes.
func gone(t *testing.T, file string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if len(sleepers(t, file)) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("processes %v are left", sleepers(t, file))
}

// Processes that have left the program's session end with it: at Close, at a cancelled context and with a killed owner.
//
//nolint:paralleltest // it sets noNamespace
func TestTheWholeTreeEnds(t *testing.T) {
	for _, without := range []bool{false, true} {
		noNamespace = without
		t.Run(fmt.Sprint("without a namespace ", without), func(t *testing.T) {
			t.Run("close", func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "pids")
				c, err := Open(t.Context(), standing("tree "+file)...)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(leftBehind(t, file)); n != 4 {
					t.Errorf("%d processes run", n)
				}
				if c.process.tree.namespace == without {
					t.Logf("namespace: %v", c.process.tree.namespace)
				}
				_ = c.Close()
				if left := sleepers(t, file); len(left) > 0 {
					t.Errorf("processes %v are left after Close", left)
				}
			})
			t.Run("cancel", func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "pids")
				ctx, cancel := context.WithCancel(t.Context())
				for m, err := range Query(ctx, "go", standing("tree "+file)...) {
					if _, ok := m.(*Assistant); ok {
						leftBehind(t, file)
						cancel()
					}
					_ = err
				}
				cancel()
				if left := sleepers(t, file); len(left) > 0 {
					t.Errorf("processes %v are left after a cancelled query", left)
				}
			})
		})
	}
	noNamespace = false
	t.Run("killed owner", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pids")
		owner := exec.Command(os.Args[0])
		owner.Env = append(os.Environ(), "BRAID_OWNER="+file)
		if err := owner.Start(); err != nil {
			t.Fatal(err)
		}
		n := len(leftBehind(t, file))
		if err := owner.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = owner.Wait()
		if n != 4 {
			t.Errorf("%d processes ran", n)
		}
		gone(t, file)
	})
}

// ownAndHang is a program that owns a client and does nothing more.
func ownAndHang() {
	c, err := Open(context.Background(), standing("tree "+os.Getenv("BRAID_OWNER"))...)
	if err != nil || !c.process.tree.namespace {
		fmt.Fprintln(os.Stderr, "no client, or no namespace:", err)
		os.Exit(1)
	}
	select {}
}

// leaveProcesses starts processes that have left the session and the group, and tells their ids in a file.
func leaveProcesses(file string) {
	var pids []string
	for range 3 {
		cmd := exec.Command("sleep", "300")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		pids = append(pids, fmt.Sprint(cmd.Process.Pid))
	}
	_ = os.WriteFile(file, []byte(strings.Join(pids, " ")), 0o600)
}

// files counts what this process has open.
func files(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// children lists this process's children.
func children(t *testing.T) string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range tasks {
		text, _ := os.ReadFile(f)
		all.Write(text)
	}
	return all.String()
}

// goleak (TestMain) looks for goroutines.
func TestNothingIsLeftAfterManyRuns(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	run := func(i int) {
		mode := []string{"", "garbage", "dies", "slow"}[i%4]
		for m, err := range Query(t.Context(), "go", standing(mode+" ")...) {
			if a, ok := m.(*Assistant); ok && a.Text() == "I begin." {
				break
			}
			_ = err
		}
	}
	for i := range 4 {
		run(i)
	}
	before := files(t)
	runs := 100
	if race.On {
		runs = 12 // a process with the race detector takes long to start
	}
	for i := range runs {
		run(i)
	}
	if after := files(t); after > before {
		t.Errorf("%d files are open, after %d", after, before)
	}
	if c := children(t); c != "" {
		t.Errorf("children are left: %s", c)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}
