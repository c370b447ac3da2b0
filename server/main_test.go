package server_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(lingering{m}) }

// lingering waits after the tests for what net/http does: a connection that it closes
// in the middle of a request waits half a second for the other side.
type lingering struct{ *testing.M }

func (l lingering) Run() int {
	defer time.Sleep(600 * time.Millisecond)
	return l.M.Run()
}
