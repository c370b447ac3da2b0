package livetest

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

func orderCases() []testCase {
	return []testCase{
		{"the first item is a sync", func(p *probe) {
			v := p.watch()
			v.read()
			equal(p, "items", v.items, []live.Item{{Sync: &live.Sync{}}})
		}},
		{"events come as they were sent", func(p *probe) {
			v := p.watchNow()
			d := p.drive(theRun)
			sent := []event.Event{
				d.Note("a"), d.Begin("m1", 1), d.Text("m1", 1, "one "), d.Text("m1", 1, "two"),
				d.Answer("m1", 1, "one two"), d.BeginTool("t1", 1, "c1", "add"),
				d.Progress("t1", 1, "c1", "add", "half"), d.Fail("t1", 1, event.StepTool, event.OutcomeDone), d.End(),
			}
			d.send(sent...)
			v.reach(d.Seq)
			var got []event.Event
			for _, item := range v.items {
				got = append(got, *item.Event)
			}
			equal(p, "events", got, sent)
		}},
		{"everybody gets everything", func(p *probe) {
			d := p.drive(theRun)
			var viewers []*viewer
			for range 20 {
				viewers = append(viewers, p.watchNow())
			}
			d.send(d.Begin("m1", 1))
			d.send(d.Answer("m1", 1, d.speak("m1", 30)))
			for _, v := range viewers {
				v.reach(d.Seq)
				equal(p, "durable events", v.Shown, []int64{1, 2})
				equal(p, "syncs", v.Syncs, 1)
			}
		}},
		{"a sync tells the last event", func(p *probe) {
			d := p.drive(theRun)
			d.send(d.Note("a"), d.Note("b"), d.Note("c"))
			v := p.watch()
			v.synced(3)
			d.send(d.Note("d"))
			v.reach(4)
			equal(p, "durable events", v.Shown, []int64{4})
		}},
		{"what a reader has no room for comes next", func(p *probe) {
			v := p.watchNow()
			v.room = v.room[:1]
			d := p.drive(theRun)
			for range 5 {
				d.send(d.Note("note"))
			}
			v.reach(5)
			equal(p, "durable events", v.Shown, []int64{1, 2, 3, 4, 5})
		}},
		{"no room is refused", func(p *probe) {
			v := p.watch()
			n, err := v.w.Read(p.ctx, nil)
			p.refused("Read without room", err, event.ErrInvalid)
			equal(p, "items", n, 0)
		}},
		{"conversations are apart", func(p *probe) {
			key := live.Key{Tenant: "a.b", Conversation: "c.d"}
			v := p.watchIn(key)
			v.synced(0)
			for _, other := range []live.Key{
				{Tenant: "a.b", Conversation: "other"},
				{Tenant: "other", Conversation: "c.d"},
				{Tenant: "a.b", Conversation: "c.d", Life: "another"},
				{Conversation: "c.d"},
				{Tenant: "a.b"},
				{Conversation: "a.b.c.d"},
				{Tenant: "a.b.c.d"},
				{Tenant: "a", Conversation: "b.c.d"},
				{Tenant: "a.b.c", Conversation: "d"},
				{Tenant: "a.bc", Conversation: ".d"},
			} {
				o := p.driveIn(other, "foreign")
				o.send(o.Begin("m1", 1), o.Text("m1", 1, "secret"))
			}
			d := p.driveIn(key, "run")
			d.send(d.Note("mark"))
			v.reach(1)
			for _, item := range v.items {
				if item.Event == nil || item.Event.Run != "run" {
					p.Fatalf("something of another conversation came: %s", names(v.items))
				}
			}
			late := p.watchIn(key)
			late.synced(1)
			late.rests()
		}},
		{"runs of one conversation share its order", func(p *probe) {
			v := p.watchNow()
			a := p.drive("run 1")
			a.send(a.Note("a"), a.End())
			a.pub.Close()
			b := p.drive("run 2")
			b.Seq, b.Epoch = a.Seq, 2
			b.send(b.Note("b"), b.End())
			v.reach(4)
			equal(p, "durable events", v.Shown, []int64{1, 2, 3, 4})
		}},
	}
}
