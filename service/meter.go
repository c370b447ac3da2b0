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
	"github.com/braidrun/braid/pricing"
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

func newSpendStore(o *Options) spendStore {
	if o.Directory != nil && o.Directory.Shared() {
		return o.Directory
	}
	return &localSpend{ledger: o.Journal}
}

// daily returns the tenant's bounds for the day. bounded is false if there are none.
func (s *Service) daily(ctx context.Context, tenant string, now time.Time) (of directory.SpendOf, most directory.Spend, bounded bool, err error) {
	q, life, err := s.Quota(ctx, tenant)
	of = directory.SpendOf{Tenant: tenant, Life: life, Day: dayOf(now)}
	most = directory.Spend{Tokens: directory.Bound(q.Tokens), Cost: directory.Bound(q.Cost)}
	return of, most, most != directory.Spend{}, err
}

// affords refuses a run of a tenant that has spent its daily bound, unless the run was accepted
// before.
func (s *Service) affords(ctx context.Context, in *admission) error {
	now := time.Now()
	of, most, bounded, err := s.daily(ctx, in.row.Tenant, now)
	if err != nil || !bounded {
		return err
	}
	spent, err := s.spending.Spent(ctx, of)
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
	if again, look := s.repeats(ctx, in); again || look != nil {
		return look
	}
	return err
}

// repeats reports whether the conversation already has a run with this run's key.
func (s *Service) repeats(ctx context.Context, in *admission) (bool, error) {
	if in.run.Key == "" {
		return false, nil
	}
	const page = 512
	for after := 0; ; {
		runs, err := s.options.Journal.Runs(ctx, in.row.ID, after, page)
		if err != nil {
			return false, err
		}
		for i := range runs {
			if runs[i].Key == in.run.Key {
				return true, nil
			}
			after = runs[i].Turn
		}
		if len(runs) < page {
			return false, nil
		}
	}
}

// meter returns a function that wraps the tenant's models; nil if there is nothing to enforce.
func (s *Service) meter(tenant string) func(braid.Model) braid.Model {
	if s.options.Directory == nil {
		return nil
	}
	return func(m braid.Model) braid.Model { return &metered{m, s, tenant} }
}

// metered is a model whose calls count against a tenant's bounds.
type metered struct {
	braid.Model

	service *Service
	tenant  string
}

// Stream implements [braid.Model]. It fails with [event.ErrQuota] before the call if the tenant has
// no budget for it or no room to store its output.
func (m *metered) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		c := call{info: m.Info(), prompt: req.Tokens()}
		settle := func() {}
		err := m.service.full(ctx, m.tenant)
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
	s, now := m.service, time.Now()
	of, most, bounded, err := s.daily(ctx, m.tenant, now)
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
	err = s.spending.ReserveSpend(asking, of, id, want, most, now, reservedTime)
	switch {
	case errors.Is(err, event.ErrQuota):
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		s.log.Warn("a model is called without a reservation", "tenant", m.tenant, "error", err, "cause", errors.Unwrap(err))
	}
	ctx = context.WithoutCancel(ctx)
	renewal := s.renewing(ctx, of, id)
	return func() {
		renewal()
		asking, stop := context.WithTimeout(ctx, spendTime)
		defer stop()
		if err := s.spending.SettleSpend(asking, of, id, c.spent()); err != nil {
			s.log.Warn("what a model call used is not counted for the day", "tenant", m.tenant, "error", err, "cause", errors.Unwrap(err))
		}
	}, nil
}

// renewing renews a reservation until stop is called.
func (s *Service) renewing(ctx context.Context, of directory.SpendOf, id string) (stop func()) {
	if _, own := s.spending.(*localSpend); own {
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
				_ = s.spending.RenewSpend(asking, of, id, reservedTime) // the next tick tries again before the reservation ends
				stop()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// call is the state of a model call.
type call struct {
	info model.Info
	// prompt is the estimated number of its input tokens.
	prompt int64
	// used is the usage that the model has reported.
	used event.Usage
	// bytes counts the output so far.
	bytes int64
	// whole reports that the output is complete.
	whole bool
	// err is why it is not.
	err error
}

// observe counts a piece of the output.
func (c *call) observe(chunk *model.Chunk, err error) {
	if err != nil {
		c.err = err
		return
	}
	switch chunk.Kind {
	case model.ChunkUsage:
		if chunk.Usage != nil {
			c.used, _ = chunk.Usage.Clip()
		}
	case model.ChunkStop:
		c.whole = true
	default:
		c.bytes += int64(len(chunk.Text))
	}
}

// spent returns what the call used. It is the reported usage. For a call that was cut it is at
// least the prompt and the output so far; for a call that the provider refused it is nothing. The
// reports of a simulated model are taken as they are.
func (c *call) spent() directory.Spend {
	u := c.used
	if e, ok := errors.AsType[*event.Error](c.err); ok && c.bytes == 0 && u == (event.Usage{}) && refusal(e.Kind) {
		return directory.Spend{}
	}
	if !c.info.Simulated && (!c.whole || u.Prompt() == 0) {
		if u.Prompt() == 0 {
			u.Input = c.prompt
		}
		u.Output = max(u.Output, c.bytes/4)
	}
	return c.cost(u)
}

// cost returns a usage in tokens and money.
func (c *call) cost(u event.Usage) directory.Spend {
	u.Total = event.AddCounts(u.Prompt(), u.Output)
	s := directory.Spend{Tokens: u.Total}
	if c.info.Cost != nil {
		if nano, known := c.info.Cost(u); known && nano > 0 {
			s.Cost = pricing.NanoUSD(min(nano, mostCost))
		}
	}
	return s
}

// mostCost bounds the cost of one call, in 1e-9 US dollars.
const mostCost = 1e15

// refusal reports whether an error of this kind means that the provider did no work.
func refusal(kind event.ErrorKind) bool {
	switch kind {
	case "", event.ErrInternal, event.ErrStreamCut, event.ErrTimeout, event.ErrCancelled:
		return false
	default:
		return true
	}
}
