package pricing

import (
	_ "embed"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

//go:embed prices.yaml
var embedded []byte

// Default returns the table of this build, always the same value.
var Default = sync.OnceValue(func() *Table {
	t, _ := Parse(embedded) // a test holds that it can be read
	return t
})

// Table holds prices. It is immutable. The nil Table is empty.
type Table struct {
	date string
	rows map[string][]row
	// names are the keys of rows in the order of the table.
	names []string
}

// row is a price with its validity.
type row struct {
	price Price
	// from and until are the first and the last day in UTC. Zero means open.
	from, until time.Time
	// regions are the factors of the price, in thousandths. nil means everywhere, "*" any other
	// region.
	regions map[string]int64
	// context is the model's context window in tokens; 0 means unknown.
	context int64
	// embedding is set for an embedding model.
	embedding bool
}

// anywhere is the key in a row's regions for the other regions.
const anywhere = "*"

// Date returns the day on which the table was made, such as 2026-11-21.
func (t *Table) Date() string {
	if t == nil {
		return ""
	}
	return t.date
}

// Models returns the names of the models that generate text, in the order of the table.
func (t *Table) Models() []string { return t.list(false) }

// Embeddings returns the names of the embedding models, in the order of the table.
func (t *Table) Embeddings() []string { return t.list(true) }

func (t *Table) list(embedding bool) []string {
	if t == nil {
		return nil
	}
	var names []string
	for _, name := range t.names {
		if t.rows[name][0].embedding == embedding {
			names = append(names, name)
		}
	}
	return names
}

// With returns a table with the rows of another one added. All rows of a model come from over if it
// has any.
func (t *Table) With(over *Table) *Table {
	if over == nil {
		return t
	}
	if t == nil {
		return over
	}
	merged := &Table{date: over.date, rows: maps.Clone(t.rows)}
	if merged.date == "" {
		merged.date = t.date
	}
	maps.Copy(merged.rows, over.rows)
	merged.names = slices.Clone(t.names)
	for _, name := range over.names {
		if _, below := t.rows[name]; !below {
			merged.names = append(merged.names, name)
		}
	}
	return merged
}

// Find returns the price of a model, served in a region, on the day of at in UTC. If no price is in
// force on that day, it returns the last one that was, with its last day in [Price.RanOut]: an old
// price bounds a run better than none. It does not return a price that begins later.
func (t *Table) Find(model, region string, at time.Time) (*Price, bool) {
	rows, in := t.find(model)
	if in != "" {
		region = in
	}
	day := at.Truncate(24 * time.Hour)
	var last *row
	for i := range rows {
		r := &rows[i]
		switch {
		case day.Before(r.from):
		case r.until.IsZero() || !day.After(r.until):
			return r.in(region)
		case last == nil || last.until.Before(r.until):
			last = r
		}
	}
	if last == nil {
		return nil, false
	}
	p, ok := last.in(region)
	if !ok {
		return nil, false
	}
	old := *p
	old.RanOut = last.until.Format(time.DateOnly)
	return &old, true
}

// Context returns the context window of a model in tokens; 0 means unknown.
func (t *Table) Context(model string) int {
	rows, _ := t.find(model)
	for i := range rows {
		if n := rows[i].context; n > 0 {
			return int(min(n, mostContext))
		}
	}
	return 0
}

// mostContext bounds a context window, so that sums of tokens do not overflow.
const mostContext = 1 << 30

// find returns the rows of a model, and the region in its name.
func (t *Table) find(model string) ([]row, string) {
	if t == nil {
		return nil, ""
	}
	name, region := plain(model)
	if rows, ok := t.rows[model]; ok {
		return rows, region
	}
	return t.rows[name], region
}

// in returns the row's price in a region.
func (r *row) in(region string) (*Price, bool) {
	if r.regions == nil {
		return &r.price, true
	}
	by, ok := r.regions[region]
	if !ok && region != "" {
		by, ok = r.regions[anywhere]
	}
	switch {
	case !ok:
		return nil, false
	case by == 1000:
		return &r.price, true
	}
	p := r.price
	p.Rates, p.Long = p.times(by), p.Long.times(by)
	return &p, true
}

// times multiplies by thousandths. [Parse] has checked that the result is exact.
func (r *Rates) times(by int64) Rates {
	m := *r
	for _, x := range m.each() {
		x.pico = x.pico/1000*by + x.pico%1000*by/1000
	}
	return m
}

func (r *Rates) each() []*Rate {
	return []*Rate{&r.Input, &r.Output, &r.CacheWrite, &r.CacheWriteHour, &r.CacheRead}
}

// Cost returns the cost of a model call in nano-dollars. See [Table.Find] and [Price.Cost] for when
// it is unknown.
func (t *Table) Cost(model, region string, at time.Time, u event.Usage) (nanoUSD int64, known bool) {
	p, ok := t.Find(model, region, at)
	if !ok {
		return 0, false
	}
	return p.Cost(u)
}
