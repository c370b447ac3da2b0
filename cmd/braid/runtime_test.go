package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/claude/runner"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
)

// program puts a program called claude on the PATH, a script; none for no script.
func program(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

//nolint:paralleltest // it sets PATH
func TestDoctorLooksForTheClaudeProgram(t *testing.T) {
	for _, c := range []struct {
		script, text string
		level        level
	}{
		{"", "not installed", levelOK},
		{"echo '2.1.332 (Claude Code)'", "the Claude program is 2.1.332", levelOK},
		{"echo '2.0.1 (Claude Code)'", "2.0.1 is older than", levelWarning},
		{"exit 1", "does not tell its version", levelWarning},
	} {
		program(t, c.script)
		p, out, _ := testProcess(t, nil)
		r, _ := examine(t, p, out)
		if f := r.finds("claude", c.level); f == nil || !strings.Contains(f.Text, c.text) || c.level == levelWarning && f.Next == "" {
			t.Errorf("%q gives %+v", c.script, r.Findings)
		}
	}
}

//nolint:paralleltest // it sets PATH
func TestRuntimesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		args   []string
		script string
		kind   event.ErrorKind
		says   string
	}{
		{[]string{"--runtime", "claude"}, "", event.ErrNotFound, "npm install"},
		{[]string{"--runtime", "other"}, "", event.ErrInvalid, "native or claude"},
		{[]string{"--runtime", "claude", "--record", "x"}, "", event.ErrInvalid, "--record"},
		{[]string{"--runtime", "claude", "--server", "http://127.0.0.1:1"}, "", event.ErrInvalid, "--server"},
		{[]string{"--runtime", "claude"}, "echo broken >&2; exit 3", event.ErrModel, "did not start"},
		{[]string{"--runtime", "claude"}, "echo \"error: unknown option '--await-initialize'\" >&2; exit 1", event.ErrUnsupported, "too old"},
	} {
		program(t, c.script)
		p, _, errs := testProcess(t, nil, append([]string{"run", "hi", "--ephemeral"}, c.args...)...)
		if code := p.run(t.Context()); code != c.kind.Info().Exit || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v gives %d and %s", c.args, code, errs)
		}
	}
}

// The program's tools that change something ask, unless a pattern names them.
func TestToolsOfTheClaudeProgramAsk(t *testing.T) {
	t.Parallel()
	m, _ := runner.Claude(runner.Options{})
	s := &conf.Settings{}
	s.Permit = braid.Permissions{Allow: []string{"Ed*"}, Deny: []string{"Write"}}
	if parts := runtimeParts(s, m); len(parts) != 1 || !slices.Equal(s.Permit.Ask, []string{"Bash", "NotebookEdit"}) {
		t.Errorf("%d parts, %q ask", len(parts), s.Permit.Ask)
	}
	if parts := runtimeParts(s, talkative{}); parts != nil {
		t.Error("a model of another kind has parts of the program")
	}
}
