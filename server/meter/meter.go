// Package meter counts, and shows what it counted as Prometheus reads it.
//
// Prometheus' own client does far more than a server of this size needs, and took a millisecond of
// the start of every command, also of those that serve nothing.
package meter

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Set is a list of metrics that are shown together. The zero value is empty and ready. It is safe for
// concurrent use.
type Set struct {
	mu       sync.Mutex
	families []*family
}

// Kind says how the values of a metric behave.
type Kind string

// The kinds of metrics.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
	KindSummary   Kind = "summary"
)

// family is one metric with all of its series.
type family struct {
	name, help string
	kind       Kind
	// labels are the names of the labels, and sorted the order in which they are written.
	labels []string
	sorted []int
	// read writes the samples of all series.
	read func(w *writer)
}

// add puts a metric into the set. A name that is there already, or is none, is a mistake of the program.
func (s *Set) add(f *family) {
	if !isName(f.name) || slices.ContainsFunc(f.labels, func(l string) bool { return !isName(l) }) {
		panic(fmt.Sprintf("meter: %q with the labels %q is no name", f.name, f.labels))
	}
	f.sorted = make([]int, len(f.labels))
	for i := range f.sorted {
		f.sorted[i] = i
	}
	slices.SortFunc(f.sorted, func(a, b int) int { return strings.Compare(f.labels[a], f.labels[b]) })
	s.mu.Lock()
	defer s.mu.Unlock()
	at, there := slices.BinarySearchFunc(s.families, f.name, func(f *family, name string) int { return strings.Compare(f.name, name) })
	if there {
		panic(fmt.Sprintf("meter: there are two metrics %q", f.name))
	}
	s.families = slices.Insert(s.families, at, f)
}

// isName reports whether Prometheus takes the name of a metric or a label in its oldest form.
func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// A Value is a counter or a gauge, with a series for each list of its labels' values. It is safe for concurrent use.
type Value struct {
	mu     sync.Mutex
	labels int
	series map[string]*sample
}

type sample struct {
	labels []string
	value  float64
}

// Counter adds a counter. Without labels it is shown from the beginning; with labels, each series from its first [Value.Add].
func (s *Set) Counter(name, help string, labels ...string) *Value {
	return s.value(KindCounter, name, help, labels)
}

// Gauge adds a gauge. It is shown as a counter is.
func (s *Set) Gauge(name, help string, labels ...string) *Value {
	return s.value(KindGauge, name, help, labels)
}

func (s *Set) value(kind Kind, name, help string, labels []string) *Value {
	v := &Value{labels: len(labels), series: make(map[string]*sample)}
	if len(labels) == 0 {
		v.Add(0)
	}
	s.add(&family{name: name, help: help, kind: kind, labels: labels, read: func(w *writer) {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, c := range v.series {
			w.sample(c.value, c.labels)
		}
	}})
	return v
}

// Add adds n to the series of the labels' values; n is below 0 for gauges alone.
func (v *Value) Add(n float64, labels ...string) {
	if len(labels) != v.labels {
		panic(fmt.Sprintf("meter: %d labels, and %d values %q", v.labels, len(labels), labels))
	}
	key := strings.Join(labels, "\xff")
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.series[key]
	if c == nil {
		c = &sample{labels: slices.Clone(labels)}
		v.series[key] = c
	}
	c.value += n
}

// Inc adds 1.
func (v *Value) Inc(labels ...string) { v.Add(1, labels...) }

// A Histogram counts values by how large they are. It is safe for concurrent use.
type Histogram struct {
	mu      sync.Mutex
	labels  int
	buckets []float64
	series  map[string]*counted
}

type counted struct {
	labels []string
	// in counts the values up to each bound and above the one before; what is above all bounds is in total alone.
	in    []uint64
	total uint64
	sum   float64
}

// Histogram adds a histogram. buckets are the upper bounds, in rising order; all values have one more bucket. It is shown as a
// counter is.
func (s *Set) Histogram(name, help string, buckets []float64, labels ...string) *Histogram {
	h := &Histogram{labels: len(labels), buckets: buckets, series: make(map[string]*counted)}
	if len(labels) == 0 {
		h.of(nil)
	}
	s.add(&family{name: name, help: help, kind: KindHistogram, labels: labels, read: func(w *writer) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, c := range h.series {
			w.histogram(h.buckets, c)
		}
	}})
	return h
}

// Observe counts a value in the series of the labels' values.
func (h *Histogram) Observe(value float64, labels ...string) {
	if len(labels) != h.labels {
		panic(fmt.Sprintf("meter: %d labels, and %d values %q", h.labels, len(labels), labels))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.of(labels)
	if i, _ := slices.BinarySearch(h.buckets, value); i < len(c.in) {
		c.in[i]++
	}
	c.total++
	c.sum += value
}

// of gives the series of the labels' values. The caller holds the lock, but for when the histogram is made.
func (h *Histogram) of(labels []string) *counted {
	key := strings.Join(labels, "\xff")
	c := h.series[key]
	if c == nil {
		c = &counted{labels: slices.Clone(labels), in: make([]uint64, len(h.buckets))}
		h.series[key] = c
	}
	return c
}

// A Metric describes values that are read when somebody asks for them.
type Metric struct {
	Name, Help string
	Kind       Kind
	Labels     []string
	// Read gives each series to put once. It must not use the Set.
	Read func(put func(value float64, labels ...string))
}

// Read adds metrics that are read when somebody asks for them.
func (s *Set) Read(metrics ...Metric) {
	for _, m := range metrics {
		s.add(&family{name: m.Name, help: m.Help, kind: m.Kind, labels: m.Labels, read: func(w *writer) {
			m.Read(func(value float64, labels ...string) { w.sample(value, labels) })
		}})
	}
}

// One makes a Metric of a single series.
func One(kind Kind, name, help string, value func() float64) Metric {
	return Metric{Name: name, Help: help, Kind: kind, Read: func(put func(float64, ...string)) { put(value()) }}
}
