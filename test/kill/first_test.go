//go:build unix

package kill

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A process may die while it creates the folder and its files. The next process is not affected.
func TestFirstMoments(t *testing.T) {
	t.Parallel()
	program := built(t)
	seed := number(t, "BRAID_KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("BRAID_KILL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	for range 40 {
		w := newWorld(t, program, "")
		for range 1 + random.IntN(3) {
			w.kill(way{after: spell(random, 25)})
		}
		p := w.start("", lease)
		w.until(p, func() bool { return p.ready })
		if !w.close(p) {
			return
		}
	}
}
