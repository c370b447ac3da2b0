package server_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A connection that net/http closes in the middle of a request waits half a second for the other
// side.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
