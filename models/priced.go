package models

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
)

// priced is a model with its costs, if they are known.
type priced struct {
	model.Model
	info   model.Info
	prices *pricing.Table
	place  string
}

// withCost returns a model with its costs.
func withCost(m model.Model, prices *pricing.Table, place string) *priced {
	p := &priced{m, m.Info(), prices, place}
	if p.info.ContextWindow == 0 {
		p.info.ContextWindow = prices.Context(p.info.Name)
	}
	p.info.Cost = func(u event.Usage) (int64, bool) { return prices.Cost(p.info.Name, place, time.Now(), u) }
	return p
}

// price returns the model's price on a day; nil means unknown.
func (m *priced) price(at time.Time) *pricing.Price {
	p, _ := m.prices.Find(m.info.Name, m.place, at)
	return p
}

// Info implements [model.Model].
func (m *priced) Info() model.Info { return m.info }

// Unwrap returns the wrapped model.
func (m *priced) Unwrap() model.Model { return m.Model }

// Cancellable implements [model.Cancellable] if the wrapped model does.
func (m *priced) Cancellable() model.Model {
	if model.IsCancellable(m.Model) {
		return m
	}
	return nil
}

// ownPrice is a model with its own price.
type ownPrice struct {
	model.Model

	info  model.Info
	price *pricing.Price
}

// Info implements [model.Model].
func (m *ownPrice) Info() model.Info { return m.info }

// Unwrap returns the wrapped model.
func (m *ownPrice) Unwrap() model.Model { return m.Model }

// Cancellable implements [model.Cancellable] if the wrapped model does.
func (m *ownPrice) Cancellable() model.Model {
	if model.IsCancellable(m.Model) {
		return m
	}
	return nil
}

// PriceOf returns today's price of a model that an [Opener] opened. It returns nil if the price is
// unknown.
func PriceOf(m model.Model) *pricing.Price {
	for m != nil {
		if p, ok := m.(*priced); ok {
			return p.price(time.Now())
		}
		if p, ok := m.(*ownPrice); ok {
			return p.price
		}
		w, ok := m.(interface{ Unwrap() model.Model })
		if !ok {
			return nil
		}
		m = w.Unwrap()
	}
	return nil
}
