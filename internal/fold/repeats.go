package fold

import (
	"hash/maphash"
	"slices"

	"github.com/braidrun/braid/event"
)

// Repeats is what the fold knows of tool calls that a scope makes again and again: the same
// tool, arguments and result. What counts is how many answers of the model asked for one
// since the last that brought something new, so that tests which pass after every change
// are no loop, and two calls in turn are one.
type Repeats struct {
	// known are the calls with their results so far, as sums. Of more than knownRepeats
	// the oldest is given up, and would count as new.
	known []uint64
	next  int
	// Since are those that were made since the last new one. Most is the highest of their counts.
	Since []Repeat
	Most  int
	// Told says that the model was told of it.
	Told bool

	// Most runs make few calls.
	knownSpace [4]uint64
	sinceSpace [2]Repeat
}

// countRepeats gives what is known of a scope's calls, to write.
func (s *Scope) countRepeats() *Repeats {
	if s.Repeats == nil {
		r := &Repeats{}
		r.known, r.Since = r.knownSpace[:0], r.sinceSpace[:0]
		s.Repeats = r
	}
	return s.Repeats
}

// Repeat is one call with its result: how many answers asked for it, and the cycle of the last of them.
type Repeat struct {
	sum   uint64
	Tool  string
	Times int
	cycle int
}

// knownRepeats bounds what is remembered of a scope.
const knownRepeats = 256

// repeatSeed is of this process: sums are compared with no other's.
var repeatSeed = maphash.MakeSeed()

// sumOf tells calls with their results apart.
func sumOf(c *event.ToolCall, r *event.ToolResult) uint64 {
	sum := uint64(1)
	if r.IsError {
		sum = 2
	}
	// A hash of each part, and not one of all: most parts are short, and an open hash has a buffer.
	part := func(h uint64) { sum = (sum<<7|sum>>57)*0x9e3779b97f4a7c15 ^ h }
	part(maphash.String(repeatSeed, c.Name))
	part(maphash.Bytes(repeatSeed, c.Args))
	part(maphash.String(repeatSeed, c.Invalid))
	for _, b := range r.Content {
		if t, ok := b.(*event.Text); ok {
			part(maphash.String(repeatSeed, t.Text))
			continue
		}
		raw, _ := event.AppendBlock(nil, b) // one that has no JSON could not have been stored
		part(maphash.Bytes(repeatSeed, raw))
	}
	part(maphash.Bytes(repeatSeed, r.Structured))
	return max(sum, 1)
}

// take counts the calls of an answer that all have their results.
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

func (r *Repeats) learn(sum uint64) {
	if len(r.known) < knownRepeats {
		r.known = append(r.known, sum)
		return
	}
	r.known[r.next] = sum
	r.next = (r.next + 1) % knownRepeats
}

// forget begins to count anew: something is new, or a user has said something.
func (r *Repeats) forget() {
	if r == nil {
		return
	}
	r.Since, r.Most, r.Told = r.Since[:0], 0, false
}
