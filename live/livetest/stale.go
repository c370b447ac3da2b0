package livetest

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// without checks that the mark came and none of the other events.
func (v *viewer) without(mark event.Event, not ...event.Event) {
	v.p.Helper()
	v.reach(mark.Seq)
	for _, item := range v.items {
		if item.Event == nil {
			continue
		}
		for i := range not {
			if item.Event.ID() == not[i].ID() && item.Event.Body == not[i].Body {
				v.p.Fatalf("%s came, which nobody is to see", item.Event.ID())
			}
		}
	}
}

func staleCases() []testCase {
	return []testCase{
		{"a durable event comes once", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			a, b := d.Note("a"), d.Note("b")
			d.send(a, b, a, b, b)
			mark := d.Note("mark")
			d.send(mark)
			v.reach(mark.Seq)
			equal(p, "durable events", v.Shown, []int64{1, 2, 3})
			equal(p, "syncs", v.Syncs, 1)
		}},
		{"a live event comes once", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			begin, one, two := d.Begin("m1", 1), d.Text("m1", 1, "one "), d.Text("m1", 1, "two ")
			d.send(begin, one, one, two, one, two)
			v.says("m1", "one two ")
			late := p.watch()
			late.synced(1)
			late.shows("m1", "one two ")
			d.send(d.Answer("m1", 1, "one two "))
			v.reach(2)
			equal(p, "syncs", v.Syncs, 1)
		}},
		{"an event of a step that has ended is dropped", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			d.send(d.BeginTool("t1", 1, "c1", "add"), d.Fail("t1", 1, event.StepTool, event.OutcomeStraggler))
			late := d.Progress("t1", 1, "c1", "add", "still here")
			mark := d.Note("mark")
			d.send(late, mark)
			v.without(mark, late)
			second := p.watch()
			second.synced(mark.Seq)
			second.rests()
		}},
		{"an event of another attempt is dropped", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			d.send(d.Begin("m1", 1), d.Fail("m1", 1, event.StepModel, event.OutcomeFailed), d.Begin("m1", 2))
			late := d.Text("m1", 1, "old")
			d.send(late, d.Text("m1", 2, "new"))
			mark := d.Note("mark")
			d.send(mark)
			v.without(mark, late)
			v.shows("m1", "new")
		}},
		{"an event of a step that never began is dropped", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			odd, mark := d.Text("m9", 1, "who?"), d.Note("mark")
			d.send(odd, mark)
			v.without(mark, odd)
		}},
		{"an older epoch is dropped", func(p *probe) {
			v := p.watchNow()
			old := p.drive(theRun)
			old.send(old.Begin("m1", 1), old.Text("m1", 1, "old"))
			v.says("m1", "old")
			fresh := p.drive(theRun)
			fresh.Script = old.Script
			fresh.TakeOver()
			fresh.send(
				fresh.Fail("m1", 1, event.StepModel, event.OutcomeLost), fresh.Begin("m1", 2), fresh.Text("m1", 2, "new "),
			)
			// The old driver has not noticed. It even has the right attempt.
			late := old.Text("m1", 1, "late")
			wrong := old.Text("m1", 2, "wrong")
			old.send(late, wrong)
			mark := fresh.Note("mark")
			fresh.send(fresh.Text("m1", 2, "text"), mark)
			v.without(mark, late, wrong)
			v.shows("m1", "new text")
			// What it committed and sends late is not repeated.
			stale := event.Event{Header: event.Header{Seq: 2, Conversation: here.Conversation, Run: "run"}, Body: &event.Notice{}}
			old.send(stale)
			second := fresh.Note("mark")
			fresh.send(second)
			v.reach(second.Seq)
			equal(p, "syncs", v.Syncs, 1)
		}},
		{"a newer epoch drops what the older one had in flight", func(p *probe) {
			old := p.drive(theRun)
			old.send(old.BeginTool("t1", 1, "c1", "add"), old.Progress("t1", 1, "c1", "add", "old"))
			fresh := p.drive(theRun)
			fresh.Script = old.Script
			fresh.TakeOver()
			fresh.send(fresh.Begin("m2", 1), fresh.Text("m2", 1, "new"))
			v := p.watch()
			v.synced(2)
			v.rests("m2")
		}},
		{"numbers begin anew with an epoch", func(p *probe) {
			v := p.watchNow()
			old := p.drive(theRun)
			old.send(old.Begin("m1", 1), old.Text("m1", 1, "one "), old.Text("m1", 1, "two "))
			fresh := p.drive(theRun)
			fresh.Script = old.Script
			fresh.TakeOver()
			fresh.send(fresh.Begin("m2", 1), fresh.Text("m2", 1, "three"))
			v.says("m2", "three")
			equal(p, "syncs", v.Syncs, 1)
		}},
		{"what is neither durable nor live is dropped", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			d.send(
				event.Event{}, event.Event{Body: &event.Notice{Code: "no seq"}},
				event.Event{Header: event.Header{Seq: 1, Epoch: 1, N: 1}, Body: &event.TextDelta{Text: "live with a seq"}},
				event.Event{Header: event.Header{Seq: 1}},
			)
			d.send(d.Note("mark"))
			v.reach(1)
			equal(p, "items", len(v.items), 1)
		}},
		{"an unknown kind is passed on", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			d.send(d.Durable("", 0, &event.Unknown{Name: "later", Raw: []byte(`{}`)}))
			v.reach(1)
			equal(p, "durable events", v.Shown, []int64{1})
		}},
	}
}

func holeCases() []testCase {
	return []testCase{
		{"a missing durable event is announced", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			a, lost, c := d.Note("a"), d.Note("lost"), d.Note("c")
			d.send(a)
			v.reach(1)
			d.send(c)
			v.synced(3)
			d.send(lost) // too late: the sync covers it
			d.send(d.Note("d"))
			v.reach(4)
			equal(p, "durable events", v.Shown, []int64{1, 4})
			equal(p, "gaps", v.Gaps, [][2]int64{{2, 3}})
		}},
		{"a missing live event is announced", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			d.send(d.Begin("m1", 1), d.Text("m1", 1, "one "))
			v.says("m1", "one ")
			d.Text("m1", 1, "lost ")
			d.send(d.Text("m1", 1, "three "))
			s := v.until("a sync", func(item live.Item) bool { return item.Sync != nil }).Sync
			if len(s.Steps) != 1 || !s.Steps[0].Truncated {
				p.Fatalf("the snapshots are %+v, want one that says that something is missing", s.Steps)
			}
			v.shows("m1", "one ") // and nothing that does not follow
			d.send(d.Answer("m1", 1, "one lost three "))
			v.reach(2)
			// The next step is whole.
			d.send(d.Begin("m2", 1), d.Text("m2", 1, "four"))
			late := p.watch()
			late.synced(3)
			late.shows("m2", "four")
			if late.Steps[0].Truncated {
				p.Fatalf("the next step is said to have a hole")
			}
		}},
		{"what came before its step is not passed over", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			begin, early, text := d.Begin("m1", 1), d.Text("m1", 1, "one "), d.Text("m1", 1, "two ")
			d.send(early, begin, text)
			v.synced(1)
			if len(v.Steps) != 1 || !v.Steps[0].Truncated {
				p.Fatalf("the snapshots are %+v, want one that says that something is missing", v.Steps)
			}
			d.send(d.Answer("m1", 1, "one two "))
			v.reach(2)
		}},
	}
}
