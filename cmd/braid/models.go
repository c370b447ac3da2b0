package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/pricing"
)

func modelsCommand(p *process) conf.Command {
	return conf.Command{
		Name: "models", Args: "[PROVIDER]", Short: "list the models that can be used now, and why others cannot",
		About: `Prices are list prices in US dollars per million tokens, from a table with the shown
date. A model without a price can be used; its cost is unknown. You can name any model
of a provider, also one that is not listed. Keys are named, never shown. The command
calls no provider, so only a run can check a key. It asks model servers on this
machine for their models. braid help models explains names and settings of models.`,
		Examples: []conf.Example{
			{Line: "braid models", Says: "every provider, with its usual models"},
			{Line: "braid models anthropic", Says: "all that is known of one"},
			{Line: "braid models --refresh https://models.dev/api.json", Says: "take prices and context windows from a public list"},
			{Line: "braid models --json | jq -r '.providers[]|select(.ready).models[].ref'", Says: "for programs"},
		},
		Options: true,
		Some:    []string{"model", "prices", "vendors", "color"},
		Flags: []conf.Flag{
			{Name: "json", Help: "write one JSON object"},
			{Name: "refresh", Value: "FILE|URL", Help: "read prices and context windows from a catalogue, show what changes and use it from now on"},
			{Name: "dry-run", Help: "with --refresh: show what changes and keep nothing"},
		},
		Run: func(ctx context.Context, in *conf.Invocation) error { return listModels(ctx, p, in) },
	}
}

func listModels(ctx context.Context, p *process, in *conf.Invocation) error {
	if _, asked := in.Flags["refresh"]; asked {
		return p.refreshModels(ctx, in, newFetcher(nil))
	}
	if in.On("dry-run") {
		return term.Invalid("write --refresh FILE or URL beside it", "--dry-run goes with --refresh")
	}
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	o, err := p.opener(&cfg.Settings)
	if err != nil {
		return err
	}
	list := o.Survey(p.localServers(ctx))
	if len(in.Args) > 1 {
		return term.Invalid("braid models --help shows its form", "braid models takes one provider at most")
	}
	narrow := len(in.Args) == 1
	if narrow {
		name := strings.TrimSuffix(in.Args[0], ":")
		var known []string
		for i := range list {
			if !slices.Contains(known, list[i].Provider) {
				known = append(known, list[i].Provider)
			}
		}
		if !slices.Contains(known, name) {
			return &event.Error{
				Kind: event.ErrNotFound, Message: fmt.Sprintf("there is no provider %q", term.Fit(name, 40)),
				Hint: term.DidYouMean(name, known, "braid models ", "there are "+strings.Join(known, ", ")),
			}
		}
		list = slices.DeleteFunc(list, func(s models.Standing) bool { return s.Provider != name })
	}
	chosen := o.Detect(cfg.Model)
	if in.On("json") {
		return p.printModelsJSON(cfg, chosen, list)
	}
	return p.Print(p.modelsText(cfg, chosen, list, narrow))
}

// mostModels is the number of models that are printed per provider in the full list.
const mostModels = 6

// modelsText formats the list for users.
func (p *process) modelsText(cfg *conf.Config, chosen models.Detection, list []models.Standing, narrow bool) string {
	s := p.NewScreen(p.Stdout, cfg.Color)
	wide := 0
	for i := range list {
		for _, m := range shown(&list[i], narrow) {
			wide = max(wide, term.Width(m.Ref))
		}
	}
	wide = min(wide, 60)
	var b []byte
	b = fmt.Appendf(b, "%-*s  %7s  %7s  %8s  %8s\n", wide+2, "model", "context", "input", "output", "cached")
	var others []string
	for _, ready := range []bool{true, false} {
		for i := range list {
			switch st := &list[i]; {
			case st.Ready != ready:
			case st.Vendor && !ready && !narrow:
				others = append(others, st.Provider)
			default:
				b = appendStanding(b, s, st, wide, narrow)
			}
		}
	}
	if len(others) > 0 {
		b = fmt.Appendf(b, "\n%s\n  next: braid models NAME says what each of them needs\n", term.CleanLine(strings.Join(others, "  ")))
	}
	date := pricing.Default().Date()
	b = fmt.Appendf(b, "\nUSD for a million tokens, list prices as this build's table of %s has them; - is unknown\n", date)
	if table, _ := usedCatalogue(cfg.Catalogue); table != nil {
		b = fmt.Appendf(b, "the catalogue of %s goes before it: %s\n", table.Date(), term.CleanLine(cfg.Catalogue))
	}
	b = fmt.Appendf(b, "%s is used where none is named%s\n", term.CleanLine(term.Redact(chosen.Model)), because(chosen))
	return string(b)
}

