package fold

import (
	"hash/maphash"

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
