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

// What a transcript's setups may come to before the next one begins anew: the setups, and the
// bytes of the changes. One that is larger than MaxSetup is not recorded.
const (
	MaxSetups     = 32
	MaxSetupBytes = 256 << 10
	MaxSetup      = 4 << 20
)

// Setups are those of a transcript.
type Setups struct {
	List []model.Setup
	// bytes is what the changes behind the first hold.
	bytes int
}

// Last is the setup that is in force; nil if none is known.
func (s *Setups) Last() *model.Setup {
	if len(s.List) == 0 {
		return nil
	}
	return &s.List[len(s.List)-1]
}

// Full reports whether another change of so many bytes is too much.
func (s *Setups) Full(bytes int) bool {
	return len(s.List) >= MaxSetups || len(s.List) > 0 && s.bytes+bytes > MaxSetupBytes
}

// put takes a setup in that holds from the last of so many messages on. Lists that were handed
// out stay as they are.
func (s *Setups) put(next model.Setup, messages, bytes int, base bool) {
	if base {
		*s = Setups{}
	}
	next.From = max(messages-1, 0)
	n := len(s.List)
	for n > 0 && s.List[n-1].From >= next.From {
		n-- // nothing was answered under it
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

// SameSetup reports whether two setups give a model the same.
func SameSetup(a, b *model.Setup) bool {
	return a.Instructions == b.Instructions && slices.EqualFunc(a.Tools, b.Tools, func(a, b model.ToolSpec) bool { return SameSpec(&a, &b) })
}

// SameSpec reports whether two tools are described alike.
func SameSpec(a, b *model.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Strict == b.Strict && string(a.Schema) == string(b.Schema)
}

// setup takes a record in.
func (v *Conversation) setup(s *Scope, e *event.Event, b *event.Setup) {
	var next *model.Setup
	if _, redacted := v.Hidden.Redacted[e.Seq]; !redacted {
		next = SetupOf(v.Setups[e.Author], b)
	}
	if next == nil {
		delete(v.Setups, e.Author)
		s.Transcript.Setups = Setups{}
		return
	}
	if v.Setups == nil {
		v.Setups = make(map[string]*model.Setup)
	}
	v.Setups[e.Author] = next
	s.Transcript.Setups.put(*next, len(s.Transcript.Messages), b.Bytes(), b.Base)
}

// forgetSetups begins anew, because what models are shown of a scope has changed before its
// end. Records behind it refer to none before it, so that a log may be read from there on.
func (v *Conversation) forgetSetups(scope string) {
	if scope == "" {
		v.Setups = nil
		v.Past.Setups, v.base.Setups = Setups{}, Setups{}
	}
	if s := v.Run.Scope(scope); s != nil {
		s.Transcript.Setups = Setups{}
	}
}

// SetupOf is the setup that a record describes, where before is the agent's last one; nil if
// that cannot be known.
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

// fits reports whether so much of a beginning and of an end can stay of n.
func fits(head, tail, n int) bool { return head >= 0 && tail >= 0 && head <= n && tail <= n-head }

// RecordSetup describes a setup by how it differs from before; nil is from nothing.
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

// sharedEnds is how many bytes two texts share at the beginning and at the end, without cutting a
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