// because explains why a model is used.
func because(d models.Detection) string {
	switch d.Source {
	case models.FromEnvironment:
		return ": " + models.Variable + " names it"
	case models.FromArgument:
		return ": the configuration names it"
	case models.FromKey:
		return ": a key for it is set"
	}
	return ", because there is no key"
}

// shown returns the models of a provider that are listed.
func shown(s *models.Standing, narrow bool) []models.Known {
	if narrow || len(s.Models) <= mostModels+1 {
		return s.Models
	}
	return s.Models[:mostModels]
}

func appendStanding(b []byte, s term.Screen, st *models.Standing, wide int, narrow bool) []byte {
	how := term.Green
	if !st.Ready {
		how = term.Yellow
	}
	b = append(b, '\n')
	b = s.Paint(b, how, st.Provider)
	b = fmt.Appendf(b, "  %s\n", term.CleanLine(st.Why))
	if !st.Ready {
		return fmt.Appendf(b, "  next: %s\n", term.CleanLine(st.Next))
	}
	list := shown(st, narrow)
	for i := range list {
		b = appendModel(b, &list[i], wide, narrow)
	}
	if n := len(st.Models) - len(list); n > 0 {
		b = fmt.Appendf(b, "  and %d more: braid models %s\n", n, st.Provider)
	}
	return b
}

func appendModel(b []byte, m *models.Known, wide int, narrow bool) []byte {
	ref := term.CleanLine(m.Ref)
	line := fmt.Sprintf("  %s%s  %7s", ref, strings.Repeat(" ", max(wide-term.Width(ref), 0)), tokensWord(m.ContextWindow))
	switch {
	case m.Simulated:
		line += "     free"
	case m.Price == nil:
		line += fmt.Sprintf("  %7s  %8s  %8s", "-", "-", "-")
	default:
		line += priceColumns(&m.Price.Rates)
	}
	if m.Usual {
		line += "  usual"
	}
	if m.Price != nil && m.Price.RanOut != "" {
		line += "  promised until " + m.Price.RanOut
	}
	b = append(append(b, strings.TrimRight(line, " ")...), '\n')
	if m.Price == nil || !narrow {
		return b
	}
	if m.Price.LongOver > 0 {
		b = fmt.Appendf(b, "  %-*s  %7s%s\n", wide, "  prompts over", tokensWord(int(m.Price.LongOver)), priceColumns(&m.Price.Long))
	}
	for _, search := range [...]struct {
		what string
		rate pricing.Rate
	}{{"a thousand web searches", m.Price.WebSearch}, {"a thousand file searches", m.Price.FileSearch}} {
		if text := search.rate.String(); text != "" {
			b = fmt.Appendf(b, "    %s %s\n", search.what, text)
		}
	}
	return b
}

func priceColumns(r *pricing.Rates) string {
	word := func(rate pricing.Rate) string {
		if s := rate.String(); s != "" {
			return s
		}
		return "-"
	}
	return fmt.Sprintf("  %7s  %8s  %8s", word(r.Input), word(r.Output), word(r.CacheRead))
}

// tokensWord formats a number of tokens in three or four characters.
func tokensWord(n int) string {
	switch {
	case n == 0:
		return "-"
	case n >= 1_000_000:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64), ".0") + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "K"
	}
	return strconv.Itoa(n)
}

