package pricing

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
)

// MaxCatalogue bounds the size of a catalogue in bytes.
const MaxCatalogue = 16 << 20

// Catalogue is a list of models from another source.
type Catalogue struct {
	table *Table
	// whole is set for a list in the form of a table: its rows replace others unchanged.
	whole bool
	// vendors are the vendors with models in the list.
	vendors map[string]bool
	// deprecated are models that the list says their vendors have retired.
	deprecated map[string]bool
	// LeftOut counts the ignored rows by reason.
	LeftOut map[string]int
}

// These are the reasons for ignoring a row.
const (
	leftForm    = "no price that can be"
	leftName    = "a name that cannot be"
	leftFree    = "nothing asked for, which may be unknown"
	leftPrice   = "a price that no usage shows"
	leftNoPrice = "no price"
	leftNoText  = "no text"
)

// listNames maps the vendors' names in models.dev to ours.
var listNames = map[string]string{
	"anthropic": "anthropic", "openai": "openai", "google": "gemini", "google-vertex": "vertex", "google-vertex-anthropic": "vertex",
	"groq": "groq", "openrouter": "openrouter", "mistral": "mistral", "xai": "xai", "deepseek": "deepseek", "cerebras": "cerebras",
	"togetherai": "together", "fireworks-ai": "fireworks",
}

// unlisted are vendors whose costs are not in the list: Bedrock's depend on the region, Perplexity
// charges for each request too, and an Azure deployment may have any name.
var unlisted = []string{"bedrock", "perplexity", "azure"}

// ParseCatalogue parses a list of models: a table as for [Parse], or a list in the form of
// https://models.dev/api.json. page is the list's address, "" for a file. read is the day on which
// it was read. more are vendors with the same name there and here. Invalid rows of models.dev are
// ignored and counted. It returns an error of kind ErrInvalid for a list without a valid row, and
// ErrTooLarge above [MaxCatalogue].
func ParseCatalogue(data []byte, page string, read time.Time, more ...string) (*Catalogue, error) {
	if len(data) > MaxCatalogue {
		return nil, &event.Error{
			Op: op, Kind: event.ErrTooLarge, Message: "the catalogue is larger than 16 MiB", Hint: "check the address",
		}
	}
	trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff")
	if len(trimmed) == 0 || trimmed[0] == '<' {
		return nil, noCatalogue("it is a web page, or empty")
	}
	if trimmed[0] != '{' {
		t, err := Parse(data)
		if err != nil {
			return nil, err
		}
		if len(t.names) == 0 {
			return nil, noCatalogue("it has no models")
		}
		c := &Catalogue{table: t, whole: true, vendors: map[string]bool{}}
		for _, name := range t.names {
			vendor, _, _ := strings.Cut(name, ":")
			c.vendors[vendor] = true
		}
		return c, nil
	}
	return parseList(trimmed, Source{Page: page, Read: read.UTC().Format(time.DateOnly)}, more)
}

func noCatalogue(what string) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the catalogue cannot be read: " + what,
		Hint: "name a table of prices, or a list in the form of https://models.dev/api.json",
	}
}

// listed is a model in models.dev.
type listed struct {
	Cost       *listedCost `json:"cost"`
	Modalities struct {
		Output []string `json:"output"`
	} `json:"modalities"`
	Limit struct {
		Context json.RawMessage `json:"context"`
	} `json:"limit"`
	Status string `json:"status"`
}

type listedRates struct {
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
	Reasoning  json.RawMessage `json:"reasoning"`
	CacheRead  json.RawMessage `json:"cache_read"`
	CacheWrite json.RawMessage `json:"cache_write"`
}

type listedCost struct {
	listedRates

	Request  json.RawMessage `json:"request"`
	Citation json.RawMessage `json:"citation"`
	Tiers    []struct {
		listedRates

		Tier struct {
			Type string          `json:"type"`
			Size json.RawMessage `json:"size"`
		} `json:"tier"`
	} `json:"tiers"`
	Long *listedRates `json:"context_over_200k"`
}

func parseList(data []byte, source Source, more []string) (*Catalogue, error) {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, noCatalogue("it is not JSON")
	}
	names := maps.Clone(listNames)
	for _, vendor := range more {
		if _, ours := names[vendor]; !ours && !slices.Contains(unlisted, vendor) {
			names[vendor] = vendor
		}
	}
	if source.Page != "" && !address.MatchString(source.Page) {
		source.Page = ""
	}
	c := &Catalogue{
		table:   &Table{date: source.Read, rows: map[string][]row{}},
		vendors: map[string]bool{}, deprecated: map[string]bool{}, LeftOut: map[string]int{},
	}
	for _, theirs := range slices.Sorted(maps.Keys(list)) {
		vendor, known := names[theirs]
		if !known {
			continue
		}
		var provider struct {
			Models map[string]json.RawMessage `json:"models"`
		}
		if json.Unmarshal(list[theirs], &provider) != nil {
			return nil, noCatalogue("it has not the form of models.dev")
		}
		for _, id := range slices.Sorted(maps.Keys(provider.Models)) {
			if why := c.add(vendor, id, provider.Models[id], source); why != "" {
				c.LeftOut[why]++
			}
		}
	}
	if len(c.table.names) == 0 {
		return nil, noCatalogue("it has no model with a price")
	}
	return c, nil
}

