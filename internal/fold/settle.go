package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// flush appends a settled batch to the transcript. The answer and the results, in request order, enter together,
// because providers refuse either one alone.
func (s *Scope) flush() {
	if s.Batch.Asking != nil {
		results := make([]event.Block, len(s.Batch.Calls))
		for i, c := range s.Batch.Calls {
			results[i] = c.Result
		}
		s.Transcript.pair(s.Batch.Asking, results)
		if s.Transcript.Traced {
			s.tracePair(results)
		}
	}
	s.countRepeats().take(s.Batch.Calls, s.Cycle)
	s.Batch.Asking, s.Batch.Calls, s.Batch.Settled, s.Batch.last = nil, nil, 0, s.Batch.Calls
	s.Fresh = event.WhyToolResults
	s.takesOver()
}

// takeResults settles the open batch with results that a caller passed in a message (an imported history). It returns
// the other blocks.
func (s *Scope) takeResults(seq int64, content []event.Block) []event.Block {
	if s.Batch.Calls == nil {
		return content
	}
	rest := make([]event.Block, 0, len(content))
	for _, b := range content {
		r, ok := b.(*event.ToolResult)
		if !ok {
			rest = append(rest, b)
			continue
		}
		if c := s.CallByID(r.Call); c != nil && c.State != CallEnded {
			c.State, c.Result, c.ended = CallEnded, r, seq
			s.Batch.Settled++
		}
	}
	s.closeBatch()
	return rest
}

// closeBatch gives every open call a result, because providers refuse a transcript with an open call. A driver writes
// such results before it ends a run; this handles logs that ended otherwise.
func (s *Scope) closeBatch() {
	if s.Batch.Calls == nil {
		return
	}
	for _, c := range s.Batch.Calls {
		if c.State != CallEnded {
			c.State = CallEnded
			c.Result = Interrupted(c.ToolCall)
		}
	}
	s.flush()
}

// tracePair records the events that an answer with calls and its results come from.
func (s *Scope) tracePair(results []event.Block) {
	u := Unit{Kind: UnitPair, Said: s.Batch.Asking, Got: results, Seqs: []int64{s.Batch.askedAt}}
	for _, c := range s.Batch.Calls {
		if c.ended > 0 {
			u.Seqs = append(u.Seqs, c.ended)
		}
	}
	slices.Sort(u.Seqs)
	u.Seqs = slices.Compact(u.Seqs)
	s.Transcript.Units = append(s.Transcript.Units, u)
	s.Transcript.goesOn()
}

// take counts the calls of a settled batch.
func (r *Repeats) take(batch []*Call, cycle int) {
	for _, c := range batch {
		if c.sum != 0 && !slices.Contains(r.known, c.sum) {
			r.learn(c.sum)
			r.forget()
		}
	}
	for _, c := range batch {
		if c.sum == 0 {
			continue
		}
		i := slices.IndexFunc(r.Since, func(o Repeat) bool { return o.sum == c.sum })
		if i < 0 {
			i = len(r.Since)
			r.Since = append(r.Since, Repeat{sum: c.sum, Tool: c.Name})
		}
		if o := &r.Since[i]; o.cycle != cycle {
			o.cycle = cycle
			o.Times++
			r.Most = max(r.Most, o.Times)
		}
	}
}

// countRepeats returns the scope's Repeats for writing.
func (s *Scope) countRepeats() *Repeats {
	if s.Repeats == nil {
		r := &Repeats{}
		r.known, r.Since = r.knownSpace[:0], r.sinceSpace[:0]
		s.Repeats = r
	}
	return s.Repeats
}
