package fold

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
)

// Flow is what a kind of agent without a model sees of its scope. It grows event by event: a decision does not copy it.
type Flow struct {
	// Opened counts all scopes that the scope has opened without a call.
	Opened int
	// Seen are the scopes opened without a call since the newest message of a user. Open counts the open ones, and Ended those that are closed.
	Seen        []kind.Child
	Open, Ended int
	// Ends are the places in Seen, from 0, of those that are closed, in that order.
	Ends []int
	// Memo is memory of the kind for what it has derived from the lists. It is no part of the fold.
	Memo any
	// Failed counts those that ended with an error.
	Failed int
	// Decisions are the decisions since then.
	Decisions []kind.Decision
	// Escalated reports whether the scope asked the loop around it to stop.
	Escalated bool
}

// begin forgets what was done for an earlier message of a user.
func (f *Flow) begin() {
	if f != nil {
		*f = Flow{Opened: f.Opened}
	}
}

// open adds a scope, and returns its place from 1.
func (f *Flow) open(id, node, agent string, at time.Time) int {
	f.Opened++
	f.Open++
	f.Seen = append(f.Seen, kind.Child{ID: id, Node: node, Agent: agent, Began: at, Open: true, After: f.Ended})
	return len(f.Seen)
}

// close notes how the scope at a place ended.
func (f *Flow) close(i int, end *event.ScopeClosed, returned *event.ToolResult, at time.Time) {
	one := &f.Seen[i]
	f.Open--
	f.Ended++
	f.Ends = append(f.Ends, i)
	if end.Err != nil {
		f.Failed++
	}
	one.Open, one.Ended, one.Closed = false, f.Ended, at
	one.Output, one.Stop, one.Err = Plain(end.Output), end.Stop, end.Err
	if end.Why == event.WhyReturned {
		one.Returned = returned
	}
}

// decide adds a decision.
func (f *Flow) decide(b *event.Decided, redacted bool) {
	d := kind.Decision{Name: b.Name, Value: b.Value, Err: b.Err}
	if redacted && b.Err == nil {
		d.Value = nil
		d.Err = &event.Error{Op: "flow", Kind: event.ErrGone, Message: "the decision was redacted", Hint: "begin another run"}
	}
	f.Decisions = append(f.Decisions, d)
}

// takenOver returns what a run that continues a failed one has of it: the children that ended well and the decisions.
func (f *Flow) takenOver() *Flow {
	if f == nil {
		return nil
	}
	to := &Flow{Ended: f.Ended}
	for i := range f.Seen {
		if c := f.Seen[i]; !c.Open && c.Err == nil { // else its work is done again
			to.Ends = append(to.Ends, len(to.Seen))
			to.Seen = append(to.Seen, c)
		}
	}
	slices.SortFunc(to.Ends, func(a, b int) int { return cmp.Compare(to.Seen[a].Ended, to.Seen[b].Ended) })
	for _, d := range f.Decisions {
		if d.Err == nil {
			to.Decisions = append(to.Decisions, d)
		}
	}
	return to
}

// Plain returns the blocks that an agent can hand to another one: text, pictures, documents and other media. It drops thinking,
// blocks that only the model's provider reads, and what no log can keep. It returns blocks itself if all are such.
func Plain(blocks []event.Block) []event.Block {
	plain := true
	for _, b := range blocks {
		plain = plain && isPlain(b)
	}
	if plain {
		return blocks
	}
	var kept []event.Block
	for _, b := range blocks {
		if t, ok := b.(*event.Text); ok && t != nil {
			kept = append(kept, &event.Text{Text: strings.ToValidUTF8(t.Text, "\uFFFD")}) // its signature is for the provider
		} else if isPlain(b) {
			kept = append(kept, b)
		}
	}
	return kept
}

func isPlain(b event.Block) bool {
	switch b := b.(type) {
	case *event.Text:
		return b != nil && b.Signature == "" && utf8.ValidString(b.Text)
	case *event.Image:
		return b != nil
	case *event.Document:
		return b != nil
	case *event.Media:
		return b != nil
	default:
		return false
	}
}
