package secret

import (
	"slices"
	"strings"
)

// Across masks secrets that begin in one text and end in another. The texts are read one after
// another, such as the blocks of an answer. [Redacted] replaces each part. It reports whether it
// changed any.
func (m *Mask) Across(texts []string) (changed bool) {
	if m == nil || len(texts) < 2 {
		return false
	}
	f := fold(strings.Join(texts, ""), true)
	places, _ := m.look(&f)
	places = joined(places)
	from := 0
	for i, text := range texts {
		to := from + len(text)
		var parts [][2]int
		for _, p := range places {
			if p[0] < to && p[1] > from && (p[0] < from || p[1] > to) {
				parts = append(parts, [2]int{max(p[0], from) - from, min(p[1], to) - from})
			}
		}
		texts[i] = replaced(text, parts)
		changed = changed || len(parts) > 0
		from = to
	}
	return changed
}

// MaskedParts masks secrets in the parts of a stream, such as the blocks of an answer. It finds a
// secret that begins in one part and ends in a later one if the parts are adjacent, or if they are
// of one kind with parts of other kinds between them. In the second case up to [MaskFrom]-1
// characters of its beginning may already have been shown.
//
// It holds back text that may be the beginning of a secret. The held text is bounded: white space
// in it is dropped when it grows too long. It is not safe for concurrent use.
type MaskedParts struct {
	mask *Mask
	show func(part int, text string) bool
	// parts are the parts with held text, and the last one, which may go on.
	parts []maskedPart
	// tails are the ends of the shown text of each kind in which secrets may begin.
	tails map[int]string
	over  bool
}

// maskedPart is a part with its held text.
type maskedPart struct {
	id, kind int
	text     string
	// mark reports that the part must be shown although it has no text.
	mark bool
	// places are the places of secrets in text.
	places [][2]int
}

// Parts begins masking a stream. It calls show with the id of a part and the text that can be
// shown, in the order of the parts. After show returns false it is not called again. The mask must
// not be nil.
func (m *Mask) Parts(show func(part int, text string) bool) *MaskedParts {
	return &MaskedParts{mask: m, show: show, tails: make(map[int]string)}
}

// Next adds a piece of a part. A new id ends the previous part. A part whose first piece is empty
// is shown as an empty text in its turn. Next reports whether show wants more.
func (p *MaskedParts) Next(id, kind int, piece string) bool {
	if n := len(p.parts); n == 0 || p.parts[n-1].id != id {
		p.parts = append(p.parts, maskedPart{id: id, kind: kind, mark: piece == ""})
	}
	p.parts[len(p.parts)-1].text += piece
	p.pass(false)
	return !p.over
}

// End shows the held text, because the stream has ended.
func (p *MaskedParts) End() { p.pass(true) }

// Drop discards the held text, because the stream starts again.
func (p *MaskedParts) Drop() {
	p.parts = nil
	clear(p.tails)
}

// pass shows what can be shown. whole reports that nothing more comes.
func (p *MaskedParts) pass(whole bool) {
	n := len(p.parts)
	if n == 0 {
		return
	}
	open, at := p.find(whole)
	for i := range p.parts[:min(open+1, n)] {
		part, to := &p.parts[i], at
		if i < open {
			to = len(part.text)
		}
		p.advance(part, to, whole || i < n-1)
	}
	p.parts = slices.Delete(p.parts, 0, min(open, n-1))
	if whole {
		p.Drop()
	}
	p.bound()
}

// find records the secrets in the parts. It returns the part and the place in its text from which
// text must be held back. The part is one past the end if there is none.
func (p *MaskedParts) find(whole bool) (open, at int) {
	n := len(p.parts)
	which := make([]int, n)
	for i := range which {
		p.parts[i].places, which[i] = p.parts[i].places[:0], i
	}
	open, at = p.read("", which, whole)
	kind := p.parts[n-1].kind
	which = slices.DeleteFunc(which, func(i int) bool { return p.parts[i].kind != kind })
	if tail := p.tails[kind]; tail != "" || len(which) < n {
		if o, a := p.read(tail, which, whole); o < open || o == open && a < at {
			open, at = o, a
		}
	}
	for i := range p.parts {
		p.parts[i].places = inOrder(p.parts[i].places)
	}
	for open < n { // no secret may be shown in part: the rest of it would not be found
		i := slices.IndexFunc(p.parts[open].places, func(q [2]int) bool { return q[0] < at && q[1] > at })
		if i >= 0 {
			at = p.parts[open].places[i][0]
		}
		last := open - 1
		if at > 0 || last < 0 {
			break
		}
		before := &p.parts[last]
		k := len(before.places) - 1
		if k < 0 || before.places[k][1] < len(before.text) || len(p.parts[open].places) == 0 || p.parts[open].places[0][0] > 0 {
			break
		}
		open, at = last, before.places[k][0]
	}
	return open, at
}

