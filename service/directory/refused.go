package directory

import (
	"context"
	"slices"
	"time"

	"github.com/braidrun/braid/service/database"
)

// Refused counts a refused request. The counts are written to the audit every few minutes
// ([Options].RefusedEvery), as entries with the action request.refused, one for each kind of
// refusal. It does not query the database and is quick.
func (d *Directory) Refused(r Refused) {
	now := database.Now()
	kind := refusedKind{r.By.Tenant, r.By.Key, r.By.User, r.By.Operator, r.Status, r.Code, r.Route}
	d.refusals.add(kind, refusedCount{
		Count: 1, Status: r.Status, Route: r.Route, First: now, Last: now, Request: r.Request, Path: cutPath(r.Path),
	})
	d.writeLater()
}

// writeLater schedules the next write.
func (d *Directory) writeLater() {
	r := &d.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut || r.timer != nil || len(r.counts) == 0 {
		return
	}
	r.timer = time.AfterFunc(d.refusedEvery, func() {
		ctx, stop := context.WithTimeout(context.Background(), refusedWrite)
		defer stop()
		_ = d.WriteRefused(ctx) // the next write tries again
	})
}

// refusedWrite bounds how long a write of the counts takes.
const refusedWrite = 30 * time.Second

// WriteRefused writes the counts of refused requests to the audits now. Counts that cannot be
// written are kept for the next time.
func (d *Directory) WriteRefused(ctx context.Context) error {
	r := &d.refusals
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	counts := r.counts
	r.counts, r.kinds = nil, nil
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.mu.Unlock()
	tenants := make(map[string][]refusedKind)
	for kind := range counts {
		tenants[kind.tenant] = append(tenants[kind.tenant], kind)
	}
	var failed error
	for tenant, kinds := range tenants {
		slices.SortFunc(kinds, func(a, b refusedKind) int { return counts[a].First.Compare(counts[b].First) })
		if err := d.recordRefused(ctx, tenant, kinds, counts); err != nil {
			failed = err
			for _, kind := range kinds {
				r.add(kind, *counts[kind])
			}
		}
	}
	if failed != nil {
		d.writeLater()
	}
	return failed
}

// recordRefused writes the counts of one tenant. A tenant that no longer exists, or that was
// created with the same id after the refusals, gets none.
func (d *Directory) recordRefused(ctx context.Context, tenant string, kinds []refusedKind, counts map[refusedKind]*refusedCount) error {
	const op = "audit refusals"
	return d.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		var created int64
		if tenant != "" {
			there, err := tx.Get(`SELECT created FROM tenant WHERE id = ?`, []any{tenant}, &created)
			if err != nil || !there {
				return err
			}
		}
		for _, k := range kinds {
			if database.Micros(counts[k].First) < created {
				continue
			}
			by := By{Tenant: k.tenant, Key: k.key, User: k.user, Operator: k.operator}
			if err := record(tx, tenant, by, "request.refused", "refusal/"+k.code, counts[k]); err != nil {
				return err
			}
		}
		return nil
	})
}

// closeRefusals writes the counts and stops counting.
func (d *Directory) closeRefusals() error {
	ctx, stop := context.WithTimeout(context.Background(), refusedWrite)
	defer stop()
	err := d.WriteRefused(ctx)
	r := &d.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	return err
}
