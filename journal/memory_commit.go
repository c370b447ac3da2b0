package journal

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/braidrun/braid/event"
)

// Commit implements [Store]. It validates everything before it changes anything, so that a
// refused batch has no effect.
func (m *Memory) Commit(ctx context.Context, l Lease, b Batch) error {
	const op = "journal commit"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if l.Run == "" || l.Conversation == "" {
		return noID(op, "a lease names a run and its conversation")
	}
	if err := checkBatch(op, l, b); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	r := m.leased(l)
	if r == nil {
		return leaseLost(op)
	}
	c := r.conversation
	if len(b.Events) > 0 && b.Events[0].Seq <= c.last() {
		if c.repeats(r, l, b) {
			return nil
		}
		return leaseLost(op)
	}
	if !c.heldBy(r, l) {
		if len(b.Events) == 0 && c.released(r, l, b) {
			return nil
		}
		return leaseLost(op)
	}
	if len(b.Events) > 0 && b.Events[0].Seq != c.last()+1 {
		return leaseLost(op)
	}
	if !r.inbox.has(b.Read) {
		return &event.Error{
			Op: op, Kind: event.ErrConflict,
			Message: "the commit reads mail that is not there or was read before",
			Hint:    "read only mail that came with the lease, and each once",
		}
	}
	if err := r.follow(op, b.Events); err != nil {
		return err
	}

	// From here on nothing fails.
	m.tally.touch(c)
	m.write(r, &b) // before the batch erases anything
	if len(b.Events) > 0 {
		if n := len(c.stretches); n == 0 || c.stretches[n-1].epoch != l.Epoch {
			c.stretches = append(c.stretches, stretch{epoch: l.Epoch, first: c.last() + 1})
		}
		c.events = append(c.events, b.Events...)
		for _, e := range b.Events {
			switch b := e.Body.(type) {
			case *event.StateChanged:
				m.share(&r.row, b)
			case *event.RunStarted:
				if !r.started {
					r.started, r.row.Session, r.row.First = true, b.Session, e.Seq
				}
			case *event.Redacted:
				m.erase(c, b)
			}
		}
	}
	if Progresses(b.Events) {
		r.row.Lost = 0
	}
	r.inbox.consume(b.Read)
	if b.Status != "" {
		r.row.Status = b.Status
		r.row.Failure = Failure(b.Events)
		r.row.WakeAt = b.WakeAt
	}
	if b.givesBack() {
		c.held = false
	}
	if b.Status.Ended() {
		r.open, r.spare = nil, nil
		m.dequeue(r)
		m.passOn(r)
	}
	return nil
}

// passOn moves a run's unread messages to the next run.
func (m *Memory) passOn(r *run) {
	mail := r.inbox.close()
	if len(mail) == 0 {
		return
	}
	c := r.conversation
	next := c.head
	if next == nil {
		row := r.row
		row.ID += "+"
		for m.runs[row.ID] != nil {
			row.ID += "+"
		}
		row.Input, row.Key, row.NewSession = nil, "", false
		next = m.admit(c, row)
	}
	next.inbox.inherit(mail, next.row.ID, r.row.ID)
}

// givesBack reports whether the lease ends with the batch.
func (b Batch) givesBack() bool {
	return b.Release || b.Status == event.RunWaiting || b.Status.Ended()
}

// repeats reports whether the batch was stored before and its driver may still succeed; see
// [Store].Commit, "Repeats".
func (c *conversation) repeats(r *run, l Lease, b Batch) bool {
	first := b.Events[0].Seq
	end := first + int64(len(b.Events))
	if !c.current(r, l) && !b.givesBack() {
		return false
	}
	// One lease wrote the batch, so it lies within one stretch. The last stretch ends with the
	// log.
	next := c.last() + 1
	for i := len(c.stretches) - 1; i >= 0; i-- {
		s := c.stretches[i]
		if s.first <= first {
			if s.epoch != l.Epoch || end > next {
				return false
			}
			break
		}
		next = s.first
	}
	for i, e := range b.Events {
		if !sameEvent(c.events[first-1+int64(i)], e) {
			return false
		}
	}
	return true
}

// released reports whether a batch without events, under a released lease, changes nothing.
func (c *conversation) released(r *run, l Lease, b Batch) bool {
	return c.current(r, l) && b.givesBack() &&
		(b.Status == "" || b.Status == r.row.Status && b.WakeAt.Equal(r.row.WakeAt)) &&
		r.inbox.hasRead(b.Read)
}

// sameEvent compares the identity of two events of one lease, not their content.
func sameEvent(a, b *event.Event) bool {
	return a.Seq == b.Seq && a.Run == b.Run && a.Step == b.Step && a.Attempt == b.Attempt &&
		a.Body.Kind() == b.Body.Kind()
}

// erase carries out a redaction. Readers that already hold a part of the log keep the original
// event.
func (m *Memory) erase(c *conversation, b *event.Redacted) {
	c.eraseFold(b)
	if b.Target < 1 || b.Target > c.last() {
		return
	}
	target := c.events[b.Target-1]
	left, input := Erase(b, target)
	if left != target {
		c.events = slices.Clone(c.events)
		c.events[b.Target-1] = left
		c.weight.log, c.weight.events = 0, 0 // count the conversation anew
	}
	r := m.runs[target.Run]
	if r != nil && !b.Clean {
		r.eraseTools(b)
		r.eraseMessages(b)
	}
	if input && r != nil && r.conversation == c && r.row.Input != nil {
		sum := inputSum(r.row.Input)
		r.erased, r.row.Input = &sum, nil
	}
}

// inputSum returns the hash that identifies an erased input.
func inputSum(input []event.Message) [sha256.Size]byte {
	var text []byte
	for i := range input {
		// A message that cannot be encoded adds nothing to the hash.
		text, _ = event.AppendMessage(append(text, 0), input[i])
	}
	return sha256.Sum256(text)
}

// same compares the input of two admissions as [Store].Admit says.
func (r *run) same(b Run) bool {
	if b.Since > 0 {
		b.NewSession = r.row.NewSession
	}
	if r.asked(b) {
		return true
	}
	if len(b.Past) == 0 || r.row.Turn != 1 {
		return false
	}
	b.Input = slices.Concat(b.Past, b.Input)
	return r.asked(b)
}

func (r *run) asked(b Run) bool {
	if r.erased == nil {
		return sameRequest(r.row, b)
	}
	sum := inputSum(b.Input)
	b.Input = nil
	return sameRequest(r.row, b) && sum == *r.erased
}

func sameRequest(a, b Run) bool {
	return a.Conversation == b.Conversation && a.User == b.User && a.Agent == b.Agent &&
		a.Key == b.Key && a.NewSession == b.NewSession &&
		slices.EqualFunc(a.Input, b.Input, sameMessage)
}