// read is find for some of the parts, read as one text behind before.
func (p *MaskedParts) read(before string, which []int, whole bool) (open, at int) {
	texts := make([]string, 1, len(which)+1)
	texts[0] = before
	for _, i := range which {
		texts = append(texts, p.parts[i].text)
	}
	text := strings.Join(texts, "")
	var places [][2]int
	end := len(text)
	if whole {
		places = p.mask.Find(text)
	} else {
		f := fold(text, false)
		var begun int
		places, begun = p.mask.look(&f)
		if end = f.end; begun >= 0 {
			end = min(end, int(f.from[begun]))
		}
		places = joined(places)
		if n := len(places); n > 0 && places[n-1][0] < end && places[n-1][1] > end {
			end = places[n-1][0]
		}
	}
	open = len(p.parts)
	from := len(before)
	for _, i := range which {
		part := &p.parts[i]
		to := from + len(part.text)
		for _, q := range places {
			if q[0] < to && q[1] > from {
				part.places = append(part.places, [2]int{max(q[0], from) - from, min(q[1], to) - from})
			}
		}
		if open == len(p.parts) && end < to {
			open, at = i, max(end-from, 0)
		}
		from = to
	}
	return open, at
}

// advance shows the beginning of a part's text. ended says that no more comes of the part.
func (p *MaskedParts) advance(part *maskedPart, to int, ended bool) {
	places := part.places
	if before := p.tails[part.kind]; to > 0 {
		tail := ""
		if ended {
			read := before + part.text[:to]
			for _, q := range p.mask.Find(read) {
				if q[1] > len(before) {
					places = append(places, [2]int{max(q[0]-len(before), 0), q[1] - len(before)})
				}
			}
			places = inOrder(places)
			tail = p.mask.tail(read)
		}
		p.tails[part.kind] = tail
	}
	for len(places) > 0 && places[len(places)-1][0] >= to {
		places = places[:len(places)-1]
	}
	if n := len(places); n > 0 {
		places[n-1][1] = min(places[n-1][1], to)
	}
	shown := replaced(part.text[:to], places)
	part.text = strings.Clone(part.text[to:])
	if (shown != "" || part.mark) && !p.over {
		part.mark = false
		p.over = !p.show(part.id, shown)
	}
}

func inOrder(places [][2]int) [][2]int {
	slices.SortFunc(places, func(a, b [2]int) int { return a[0] - b[0] })
	return joined(places)
}

// bound keeps what is held back from growing with white space.
func (p *MaskedParts) bound() {
	size := 0
	for i := range p.parts {
		size += len(p.parts[i].text)
	}
	if size <= p.mask.held() {
		return
	}
	for i := range p.parts {
		p.parts[i].text = squeezed(p.parts[i].text)
	}
}

// held is how many bytes may be held back before white space is left out.
func (m *Mask) held() int {
	longest := 0
	for i := range m.forms {
		longest = max(longest, m.forms[i].size())
	}
	return 4096 + 16*longest
}

// squeezed is a text without what secrets may be spaced with.
func squeezed(text string) string {
	f := fold(text, false)
	var b strings.Builder
	done := 0
	for i := range f.bytes {
		if from, to := int(f.from[i]), int(f.to[i]); from >= done {
			b.WriteString(text[from:to])
			done = to
		}
	}
	b.WriteString(text[f.end:])
	return b.String()
}

// tail returns the end of a text in which a secret may begin that goes on behind the text.
func (m *Mask) tail(text string) string {
	f := fold(text, false)
	_, open := m.look(&f)
	end := f.end
	if open >= 0 {
		end = min(end, int(f.from[open]))
	}
	if text = text[end:]; len(text) > m.held() {
		text = squeezed(text)
	}
	return strings.Clone(text)
}

// Behind hides in a text what goes on from the end of texts before it, such as the lines of a log that a reader has. tail is
// what it returned for the one before; empty for the first.
func (m *Mask) Behind(tail, text string) (hidden, next string) {
	if m == nil || text == "" {
		return text, tail
	}
	whole := tail + text
	for _, p := range m.Find(whole) {
		if p[0] < len(tail) && p[1] > len(tail) {
			text = Redacted + text[p[1]-len(tail):]
			break
		}
	}
	return text, m.tail(whole)
}
