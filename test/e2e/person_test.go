package e2e

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// person is somebody who uses braid again and again: the same home, the same data.
type person struct {
	t   *testing.T
	env []string
	// data is where their conversations are kept.
	data string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{t: t, env: environment(t)}
	for _, pair := range p.env {
		if home, ok := strings.CutPrefix(pair, "HOME="); ok {
			p.data = filepath.Join(home, ".local", "share", "braid")
		}
	}
	p.env = append(p.env, "XDG_DATA_HOME=") // also on a Mac, where nobody else's data is
	return p
}

// answer is what a command gave.
type answer struct {
	out, errs string
	code      int
}

// says runs braid to its end. input is what it reads.
func (p *person) says(input string, args ...string) answer {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), braid, args...)
	cmd.Env, cmd.Stdin = p.env, strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		p.t.Fatal(err)
	} else if failed && exit.ExitCode() < 0 {
		p.t.Errorf("braid %q: %v", args, exit)
	}
	a := answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	for _, never := range []string{"goroutine ", "SELECT", "SQL logic", "panic"} {
		if strings.Contains(a.errs, never) {
			p.t.Errorf("braid %q shows its inside: %s", args, a.errs)
		}
	}
	return a
}

// wants checks an answer: its exit code, and what is found in it.
func (a answer) wants(t *testing.T, code int, out, errs string) {
	t.Helper()
	if a.code != code || !strings.Contains(a.out, out) || !strings.Contains(a.errs, errs) {
		t.Errorf("exit code %d, want %d with %q and %q:\n%s%s", a.code, code, out, errs, a.out, a.errs)
	}
}
