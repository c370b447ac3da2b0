package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// plan sets how long to measure.
type plan struct {
	// Passes is the number of measurements of each row. Each pass gives one ratio.
	Passes int
	// Slices is how often the two sides alternate within a pass.
	Slices int
	// Slice is how long one side runs at a time.
	Slice time.Duration
	// Cycles and Every configure the long run.
	Cycles, Every int
	// Hub is how long a pass sends events through the hub.
	Hub time.Duration
	// Server is the number of measurements of each HTTP row.
	Server int
	// Profile is how long a row runs under a profiler.
	Profile time.Duration
}

var (
	fullPlan = plan{
		Passes: 7, Slices: 5, Slice: 15 * time.Millisecond,
		Cycles: 10_000, Every: 1_000, Hub: 2 * time.Second, Server: 3, Profile: 5 * time.Second,
	}
	shortPlan = plan{
		Passes: 3, Slices: 5, Slice: 6 * time.Millisecond,
		Cycles: 10_000, Every: 1_000, Hub: 500 * time.Millisecond, Server: 1, Profile: time.Second,
	}
)

// spread is the median, minimum and maximum of some figures.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spreadOf(v []float64) spread {
	if len(v) == 0 {
		return spread{}
	}
	s := slices.Clone(v)
	slices.Sort(s)
	middle := (s[(len(s)-1)/2] + s[len(s)/2]) / 2
	return spread{Min: s[0], Median: middle, Max: s[len(s)-1]}
}

// cost is the cost of one run of one side.
type cost struct {
	// Name is the side's.
	Name string `json:"name"`
	// NS is the time in nanoseconds, with one figure per pass.
	NS spread `json:"ns"`
	// Allocs and Bytes are the allocations.
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
}

// row is a measured pair.
type row struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Item  string `json:"item,omitempty"`
	Items int    `json:"items,omitempty"`
	Base  cost   `json:"base"`
	// Subject is the measured side. Ratio is its time divided by the base's, with one figure per pass.
	Subject cost   `json:"subject"`
	Ratio   spread `json:"ratio"`
	// CPU is the same ratio in processor time, including the collector. Other jobs on the machine affect it less, and
	// it includes work on other cores. 0 means unknown.
	CPU spread `json:"cpu_ratio"`
}

// timer measures one pair over all passes.
type timer struct {
	pair   *scenario.Pair
	sides  [2]*scenario.Side
	n      [2]int
	ns     [2][]float64
	ratios []float64
	cpu    []float64
	allocs [2]float64
	bytes  [2]float64
}

func newTimer(p *scenario.Pair) *timer {
	return &timer{pair: p, sides: [2]*scenario.Side{&p.Base, &p.Subject}}
}

// pass alternates the two sides and records the ratio of their times. Alternating spreads other load on the machine
// evenly over both.
func (t *timer) pass(ctx context.Context, pl plan, number int) error {
	for i, s := range t.sides {
		if t.n[i] > 0 {
			continue
		}
		n, err := calibrate(s, pl.Slice)
		if err != nil {
			return err
		}
		t.n[i] = n
		if t.allocs[i], t.bytes[i], err = allocated(s, n); err != nil {
			return err
		}
	}
	var each [2][]sliceTime
	for k := range pl.Slices {
		for turn := range t.sides {
			if err := ctx.Err(); err != nil {
				return err
			}
			// The first side changes from slice to slice and pass to pass.
			i := (turn + k + number) % len(t.sides)
			took, err := slice(t.sides[i], t.n[i], pl.Slice)
			if err != nil {
				return err
			}
			each[i] = append(each[i], took)
		}
	}
	wall := func(t sliceTime) time.Duration { return t.took }
	cpu := func(t sliceTime) time.Duration { return t.cpu }
	base, subject := perRun(each[0], wall), perRun(each[1], wall)
	t.ns[0], t.ns[1] = append(t.ns[0], base), append(t.ns[1], subject)
	t.ratios = append(t.ratios, subject/base)
	if used := perRun(each[0], cpu); used > 0 {
		t.cpu = append(t.cpu, perRun(each[1], cpu)/used)
	}
	return nil
}

func (t *timer) row() row {
	cost := func(i int) cost {
		return cost{Name: t.sides[i].Name, NS: spreadOf(t.ns[i]), Allocs: t.allocs[i], Bytes: t.bytes[i]}
	}
	p := t.pair
	return row{
		ID: p.ID, Name: p.Name, Item: p.Item, Items: p.Items,
		Base: cost(0), Subject: cost(1), Ratio: spreadOf(t.ratios), CPU: spreadOf(t.cpu),
	}
}

// calibrate returns how many runs take about one slice.
func calibrate(s *scenario.Side, slice time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		if s.Most > 0 && n >= s.Most {
			return s.Most, s.Do(s.Most)
		}
		run := s.Batch(n)
		begin := time.Now()
		err := s.Check(n, run)
		if err != nil {
			return 0, err
		}
		if took := time.Since(begin); took >= slice/2 {
			return max(1, int(float64(n)*float64(slice)/float64(took))), nil
		}
	}
}

// sliceTime is the time of one slice.
type sliceTime struct {
	took time.Duration
	cpu  time.Duration
	runs int
}

// perRun returns the time of one run in nanoseconds: the median of the slices, which a moment of another job does not
// change.
func perRun(slices []sliceTime, figure func(sliceTime) time.Duration) float64 {
	each := make([]float64, len(slices))
	for i, t := range slices {
		each[i] = float64(figure(t).Nanoseconds()) / float64(t.runs)
	}
	return spreadOf(each).Median
}

// slice runs batches of n runs until they, or their preparation, have taken long enough. If a side allows only small
// batches, the collector runs before the clock starts, and not during the batch. So these rows show a run's own cost,
// and the table shows its allocations beside it.
func slice(s *scenario.Side, n int, long time.Duration) (sliceTime, error) {
	runtime.GC() // do not collect the other side's garbage
	var t sliceTime
	for begin := time.Now(); t.took < long*3/4 && time.Since(begin) < 5*long; {
		run := s.Batch(n)
		if s.Most > 0 {
			runtime.GC()
		}
		start, used := time.Now(), cpuTime()
		err := s.Check(n, run)
		t.cpu += cpuTime() - used
		t.took += time.Since(start)
		if err != nil {
			return t, err
		}
		t.runs += n
	}
	return t, nil
}

// allocated returns the allocations of one run. It is separate from the timing, because reading the counters stops
// the world.
func allocated(s *scenario.Side, n int) (count, bytes float64, err error) {
	run := s.Batch(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = s.Check(n, run)
	runtime.ReadMemStats(&after)
	per := func(a, b uint64) float64 { return float64(a-b) / float64(n) }
	return per(after.Mallocs, before.Mallocs), per(after.TotalAlloc, before.TotalAlloc), err
}
