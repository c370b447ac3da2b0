package pricing

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// ChangeKind is a kind of change that a catalogue makes.
type ChangeKind string

// These are the kinds of changes.
const (
	// ChangeNew is a model without a row so far.
	ChangeNew ChangeKind = "new"
	// ChangePrice is a model with another price or context window.
	ChangePrice ChangeKind = "changed"
	// ChangeUnlisted is a model that is missing in the catalogue, although other models of its
	// vendor are there. Its row stays.
	ChangeUnlisted ChangeKind = "unlisted"
	// ChangeDeprecated is a model that the catalogue says its vendor has retired. Its row stays.
	ChangeDeprecated ChangeKind = "deprecated"
)

// Change is a catalogue's change of one model.
type Change struct {
	Model string
	Kind  ChangeKind
	// Was and Is are the prices before and now; nil means none.
	Was, Is *Price
	// WasContext and Context are the context windows in tokens; 0 means unknown.
	WasContext, Context int
	// Embedding is set for an embedding model.
	Embedding bool
}

// Refresh compares the table with a catalogue on a day. It returns a table of the changed rows, to
// be used with [Table.With], and the changes, ordered by kind and name. It keeps what a list in the
// form of models.dev does not have: regions, searches, and, if the price of input is the same, the
// prices of caches and long prompts.
func (t *Table) Refresh(c *Catalogue, at time.Time) (over *Table, changes []Change) {
	over = &Table{date: at.UTC().Format(time.DateOnly), rows: map[string][]row{}}
	for _, name := range c.table.names {
		rows := c.table.rows[name]
		before := t.rowsOf(name)
		if !c.whole {
			rows = []row{merged(inForce(before, at), rows[0])}
		}
		change := Change{Model: name, Kind: ChangeNew, Embedding: rows[0].embedding}
		change.Is, change.Context = current(rows, at), window(rows)
		if before != nil {
			change.Kind, change.Was, change.WasContext = ChangePrice, current(before, at), window(before)
		}
		if before == nil || !settled(before, rows, c.whole, at) {
			over.names = append(over.names, name)
			over.rows[name] = rows
			changes = append(changes, change)
		}
		if c.deprecated[name] {
			change.Kind, change.Was, change.WasContext = ChangeDeprecated, nil, 0
			changes = append(changes, change)
		}
	}
	changes = append(changes, t.unlisted(c, at)...)
	order := []ChangeKind{ChangePrice, ChangeNew, ChangeDeprecated, ChangeUnlisted}
	slices.SortStableFunc(changes, func(a, b Change) int {
		if d := slices.Index(order, a.Kind) - slices.Index(order, b.Kind); d != 0 {
			return d
		}
		return strings.Compare(a.Model, b.Model)
	})
	return over, changes
}

// rowsOf returns the rows with exactly this name.
func (t *Table) rowsOf(name string) []row {
	if t == nil {
		return nil
	}
	return t.rows[name]
}

// unlisted returns the models that are missing in the catalogue.
func (t *Table) unlisted(c *Catalogue, at time.Time) []Change {
	var list []Change
	if t == nil {
		return nil
	}
	for _, name := range t.names {
		vendor, _, _ := strings.Cut(name, ":")
		if c.vendors[vendor] && c.table.rows[name] == nil {
			p := current(t.rows[name], at)
			list = append(list, Change{
				Model: name, Kind: ChangeUnlisted, Was: p, Is: p, WasContext: window(t.rows[name]), Context: window(t.rows[name]),
				Embedding: t.rows[name][0].embedding,
			})
		}
	}
	return list
}

// settled reports whether the rows add nothing to those before.
func settled(before, rows []row, whole bool, at time.Time) bool {
	if whole {
		return slices.EqualFunc(before, rows, equal)
	}
	old := inForce(before, at)
	if old == nil || !old.until.IsZero() && at.Truncate(24*time.Hour).After(old.until) {
		return false // the price had expired: the catalogue renews it
	}
	is, was := rows[0], *old
	is.from, is.until, was.from, was.until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return equal(was, is)
}

// equal compares rows without their sources.
func equal(a, b row) bool {
	a.price.Source, b.price.Source = Source{}, Source{}
	return a.price == b.price && a.from.Equal(b.from) && a.until.Equal(b.until) && a.context == b.context && a.embedding == b.embedding &&
		maps.Equal(a.regions, b.regions)
}

// inForce returns the row of a day, or the last one before it; nil if there is none.
func inForce(rows []row, at time.Time) *row {
	day := at.Truncate(24 * time.Hour)
	var last *row
	for i := range rows {
		r := &rows[i]
		switch {
		case day.Before(r.from):
		case r.until.IsZero() || !day.After(r.until):
			return r
		case last == nil || last.until.Before(r.until):
			last = r
		}
	}
	return last
}

// current returns the price of a day; nil if there is none.
func current(rows []row, at time.Time) *Price {
	r := inForce(rows, at)
	if r == nil {
		return nil
	}
	p := r.price
	return &p
}

func window(rows []row) int {
	for i := range rows {
		if n := rows[i].context; n > 0 {
			return int(min(n, mostContext))
		}
	}
	return 0
}

// merged returns a row of a list with what is missing in it from the row before.
func merged(old *row, r row) row {
	if old == nil {
		return r
	}
	r.regions, r.embedding = old.regions, old.embedding
	r.price.WebSearch, r.price.FileSearch = old.price.WebSearch, old.price.FileSearch
	if r.context == 0 {
		r.context = old.context
	}
	if r.embedding {
		r.price.Output = Rate{}
	}
	switch r.price.LongOver {
	case 0:
		r.price.LongOver, r.price.Long = old.price.LongOver, old.price.Long
	case old.price.LongOver:
		keep(&r.price.Long, &old.price.Long)
	}
	keep(&r.price.Rates, &old.price.Rates)
	for _, rates := range []*Rates{&r.price.Rates, &r.price.Long} {
		for _, rate := range rates.each() {
			for _, by := range r.regions {
				if rest := rate.pico % 1000; rest*by%1000 != 0 { // more digits than a table has: round up
					rate.pico += 1000 - rest
				}
			}
		}
	}
	return r
}

// keep copies the prices of caches that a list does not have, if input costs the same.
func keep(r, old *Rates) {
	if r.Input != old.Input {
		return
	}
	for _, part := range [...]struct{ to, from *Rate }{
		{&r.CacheRead, &old.CacheRead}, {&r.CacheWrite, &old.CacheWrite}, {&r.CacheWriteHour, &old.CacheWriteHour},
	} {
		if !part.to.known {
			*part.to = *part.from
		}
	}
}