// The list as JSON.
type (
	modelsJSON struct {
		// Model is the default model; Source is the reason for it.
		Model  string        `json:"model"`
		Source models.Source `json:"source"`
		// PricesDate is the date of the built-in table.
		PricesDate string `json:"prices_date"`
		// CatalogueDate is the date of the refreshed catalogue, if one is used.
		CatalogueDate string         `json:"catalogue_date,omitempty"`
		Providers     []standingJSON `json:"providers"`
	}
	standingJSON struct {
		Provider string      `json:"provider"`
		Ready    bool        `json:"ready"`
		Why      string      `json:"why"`
		Next     string      `json:"next,omitempty"`
		Key      string      `json:"key,omitempty"`
		Region   string      `json:"region,omitempty"`
		Models   []knownJSON `json:"models"`
	}
	knownJSON struct {
		Ref           string `json:"ref"`
		Usual         bool   `json:"usual,omitempty"`
		Simulated     bool   `json:"simulated,omitempty"`
		ContextWindow int    `json:"context_window,omitempty"`
		// Price is null if unknown.
		Price *priceJSON `json:"price"`
	}
	// priceJSON has micro-dollars per million tokens. Unknown prices are omitted.
	priceJSON struct {
		ratesJSON
		Long     *ratesJSON `json:"long,omitempty"`
		LongOver int64      `json:"long_over,omitempty"`
		// WebSearch and FileSearch are in micro-dollars per thousand searches.
		WebSearch  *int64 `json:"web_search,omitempty"`
		FileSearch *int64 `json:"file_search,omitempty"`
		// RanOut is the last day for which the vendor announced the price. The price is used afterwards
		// too.
		RanOut string `json:"ran_out,omitempty"`
		Page   string `json:"page,omitempty"`
		Read   string `json:"read,omitempty"`
	}
	ratesJSON struct {
		Input          *int64 `json:"input,omitempty"`
		Output         *int64 `json:"output,omitempty"`
		CacheWrite     *int64 `json:"cache_write,omitempty"`
		CacheWriteHour *int64 `json:"cache_write_hour,omitempty"`
		CacheRead      *int64 `json:"cache_read,omitempty"`
	}
)

// number is a rate as a whole number; nil is unknown.
func number(rate pricing.Rate) *int64 {
	if v, known := rate.MicroUSD(); known {
		return &v
	}
	return nil
}

func ratesOf(r *pricing.Rates) ratesJSON {
	return ratesJSON{number(r.Input), number(r.Output), number(r.CacheWrite), number(r.CacheWriteHour), number(r.CacheRead)}
}

// priceOf is a price as JSON; nil is unknown.
func priceOf(p *pricing.Price) *priceJSON {
	if p == nil {
		return nil
	}
	j := &priceJSON{
		ratesJSON: ratesOf(&p.Rates), LongOver: p.LongOver, RanOut: p.RanOut, Page: p.Source.Page, Read: p.Source.Read,
		WebSearch: number(p.WebSearch), FileSearch: number(p.FileSearch),
	}
	if p.LongOver > 0 {
		long := ratesOf(&p.Long)
		j.Long = &long
	}
	return j
}

func (p *process) printModelsJSON(cfg *conf.Config, chosen models.Detection, list []models.Standing) error {
	out := modelsJSON{Model: term.Redact(chosen.Model), Source: chosen.Source, PricesDate: pricing.Default().Date(), Providers: []standingJSON{}}
	table, _ := usedCatalogue(cfg.Catalogue) // loading it has reported errors
	out.CatalogueDate = table.Date()
	for i := range list {
		s := &list[i]
		st := standingJSON{
			Provider: s.Provider, Ready: s.Ready, Why: term.CleanLine(s.Why), Next: term.CleanLine(s.Next), Key: s.Key,
			Region: s.Region, Models: []knownJSON{},
		}
		for _, m := range s.Models {
			k := knownJSON{Ref: m.Ref, Usual: m.Usual, Simulated: m.Simulated, ContextWindow: m.ContextWindow}
			k.Price = priceOf(m.Price)
			st.Models = append(st.Models, k)
		}
		out.Providers = append(out.Providers, st)
	}
	line, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return p.Print(string(term.CleanJSON(nil, line)) + "\n")
}
