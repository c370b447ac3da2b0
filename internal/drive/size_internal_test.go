package drive

import (
	"reflect"
	"strconv"
	"testing"
)

// The runtime gives out memory in sizes. What is made for each call, and for each drive, does not grow into the next one
// unnoticed. 128 bytes less for each call are 2 % of the memory of ten tool cycles (row b of the bench).
func TestMemoryOfCallsAndDrives(t *testing.T) {
	t.Parallel()
	if strconv.IntSize < 64 {
		t.Skip("words are smaller")
	}
	for name, c := range map[string]struct{ is, most uintptr }{
		"a tool call": {reflect.TypeFor[toolWork]().Size(), 696},
		"a drive":     {reflect.TypeFor[driver]().Size(), 2296},
	} {
		if c.is > c.most {
			t.Errorf("%s takes %d bytes, and at most %d fit its size of memory", name, c.is, c.most)
		}
	}
}
