package main

import "github.com/braidrun/braid/bench/scenario"

// promise is one promised figure: its hard limit (must), its target (aim), and what a prototype reached. 0 means no
// figure.
type promise struct {
	Work      string
	Unit      string
	Must      float64
	Aim       float64
	Prototype float64
	find      finder
	// row is the id of the row whose ratio is the figure; "" if it is not a ratio.
	row string
}

// verdict is a promise with the measured figure.
type verdict struct {
	Work   string `json:"work"`
	Unit   string `json:"unit"`
	Figure spread `json:"figure"`
	// CPU is the figure in processor time, if it is a ratio of times. The mark ignores it.
	CPU       spread  `json:"cpu,omitzero"`
	Must      float64 `json:"must,omitempty"`
	Aim       float64 `json:"aim,omitempty"`
	Prototype float64 `json:"prototype,omitempty"`
	Mark      mark    `json:"mark"`
}

// mark compares a figure with its promise. It is information only: nothing fails on it.
type mark string

const (
	// markOK is at or below the aim, or the must if there is no aim.
	markOK mark = "OK"
	// markNear is above the aim in most passes but not all, which may be noise.
	markNear mark = "OK, near aim"
	// markOverAim meets the must but not the aim.
	markOverAim mark = "over aim"
	// markOver breaks the must.
	markOver mark = "OVER MUST"
)

func judge(figure spread, must, aim float64) mark {
	switch {
	case must > 0 && figure.Median > must:
		return markOver
	case aim <= 0 || figure.Median <= aim:
		return markOK
	case figure.Min <= aim:
		return markNear
	default:
		return markOverAim
	}
}

func promises() []promise {
	const ratio, micros, bytes = "×", "µs", "B"
	return append([]promise{
		{Work: "a: 500 streamed deltas", Unit: ratio, Must: 2.5, Aim: 1.0, Prototype: 0.6, find: ratioOf("a"), row: "a"},
		{Work: "a: allocations a delta", Must: 3, Aim: 1.2, Prototype: 0.14, find: allocsOf("a")},
		{Work: "b: 10 tool cycles", Unit: ratio, Must: 5, Aim: 2.5, Prototype: 2.0, find: ratioOf("b"), row: "b"},
		{Work: "b: 10 to 100 cycles, time", Unit: ratio, Must: 12, Aim: 10.5, find: ratioOf("b-growth"), row: "b-growth"},
		{Work: "c: 32 parallel tools", Unit: ratio, Must: 2.5, Aim: 1.8, Prototype: 2.2, find: ratioOf("c"), row: "c"},
		{Work: "d: agent, tool ready", Unit: micros, Must: 1, find: microsOf("d")},
		{Work: "d: the same, to the floor", Unit: ratio, Aim: 2, find: ratioOf("d"), row: "d"},
		{Work: "d: the same, bytes kept", Unit: bytes, Must: 1024, find: keptOf(
			func(k *scenario.Kept) int64 { return k.Braid },
		)},
		{Work: "d: agent and tool, known type", Unit: micros, Must: 5, Aim: 1, Prototype: 0.4, find: microsOf("d-tool")},
		{Work: "d: the same, bytes kept", Unit: bytes, Must: 2048, find: keptOf(
			func(k *scenario.Kept) int64 { return k.BraidTool },
		)},
		{Work: "d: a tool of a new type", Unit: micros, Must: 50, find: firstTimes},
		{Work: "e: a turn after 1000 messages", Unit: micros, Must: 20, Aim: 5, Prototype: 3.2, find: microsOf("e-1000")},
		{Work: "e: 10 to 10000 messages, time", Unit: ratio, Must: 1.5, Aim: 1.0, Prototype: 1.0, find: ratioOf("e-growth"), row: "e-growth"},
		{Work: "e: open 10000 messages by id, memory", Unit: micros, Must: 3000, find: microsOf("e-open-memory")},
		{Work: "e: the same, SQLite", Unit: micros, Must: 3000, find: microsOf("e-open-sqlite")},
		{Work: "e: the same, SQLite, compacted", Unit: micros, Must: 3000, find: microsOf("e-open-sqlite-compacted")},
		{Work: "e: the same, PostgreSQL", Unit: micros, Must: 3000, find: microsOf("e-open-postgres")},
		{Work: "e: the same, SQLite, bytes allocated", Unit: bytes, Must: 1 << 20, find: bytesOf("e-open-sqlite")},
		{Work: "e: the same, PostgreSQL, bytes allocated", Unit: bytes, Must: 1 << 20, find: bytesOf("e-open-postgres")},
		{Work: "f: a turn in SQLite, warm", Unit: ratio, Must: 2, Aim: 1.5, Prototype: 1.7, find: ratioOf("f-warm"), row: "f-warm"},
		{Work: "f: the same, cold", Unit: ratio, Must: 2, Prototype: 1.7, find: ratioOf("f-cold"), row: "f-cold"},
		{Work: "f: 10 to 10000 events, warm", Unit: ratio, Must: 1.5, Aim: 1.0, Prototype: 1.0, find: ratioOf("f-growth-warm"), row: "f-growth-warm"},
		{Work: "f: 10 to 10000 events, cold", Unit: ratio, Must: 2, find: ratioOf("f-growth-cold"), row: "f-growth-cold"},
		// This is 20,000 events a second.
		{Work: "g: an event of 1 KiB, 64 drivers at once", Unit: micros, Must: 50, find: microsEach("g")},
		{Work: "h: a step in SQLite, to its bare commit", Unit: ratio, Must: 1.5, find: ratioOf("h"), row: "h"},
		{Work: "i: 500 deltas driven into a hub", Unit: ratio, Must: 2.5, find: ratioOf("i"), row: "i"},
		{Work: "p: 100 agents in parallel", Unit: ratio, Must: 3, find: ratioOf("p"), row: "p"},
		{Work: "p: an agent below ten sequences", Unit: ratio, Must: 3, find: ratioOf("p-nested"), row: "p-nested"},
		{Work: "p: a graph of 1000 nodes", Unit: ratio, Must: 3, find: ratioOf("p-graph"), row: "p-graph"},
		{Work: "p: a graph, 100 to 1000 nodes, time", Unit: ratio, Must: 12, find: ratioOf("p-graph-growth"), row: "p-graph-growth"},
		{Work: "p: a map over 10000 items", Unit: ratio, Must: 3, find: ratioOf("p-map"), row: "p-map"},
		{Work: "p: a map, 1000 to 10000 items, time", Unit: ratio, Must: 12, find: ratioOf("p-map-growth"), row: "p-map-growth"},
		{Work: "hub: p99 at 5000 events/s, 1000 conversations", Unit: micros, Must: 1000, find: hubTail},
		// Flat has no promised figure. The noise of growing slices in a thousand cycles is up to a quarter.
		{Work: "10000 cycles: heap a cycle, whole run to first tenth", Unit: ratio, Must: 1.25, find: enduranceOf(heapGrowth)},
		{Work: "10000 cycles: stack depth, last to first", Unit: ratio, Must: 1, find: enduranceOf(depthGrowth)},
	}, serverPromises()...)
}

