//go:build unix

package kill

import (
	"testing"

	"github.com/braidrun/braid/test/kill/worker"
)

// The checks find bugs planted in the product, under the promise that they break.
func TestPlanted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it plays worlds until each bug is found")
	}
	program := built(t)
	for bug, c := range map[string]struct {
		breaks promise
		ways   []way
	}{
		"acknowledged before it is written": {kept, []way{{point: "worker/obeyed", at: 2}, {point: "worker/obeyed", at: 3}}},
		"tool run twice":                    {once, nil},
		"run before commit":                 {once, []way{{point: "drive/commit", at: 4}, {point: "drive/commit", at: 5}}},
		"asked taken for begun":             {effects, []way{{point: "tool/asked", at: 3}, {point: "drive/sent", at: 40}}},
		"send before commit":                {dense, []way{{point: "drive/commit", at: 3}, {point: "drive/commit", at: 6}}},
		"usage twice":                       {billed, nil},
		"compacted twice":                   {once, nil},
		"message lost":                      {kept, nil},
		"message twice":                     {kept, nil},
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			caught(t, program, worker.Lie(worker.LiePlanted+bug), c.breaks, c.ways)
		})
	}
}