// add adds a model of a list, or returns why not.
func (c *Catalogue) add(vendor, id string, raw json.RawMessage, source Source) (why string) {
	name := vendor + ":" + id
	if vendor == "vertex" {
		name = strings.TrimSuffix(name, "@default")
	}
	if !reference.MatchString(name) {
		return leftName
	}
	var m listed
	if json.Unmarshal(raw, &m) != nil {
		return leftForm
	}
	r := row{embedding: strings.Contains(strings.ToLower(id), "embed")}
	r.price.Source = source
	if out := m.Modalities.Output; out != nil && !slices.Contains(out, "text") {
		return leftNoText
	}
	if n, ok := whole(m.Limit.Context); ok {
		r.context = n
	}
	switch {
	case m.Cost == nil:
		return leftNoPrice
	case present(m.Cost.Request) || present(m.Cost.Citation):
		return leftPrice
	case present(m.Cost.Reasoning) && !same(m.Cost.Reasoning, m.Cost.Output):
		return leftPrice
	case !r.rates(m.Cost):
		return leftForm
	}
	if in, out := r.price.Input, r.price.Output; in.pico == 0 && out.pico == 0 && !strings.HasSuffix(id, ":free") {
		return leftFree
	}
	if r.embedding {
		r.price.Output, r.price.LongOver, r.price.Long = Rate{}, 0, Rates{}
	}
	switch vendor {
	case "openai":
		r.regions = map[string]int64{"": 1000}
	case "vertex":
		r.regions = map[string]int64{"": 1000, "global": 1000}
	}
	c.vendors[vendor] = true
	if m.Status == "deprecated" {
		c.deprecated[name] = true
	}
	if c.table.rows[name] == nil { // Claude is in the list twice, also at Vertex
		c.table.names = append(c.table.names, name)
		c.table.rows[name] = []row{r}
	}
	return ""
}

// rates reads the prices of a model. It reports whether they are valid.
func (r *row) rates(cost *listedCost) bool {
	if !cost.read(&r.price.Rates) {
		return false
	}
	switch {
	case len(cost.Tiers) > 1:
		return false
	case len(cost.Tiers) == 1:
		t := &cost.Tiers[0]
		over, ok := whole(t.Tier.Size)
		if !ok || t.Tier.Type != "" && t.Tier.Type != "context" || !t.read(&r.price.Long) {
			return false
		}
		r.price.LongOver = over
	case cost.Long != nil:
		if !cost.Long.read(&r.price.Long) {
			return false
		}
		r.price.LongOver = 200_000
	}
	return true
}

func (l *listedRates) read(to *Rates) bool {
	for _, part := range [...]struct {
		raw  json.RawMessage
		to   *Rate
		need bool
	}{{l.Input, &to.Input, true}, {l.Output, &to.Output, true}, {l.CacheRead, &to.CacheRead, false}, {l.CacheWrite, &to.CacheWrite, false}} {
		rate, ok := listedRate(part.raw)
		if !ok || part.need && !rate.known {
			return false
		}
		*part.to = rate
	}
	return true
}

// mostListed is the highest plausible price of a list, in dollars for a million tokens.
const mostListed = 100_000

var numeral = lazyre.New(`^-?[0-9][0-9.eE+-]{0,40}$`)

// listedRate parses a number of dollars, rounded to six decimals.
func listedRate(raw json.RawMessage) (Rate, bool) {
	if !present(raw) {
		return Rate{}, true
	}
	if !numeral.Match(raw) {
		return Rate{}, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(f >= 0 && f <= mostListed) {
		return Rate{}, false
	}
	micro, ok := parseDollars(strconv.FormatFloat(max(f, 0), 'f', 6, 64))
	return Rate{micro, true}, ok && (micro > 0 || f == 0)
}

// whole parses a number of tokens from 1.
func whole(raw json.RawMessage) (int64, bool) {
	n, ok := parseDecimal(string(raw), 0)
	return n, ok && n > 0
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func same(a, b json.RawMessage) bool {
	x, okX := listedRate(a)
	y, okY := listedRate(b)
	return okX && okY && x == y
}
