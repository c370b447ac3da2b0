package meter

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// contentType names Prometheus' text format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// writer writes the samples of one metric.
type writer struct {
	to     *bytes.Buffer
	family *family
	// series holds the lines of each series under its labels, to be put in their order.
	series []series
	// stats gives the figures of the memory: reading them stops the program for a moment, so they are read once for all metrics,
	// as is the usage of the process.
	stats func() *runtime.MemStats
	usage func() usage
}

type series struct{ labels, lines string }

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Write writes all metrics in Prometheus' text format, ordered by their names. A metric without series is left out.
func (s *Set) Write(to io.Writer) error {
	s.mu.Lock()
	families := slices.Clone(s.families)
	s.mu.Unlock()
	var b bytes.Buffer
	stats := sync.OnceValue(func() *runtime.MemStats {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return &m
	})
	usage := sync.OnceValue(used)
	for _, f := range families {
		w := &writer{to: &b, family: f, stats: stats, usage: usage}
		f.read(w)
		w.flush()
	}
	_, err := to.Write(b.Bytes())
	return err
}

func (w *writer) flush() {
	if len(w.series) == 0 {
		return
	}
	slices.SortFunc(w.series, func(a, b series) int { return strings.Compare(a.labels, b.labels) })
	w.to.WriteString("# HELP " + w.family.name + " " + escapeHelp.Replace(w.family.help) + "\n")
	w.to.WriteString("# TYPE " + w.family.name + " " + string(w.family.kind) + "\n")
	for _, s := range w.series {
		w.to.WriteString(s.lines)
	}
}

// text writes the labels with their values, without braces.
func (w *writer) text(values []string) string {
	var b strings.Builder
	for n, i := range w.family.sorted {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString(w.family.labels[i] + `="` + escapeLabel.Replace(strings.ToValidUTF8(values[i], "\uFFFD")) + `"`)
	}
	return b.String()
}

// line writes one sample; more is a label beyond those of the metric.
func (w *writer) line(suffix, labels, more string, value float64) string {
	if labels != "" && more != "" {
		labels += ","
	}
	if labels += more; labels != "" {
		labels = "{" + labels + "}"
	}
	return w.family.name + suffix + labels + " " + number(value) + "\n"
}

// sample writes a series of one sample.
func (w *writer) sample(value float64, values []string) {
	labels := w.text(values)
	w.series = append(w.series, series{labels, w.line("", labels, "", value)})
}

// histogram writes a series of a histogram: how many values were at most as large as each bound.
func (w *writer) histogram(buckets []float64, c *counted) {
	labels, lines, sum := w.text(c.labels), "", uint64(0)
	var linesSb102 strings.Builder
	for i, bound := range buckets {
		sum += c.in[i]
		linesSb102.WriteString(w.line("_bucket", labels, `le="`+number(bound)+`"`, float64(sum)))
	}
	lines += linesSb102.String()
	lines += w.line("_bucket", labels, `le="+Inf"`, float64(c.total))
	lines += w.line("_sum", labels, "", c.sum) + w.line("_count", labels, "", float64(c.total))
	w.series = append(w.series, series{labels, lines})
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// ServeHTTP answers a scrape, compressed where the scraper takes that.
func (s *Set) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Add("Vary", "Accept-Encoding")
	// What cannot be written has nobody left who reads it.
	if !takesGzip(r.Header.Values("Accept-Encoding")) {
		_ = s.Write(w)
		return
	}
	h.Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_ = s.Write(z)
	_ = z.Close()
}

// takesGzip reports whether gzip is named, and not with the weight zero.
func takesGzip(accept []string) bool {
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		name, weight, given := strings.Cut(strings.TrimSpace(parameters), "=")
		if !given || !strings.EqualFold(strings.TrimSpace(name), "q") {
			return true
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return err == nil && q > 0
	}
	return false
}
