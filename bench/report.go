package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/braidrun/braid/bench/scenario"
)

// report holds all measurements.
type report struct {
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	// Short reports that the figures come from the short form.
	Short  bool  `json:"short"`
	Passes int   `json:"passes"`
	Rows   []row `json:"rows"`
	// Kept is nil if row d was left out.
	Kept        *scenario.Kept `json:"kept_bytes,omitempty"`
	FirstMicros spread         `json:"first_time_micros,omitzero"`
	// HubMicros is the median latency of events through the hub, HubTailMicros the 99th percentile.
	HubMicros     spread    `json:"hub_p50_micros,omitzero"`
	HubTailMicros spread    `json:"hub_p99_micros,omitzero"`
	Endurance     endurance `json:"endurance,omitzero"`
	Served        []served  `json:"over_http,omitempty"`
	// Skipped are the sides that need something that this machine lacks.
	Skipped []skip `json:"skipped,omitempty"`
	// Ready is nil if the command was not started.
	Ready    *ready    `json:"ready,omitempty"`
	Verdicts []verdict `json:"verdicts"`
}

// endurance is the long run of both sides.
type endurance struct {
	Floor []scenario.Mark `json:"floor,omitempty"`
	Braid []scenario.Mark `json:"braid,omitempty"`
}

// skip is a side that was not measured.
type skip struct {
	Row  string `json:"row"`
	Side string `json:"side"`
	Why  string `json:"why"`
}

func (r *report) skip(row, side string, why error) {
	r.Skipped = append(r.Skipped, skip{row, side, why.Error()})
}

func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r *report) writeTable(w io.Writer) error {
	form := "full"
	if r.Short {
		form = "short"
	}
	p := &printer{w: w}
	p.line("%s %s/%s, %d CPUs, %s form: %d passes, figures are medians of a pass each.\n",
		r.Go, r.OS, r.Arch, r.CPUs, form, r.Passes)
	p.line("Quote the ratios: times depend on what else the machine does, and so does each\n" +
		"hand-over between goroutines. \"cpu\" is the ratio in processor time, which does not.\n")
	if len(r.Rows) > 0 {
		p.line("\n")
		p.table(r.timeTable())
	}
	if len(r.Endurance.Braid) > 0 {
		p.line("\n")
		p.table(r.enduranceTable())
	}
	if len(r.Served)+len(r.Skipped) > 0 {
		p.line("\n")
		p.table(r.serverTable())
	}
	if len(r.Verdicts) > 0 {
		p.line("\n")
		p.table(r.verdictTable())
	}
	return p.err
}

func (r *report) timeTable() [][]string {
	t := [][]string{{
		"", "work", "base", "", "subject", "", "ratio", "(min–max)", "cpu",
		"allocs", "of base", "KiB", "of base", "an item",
	}}
	for i := range r.Rows {
		row := &r.Rows[i]
		item := ""
		if row.Items > 0 {
			item = fmt.Sprintf("%s allocs a %s", short(row.Subject.Allocs/float64(row.Items)), row.Item)
		}
		t = append(t, []string{
			row.ID, row.Name, row.Base.Name, duration(row.Base.NS.Median),
			row.Subject.Name, duration(row.Subject.NS.Median),
			short(row.Ratio.Median) + "×", fmt.Sprintf("(%s–%s)", short(row.Ratio.Min), short(row.Ratio.Max)),
			times(row.CPU), short(row.Subject.Allocs), short(row.Base.Allocs),
			short(row.Subject.Bytes / 1024), short(row.Base.Bytes / 1024), item,
		})
	}
	return t
}

func (r *report) enduranceTable() [][]string {
	t := [][]string{{
		"one long run: cycles", "floor kept a cycle", "braid kept a cycle", "braid stacks",
		"depth at the model", "at the reader",
	}}
	for i, m := range r.Endurance.Braid {
		if i == 0 {
			continue
		}
		byHand := ""
		if i < len(r.Endurance.Floor) {
			byHand = strconv.FormatInt(r.Endurance.Floor[i].KeptEach(r.Endurance.Floor[0]), 10) + " B"
		}
		t = append(t, []string{
			strconv.Itoa(m.Cycles), byHand,
			strconv.FormatInt(m.KeptEach(r.Endurance.Braid[0]), 10) + " B",
			strconv.FormatInt(m.Stack/1024, 10) + " KiB",
			strconv.Itoa(m.Frames), strconv.Itoa(m.Reader),
		})
	}
	return t
}

func (r *report) verdictTable() [][]string {
	t := [][]string{{"contract", "measured", "(min–max)", "in cpu", "must", "aim", "prototype", ""}}
	for _, v := range r.Verdicts {
		with := func(f float64) string {
			if f == 0 {
				return "–"
			}
			return short(f) + v.Unit
		}
		ends := ""
		if v.Figure.Min != v.Figure.Max {
			ends = fmt.Sprintf("(%s–%s)", short(v.Figure.Min), short(v.Figure.Max))
		}
		t = append(t, []string{
			v.Work, short(v.Figure.Median) + v.Unit, ends, times(v.CPU),
			with(v.Must), with(v.Aim), with(v.Prototype), string(v.Mark),
		})
	}
	return t
}

// printer writes lines and tables and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) table(rows [][]string) {
	if p.err != nil {
		return
	}
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	out := &printer{w: tw}
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(cells)-1 {
				out.line("%s\n", c)
				break
			}
			out.line("%s\t", c)
		}
	}
	if p.err = out.err; p.err == nil {
		p.err = tw.Flush()
	}
}

// times formats a ratio; an unknown one is empty.
func times(ratio spread) string {
	if ratio.Median == 0 {
		return ""
	}
	return short(ratio.Median) + "×"
}

// short formats a figure with three significant digits.
func short(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// duration formats a time in a suitable unit.
func duration(ns float64) string {
	switch {
	case ns >= 1e6:
		return short(ns/1e6) + " ms"
	case ns >= 1e3:
		return short(ns/1e3) + " µs"
	default:
		return short(ns) + " ns"
	}
}
