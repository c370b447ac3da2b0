package pricing

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// MaxTable bounds the size of a table in bytes.
const MaxTable = 1 << 20

// Parse parses a table in YAML. It is strict: an unknown or duplicate name, a price that is not a
// plain number of dollars, and two rows in force on the same day are errors, each with its line.
// It returns an [*event.Error] of kind ErrInvalid or ErrTooLarge.
//
//	date: 2026-11-21
//	sources:
//	  anthropic: {page: "https://…", read: 2026-10-24}
//	prices:
//	  - model: anthropic:claude-haiku-5-5   # as users write it
//	    also: [anthropic:our-haiku]         # other names of the same
//	    embedding: true                     # it embeds texts and writes none, so it needs no output
//	    context: 1000000                    # its context window in tokens; may be left out
//	    input: 0.10                         # dollars for a million tokens
//	    output: 0.50
//	    cache_read: 0.01                    # what is left out is not known
//	    cache_write: 0.125
//	    cache_write_hour: 0.20
//	    web_search: 10                      # dollars for a thousand searches of the provider
//	    file_search: 2.50                   # the same, in files that the provider keeps
//	    long: {over: 100000, input: 0.50, output: 2.50}
//	    regions: {global: 1, "*": 1.1}      # what the price is multiplied by
//	    from: 2026-10-07                    # first and last day, in UTC
//	    until: 2026-12-31
//
// Sources go by what stands before the colon of a model. The region of a
// vendor's usual address is written none.
func Parse(data []byte) (*Table, error) {
	if len(data) > MaxTable {
		return nil, &event.Error{
			Op: op, Kind: event.ErrTooLarge, Message: "the table of prices is larger than 1 MiB", Hint: "leave out what is not used",
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, wrong(1, "it is empty")
	case err != nil:
		return nil, syntax(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, wrong(doc.Line, "it holds more than one YAML document")
	}
	r := &reader{table: &Table{rows: map[string][]row{}}, sources: map[string]Source{}}
	if err := r.read(doc.Content[0]); err != nil {
		return nil, err
	}
	return r.table, nil
}

const op = "prices"

// wrong returns an error in the table.
func wrong(line int, format string, args ...any) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: fmt.Sprintf("the table of prices, line %d: %s", line, fmt.Sprintf(format, args...)),
		Hint: "write a price as \"input: 0.10\", in dollars for a million tokens; the guide to models shows a whole row",
	}
}

// syntax returns a YAML error with its line.
func syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if len(text) > 120 {
		text = text[:120]
	}
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the table of prices is not YAML: " + strings.ToValidUTF8(oneLine(text), "?"),
		Hint: "correct the named line",
	}
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

type reader struct {
	table   *Table
	sources map[string]Source
}

// field reads one member of a mapping.
type field struct {
	need bool
	read func(*yaml.Node) error
}

// fields reads a mapping with known names.
func fields(n *yaml.Node, what string, known map[string]field) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n.Line, "%s is no list of names and values", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, ok := known[key.Value]
		switch {
		case !ok || key.Kind != yaml.ScalarNode:
			return wrong(key.Line, "%s has no such name; there are %s", what, names(known))
		case seen[key.Value]:
			return wrong(key.Line, "%s stands twice", key.Value)
		}
		seen[key.Value] = true
		if err := f.read(value); err != nil {
			return err
		}
	}
	for name, f := range known {
		if f.need && !seen[name] {
			return wrong(n.Line, "%s has no %s", what, name)
		}
	}
	return nil
}

