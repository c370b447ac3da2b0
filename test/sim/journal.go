package sim

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// store is the journal of one process: every call passes the gate.
type store struct {
	p    *process
	base journal.Store
}

func newStore(p *process, base journal.Store) journal.Store { return &store{p: p, base: base} }

// Admit implements [journal.Store].
func (s *store) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	return call(s.p, Admit, who(ctx), func() (journal.Run, error) {
		row, err := s.base.Admit(ctx, r)
		s.p.w.admitted(s.p, row, err)
		return row, err
	})
}

// Start implements [journal.Store] by its two calls, each of which may fail.
func (s *store) Start(ctx context.Context, r journal.Run, have int64) (journal.Opened, error) {
	return journal.AdmitAndAcquire(ctx, s, r, have)
}

// Acquire implements [journal.Store].
func (s *store) Acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	o, err := call(s.p, Acquire, who(ctx), func() (journal.Opened, error) {
		o, err := s.base.Acquire(ctx, run, have)
		s.p.w.acquired(s.p, run, o, err)
		return o, err
	})
	s.p.w.assured(s.p, o.Lease, time.Now(), err)
	return o, err
}

// Commit implements [journal.Store].
func (s *store) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	s.p.w.uses(s.p, Commit, l)
	_, err := call(s.p, Commit, who(ctx), func() (struct{}, error) {
		err := s.base.Commit(ctx, l, b)
		s.p.w.committed(s.p, l, b, err)
		return struct{}{}, err
	})
	s.p.w.told(s.p, l, err)
	return err
}

// Renew implements [journal.Store].
func (s *store) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	s.p.w.uses(s.p, Renew, l)
	asked := time.Now()
	news, err := call(s.p, Renew, who(ctx), func() (journal.News, error) {
		news, err := s.base.Renew(ctx, l)
		s.p.w.renewed(s.p, l, err)
		return news, err
	})
	s.p.w.told(s.p, l, err)
	s.p.w.assured(s.p, l, asked, err)
	return news, err
}

// Post implements [journal.Store].
func (s *store) Post(ctx context.Context, m journal.Mail) error {
	_, err := call(s.p, Post, who(ctx)+" "+string(m.Kind)+" to "+s.p.w.alias(m.Run), func() (struct{}, error) {
		err := s.base.Post(ctx, m)
		s.p.w.posted(s.p, m, err)
		return struct{}{}, err
	})
	return err
}

// Read implements [journal.Store].
func (s *store) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	return call(s.p, Read, who(ctx), func() ([]*event.Event, error) {
		return s.base.Read(ctx, conversation, after, limit)
	})
}

// Due implements [journal.Store].
func (s *store) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	return call(s.p, Due, who(ctx), func() ([]journal.Run, error) { return s.base.Due(ctx, limit) })
}

// Queue implements [journal.Store].
func (s *store) Queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	return call(s.p, Queue, who(ctx), func() ([]journal.Run, error) { return s.base.Queue(ctx, conversation) })
}

// Tail implements [journal.Store].
func (s *store) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	return call(s.p, Tail, who(ctx), func() (journal.Tail, error) { return s.base.Tail(ctx, conversation) })
}

// StoredTail implements [journal.Store].
func (s *store) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	return call(s.p, Tail, who(ctx), func() (journal.StoredTail, error) { return s.base.StoredTail(ctx, conversation) })
}

// StoredParts implements [journal.Store].
func (s *store) StoredParts(ctx context.Context, conversation string) ([][]byte, error) {
	return call(s.p, Tail, who(ctx), func() ([][]byte, error) { return s.base.StoredParts(ctx, conversation) })
}

// StoreFold implements [journal.Store].
func (s *store) StoreFold(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
	_, err := call(s.p, Tail, who(ctx), func() (struct{}, error) { return struct{}{}, s.base.StoreFold(ctx, l, f) })
	return err
}

// Entered implements [journal.Store].
func (s *store) Entered(ctx context.Context, conversation, id string) (string, error) {
	return call(s.p, Tail, who(ctx), func() (string, error) { return s.base.Entered(ctx, conversation, id) })
}

// ReadPage implements [journal.Store].
func (s *store) ReadPage(ctx context.Context, conversation string, after int64, limit int, most int64) ([]*event.Event, bool, error) {
	more := false
	events, err := call(s.p, Read, who(ctx), func() (events []*event.Event, err error) {
		events, more, err = s.base.ReadPage(ctx, conversation, after, limit, most)
		return events, err
	})
	return events, more, err
}

// Posted implements [journal.Store]. The simulated engines do not call it.
func (s *store) Posted(ctx context.Context, runs []string) (map[string]journal.Posted, error) {
	return s.base.Posted(ctx, runs)
}
