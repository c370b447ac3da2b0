package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// profileRate is the average number of allocated bytes per sample.
const profileRate = 4096

// profile runs the pair's subject twice, because sampling allocations would change the times: once for
// dir/ID.cpu.pprof, and once for the allocations in dir/ID.allocs.pprof. The latter count from the beginning of the
// process, so read them with "go tool pprof -base dir/ID.allocs-before.pprof dir/ID.allocs.pprof".
func profile(ctx context.Context, dir string, p *scenario.Pair, n int, long time.Duration) error {
	at := func(name string) string { return filepath.Join(dir, p.ID+"."+name+".pprof") }
	if err := profileCPU(ctx, at("cpu"), p, n, long); err != nil {
		return err
	}
	usual := runtime.MemProfileRate
	defer func() { runtime.MemProfileRate = usual }()
	runtime.MemProfileRate = profileRate
	if err := writeAllocs(at("allocs-before")); err != nil {
		return err
	}
	if err := repeat(ctx, &p.Subject, n, long); err != nil {
		return err
	}
	return writeAllocs(at("allocs"))
}

func profileCPU(ctx context.Context, path string, p *scenario.Pair, n int, long time.Duration) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return repeat(ctx, &p.Subject, n, long)
}

func repeat(ctx context.Context, s *scenario.Side, n int, long time.Duration) error {
	for begin := time.Now(); time.Since(begin) < long; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.Do(n); err != nil {
			return err
		}
	}
	return nil
}

func writeAllocs(path string) (err error) {
	runtime.GC() // the profile is that of the last collection
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}
