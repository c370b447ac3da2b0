package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// syncsRow counts how often braid serve waits for the disk in a first run.
const syncsRow = "server-syncs"

// errNoTracer skips the row.
var errNoTracer = errors.New("strace is not installed")

// timeSyncs counts the calls with strace. It skips the row without strace.
func timeSyncs(ctx context.Context, opt *options, rep *report, pl plan, at *homes, begin beginSide, show *progress) error {
	if !opt.wants(syncsRow) {
		return nil
	}
	if tracer, _ := exec.LookPath("strace"); tracer == "" {
		rep.skip(syncsRow, scenario.SideServe, errNoTracer)
		return nil
	}
	var counts []float64
	for n := range pl.Server {
		show.say("pass %d of %d: %s", n+1, pl.Server, syncsRow)
		count, err := syncsOfRuns(ctx, at, begin)
		if err != nil {
			return fmt.Errorf("%s: %w", syncsRow, err)
		}
		counts = append(counts, count)
	}
	rep.Served = append(rep.Served, served{Row: syncsRow, Name: "a first run's fsyncs", Side: scenario.SideServe, Syncs: spreadOf(counts)})
	return nil
}

// syncsOfRuns counts over some consecutive first runs, with pauses in which deferred work of a run can finish.
func syncsOfRuns(ctx context.Context, at *homes, begin beginSide) (count float64, err error) {
	const runs, rest = 10, 50 * time.Millisecond
	h, err := at.open(ctx, scenario.SideServe)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	spec := &scenario.Served{Side: scenario.SideServe, Folder: h.folder, Deltas: 20}
	proc, err := begin(ctx, spec, "")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, proc.end()) }()
	all, err := h.readers(ctx, spec, proc, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeLoaders(all)) }()
	l := all[0]
	if err := errors.Join(l.run(0), l.prepare(runs)); err != nil {
		return 0, err
	}
	calls := filepath.Join(h.folder, "calls")
	tracer := exec.CommandContext(ctx, "strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", calls, //nolint:gosec // a file of ours
		"-p", strconv.Itoa(proc.pid))
	if err := tracer.Start(); err != nil {
		return 0, err
	}
	time.Sleep(10 * rest) // until it has attached to all threads
	for range runs {
		if err := l.run(0); err != nil {
			return 0, err
		}
		time.Sleep(rest)
	}
	_ = tracer.Process.Signal(os.Interrupt)
	_ = tracer.Wait() // the signal ends it
	found, err := os.ReadFile(calls)
	return float64(bytes.Count(found, []byte("sync("))) / runs, err
}
