package directory

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/database"
)

// Spend is an amount of tokens and money.
type Spend struct {
	Tokens int64
	Cost   pricing.NanoUSD
}

// SpendOf identifies a sum: a tenant of one life on one day.
type SpendOf struct {
	Tenant, Life string
	// Day is the number of days since 1970-01-01 in UTC.
	Day int64
}

// Shared reports whether other processes use the same database.
func (d *Directory) Shared() bool { return d.db.Shared() }

// ReserveSpend reserves want for a model call. It returns [NoTokensLeft] or [NoMoneyLeft] if less
// than that is left of most. A most of 0 means no bound. The reservation ends after lasts, by the
// database's clock. It needs a database that is [Directory.Shared], and counts for all processes.
func (d *Directory) ReserveSpend(ctx context.Context, of SpendOf, id string, want, most Spend, now time.Time, lasts time.Duration) error {
	const op = "reserve"
	full := 0
	err := d.db.Call(ctx, op, of.Tenant, `SELECT reserve_spend(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, []any{
		of.Tenant, of.Life, of.Day, id, want.Tokens, int64(want.Cost), most.Tokens, int64(most.Cost), now.UnixMicro(), now.Add(lasts).UnixMicro(),
	}, true, &full)
	switch {
	case err != nil:
		return err
	case full == 1:
		return NoTokensLeft(now)
	case full == 2:
		return NoMoneyLeft(now)
	}
	return nil
}

// RenewSpend makes a reservation end after lasts from now, by the database's clock.
func (d *Directory) RenewSpend(ctx context.Context, of SpendOf, id string, lasts time.Duration) error {
	return d.db.Write(ctx, "renew", of.Tenant, func(tx *database.Tx) error {
		_, err := tx.Exec(`UPDATE reservation SET expires = service_clock() + ? WHERE tenant = ? AND id = ?`, lasts.Microseconds(), of.Tenant, id)
		return err
	})
}

// SettleSpend replaces a reservation with what was used.
func (d *Directory) SettleSpend(ctx context.Context, of SpendOf, id string, used Spend) error {
	var done int
	return d.db.Call(ctx, "settle", of.Tenant, `SELECT settle_spend(?, ?, ?, ?, ?, ?)`,
		[]any{of.Tenant, of.Life, of.Day, id, used.Tokens, int64(used.Cost)}, false, &done)
}

// Spent returns what was spent, without reservations.
func (d *Directory) Spent(ctx context.Context, of SpendOf) (s Spend, err error) {
	err = d.db.Look(ctx, "spent", of.Tenant, `SELECT tokens, nano_usd FROM spend WHERE tenant = ? AND day = ? AND life = ?`,
		[]any{of.Tenant, of.Day, of.Life}, func(scan func(into ...any) error) error { return scan(&s.Tokens, (*int64)(&s.Cost)) })
	return s, err
}

// untilMidnight returns the time until the next day in UTC.
func untilMidnight(now time.Time) time.Duration {
	const day = 24 * time.Hour
	return now.UTC().Truncate(day).Add(day).Sub(now)
}

const quotaOfDay = "try again after midnight UTC, or ask the operator of this service for more"

// NoTokensLeft returns the error for a tenant that has used its tokens of the day.
func NoTokensLeft(now time.Time) error {
	return &event.Error{
		Op: "quota", Kind: event.ErrQuota, Code: "QUOTA_TOKENS", Message: "the tenant has no tokens left for today", Hint: quotaOfDay,
		RetryAfter: untilMidnight(now),
	}
}

// NoMoneyLeft returns the error for a tenant that has spent its money of the day.
func NoMoneyLeft(now time.Time) error {
	return &event.Error{
		Op: "quota", Kind: event.ErrQuota, Code: "QUOTA_COST", Message: "the tenant has no money left for today", Hint: quotaOfDay,
		RetryAfter: untilMidnight(now),
	}
}
