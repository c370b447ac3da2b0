// Package compact plans what a long transcript leaves out, and writes the request for a summary of it. It is
// pure: it reads a fold and changes nothing.
package compact

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Policy holds the rules for shortening a transcript.
type Policy struct {
	// Window is the maximum number of messages; a negative number means no limit.
	Window int
	// Sums replaces the messages that are left out with a summary.
	Sums bool
	// Ratio is the smallest share of the messages to summarise.
	Ratio float64
	// Recent is how many of the newest messages stay unchanged, if possible.
	Recent int
	// Pin reports whether a message is never left out; nil for none.
	Pin func(event.Message) bool
}

// Omission is what a compaction leaves out, as event numbers.
type Omission struct {
	Why event.Why
	// First is the event at which a compaction of the scope begins.
	First int64
	// To is the last event that is left out; 0 for none.
	To int64
	// Keep are the events between First and To that stay.
	Keep []int64
	// Cut is the last event whose tool results are cut; 0 for none.
	Cut int64
	// Gone are the units that are left out.
	Gone []fold.Unit
	// SumUp reports whether a summary replaces them.
	SumUp bool
}

// Compacted returns the events that record the compaction. The summary replaces the messages that are left out; it may be empty.
func (p *Omission) Compacted(summary []event.Block) (list []*event.Compacted) {
	trigger := "limit"
	if p.Why == event.WhyOverflow {
		trigger = "overflow"
	}
	if p.To > 0 {
		slices.Sort(p.Keep)
		list = append(list, &event.Compacted{From: p.First, To: p.To, Keep: p.Keep, Summary: summary, Trigger: trigger})
	}
	if p.Cut > 0 {
		list = append(list, &event.Compacted{From: p.First, To: p.Cut, Cut: true, Trigger: trigger})
	}
	return list
}

// Plan chooses the messages to leave out. The scope's transcript must be traced. Plan reports false when nothing would help.
// first is the event at which a compaction of the scope begins; reach is the last event that an earlier one has left out.
// easings counts the earlier attempts to shorten the same call, which the model refused as too long.
func (m *Policy) Plan(s *fold.Scope, first, reach int64, why event.Why, easings int) (Omission, bool) {
	p := planner{Policy: m, units: s.Transcript.Units, reach: reach, Omission: Omission{Why: why, First: first}}
	if len(p.units) == 0 {
		return Omission{}, false
	}
	p.weigh(s.Newest.Seq)
	switch {
	case why == event.WhyOverflow:
		p.ease(easings)
	case m.Window >= 0 && p.count(0) > m.Window:
		p.slide()
	default:
		p.relieve()
	}
	return p.Omission, p.To > 0 || p.Cut > 0
}

// planner plans one compaction.
type planner struct {
	*Policy
	Omission
	units []fold.Unit
	reach int64
	// stays reports for each unit whether it is never left out.
	stays []bool
	// turn holds the first unit of each unit's turn; -1 if it was left out earlier.
	turn []int
	// messages and tokens measure the units.
	messages, tokens measure
	// spare is the number of tokens that cutting each unit would save. It is computed on first use.
	spare []int64
	total int64
	// unseen is the first of the last units, which no model has answered.
	unseen int
}

func (p *planner) weigh(newest int64) {
	n := len(p.units)
	p.stays, p.turn = make([]bool, n), turns(p.units)
	for i := range p.units {
		u := &p.units[i]
		p.stays[i] = u.Kind == fold.UnitInput || u.Kind == fold.UnitUser && slices.Contains(u.Seqs, newest) ||
			u.Kind != fold.UnitSummary && p.Pin != nil && p.Pin(u.Message())
	}
	i := n - 1
	for ; i >= 0 && (p.units[i].Kind == fold.UnitUser || p.units[i].Kind == fold.UnitNote); i-- {
		p.stays[i] = true // no model has answered it
	}
	if p.unseen = min(i+1, n-1); i >= 0 && p.units[i].Kind == fold.UnitPair {
		p.unseen = i // messages after the results came before a model had seen them
	}
	for i := range p.units {
		if p.stays[i] {
			p.keepOpening(i)
		}
	}
	p.messages = newMeasure(p.stays, func(i int) int64 { return int64(p.units[i].Messages()) })
	p.tokens = newMeasure(p.stays, p.weight)
	p.total = p.tokens.all[n]
}

// weight returns a unit's number of tokens.
func (p *planner) weight(i int) int64 { return 8 + p.units[i].Tokens() }

// count returns the number of messages that stay if the units before tail are left out.
func (p *planner) count(tail int) int { return int(p.left(&p.messages, tail)) }

// rest returns the number of tokens that stay if the units before tail are left out.
func (p *planner) rest(tail int) int64 { return p.left(&p.tokens, tail) }

