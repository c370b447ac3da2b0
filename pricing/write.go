package pricing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// YAML returns the table in the form that [Parse] reads, one row a line. A row with several names
// is written once for each.
func (t *Table) YAML() []byte {
	var b bytes.Buffer
	if t == nil {
		return []byte("prices: []\n")
	}
	if t.date != "" {
		fmt.Fprintf(&b, "date: %s\n", t.date)
	}
	t.writeSources(&b)
	b.WriteString("prices:")
	if len(t.names) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, name := range t.names {
		for i := range t.rows[name] {
			b.WriteString("  - {model: " + quoted(name))
			t.rows[name][i].write(&b)
			b.WriteString("}\n")
		}
	}
	return b.Bytes()
}

// writeSources writes each vendor's page. [Parse] gives all rows of a vendor the same page.
func (t *Table) writeSources(b *bytes.Buffer) {
	sources := map[string]Source{}
	for _, name := range t.names {
		vendor, _, _ := strings.Cut(name, ":")
		if s := t.rows[name][0].price.Source; s.Page != "" && s.Read != "" {
			sources[vendor] = s
		}
	}
	if len(sources) == 0 {
		return
	}
	b.WriteString("sources:\n")
	for _, vendor := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintf(b, "  %s: {page: %s, read: %s}\n", vendor, quoted(sources[vendor].Page), sources[vendor].Read)
	}
}

func (r *row) write(b *bytes.Buffer) {
	if r.embedding {
		b.WriteString(", embedding: true")
	}
	if r.context > 0 {
		fmt.Fprintf(b, ", context: %d", r.context)
	}
	r.price.write(b, ", ")
	writeRate(b, ", web_search: ", r.price.WebSearch)
	writeRate(b, ", file_search: ", r.price.FileSearch)
	if r.price.LongOver > 0 {
		fmt.Fprintf(b, ", long: {over: %d", r.price.LongOver)
		r.price.Long.write(b, ", ")
		b.WriteString("}")
	}
	if r.regions != nil {
		b.WriteString(", regions: {")
		for i, region := range slices.Sorted(maps.Keys(r.regions)) {
			if i > 0 {
				b.WriteString(", ")
			}
			by := r.regions[region]
			if region == "" {
				region = "none"
			}
			b.WriteString(quoted(region) + ": " + strconv.FormatInt(by/1000, 10) + fmt.Sprintf(".%03d", by%1000))
		}
		b.WriteString("}")
	}
	for _, day := range [...]struct {
		name string
		at   time.Time
	}{{"from", r.from}, {"until", r.until}} {
		if !day.at.IsZero() {
			fmt.Fprintf(b, ", %s: %s", day.name, day.at.Format(time.DateOnly))
		}
	}
}

func (r *Rates) write(b *bytes.Buffer, before string) {
	writeRate(b, before+"input: ", r.Input)
	writeRate(b, before+"output: ", r.Output)
	writeRate(b, before+"cache_write: ", r.CacheWrite)
	writeRate(b, before+"cache_write_hour: ", r.CacheWriteHour)
	writeRate(b, before+"cache_read: ", r.CacheRead)
}

func writeRate(b *bytes.Buffer, name string, r Rate) {
	if r.known {
		b.WriteString(name + strings.TrimPrefix(r.String(), "$"))
	}
}

// quoted returns a string in JSON, which is valid YAML.
func quoted(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string can always be written
	return string(b)
}