func (r *report) verdicts() []verdict {
	var out []verdict
	for _, p := range promises() {
		figure, ok := p.find(r)
		if !ok {
			continue
		}
		v := verdict{
			Work: p.Work, Unit: p.Unit, Figure: figure, Must: p.Must, Aim: p.Aim,
			Prototype: p.Prototype, Mark: judge(figure, p.Must, p.Aim),
		}
		if p.row != "" {
			v.CPU, _ = ofRow(p.row, func(r *row) spread { return r.CPU })(r)
		}
		out = append(out, v)
	}
	return out
}

// finder returns a figure from the measurements. ok is false if the scenario was left out.
type finder = func(*report) (figure spread, ok bool)

func ofRow(id string, figure func(*row) spread) finder {
	return func(r *report) (spread, bool) {
		for i := range r.Rows {
			if r.Rows[i].ID == id {
				return figure(&r.Rows[i]), true
			}
		}
		return spread{}, false
	}
}

func ratioOf(id string) finder {
	return ofRow(id, func(r *row) spread { return r.Ratio })
}

func microsOf(id string) finder {
	return ofRow(id, func(r *row) spread {
		ns := r.Subject.NS
		return spread{Min: ns.Min / 1e3, Median: ns.Median / 1e3, Max: ns.Max / 1e3}
	})
}

// microsEach returns the time of one of a row's items.
func microsEach(id string) finder {
	return ofRow(id, func(r *row) spread {
		ns, n := r.Subject.NS, 1e3*float64(max(1, r.Items))
		return spread{Min: ns.Min / n, Median: ns.Median / n, Max: ns.Max / n}
	})
}

func hubTail(r *report) (spread, bool) {
	return r.HubTailMicros, r.HubTailMicros.Max > 0
}

func allocsOf(id string) finder {
	return ofRow(id, func(r *row) spread { return exactly(r.Subject.Allocs / float64(r.Items)) })
}

func bytesOf(id string) finder {
	return ofRow(id, func(r *row) spread { return exactly(r.Subject.Bytes) })
}

func keptOf(figure func(*scenario.Kept) int64) finder {
	return func(r *report) (spread, bool) {
		if r.Kept == nil {
			return spread{}, false
		}
		return exactly(float64(figure(r.Kept))), true
	}
}

func firstTimes(r *report) (spread, bool) {
	return r.FirstMicros, r.FirstMicros.Max > 0
}

func enduranceOf(figure func([]scenario.Mark) float64) finder {
	return func(r *report) (spread, bool) {
		if len(r.Endurance.Braid) < 3 {
			return spread{}, false
		}
		return exactly(figure(r.Endurance.Braid)), true
	}
}

// heapGrowth returns the heap per cycle after the whole run, divided by that after its first stretch. Both count from
// the beginning, because a slice that doubles is paid for at once and used for long.
func heapGrowth(marks []scenario.Mark) float64 {
	begin, early, end := marks[0], marks[1], marks[len(marks)-1]
	return float64(end.KeptEach(begin)) / float64(max(1, early.KeptEach(begin)))
}

// depthGrowth compares the number of stack frames between the model's call and the reader.
func depthGrowth(marks []scenario.Mark) float64 {
	early, end := marks[1], marks[len(marks)-1]
	return max(
		float64(end.Frames)/float64(max(1, early.Frames)),
		float64(end.Reader)/float64(max(1, early.Reader)),
	)
}

func exactly(v float64) spread { return spread{Min: v, Median: v, Max: v} }
