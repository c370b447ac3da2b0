package journaltest

import (
	"fmt"
	"strings"

	"github.com/braidrun/braid/event"
)

func readCases() []testCase {
	return []testCase{
		{"from any seq, with or without a bound", func(p *probe) {
			w := p.start()
			for range 7 {
				w.write(note("n"))
			}
			for _, r := range []struct {
				after int64
				limit int
				want  []int64
			}{
				{0, 0, []int64{1, 2, 3, 4, 5, 6, 7}},
				{0, -1, []int64{1, 2, 3, 4, 5, 6, 7}},
				{-5, 2, []int64{1, 2}},
				{0, 3, []int64{1, 2, 3}},
				{3, 3, []int64{4, 5, 6}},
				{6, 3, []int64{7}},
				{2, 0, []int64{3, 4, 5, 6, 7}},
				{0, 100, []int64{1, 2, 3, 4, 5, 6, 7}},
				{7, 0, nil},
				{7, 1, nil},
				{8, 1, nil},
				{1 << 40, 0, nil},
			} {
				events, err := p.Store.Read(p.ctx, talk, r.after, r.limit)
				p.ok("Read", err)
				equal(p, fmt.Sprintf("seqs after %d, at most %d", r.after, r.limit), seqs(events), r.want)
			}
		}},
		{"a conversation that is unknown or empty has none", func(p *probe) {
			equal(p, "log of an unknown conversation", p.log(other), nil)
			p.start()
			equal(p, "log of an empty conversation", p.log(talk), nil)
		}},
		{"an empty id is invalid", func(p *probe) {
			_, err := p.Store.Read(p.ctx, "", 0, 0)
			p.refused("Read", err, event.ErrInvalid)
		}},
		{"only this conversation's", func(p *probe) {
			p.startIn(talk, first).write(note("a"))
			p.startIn(other, next).write(note("b"), note("c"))
			equal(p, "events", len(p.log(talk)), 1)
			equal(p, "conversation", p.log(talk)[0].Conversation, talk)
			equal(p, "events of the other", len(p.log(other)), 2)
		}},
		{"what was read stays as it is", func(p *probe) {
			w := p.start()
			w.write(note("a"), note("b"), note("c"))
			events, err := p.Store.Read(p.ctx, talk, 0, 2)
			p.ok("Read", err)
			events = append(events, &event.Event{Header: event.Header{Seq: 99}})
			equal(p, "seqs of the reader's own slice", seqs(events), []int64{1, 2, 99})
			w.write(note("d"))
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2, 3, 4})
		}},
		{"ten thousand events in pages", func(p *probe) {
			w := p.start()
			const total, batch, page = 10_000, 500, 777
			for range total / batch {
				events := make([]event.Event, batch)
				for i := range events {
					events[i] = note("n")
				}
				w.write(events...)
			}
			var after int64
			for {
				events, err := p.Store.Read(p.ctx, talk, after, page)
				p.ok("Read", err)
				for i, e := range events {
					if e.Seq != after+1+int64(i) {
						p.Fatalf("event %d after %d has seq %d", i, after, e.Seq)
					}
				}
				after += int64(len(events))
				if len(events) < page {
					break
				}
			}
			equal(p, "events read", after, int64(total))
			w.release()
			o := p.acquire(first, total-3)
			equal(p, "seqs of the tail", seqs(o.Events), []int64{total - 2, total - 1, total})
		}},
		{"pages end where their bytes do", func(p *probe) {
			w := p.start()
			const size = 100_000
			said := event.Event{Body: &event.UserMessage{Content: words(strings.Repeat("x", size))}}
			for range 4 {
				w.write(said)
			}
			w.write(note("small"), said, note("small"))
			for _, r := range []struct {
				after int64
				limit int
				most  int64
				want  []int64
				more  bool
			}{
				{0, 0, 0, []int64{1, 2, 3, 4, 5, 6, 7}, false},
				{0, 0, 100 * size, []int64{1, 2, 3, 4, 5, 6, 7}, false},
				{0, 7, 0, []int64{1, 2, 3, 4, 5, 6, 7}, false},
				{0, 6, 0, []int64{1, 2, 3, 4, 5, 6}, true},
				{0, 0, size, []int64{1}, true},
				{0, 0, 1, []int64{1}, true},
				{0, 100, size + size/2, []int64{1, 2}, true},
				{0, 1, 100 * size, []int64{1}, true},
				{2, 100, size + size/2, []int64{3, 4}, true},
				{6, 0, 100 * size, []int64{7}, false},
				{7, 0, 1, nil, false},
				{-3, 2, 1 << 40, []int64{1, 2}, true},
			} {
				events, more, err := p.Store.ReadPage(p.ctx, talk, r.after, r.limit, r.most)
				p.ok("ReadPage", err)
				what := fmt.Sprintf("at most %d events and %d bytes after %d", r.limit, r.most, r.after)
				equal(p, what, seqs(events), r.want)
				equal(p, what+": more", more, r.more)
			}
			_, more, err := p.Store.ReadPage(p.ctx, other, 0, 0, 1)
			p.ok("ReadPage of an unknown conversation", err)
			equal(p, "more of an unknown conversation", more, false)
			_, _, err = p.Store.ReadPage(p.ctx, "", 0, 0, 1)
			p.refused("ReadPage without an id", err, event.ErrInvalid)
		}},
		{"events of a megabyte", func(p *probe) {
			w := p.start()
			big := strings.Repeat("0123456789abcdef", 1<<16)
			b := w.write(
				event.Event{Body: &event.UserMessage{Content: words(big)}},
				event.Event{Body: &event.Notice{Code: "big", Text: big}},
				note("small"))
			equal(p, "log", p.log(talk), b.Events)
		}},
	}
}
