package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/pricing"
)

// opener returns the opener of a configuration's models. The program has only one, because all models share
// the limits of their keys.
func (p *process) opener(s *conf.Settings) (*models.Opener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened != nil {
		return p.opened, nil
	}
	prices, err := readPrices(s.Prices, p.layCatalogue(s.Catalogue))
	if err != nil {
		return nil, err
	}
	vendors, err := readVendors(s.Vendors)
	if err != nil {
		return nil, err
	}
	o, err := models.NewOpener(models.Options{Env: p.Getenv, Prices: prices, Vendors: vendors, Limits: s.Limits, Warn: p.warnOf})
	if err == nil {
		p.opened = o
	}
	return o, err
}

// warnOf reports unknown facts about a model, to the user or to the server's log.
func (p *process) warnOf(w models.Warning) {
	if p.doubt != nil {
		p.doubt(w)
		return
	}
	fmt.Fprintf(p.Stderr, "braid: %s (%s)\n", printer.OneLine(strings.TrimSuffix(w.Text, ".")), printer.OneLine(w.Next))
}

// openAs opens one model by its complete reference.
func (p *process) openAs(s *conf.Settings, ref string) (braid.Model, error) {
	if p.openRef != nil {
		return p.openRef(ref)
	}
	o, err := p.opener(s)
	if err != nil {
		return nil, err
	}
	return o.Open(ref)
}

// readPrices adds the user's table of prices, which overrides the other one.
func readPrices(file string, below *pricing.Table) (*pricing.Table, error) {
	if file == "" {
		return below, nil
	}
	data, err := readTable(file, pricing.MaxTable, "the table of prices", "--prices", "1 MiB")
	if err != nil {
		return nil, err
	}
	table, err := pricing.Parse(data)
	if err != nil {
		return nil, err
	}
	return below.With(table), nil
}

// readVendors adds the user's vendors, which override the built-in ones.
func readVendors(file string) (*models.Vendors, error) {
	if file == "" {
		return models.DefaultVendors(), nil
	}
	data, err := readTable(file, models.MaxVendors, "the file of vendors", "--vendors", "256 KiB")
	if err != nil {
		return nil, err
	}
	return models.ParseVendors(data)
}

// readTable reads the file of an option; what names it in errors.
func readTable(file string, most int64, what, option, size string) ([]byte, error) {
	data, err := conf.ReadLimited(file, most)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, conf.ErrTooLarge):
		return nil, &event.Error{
			Kind: event.ErrTooLarge, Message: what + " is larger than " + size, Hint: "check that " + option + " names the right file", Err: err,
		}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &event.Error{
			Kind: event.ErrNotFound, Message: strings.Replace(what, "the ", "there is no such ", 1),
			Hint: "check that " + option + " names the right file", Err: err,
		}
	}
	return nil, &event.Error{
		Kind: event.ErrInvalid, Message: what + " cannot be read", Hint: "name a file with " + option + ", in YAML", Err: err,
	}
}

// fallbacks opens the fallback models. In a replay these are the recorded ones.
func (p *process) fallbacks(s *conf.Settings, first braid.Model, t *recording) ([]braid.Model, error) {
	var others []braid.Model
	for _, ref := range s.Fallback {
		open := func(ref string) (braid.Model, error) { return p.openModel(s, ref) }
		if t != nil {
			open = t.open
		}
		m, err := open(ref)
		if err != nil {
			if t != nil && t.player != nil {
				continue
			}
			e, ok := errors.AsType[*event.Error](err)
			if !ok {
				return nil, err
			}
			told := *e
			told.Op = strings.TrimPrefix(e.Op+" (from fallback)", " ")
			return nil, &told
		}
		others = append(others, m)
	}
	return otherThan(first, others), nil
}

// otherThan removes the model itself and duplicates.
func otherThan(first braid.Model, list []braid.Model) []braid.Model {
	names := []string{first.Info().Name}
	var others []braid.Model
	for _, m := range list {
		if name := m.Info().Name; !slices.Contains(names, name) {
			names, others = append(names, name), append(others, m)
		}
	}
	return others
}

// fallbackParts returns the parts of an agent with fallback models.
func fallbackParts(s *conf.Settings, others []braid.Model) []braid.Part {
	if len(others) == 0 {
		return nil
	}
	return []braid.Part{braid.Fallback(s.FallbackOn, others...)}
}

// trial builds an agent with the models and discards it, to report unsupported settings at once.
func (p *process) trial(s *conf.Settings, model braid.Model, others []braid.Model) error {
	return braid.New(printer.AgentName, model, fallbackParts(s, others)...).Err()
}
