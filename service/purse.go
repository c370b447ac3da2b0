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

// purse knows what tenants have spent on models today, and what calls under way may spend at most.
// All methods are safe for concurrent use.
type purse interface {
	// ReserveSpend reserves an amount, unless less than it is left of most; a most of 0 is no bound. The reservation ends after
	// lasts; now is the caller's clock, and decides nothing.
	ReserveSpend(ctx context.Context, of directory.SpendOf, id string, want, most directory.Spend, now time.Time, lasts time.Duration) error
	// RenewSpend has a reservation end after lasts from now.
	RenewSpend(ctx context.Context, of directory.SpendOf, id string, lasts time.Duration) error
	// SettleSpend puts what was used in place of a reservation.
	SettleSpend(ctx context.Context, of directory.SpendOf, id string, used directory.Spend) error
	// Spent says what was spent, without reservations.
	Spent(ctx context.Context, of directory.SpendOf) (directory.Spend, error)
}

// dayOf counts the days since 1970-01-01 in UTC.
func dayOf(now time.Time) int64 { return now.Unix() / secondsOfDay }

const secondsOfDay = 24 * 60 * 60

// ownPurse is the purse of a process that nobody shares a database with. Reservations end with the process. What was
// spent before it began comes from the ledger.
type ownPurse struct {
	ledger journal.Ledger

	mu sync.Mutex
	of map[directory.SpendOf]*pocket
	// swept is the day on which those of earlier days were let go.
	swept int64
}

type pocket struct {
	spent directory.Spend
	// held is the sum of what is reserved.
	held     directory.Spend
	reserved map[string]directory.Spend
}

// pocket gives the tenant's, under the lock, which the caller gives back.
func (p *ownPurse) pocket(ctx context.Context, of directory.SpendOf) (*pocket, error) {
	p.mu.Lock()
	if k := p.of[of]; k != nil {
		return k, nil
	}
	p.mu.Unlock()
	spent, err := p.before(ctx, of)
	p.mu.Lock()
	if err != nil {
		return &pocket{}, err
	}
	k := p.of[of]
	if k == nil { // else somebody was faster, and calls may have ended since
		k = &pocket{spent: spent, reserved: make(map[string]directory.Spend)}
		p.sweep(of.Day)
		p.of[of] = k
	}
	return k, nil
}

// before is what the ledger knows of the day.
func (p *ownPurse) before(ctx context.Context, of directory.SpendOf) (s directory.Spend, err error) {
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

// sweep lets go of days that are over. A call that is still under way settles in its own day.
func (p *ownPurse) sweep(today int64) {
	if p.of == nil {
		p.of = make(map[directory.SpendOf]*pocket)
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

func (p *ownPurse) ReserveSpend(
	ctx context.Context, of directory.SpendOf, id string, want, most directory.Spend, now time.Time, _ time.Duration,
) error {
	k, err := p.pocket(ctx, of)
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

func (p *ownPurse) RenewSpend(context.Context, directory.SpendOf, string, time.Duration) error {
	return nil
}

func (p *ownPurse) SettleSpend(ctx context.Context, of directory.SpendOf, id string, used directory.Spend) error {
	k, err := p.pocket(ctx, of)
	defer p.mu.Unlock()
	if err == nil {
		held := k.reserved[id]
		delete(k.reserved, id)
		k.held.Tokens, k.held.Cost = k.held.Tokens-held.Tokens, k.held.Cost-held.Cost
		k.spent = sumOf(k.spent, used)
	}
	return err
}

func (p *ownPurse) Spent(ctx context.Context, of directory.SpendOf) (directory.Spend, error) {
	k, err := p.pocket(ctx, of)
	defer p.mu.Unlock()
	return k.spent, err
}
