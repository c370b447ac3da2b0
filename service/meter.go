package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/directory"
)

// This file holds tenants to their tokens and money of a day. Each call of a model reserves what it may use at most
// before it begins, and settles when it has ended.

const (
	// answerTokens are reserved for an answer that has no bound of its own.
	answerTokens = 4096
	// reserved lasts so long, unless its server renews it: what a server held that has died is free after that.
	reservedTime = time.Minute
	// purseTime bounds what a call waits for the purse.
	purseTime = 3 * time.Second
)

func newPurse(o *Options) purse {
	if o.Directory != nil && o.Directory.Shared() {
		return o.Directory
	}
	return &ownPurse{ledger: o.Journal}
}

// daily is what a tenant may spend in a day, and whose day it is. bounded is false without a bound.
func (s *Service) daily(ctx context.Context, tenant string, now time.Time) (of directory.SpendOf, most directory.Spend, bounded bool, err error) {
	q, life, err := s.Quota(ctx, tenant)
	of = directory.SpendOf{Tenant: tenant, Life: life, Day: dayOf(now)}
	most = directory.Spend{Tokens: directory.Bound(q.Tokens), Cost: directory.Bound(q.Cost)}
	return of, most, most != directory.Spend{}, err
}

// affords refuses a run of a tenant that has spent what it may today, unless it is one that was accepted before.
func (s *Service) affords(ctx context.Context, in *entry) error {
	now := time.Now()
	of, most, bounded, err := s.daily(ctx, in.row.Tenant, now)
	if err != nil || !bounded {
		return err
	}
	spent, err := s.purse.Spent(ctx, of)
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

// repeats reports whether the conversation has a run with the key of this one.
func (s *Service) repeats(ctx context.Context, in *entry) (bool, error) {
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

// meter gives what is called in place of a tenant's models; nil where there is nothing to hold them to.
func (s *Service) meter(tenant string) func(braid.Model) braid.Model {
	if s.options.Directory == nil {
		return nil
	}
	return func(m braid.Model) braid.Model { return &metered{m, s, tenant} }
}

// metered is a model whose calls a tenant pays for.
type metered struct {
	braid.Model

	service *Service
	tenant  string
}

// Stream implements [braid.Model]. A call that the tenant cannot pay for, or whose answer it cannot keep, ends with
// [event.ErrQuota] before it begins.
func (m *metered) Stream(ctx context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
	return func(yield func(braid.Chunk, error) bool) {
		c := call{info: m.Info(), prompt: req.Tokens()}
		settle := func() {}
		err := m.service.full(ctx, m.tenant)
		if err == nil {
			settle, err = m.reserve(ctx, &c, req)
		}
		if err != nil {
			yield(braid.Chunk{}, err)
			return
		}
		defer settle()
		for chunk, err := range m.Model.Stream(ctx, req) {
			c.hear(&chunk, err)
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// reserve reserves what the call may use at most. Where the database cannot be asked the call is made all the same: a
// run that gets no answer from it commits nothing, and so comes no further than this call.
func (m *metered) reserve(ctx context.Context, c *call, req *braid.ModelRequest) (settle func(), err error) {
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
	asking, stop := context.WithTimeout(ctx, purseTime)
	defer stop()
	err = s.purse.ReserveSpend(asking, of, id, want, most, now, reservedTime)
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
		asking, stop := context.WithTimeout(ctx, purseTime)
		defer stop()
		if err := s.purse.SettleSpend(asking, of, id, c.spent()); err != nil {
			s.log.Warn("what a model call used is not counted for the day", "tenant", m.tenant, "error", err, "cause", errors.Unwrap(err))
		}
	}, nil
}

// renewing renews a reservation until stop is called.
func (s *Service) renewing(ctx context.Context, of directory.SpendOf, id string) (stop func()) {
	if _, own := s.purse.(*ownPurse); own {
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
				asking, stop := context.WithTimeout(ctx, purseTime)
				_ = s.purse.RenewSpend(asking, of, id, reservedTime) // it is tried again before it ends
				stop()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// call is what is known of a model call.
type call struct {
	info braid.ModelInfo
	// prompt is an estimate of its tokens.
	prompt int64
	// used is what the model has reported; bytes counts what came of the answer.
	used  event.Usage
	bytes int64
	// whole says that the answer came to its end; err is why it did not.
	whole bool
	err   error
}

// hear takes note of a piece of the answer.
func (c *call) hear(chunk *braid.Chunk, err error) {
	if err != nil {
		c.err = err
		return
	}
	switch chunk.Kind {
	case braid.ChunkUsage:
		if chunk.Usage != nil {
			c.used, _ = chunk.Usage.Clip()
		}
	case braid.ChunkStop:
		c.whole = true
	default:
		c.bytes += int64(len(chunk.Text))
	}
}

// spent is what the call has used: as the model has reported it or, of a call that was cut, at least its prompt and what
// came of the answer. A simulated model uses what it reports. A call that the provider refused uses nothing.
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

// cost is what a usage is in tokens and money.
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

// mostCost is the largest cost of one call that can be, in 1e-9 US dollars.
const mostCost = 1e15

// refusal reports whether an error of the kind says that the provider has not worked.
func refusal(kind event.ErrorKind) bool {
	switch kind {
	case "", event.ErrInternal, event.ErrStreamCut, event.ErrTimeout, event.ErrCancelled:
		return false
	default:
		return true
	}
}
