//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel bounds single processes. What all of them use together is bounded by looking at them.
const lookEach = 25 * time.Millisecond

// watcher ends the command when its processes use more than they may.
type watcher struct {
	limits *Limits
	quit   chan struct{}
	done   chan Stop
	// grown says that the folder has grown by more than it may.
	grown atomic.Bool
}

func watch(l *Limits) *watcher {
	w := &watcher{limits: l, quit: make(chan struct{}), done: make(chan Stop, 1)}
	go w.run()
	go w.measure() // ends with the process
	return w
}

// stop ends the watching and returns the limit that was reached.
func (w *watcher) stop() Stop {
	close(w.quit)
	return <-w.done
}

func (w *watcher) run() {
	each := time.NewTicker(lookEach)
	defer each.Stop()
	for {
		select {
		case <-w.quit:
			w.done <- ""
			return
		case <-each.C:
		}
		if why := w.over(); why != "" {
			_ = unix.Kill(-1, unix.SIGKILL)
			<-w.quit
			w.done <- why
			return
		}
	}
}

// over says which limit the processes are above; empty if none.
func (w *watcher) over() Stop {
	if w.grown.Load() {
		return StoppedFolder
	}
	all := processes()
	if len(all) > w.limits.Processes {
		return StoppedProcesses
	}
	var resident int64
	threads, cpu := 0, used()
	for _, pid := range all {
		u := usage(pid)
		threads, resident, cpu = threads+u.threads, resident+u.resident, cpu+u.cpu
	}
	if threads > w.limits.Processes {
		return StoppedProcesses
	}
	if cpu > w.limits.CPU {
		return StoppedCPU
	}
	if resident <= w.limits.Memory {
		return ""
	}
	// Pages that processes share were counted for each of them. This is slower, and exact.
	resident = 0
	for _, pid := range all {
		resident += share(pid)
	}
	if resident > w.limits.Memory {
		return StoppedMemory
	}
	return ""
}

// processes lists the processes of the namespace but for the keeper.
func processes() (list []string) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' && name != "1" {
			list = append(list, name)
		}
	}
	return list
}

// ticks is how many ticks of the processor's clock a second has, in files of /proc on both processors.
const ticks = 100

// use is what a process uses.
type use struct {
	threads  int
	resident int64
	cpu      time.Duration
}

// usage returns what a process uses; nothing for one that has ended.
func usage(pid string) use {
	stat, err := os.ReadFile("/proc/" + pid + "/stat") //nolint:gosec // a number
	if err != nil {
		return use{}
	}
	// The command's name stands in parentheses and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	// Counted from the field behind the name. The four times are its own and those of the children that it has waited for.
	const times, threads, pages = 11, 17, 21
	if len(fields) <= pages {
		return use{}
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(string(fields[i]), 10, 64); return n }
	u := use{threads: int(number(threads)), resident: number(pages) * int64(os.Getpagesize())}
	for i := times; i < times+4; i++ {
		u.cpu += time.Duration(number(i)) * time.Second / ticks
	}
	return u
}

// share returns the memory of a process, with each page that it shares divided among those that share it.
func share(pid string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/smaps_rollup") //nolint:gosec // a number
	if err != nil {
		return usage(pid).resident
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
			n, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return n << 10
		}
	}
	return 0
}
