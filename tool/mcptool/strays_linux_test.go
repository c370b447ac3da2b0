package mcptool_test

import (
	"os/exec"
	"testing"
)

// A process that a program has started in a session of its own ends with the program.
func TestWhatLeavesItsGroupEndsToo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid here")
	}
	s := connect(t, patient(), program(t, "runaway"))
	runaway := number(t, text(t, s, "call", "{}"))
	if !running(runaway) {
		t.Fatal("there is no process")
	}
	_ = s.Close()
	eventually(t, "the process is gone", func() bool { return !running(runaway) || zombie(runaway) })
}
