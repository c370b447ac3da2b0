package service

import (
	"context"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/directory"
)

// spendStore holds what tenants spent on models today and what is reserved by calls in progress. All
// methods are safe for concurrent use.
type spendStore interface {
	// ReserveSpend reserves want, or returns [event.ErrQuota] if less than that is left of most. A
	// most of 0 means no bound. The reservation ends after lasts. now is the caller's clock and is
	// used for the error only.
	ReserveSpend(ctx context.Context, of directory.SpendOf, id string, want, most directory.Spend, now time.Time, lasts time.Duration) error
	// RenewSpend makes a reservation end after lasts from now.
	RenewSpend(ctx context.Context, of directory.SpendOf, id string, lasts time.Duration) error
	// SettleSpend replaces a reservation with what was used.
	SettleSpend(ctx context.Context, of directory.SpendOf, id string, used directory.Spend) error
	// Spent returns what was spent, without reservations.
	Spent(ctx context.Context, of directory.SpendOf) (directory.Spend, error)
}

// dayOf returns the number of days since 1970-01-01 in UTC.
func dayOf(now time.Time) int64 { return now.Unix() / secondsOfDay }

const secondsOfDay = 24 * 60 * 60

// localSpend is the spendStore of a process with its own database. Reservations end with the process.
// The spending before it started comes from the ledger.
type localSpend struct {
	ledger journal.Ledger

	mu sync.Mutex
	of map[directory.SpendOf]*tenantSpend
	// swept is the day on which earlier days were dropped last.
	swept int64
}

type tenantSpend struct {
	spent directory.Spend
	// held is the sum of the reservations.
	held     directory.Spend
	reserved map[string]directory.Spend
}

// tenant returns the tenant's entry with p.mu locked. The caller must unlock it.
func (p *localSpend) tenant(ctx context.Context, of directory.SpendOf) (*tenantSpend, error) {
	p.mu.Lock()
	if k := p.of[of]; k != nil {
		return k, nil
	}
	p.mu.Unlock()
	spent, err := p.before(ctx, of)
	p.mu.Lock()
	if err != nil {
		return &tenantSpend{}, err
	}
	k := p.of[of]
	if k == nil { // else another call was faster, and calls may have ended since
		k = &tenantSpend{spent: spent, reserved: make(map[string]directory.Spend)}
		p.sweep(of.Day)
		p.of[of] = k
	}
	return k, nil
}

// before returns what the ledger knows of the day.
func (p *localSpend) before(ctx context.Context, of directory.SpendOf) (s directory.Spend, err error) {
	from := time.Unix(of.Day*secondsOfDay, 0).UTC()
	sums, err := p.ledger.UsageSums(ctx, journal.LedgerQuery{
		Tenant: of.Tenant, From: from, To: from.Add(secondsOfDay * time.Second),
	}, journal.UsageByDay, nil)
	for i := range sums {
		u := &sums[i]
		s.Tokens = event.AddCounts(s.Tokens, event.AddCounts(event.AddCounts(u.Input, u.Output), event.AddCounts(u.CacheRead, u.CacheWrite)))
		s.Cost = pricing.NanoUSD(event.AddCounts(int64(s.Cost), u.KnownNanoUSD))
	}
	return s, err
}

// sweep drops past days. A day with a call in progress stays until that call has settled.
func (p *localSpend) sweep(today int64) {
	if p.of == nil {
		p.of = make(map[directory.SpendOf]*tenantSpend)
	}
	if p.swept == today {
		return
	}
	p.swept = today
	for of, k := range p.of {
		if of.Day < today && len(k.reserved) == 0 {
			delete(p.of, of)
		}
	}
}

func (p *localSpend) ReserveSpend(
	ctx context.Context, of directory.SpendOf, id string, want, most directory.Spend, now time.Time, _ time.Duration,
) error {
	k, err := p.tenant(ctx, of)
	defer p.mu.Unlock()
	if err != nil {
		return err
	}
	if _, again := k.reserved[id]; again {
		return nil
	}
	all := sumOf(sumOf(k.spent, k.held), want)
	switch {
	case most.Tokens > 0 && all.Tokens > most.Tokens:
		return directory.NoTokensLeft(now)
	case most.Cost > 0 && all.Cost > most.Cost:
		return directory.NoMoneyLeft(now)
	}
	k.reserved[id], k.held = want, sumOf(k.held, want)
	return nil
}

func sumOf(a, b directory.Spend) directory.Spend {
	return directory.Spend{
		Tokens: event.AddCounts(a.Tokens, b.Tokens), Cost: pricing.NanoUSD(event.AddCounts(int64(a.Cost), int64(b.Cost))),
	}
}

func (p *localSpend) RenewSpend(context.Context, directory.SpendOf, string, time.Duration) error {
	return nil
}

func (p *localSpend) SettleSpend(ctx context.Context, of directory.SpendOf, id string, used directory.Spend) error {
	k, err := p.tenant(ctx, of)
	defer p.mu.Unlock()
	if err == nil {
		held := k.reserved[id]
		delete(k.reserved, id)
		k.held.Tokens, k.held.Cost = k.held.Tokens-held.Tokens, k.held.Cost-held.Cost
		k.spent = sumOf(k.spent, used)
	}
	return err
}

func (p *localSpend) Spent(ctx context.Context, of directory.SpendOf) (directory.Spend, error) {
	k, err := p.tenant(ctx, of)
	defer p.mu.Unlock()
	return k.spent, err
}

// newSpendStore returns the shared directory's store, or one of this process over the ledger.
func newSpendStore(d *directory.Directory, ledger journal.Ledger) spendStore {
	if d != nil && d.Shared() {
		return d
	}
	return &localSpend{ledger: ledger}
}
