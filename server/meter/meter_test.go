package meter_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/braidrun/braid/server/meter"
)

func text(t *testing.T, s *meter.Set) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Prometheus' text format, byte for byte.
func TestWrite(t *testing.T) {
	t.Parallel()
	var s meter.Set
	s.Counter("z_total", "Comes last.").Add(3)
	s.Gauge("quiet", "Has labels, and was never touched.", "a")
	hits := s.Counter("hits_total", "Two lines,\nand a \\.", "route", "code")
	hits.Inc("/b", "200")
	hits.Inc("/b", "200")
	hits.Add(1e21, "say \"hi\"\n\\", "\xff")
	level := s.Gauge("level", "Goes down, too.")
	level.Add(2.5)
	level.Add(-3)
	h := s.Histogram("took_seconds", "Spans.", []float64{.1, 1}, "what")
	for _, v := range []float64{.05, .1, .5, 1, 7} {
		h.Observe(v, "x")
	}
	s.Histogram("still_seconds", "Nothing yet.", []float64{1})
	s.Read(meter.Metric{Name: "asked", Help: "Read when asked.", Kind: meter.KindGauge, Labels: []string{"n"}, Read: func(put func(float64, ...string)) {
		put(math.Inf(1), "b")
		put(math.NaN(), "a")
	}}, meter.One(meter.KindCounter, "one_total", "One.", func() float64 { return 1 }))
	want := `# HELP asked Read when asked.
# TYPE asked gauge
asked{n="a"} NaN
asked{n="b"} +Inf
# HELP hits_total Two lines,\nand a \\.
# TYPE hits_total counter
hits_total{code="200",route="/b"} 2
hits_total{code="` + "\uFFFD" + `",route="say \"hi\"\n\\"} 1e+21
# HELP level Goes down, too.
# TYPE level gauge
level -0.5
# HELP one_total One.
# TYPE one_total counter
one_total 1
# HELP still_seconds Nothing yet.
# TYPE still_seconds histogram
still_seconds_bucket{le="1"} 0
still_seconds_bucket{le="+Inf"} 0
still_seconds_sum 0
still_seconds_count 0
# HELP took_seconds Spans.
# TYPE took_seconds histogram
took_seconds_bucket{what="x",le="0.1"} 2
took_seconds_bucket{what="x",le="1"} 4
took_seconds_bucket{what="x",le="+Inf"} 5
took_seconds_sum{what="x"} 8.65
took_seconds_count{what="x"} 5
# HELP z_total Comes last.
# TYPE z_total counter
z_total 3
`
	if diff := cmp.Diff(want, text(t, &s)); diff != "" {
		t.Error(diff)
	}
}

