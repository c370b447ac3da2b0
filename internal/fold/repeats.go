package fold

import (
	"hash/maphash"
	"slices"

	"github.com/braidrun/braid/event"
)

// Repeats counts tool calls that a scope repeats: the same tool, arguments and result. It counts the model's answers
// with such a call since the last new call. So tests that pass after every change are no loop, but two alternating
// calls are.
type Repeats struct {
	// known are the sums of the calls with results so far, at most knownRepeats. The oldest is then replaced and would
	// count as new.
	known []uint64
	next  int
	// Since are the calls since the last new one.
	Since []Repeat
	// Most is the highest count in Since.
	Most int
	// Told reports whether the model was notified.
	Told bool

	// Most runs make few calls.
	knownSpace [4]uint64
	sinceSpace [2]Repeat
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

// Repeat is one call with its result, the number of answers that requested it, and the cycle of the last one.
type Repeat struct {
	sum   uint64
	Tool  string
	Times int
	cycle int
}

// knownRepeats bounds the calls that a scope remembers.
const knownRepeats = 256

// repeatSeed is random for each process: sums are never compared across processes.
var repeatSeed = maphash.MakeSeed()

// sumOf returns a hash of a call with its result. It is never 0.
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

func (r *Repeats) learn(sum uint64) {
	if len(r.known) < knownRepeats {
		r.known = append(r.known, sum)
		return
	}
	r.known[r.next] = sum
	r.next = (r.next + 1) % knownRepeats
}

// forget resets the counts after a new call or a user's message.
func (r *Repeats) forget() {
	if r == nil {
		return
	}
	r.Since, r.Most, r.Told = r.Since[:0], 0, false
}
