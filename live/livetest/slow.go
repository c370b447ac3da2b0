package livetest

import (
	"fmt"
	"strings"

	"github.com/braidrun/braid/event"
)

func slowCases() []testCase {
	return []testCase{
		{"nobody waits for a slow watcher", func(p *probe) {
			p.watch() // never reads
			v := p.watchNow()
			p.watchNow() // reads once
			d := p.drive(theRun)
			fast := p.watchNow()
			d.send(d.Begin("m1", 1))
			var text strings.Builder
			for i := range 10 * p.Unread {
				piece := fmt.Sprint(i, " ")
				text.WriteString(piece)
				d.send(d.Text("m1", 1, piece))
				if i%50 == 0 {
					fast.says("m1", text.String())
				}
			}
			// A bus that waits for its slow watchers has exhausted the case's patience by now.
			d.send(d.Answer("m1", 1, text.String()))
			fast.reach(2)
			equal(p, "syncs of who keeps up", fast.Syncs, 1)
			v.reach(2)
		}},
		{"a slow watcher is cut back to a snapshot", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			d.send(d.Begin("m1", 1))
			text := d.speak("m1", p.Unread)
			v.says("m1", text)
			if v.Syncs < 2 {
				p.Fatalf("it was given all %d events", p.Unread)
			}
			d.send(d.Text("m1", 1, "end"))
			v.says("m1", text+"end")
			d.send(d.Answer("m1", 1, text+"end"))
			v.reach(d.Seq)
		}},
		{"durable events that were dropped are announced", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			d.send(d.Note("first"))
			v.reach(1)
			for range p.Unread {
				d.send(d.Note("dropped"))
			}
			v.reach(d.Seq)
			if v.Syncs < 2 {
				p.Fatalf("it was given all %d events", p.Unread)
			}
			covers(v, d.Seq)
			d.send(d.Note("last"))
			v.reach(d.Seq)
			equal(p, "the last one shown", v.Shown[len(v.Shown)-1], d.Seq)
		}},
		{"one sync is enough however long it took", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			for range 5 * p.Unread {
				d.send(d.Note("dropped"))
			}
			// A second one may come if the bus was still working.
			v.reach(d.Seq)
			if v.Syncs > 3 {
				p.Fatalf("it took %d syncs", v.Syncs)
			}
			if s := v.items[0].Sync; s == nil || s.Missed < 1 {
				p.Fatalf("the first item is %s, want a sync that tells how many were missed", names(v.items[:1]))
			}
		}},
		{"large events count too", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			// Few events, but more than any watcher may leave unread.
			big := strings.Repeat("x", 1<<20)
			for range 8 {
				d.send(d.Durable("", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: big}}}))
			}
			v.reach(d.Seq)
			if v.Syncs < 2 {
				p.Fatalf("8 MiB waited for it")
			}
			covers(v, d.Seq)
		}},
		{"a large event alone is no reason to be cut off", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			for range 3 {
				d.send(d.Durable("", 0, &event.UserMessage{
					Content: []event.Block{&event.Text{Text: strings.Repeat("x", 2<<20)}},
				}))
				v.reach(d.Seq)
			}
			equal(p, "durable events", v.Shown, []int64{1, 2, 3})
		}},
	}
}

// covers checks that each durable event up to last was shown or covered once.
func covers(v *viewer, last int64) {
	v.p.Helper()
	seen := map[int64]int{}
	for _, seq := range v.Shown {
		seen[seq]++
	}
	for _, gap := range v.Gaps {
		for seq := gap[0]; seq <= gap[1]; seq++ {
			seen[seq]++
		}
	}
	for seq := int64(1); seq <= last; seq++ {
		if seen[seq] != 1 {
			v.p.Fatalf("event %d came or was announced %d times", seq, seen[seq])
		}
	}
}
