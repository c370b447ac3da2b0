package service

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// Once many runs have begun and no more do, memory goes back to the system: once, and not before.
func TestMemoryIsReturnedWhenManyRunsHaveBegun(t *testing.T) { //nolint:paralleltest // it counts the process's collections
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(0)
		m.Collect(false)
		step := func(runs int) (collected bool) {
			before := collections()
			for range runs {
				m.began()
			}
			time.Sleep(quietTime)
			synctest.Wait()
			return collections() > before
		}
		step(0)
		for i := range 5 {
			if step(manyRuns) {
				t.Errorf("memory was returned in period %d, while runs began", i)
			}
		}
		if !step(0) {
			t.Error("memory was not returned once no run began")
		}
		if step(0) || step(manyRuns/2) || step(0) || step(0) {
			t.Error("memory was returned although few runs had begun")
		}
		if step(manyRuns) {
			t.Error("memory was returned while runs began")
		}
		if !step(0) {
			t.Error("memory was not returned the second time")
		}
	})
}