func names(known map[string]field) string {
	var list []string
	for name := range known {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (r *reader) read(n *yaml.Node) error {
	var prices *yaml.Node
	var date time.Time
	err := fields(n, "the table", map[string]field{
		"date": {read: day(&date)},
		"sources": {read: func(n *yaml.Node) error {
			return each(n, "sources", func(vendor string, n *yaml.Node) error {
				var s Source
				var read time.Time
				err := fields(n, "a source", map[string]field{
					"page": {need: true, read: text(&s.Page, address, "an address")},
					"read": {need: true, read: day(&read)},
				})
				s.Read = read.Format(time.DateOnly)
				r.sources[vendor] = s
				return err
			})
		}},
		"prices": {need: true, read: func(n *yaml.Node) error { prices = n; return nil }},
	})
	if err != nil {
		return err
	}
	if !date.IsZero() {
		r.table.date = date.Format(time.DateOnly)
	}
	if prices.Kind != yaml.SequenceNode {
		return wrong(prices.Line, "prices is no list")
	}
	for _, p := range prices.Content {
		if err := r.row(p); err != nil {
			return err
		}
	}
	return nil
}

var (
	address = lazyre.New(`^https?://[^\s]{1,300}$`)
	// A name as users write it: a provider, a colon, a model.
	reference = lazyre.New(`^[a-z][a-z0-9]{0,31}:[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$`)
	place     = lazyre.New(`^(\*|none|[a-z0-9][a-z0-9.:-]{0,99})$`)
)

// row reads a price with all of its names.
func (r *reader) row(n *yaml.Node) error {
	var (
		row    row
		model  string
		others []string
		long   *yaml.Node
	)
	known := r.rates(&row.price.Rates, true)
	known["output"] = field{read: dollars(&row.price.Output)}
	known["model"] = field{need: true, read: text(&model, reference, "a model's name such as anthropic:claude-sonnet-5-5")}
	known["also"] = field{read: func(n *yaml.Node) error {
		if n.Kind != yaml.SequenceNode {
			return wrong(n.Line, "also is no list")
		}
		for _, c := range n.Content {
			var name string
			if err := text(&name, reference, "a model's name")(c); err != nil {
				return err
			}
			others = append(others, name)
		}
		return nil
	}}
	known["context"] = field{read: count(&row.context)}
	known["embedding"] = field{read: flag(&row.embedding)}
	known["web_search"] = field{read: dollars(&row.price.WebSearch)}
	known["file_search"] = field{read: dollars(&row.price.FileSearch)}
	known["from"] = field{read: day(&row.from)}
	known["until"] = field{read: day(&row.until)}
	known["long"] = field{read: func(n *yaml.Node) error { long = n; return nil }}
	known["regions"] = field{read: row.readRegions}
	if err := fields(n, "a price", known); err != nil {
		return err
	}
	switch {
	case !row.embedding && !row.price.Output.known:
		return wrong(n.Line, "a price has no output")
	case row.embedding && row.price.Output.known:
		return wrong(n.Line, "a model that embeds texts has no output")
	}
	if long != nil {
		steps := r.rates(&row.price.Long, true)
		steps["over"] = field{need: true, read: count(&row.price.LongOver)}
		if err := fields(long, "long", steps); err != nil {
			return err
		}
	}
	if !row.until.IsZero() && row.until.Before(row.from) {
		return wrong(n.Line, "it ends before it begins")
	}
	for _, by := range row.regions {
		for _, rates := range []*Rates{&row.price.Rates, &row.price.Long} {
			for _, rate := range rates.each() {
				if rate.pico%1000*by%1000 != 0 {
					return wrong(n.Line, "a price in one of its regions has more than six digits behind the point")
				}
			}
		}
	}
	vendor, _, _ := strings.Cut(model, ":")
	row.price.Source = r.sources[vendor]
	for _, name := range append([]string{model}, others...) {
		for i := range r.table.rows[name] {
			if row.meets(&r.table.rows[name][i]) {
				return wrong(n.Line, "%s has two prices on the same day", name)
			}
		}
		if r.table.rows[name] == nil {
			r.table.names = append(r.table.names, name)
		}
		r.table.rows[name] = append(r.table.rows[name], row)
	}
	return nil
}

// meets reports whether two rows are in force on the same day.
func (r *row) meets(o *row) bool {
	return (r.until.IsZero() || !r.until.Before(o.from)) && (o.until.IsZero() || !o.until.Before(r.from))
}

func (r *reader) rates(to *Rates, need bool) map[string]field {
	return map[string]field{
		"input": {need: need, read: dollars(&to.Input)}, "output": {need: need, read: dollars(&to.Output)},
		"cache_write": {read: dollars(&to.CacheWrite)}, "cache_write_hour": {read: dollars(&to.CacheWriteHour)},
		"cache_read": {read: dollars(&to.CacheRead)},
	}
}

func (r *row) readRegions(n *yaml.Node) error {
	r.regions = map[string]int64{}
	return each(n, "regions", func(region string, n *yaml.Node) error {
		by, ok := parseDecimal(n.Value, 3)
		if !place.MatchString(region) || n.Kind != yaml.ScalarNode || !ok || by == 0 || by > 100_000 {
			return wrong(n.Line, "a region is written as \"eu-west-1: 1.1\"")
		}
		if region == "none" {
			region = ""
		}
		r.regions[region] = by
		return nil
	})
}

// each reads a mapping with arbitrary names.
func each(n *yaml.Node, what string, read func(string, *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return wrong(n.Line, "%s is no list of names and values", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || seen[key.Value] {
			return wrong(key.Line, "a name in %s occurs twice or is not valid", what)
		}
		seen[key.Value] = true
		if err := read(key.Value, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func dollars(to *Rate) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		micro, ok := parseDollars(n.Value)
		if n.Kind != yaml.ScalarNode || !ok {
			return wrong(n.Line, "a price is no plain number of dollars, with at most six digits behind the point")
		}
		*to = Rate{micro, true}
		return nil
	}
}

func count(to *int64) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		v, ok := parseDecimal(n.Value, 0)
		if n.Kind != yaml.ScalarNode || !ok || v == 0 {
			return wrong(n.Line, "a number of tokens is no whole number from 1")
		}
		*to = v
		return nil
	}
}

func flag(to *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
			return wrong(n.Line, "embedding is true or false")
		}
		*to = n.Value == "true"
		return nil
	}
}

func day(to *time.Time) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		d, err := time.Parse(time.DateOnly, n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			return wrong(n.Line, "a date is written as 2026-11-21")
		}
		*to = d
		return nil
	}
}

func text(to *string, form *lazyre.Regexp, what string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || !form.MatchString(n.Value) {
			return wrong(n.Line, "what stands there is not %s", what)
		}
		*to = n.Value
		return nil
	}
}