// saved returns the number of tokens that cutting the units before tail saves.
func (p *planner) saved(tail int) int64 {
	if p.spare == nil {
		p.spare = make([]int64, len(p.units))
		for i := range p.units {
			p.spare[i] = p.weight(i) - 8 - p.units[i].CutTokens()
		}
	}
	n := int64(0)
	for i := range tail {
		n += p.spare[i]
	}
	return n
}

// last returns the first of the units that are never left out because no model has seen them.
func (p *planner) last() int { return p.unseen }

// slide leaves out the oldest units until three quarters of the window stay.
func (p *planner) slide() {
	target := p.Window * 3 / 4
	tail := 0
	for tail < p.last() && p.count(tail) > target {
		tail++
	}
	p.leaveOut(p.nextTurn(tail, func(i int) bool { return 2*p.count(i) >= target }))
}

// nextTurn returns the unit from tail on that begins a turn, if one is near. A transcript is clearer if it begins with a
// whole turn. near is not asked if the beginning of tail's own turn is gone.
func (p *planner) nextTurn(tail int, near func(i int) bool) int {
	for i := tail; i <= p.last() && (p.turn[tail] < 0 || near(i)); i++ {
		if p.turn[i] == i {
			return i
		}
	}
	return tail
}

// relieve shortens a transcript that exceeds the agent's share of the context.
func (p *planner) relieve() {
	if !p.Sums {
		if p.saved(p.last()) >= p.total/2 {
			p.cutTo(p.last())
			return
		}
		p.leaveOutTo(p.total / 2)
		return
	}
	count, target := int(p.Ratio*float64(p.count(0))), p.total-int64(p.Ratio*float64(p.total))
	tail := 0
	for tail < p.last() && (p.count(0)-p.count(tail) < max(count, 1) || p.rest(tail) > target) &&
		p.count(tail+1) >= p.Recent {
		tail++
	}
	if p.total-p.rest(tail) < p.total/10 {
		// Leaving out only the older units saves too little: let go of recent ones too.
		for tail < p.last() && p.rest(tail) > target {
			tail++
		}
	}
	if p.total-p.rest(tail) >= p.total/10 {
		p.leaveOut(tail)
		return
	}
	if p.saved(p.last()) >= p.total/10 {
		p.cutTo(p.last())
	}
}

// ease shortens a transcript that the provider refused as too long: by half, and each further time by half of the
// rest.
func (p *planner) ease(before int) {
	target := p.total / 2
	if before == 0 && p.total-p.saved(p.last()) <= target {
		p.cutTo(p.last())
		return
	}
	p.leaveOutTo(target)
	if tail := len(p.units); p.To == 0 && p.saved(tail) > 0 {
		p.cutTo(tail)
	} else if kept := p.kept(); p.rest(kept) > target && p.saved(tail)-p.saved(kept) > 0 {
		p.cutTo(tail)
	}
}

// kept returns the first unit after the ones that are left out.
func (p *planner) kept() int {
	if i := slices.IndexFunc(p.units, func(u fold.Unit) bool { return len(u.Seqs) > 0 && u.Seqs[0] > p.To }); i >= 0 {
		return i
	}
	return len(p.units)
}

// leaveOutTo leaves out the oldest units until at most target tokens stay, if enough units may go.
func (p *planner) leaveOutTo(target int64) {
	tail := 0
	for tail < p.last() && p.rest(tail) > target {
		tail++
	}
	p.leaveOut(tail)
}

// leaveOut leaves out the units before tail, except those that must stay and those that begin the turn of tail.
func (p *planner) leaveOut(tail int) {
	p.keepOpening(tail)
	to := int64(0)
	for _, u := range slices.Backward(p.units[tail:]) {
		if len(u.Seqs) > 0 {
			to = u.Seqs[0] - 1
		}
	}
	if to == 0 {
		return
	}
	for i := range tail {
		u := &p.units[i]
		switch {
		case !p.stays[i]:
			p.Gone = append(p.Gone, *u)
		case u.Kind != fold.UnitInput:
			p.Keep = append(p.Keep, u.Seqs...)
		}
	}
	if !slices.ContainsFunc(p.Gone, func(u fold.Unit) bool { return u.Kind != fold.UnitSummary }) {
		p.Gone, p.Keep = nil, nil
		return
	}
	// A compaction that ended before an earlier one would leave both summaries in the transcript.
	p.To, p.SumUp = max(to, p.reach), p.Sums
	for i := tail; i < len(p.units); i++ {
		for _, seq := range p.units[i].Seqs {
			if seq <= p.reach {
				p.Keep = append(p.Keep, seq)
			}
		}
	}
}

// cutTo cuts the tool results in the units before tail.
func (p *planner) cutTo(tail int) {
	for i := range tail {
		for _, seq := range p.units[i].Seqs {
			p.Cut = max(p.Cut, seq)
		}
	}
}
