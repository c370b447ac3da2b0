package meter

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// Runtime adds what Go's runtime says of itself and what the system says of the process, under the names that
// Prometheus' own clients use, so that dashboards find them.
func (s *Set) Runtime() {
	s.Read(
		Metric{
			Name: "go_info", Help: "The version of Go that built the program; always 1.", Kind: KindGauge, Labels: []string{"version"},
			Read: func(put func(float64, ...string)) { put(1, runtime.Version()) },
		},
		One(KindGauge, "go_goroutines", "Goroutines that there are.", func() float64 { return float64(runtime.NumGoroutine()) }),
		One(KindGauge, "go_threads", "Threads of the system that were made.", func() float64 {
			n, _ := runtime.ThreadCreateProfile(nil)
			return float64(n)
		}),
		One(KindGauge, "go_sched_gomaxprocs_threads", "Threads that may run Go code at once.",
			func() float64 { return float64(runtime.GOMAXPROCS(0)) }),
		One(KindGauge, "go_gc_gogc_percent", "How much the heap may grow until it is collected, in percent (GOGC).",
			func() float64 { return sampled("/gc/gogc:percent") }),
		One(KindGauge, "go_gc_gomemlimit_bytes", "The limit of memory that the collector keeps to (GOMEMLIMIT).",
			func() float64 { return sampled("/gc/gomemlimit:bytes") }),
		One(KindGauge, "go_memstats_last_gc_time_seconds", "When garbage was last collected, in seconds since 1970.", func() float64 {
			var stats debug.GCStats
			debug.ReadGCStats(&stats)
			return float64(stats.LastGC.UnixNano()) / 1e9
		}),
	)
	s.add(&family{name: "go_gc_duration_seconds", help: "How long collections of garbage stopped the program.", kind: KindSummary, read: pauses})
	s.memory()
	s.process()
}

// sampled reads one of the runtime's own metrics.
func sampled(name string) float64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return math.NaN()
	}
	return float64(sample[0].Value.Uint64())
}

func pauses(w *writer) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	var lines string
	var linesSb53 strings.Builder
	for i, pause := range stats.PauseQuantiles {
		linesSb53.WriteString(w.line("", "", `quantile="`+number(float64(i)/4)+`"`, pause.Seconds()))
	}
	lines += linesSb53.String()
	lines += w.line("_sum", "", "", stats.PauseTotal.Seconds()) + w.line("_count", "", "", float64(stats.NumGC))
	w.series = append(w.series, series{"", lines})
}

// memory adds the figures of the heap and of what belongs to it.
func (s *Set) memory() {
	for _, m := range []struct {
		kind       Kind
		name, help string
		of         func(*runtime.MemStats) uint64
	}{
		{KindGauge, "alloc_bytes", "Bytes of the heap's objects.", func(m *runtime.MemStats) uint64 { return m.Alloc }},
		{KindCounter, "alloc_bytes_total", "Bytes of all objects that were ever made.", func(m *runtime.MemStats) uint64 { return m.TotalAlloc }},
		{KindGauge, "sys_bytes", "Bytes that the system gave.", func(m *runtime.MemStats) uint64 { return m.Sys }},
		{KindCounter, "mallocs_total", "Objects that were ever made.", func(m *runtime.MemStats) uint64 { return m.Mallocs }},
		{KindCounter, "frees_total", "Objects that were freed.", func(m *runtime.MemStats) uint64 { return m.Frees }},
		{
			KindGauge, "heap_alloc_bytes", "Bytes of the heap's objects; the same as go_memstats_alloc_bytes.",
			func(m *runtime.MemStats) uint64 { return m.HeapAlloc },
		},
		{KindGauge, "heap_sys_bytes", "Bytes that the system gave for the heap.", func(m *runtime.MemStats) uint64 { return m.HeapSys }},
		{KindGauge, "heap_idle_bytes", "Bytes of the heap that hold nothing.", func(m *runtime.MemStats) uint64 { return m.HeapIdle }},
		{KindGauge, "heap_inuse_bytes", "Bytes of the heap that hold something.", func(m *runtime.MemStats) uint64 { return m.HeapInuse }},
		{
			KindGauge, "heap_released_bytes", "Bytes of the heap that were given back to the system.",
			func(m *runtime.MemStats) uint64 { return m.HeapReleased },
		},
		{KindGauge, "heap_objects", "Objects in the heap.", func(m *runtime.MemStats) uint64 { return m.HeapObjects }},
		{KindGauge, "stack_inuse_bytes", "Bytes of stacks.", func(m *runtime.MemStats) uint64 { return m.StackInuse }},
		{KindGauge, "stack_sys_bytes", "Bytes that the system gave for stacks.", func(m *runtime.MemStats) uint64 { return m.StackSys }},
		{KindGauge, "mspan_inuse_bytes", "Bytes of the allocator's spans.", func(m *runtime.MemStats) uint64 { return m.MSpanInuse }},
		{
			KindGauge, "mspan_sys_bytes", "Bytes that the system gave for the allocator's spans.",
			func(m *runtime.MemStats) uint64 { return m.MSpanSys },
		},
		{KindGauge, "mcache_inuse_bytes", "Bytes of the allocator's caches.", func(m *runtime.MemStats) uint64 { return m.MCacheInuse }},
		{
			KindGauge, "mcache_sys_bytes", "Bytes that the system gave for the allocator's caches.",
			func(m *runtime.MemStats) uint64 { return m.MCacheSys },
		},
		{KindGauge, "buck_hash_sys_bytes", "Bytes of the profiler's tables.", func(m *runtime.MemStats) uint64 { return m.BuckHashSys }},
		{KindGauge, "gc_sys_bytes", "Bytes of the collector's own data.", func(m *runtime.MemStats) uint64 { return m.GCSys }},
		{KindGauge, "other_sys_bytes", "Bytes that the system gave for anything else.", func(m *runtime.MemStats) uint64 { return m.OtherSys }},
		{KindGauge, "next_gc_bytes", "How large the heap is when it is collected next.", func(m *runtime.MemStats) uint64 { return m.NextGC }},
	} {
		s.add(&family{name: "go_memstats_" + m.name, help: m.help, kind: m.kind, read: func(w *writer) {
			w.sample(float64(m.of(w.stats())), nil)
		}})
	}
}