// Prometheus' own parser reads all of it, with the values and the kinds that were meant.
func TestPrometheusReadsIt(t *testing.T) {
	t.Parallel()
	var s meter.Set
	s.Runtime()
	s.Counter("said_total", "What was said.", "words").Add(2, "a \"b\"\n\\ü")
	s.Histogram("took_seconds", "Spans.", []float64{.1, 1}).Observe(.5)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text(t, &s)))
	if err != nil {
		t.Fatal(err)
	}
	said := families["said_total"].GetMetric()[0]
	if said.GetCounter().GetValue() != 2 || said.GetLabel()[0].GetValue() != "a \"b\"\n\\ü" {
		t.Errorf("said_total is %v", said)
	}
	took := families["took_seconds"].GetMetric()[0].GetHistogram()
	if took.GetSampleCount() != 1 || took.GetSampleSum() != .5 || took.GetBucket()[0].GetCumulativeCount() != 0 || took.GetBucket()[1].GetCumulativeCount() != 1 {
		t.Errorf("took_seconds is %v", took)
	}
	names := []string{
		"go_info", "go_goroutines", "go_threads", "go_sched_gomaxprocs_threads", "go_gc_duration_seconds", "go_gc_gogc_percent",
		"go_gc_gomemlimit_bytes",
	}
	for name := range strings.FieldsSeq(`alloc_bytes alloc_bytes_total buck_hash_sys_bytes frees_total gc_sys_bytes heap_alloc_bytes heap_idle_bytes
		heap_inuse_bytes heap_objects heap_released_bytes heap_sys_bytes last_gc_time_seconds mallocs_total mcache_inuse_bytes mcache_sys_bytes
		mspan_inuse_bytes mspan_sys_bytes next_gc_bytes other_sys_bytes stack_inuse_bytes stack_sys_bytes sys_bytes`) {
		names = append(names, "go_memstats_"+name)
	}
	switch runtime.GOOS {
	case "linux":
		names = append(names, "process_network_receive_bytes_total", "process_network_transmit_bytes_total", "process_virtual_memory_max_bytes",
			"process_resident_memory_bytes", "process_virtual_memory_bytes")
		fallthrough
	case "darwin", "windows":
		names = append(names, "process_cpu_seconds_total", "process_start_time_seconds", "process_open_fds", "process_max_fds")
	}
	for _, name := range names {
		f := families[name]
		if f == nil {
			t.Errorf("there is no %s", name)
			continue
		}
		m := f.GetMetric()[0]
		v := m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetSummary().GetSampleCount())
		zero := strings.HasPrefix(name, "go_gc_duration") || strings.HasPrefix(name, "process_network") || strings.HasSuffix(name, "last_gc_time_seconds") ||
			strings.HasSuffix(name, "frees_total") || strings.HasPrefix(name, "process_cpu") || strings.HasSuffix(name, "heap_released_bytes")
		if math.IsNaN(v) || v <= 0 && !zero {
			t.Errorf("%s is %v", name, v)
		}
	}
}

// A scrape is compressed where the scraper takes it.
func TestScrape(t *testing.T) {
	t.Parallel()
	var s meter.Set
	s.Counter("a_total", "A.").Inc()
	want := text(t, &s)
	for accept, packed := range map[string]bool{
		"": false, "gzip": true, "zstd, gzip;q=0.5": true, "gzip;q=0": false, "GZIP": true, "br": false, "gzip;q=x": false, "gzip;level=1": true,
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
		if accept != "" {
			r.Header.Set("Accept-Encoding", accept)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var body io.Reader = w.Body
		if coding := w.Header().Get("Content-Encoding"); (coding == "gzip") != packed {
			t.Errorf("%q is answered with the coding %q", accept, coding)
			continue
		}
		if packed {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		got, err := io.ReadAll(body)
		if err != nil || string(got) != want {
			t.Errorf("%q is answered with %q, %v", accept, got, err)
		}
		if kind := w.Header().Get("Content-Type"); kind != "text/plain; version=0.0.4; charset=utf-8" {
			t.Errorf("the kind is %q", kind)
		}
	}
}

// Many count at once while others read, and nothing is lost.
func TestManyCountAtOnce(t *testing.T) {
	t.Parallel()
	var s meter.Set
	c, h := s.Counter("c_total", "C.", "who"), s.Histogram("h", "H.", []float64{1})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				c.Inc("a")
				h.Observe(2)
			}
			_ = s.Write(io.Discard)
		})
	}
	all.Wait()
	if got := text(t, &s); !strings.Contains(got, `c_total{who="a"} 4000`) || !strings.Contains(got, "h_count 4000") {
		t.Error(got)
	}
}

// What only a mistake of the program brings stops it.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(s *meter.Set){
		"a name twice":      func(s *meter.Set) { s.Counter("a", ""); s.Gauge("a", "") },
		"no name":           func(s *meter.Set) { s.Counter("", "") },
		"a name like 1a":    func(s *meter.Set) { s.Counter("1a", "") },
		"a label like a-b":  func(s *meter.Set) { s.Counter("a", "", "a-b") },
		"too few values":    func(s *meter.Set) { s.Counter("a", "", "b").Inc() },
		"too many values":   func(s *meter.Set) { s.Histogram("a", "", nil).Observe(1, "b") },
		"a label with utf8": func(s *meter.Set) { s.Counter("ä", "") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s passes", name)
				}
			}()
			do(&meter.Set{})
		}()
	}
}
