package fold

import (
	"slices"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// This file folds the system prompts and tools under which the answers of a transcript were
// given. A model with [model.Info].Setups is sent them as changes inside the conversation, so
// that what stands before a change stays as it was sent. They come from the log ([event.Setup]),
// so that every driver repeats the same request.

// MaxSetups bounds a transcript's setups and MaxSetupBytes the bytes of their changes; the next setup then starts a new
// list. A setup larger than MaxSetup is not recorded.
const (
	MaxSetups     = 32
	MaxSetupBytes = 256 << 10
	MaxSetup      = 4 << 20
)

// Setups holds the setups of a transcript.
type Setups struct {
	List []model.Setup
	// bytes is the size of the changes after the first setup.
	bytes int
}

// Last returns the setup in force; nil if none is known.
func (s *Setups) Last() *model.Setup {
	if len(s.List) == 0 {
		return nil
	}
	return &s.List[len(s.List)-1]
}

// Full reports whether another change of that many bytes exceeds the bounds.
func (s *Setups) Full(bytes int) bool {
	return len(s.List) >= MaxSetups || len(s.List) > 0 && s.bytes+bytes > MaxSetupBytes
}

// put adds a setup that holds from the last of the messages on. It does not change lists that were returned before.
func (s *Setups) put(next model.Setup, messages, bytes int, base bool) {
	if base {
		*s = Setups{}
	}
	next.From = max(messages-1, 0)
	n := len(s.List)
	for n > 0 && s.List[n-1].From >= next.From {
		n-- // no answer was given under it
	}
	if n == 0 {
		next.From = 0
		*s = Setups{List: []model.Setup{next}}
		return
	}
	s.bytes += bytes
	if SameSetup(&s.List[n-1], &next) {
		s.List = s.List[:n:n]
		return
	}
	s.List = append(s.List[:n:n], next)
}

// SameSetup reports whether two setups have the same instructions and tools.
func SameSetup(a, b *model.Setup) bool {
	return a.Instructions == b.Instructions && slices.EqualFunc(a.Tools, b.Tools, func(a, b model.ToolSpec) bool { return SameSpec(&a, &b) })
}

// SameSpec reports whether two tools have the same description.
func SameSpec(a, b *model.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Strict == b.Strict && string(a.Schema) == string(b.Schema)
}

// SetupOf returns the setup that a record describes as a change of before, the agent's last setup. It returns nil if
// the record does not fit.
func SetupOf(before *model.Setup, b *event.Setup) *model.Setup {
	if before == nil {
		before = &model.Setup{}
	}
	text, tools := before.Instructions, before.Tools
	if b.Hidden || !fits(b.Head, b.Tail, len(text)) || !fits(b.First, b.Last, len(tools)) {
		return nil
	}
	next := &model.Setup{Instructions: text[:b.Head] + b.Text + text[len(text)-b.Tail:]}
	next.Tools = make([]model.ToolSpec, 0, b.First+len(b.Tools)+b.Last)
	next.Tools = append(next.Tools, tools[:b.First]...)
	for i := range b.Tools {
		t := &b.Tools[i]
		spec := model.ToolSpec{Name: t.Name, Description: t.Description, Strict: t.Strict}
		if t.Schema != "" {
			spec.Schema = []byte(t.Schema)
		}
		next.Tools = append(next.Tools, spec)
	}
	next.Tools = append(next.Tools, tools[len(tools)-b.Last:]...)
	return next
}

// fits reports whether head and tail elements of n can stay without overlapping.
func fits(head, tail, n int) bool { return head >= 0 && tail >= 0 && head <= n && tail <= n-head }

// RecordSetup returns a record of how next differs from before; a nil before is an empty setup.
func RecordSetup(before, next *model.Setup) *event.Setup {
	b := &event.Setup{}
	if before == nil {
		before = &model.Setup{}
	}
	b.Head, b.Tail = sharedEnds(before.Instructions, next.Instructions)
	b.Text = next.Instructions[b.Head : len(next.Instructions)-b.Tail]
	was, is := before.Tools, next.Tools
	for b.First < min(len(was), len(is)) && SameSpec(&was[b.First], &is[b.First]) {
		b.First++
	}
	for b.Last < min(len(was), len(is))-b.First && SameSpec(&was[len(was)-1-b.Last], &is[len(is)-1-b.Last]) {
		b.Last++
	}
	for _, t := range is[b.First : len(is)-b.Last] {
		b.Tools = append(b.Tools, event.SetupTool{Name: t.Name, Description: t.Description, Schema: string(t.Schema), Strict: t.Strict})
	}
	return b
}

// sharedEnds returns the numbers of bytes that two texts share at the beginning and at the end, without splitting a
// character.
func sharedEnds(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for head > 0 && (!starts(a, head) || !starts(b, head)) {
		head--
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && (!starts(a, len(a)-tail) || !starts(b, len(b)-tail)) {
		tail--
	}
	return head, tail
}

// starts reports whether a character begins at i, or the text ends there.
func starts(s string, i int) bool { return i >= len(s) || utf8.RuneStart(s[i]) }
