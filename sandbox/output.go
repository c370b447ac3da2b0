package sandbox

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// output keeps the beginning and the end of what is written to it. It never fails, so that a command which writes too much
// is not held up. It is for one writer.
type output struct {
	most int
	head []byte
	// tail is a ring of the last bytes; next is where its next byte goes.
	tail []byte
	next int
	all  int64
}

func newOutput(most int) *output { return &output{most: most} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	o.all += int64(n)
	if room := o.most/2 - len(o.head); room > 0 {
		take := min(room, len(p))
		o.head = append(o.head, p[:take]...)
		p = p[take:]
	}
	size := o.most - o.most/2
	if len(p) > size {
		p = p[len(p)-size:]
	}
	for len(p) > 0 {
		if len(o.tail) < size {
			take := min(size-len(o.tail), len(p))
			o.tail = append(o.tail, p[:take]...)
			p = p[take:]
			o.next = len(o.tail) % size
			continue
		}
		took := copy(o.tail[o.next:], p)
		o.next = (o.next + took) % size
		p = p[took:]
	}
	return n, nil
}

// bytes returns what was kept, with a line in place of the missing middle, and how many bytes that had. The cut splits no
// UTF-8 character.
func (o *output) bytes() (kept []byte, omitted int64) {
	head, end := o.head, slices.Concat(o.tail[o.next%max(len(o.tail), 1):], o.tail[:o.next%max(len(o.tail), 1)])
	if o.all == int64(len(head)+len(end)) {
		return slices.Concat(head, end), 0
	}
	for i := 0; i < utf8.UTFMax && len(head) > 0; i++ {
		if r, n := utf8.DecodeLastRune(head); r != utf8.RuneError || n != 1 {
			break // the last character is whole
		}
		head = head[:len(head)-1]
	}
	for i := 0; i < utf8.UTFMax && len(end) > 0 && !utf8.RuneStart(end[0]); i++ {
		end = end[1:]
	}
	omitted = o.all - int64(len(head)+len(end))
	return slices.Concat(head, fmt.Appendf(nil, "\n(%d bytes of output are left out here)\n", omitted), end), omitted
}
