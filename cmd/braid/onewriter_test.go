package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/grant"
)

// The variables that mark a child process of this test.
const (
	grantingIn = "BRAID_TEST_GRANTING_IN"
	grantingAs = "BRAID_TEST_GRANTING_AS"
	grantsEach = 25
)

// Two processes that store approvals at the same time lose none.
func TestTwoProcessesGrant(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(grantingIn); dir != "" {
		kept := grantsIn(dir)
		for i := range grantsEach {
			if err := kept.Grant(context.Background(), grant.Grant{Agent: os.Getenv(grantingAs), Tool: fmt.Sprint("tool_", i)}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	children := make([]*exec.Cmd, 2)
	outs := make([]bytes.Buffer, len(children))
	for i := range children {
		c := exec.CommandContext(t.Context(), program, "-test.run=^TestTwoProcessesGrant$")
		c.Env = append(os.Environ(), grantingIn+"="+dir, grantingAs+"="+fmt.Sprint("agent", i))
		c.Stdout, c.Stderr = &outs[i], &outs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children[i] = c
	}
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %s", err, outs[i].String())
		}
	}
	list, err := grantsIn(dir).read()
	if err != nil || len(list) != grantsEach*len(children) {
		t.Errorf("%d grants are kept, want %d, %v", len(list), grantsEach*len(children), err)
	}
	// A file that a process left behind blocks nobody.
	if _, err := os.Stat(filepath.Join(dir, grantsFile+".lock")); err != nil {
		t.Error(err)
	}
	if n, err := grantsIn(dir).forget("all"); err != nil || n != len(list) {
		t.Errorf("%d taken back, %v", n, err)
	}
}
