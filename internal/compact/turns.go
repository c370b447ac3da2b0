package compact

import (
	"slices"

	"github.com/braidrun/braid/internal/fold"
)

// A turn is the input of a run with what follows until the next input: answers, calls, results, and messages that were
// sent meanwhile. A compaction keeps the input of each turn of which it keeps anything: an answer without its question
// misleads a model, and a task must survive however long the work on it takes.

// turns returns, for each unit, the first unit of its turn; -1 if an earlier compaction has left that one out.
func turns(units []fold.Unit) []int {
	begins := make([]int, len(units))
	turn, opening := -1, false
	for i := range units {
		switch u := &units[i]; {
		case u.Kind == fold.UnitSummary:
			turn, opening = -1, false
		case u.Kind == fold.UnitInput, u.Opens:
			if !opening {
				turn, opening = i, true
			}
		default:
			opening = false
		}
		begins[i] = turn
	}
	return begins
}

// opens reports whether the unit is a part of the input of its turn.
func (p *planner) opens(i int) bool {
	return p.turn[i] >= 0 && !slices.ContainsFunc(p.units[p.turn[i]:i+1], func(u fold.Unit) bool {
		return u.Kind != fold.UnitInput && !u.Opens
	})
}

// opening returns the units before tail that begin the turn to which tail belongs. They stay if the units before tail
// are left out.
func (p *planner) opening(tail int) (from, to int) {
	if tail >= len(p.units) || p.turn[tail] < 0 {
		return tail, tail
	}
	from = p.turn[tail]
	to = from
	for to < tail && p.opens(to) {
		to++
	}
	return from, to
}

// keepOpening keeps the messages that begin the turn of the unit.
func (p *planner) keepOpening(i int) {
	for from, to := p.opening(i); from < to; from++ {
		p.stays[from] = true
	}
}

// measure adds up a figure of the units.
type measure struct {
	// all holds the sum of the units before each one, stay that of those among them that are never left out.
	all, stay []int64
}

func newMeasure(stays []bool, of func(i int) int64) measure {
	m := measure{all: make([]int64, len(stays)+1), stay: make([]int64, len(stays)+1)}
	for i, stays := range stays {
		n := of(i)
		m.all[i+1], m.stay[i+1] = m.all[i]+n, m.stay[i]
		if stays {
			m.stay[i+1] += n
		}
	}
	return m
}

// left returns the figure of what stays if the units before tail are left out.
func (p *planner) left(m *measure, tail int) int64 {
	n := m.all[len(p.units)] - m.all[tail] + m.stay[tail]
	from, to := p.opening(tail)
	return n + m.all[to] - m.all[from] - (m.stay[to] - m.stay[from])
}
