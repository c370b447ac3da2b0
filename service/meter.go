package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service/directory"
)

// This file enforces the tenants' daily bounds of tokens and cost. Each model call reserves the
// most that it may use before it begins, and settles when it has ended.

const (
	// answerTokens are reserved for the output of a call without a bound of its own.
	answerTokens = 4096
	// reservedTime is how long a reservation lasts without renewal. It frees what a dead server
	// reserved.
	reservedTime = time.Minute
	// spendTime bounds how long a call waits for the spendStore.
	spendTime = 3 * time.Second
)

// daily returns the tenant's bounds for the day. bounded is false if there are none.
func (q *quotas) daily(ctx context.Context, tenant string, now time.Time) (of directory.SpendOf, most directory.Spend, bounded bool, err error) {
	quota, life, err := q.of(ctx, tenant)
	of = directory.SpendOf{Tenant: tenant, Life: life, Day: dayOf(now)}
	most = directory.Spend{Tokens: directory.Bound(quota.Tokens), Cost: directory.Bound(quota.Cost)}
	return of, most, most != directory.Spend{}, err
}

// affords refuses a run of a tenant that has spent its daily bound, unless the run was accepted
// before.
func (q *quotas) affords(ctx context.Context, in *admission) error {
	now := time.Now()
	of, most, bounded, err := q.daily(ctx, in.row.Tenant, now)
	if err != nil || !bounded {
		return err
	}
	spent, err := q.spending.Spent(ctx, of)
	switch {
	case err != nil:
		return err
	case most.Tokens > 0 && spent.Tokens >= most.Tokens:
		err = directory.NoTokensLeft(now)
	case most.Cost > 0 && spent.Cost >= most.Cost:
		err = directory.NoMoneyLeft(now)
	default:
		return nil
	}
	if again, look := in.repeats(ctx, q.journal); again || look != nil {
		return look
	}
	return err
}

// meter returns a function that wraps the tenant's models; nil if there is nothing to enforce.
func (q *quotas) meter(tenant string) func(braid.Model) braid.Model {
	if q.directory == nil {
		return nil
	}
	return func(m braid.Model) braid.Model { return &metered{m, q, tenant} }
}

// metered is a model whose calls count against a tenant's bounds.
type metered struct {
	braid.Model

	quotas *quotas
	tenant string
}

// Stream implements [braid.Model]. It fails with [event.ErrQuota] before the call if the tenant has
// no budget for it or no room to store its output.
func (m *metered) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		c := call{info: m.Info(), prompt: req.Tokens()}
		settle := func() {}
		err := m.quotas.full(ctx, m.tenant)
		if err == nil {
			settle, err = m.reserve(ctx, &c, req)
		}
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		defer settle()
		for chunk, err := range m.Model.Stream(ctx, req) {
			c.observe(&chunk, err)
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// reserve reserves the most that the call may use. If the database fails the call is made all the
// same: the run cannot commit either, so it gets no further than this call.
func (m *metered) reserve(ctx context.Context, c *call, req *model.Request) (settle func(), err error) {
	q, now := m.quotas, time.Now()
	of, most, bounded, err := q.daily(ctx, m.tenant, now)
	if err != nil || !bounded {
		return func() {}, nil
	}
	want := c.cost(event.Usage{Input: c.prompt, Output: cmp.Or(int64(max(req.Options.MaxTokens, 0)), answerTokens)})
	if most.Tokens == 0 {
		want.Tokens = 0
	}
	if most.Cost == 0 {
		want.Cost = 0
	}
	id := newID("res_")
	asking, stop := context.WithTimeout(ctx, spendTime)
	defer stop()
	err = q.spending.ReserveSpend(asking, of, id, want, most, now, reservedTime)
	switch {
	case errors.Is(err, event.ErrQuota):
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		q.log.Warn("a model is called without a reservation", "tenant", m.tenant, "error", err, "cause", errors.Unwrap(err))
	}
	ctx = context.WithoutCancel(ctx)
	renewal := q.renewing(ctx, of, id)
	return func() {
		renewal()
		asking, stop := context.WithTimeout(ctx, spendTime)
		defer stop()
		if err := q.spending.SettleSpend(asking, of, id, c.spent()); err != nil {
			q.log.Warn("what a model call used is not counted for the day", "tenant", m.tenant, "error", err, "cause", errors.Unwrap(err))
		}
	}, nil
}

// renewing renews a reservation until stop is called.
func (q *quotas) renewing(ctx context.Context, of directory.SpendOf, id string) (stop func()) {
	if _, own := q.spending.(*localSpend); own {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(reservedTime / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				asking, stop := context.WithTimeout(ctx, spendTime)
				_ = q.spending.RenewSpend(asking, of, id, reservedTime) // the next tick tries again before the reservation ends
				stop()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
