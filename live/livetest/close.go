package livetest

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

func closeCases() []testCase {
	return []testCase{
		{"a closed watcher reads no more", func(p *probe) {
			v := p.watchNow()
			v.w.Close()
			v.w.Close()
			_, err := v.w.Read(p.ctx, v.room)
			p.refused("Read after Close", err, event.ErrGone)
		}},
		{"closing a watcher ends its read", func(p *probe) {
			v := p.watchNow()
			done := make(chan error, 1)
			go func() {
				_, err := v.w.Read(p.ctx, v.room)
				done <- err
			}()
			v.w.Close()
			p.refused("the read that was on its way", p.wait(done), event.ErrGone)
			d := p.drive(theRun)
			d.send(d.Note("to nobody"))
		}},
		{"closing one watcher leaves the others", func(p *probe) {
			var viewers []*viewer
			for range 5 {
				viewers = append(viewers, p.watchNow())
			}
			d := p.drive(theRun)
			d.send(d.Note("a"))
			viewers[0].w.Close()
			viewers[4].w.Close()
			viewers[2].w.Close()
			d.send(d.Note("b"))
			for _, i := range []int{1, 3} {
				viewers[i].reach(2)
				equal(p, "durable events", viewers[i].Shown, []int64{1, 2})
			}
		}},
		{"a reader may give up and come back", func(p *probe) {
			v := p.watchNow()
			ctx, cancel := context.WithCancel(p.ctx)
			cancel()
			_, err := v.w.Read(ctx, v.room)
			p.refused("Read with a context that is done", err, event.ErrCancelled)
			ctx, cancel = context.WithTimeout(p.ctx, time.Millisecond)
			defer cancel()
			_, err = v.w.Read(ctx, v.room)
			p.refused("Read until the time is over", err, event.ErrTimeout)
			d := p.drive(theRun)
			d.send(d.Note("a"), d.Note("b"))
			v.reach(2)
			equal(p, "durable events", v.Shown, []int64{1, 2})
			_, err = p.Bus.Watch(ctx, here)
			if err == nil {
				p.Fatalf("Watch with a context that is done succeeded")
			}
		}},
		{"the steps of a driver that went are dropped", func(p *probe) {
			d := p.drive(theRun)
			d.send(d.Begin("m1", 1), d.Text("m1", 1, "half a "))
			stay := p.watchNow() // so that the bus does not forget the conversation
			d.pub.Close()
			d.pub.Close()
			d.send(d.Text("m1", 1, "after the end"))
			fresh := p.drive(theRun)
			fresh.Script = d.Script
			fresh.TakeOver()
			mark := fresh.Note("mark")
			fresh.send(mark)
			v := p.watch()
			v.synced(mark.Seq)
			v.rests()
			stay.without(mark)
		}},
		{"a driver that goes late takes nothing of the next one's", func(p *probe) {
			old := p.drive(theRun)
			old.send(old.Begin("m1", 1), old.Text("m1", 1, "old"))
			fresh := p.drive(theRun)
			fresh.Script = old.Script
			fresh.TakeOver()
			fresh.send(fresh.Begin("m1", 2), fresh.Text("m1", 2, "new"))
			old.pub.Close()
			v := p.watch()
			v.synced(fresh.Seq)
			v.shows("m1", "new")
		}},
		{"closing the bus ends everything", func(p *probe) {
			v, idle := p.watchNow(), p.watch()
			d := p.drive(theRun)
			done := make(chan error, 1)
			go func() {
				_, err := v.w.Read(p.ctx, v.room)
				done <- err
			}()
			for range 2 {
				if err := p.Bus.Close(); err != nil {
					p.Fatalf("Close: %v", err)
				}
			}
			p.refused("the read that was on its way", p.wait(done), event.ErrUnavailable)
			_, err := idle.w.Read(p.ctx, idle.room)
			p.refused("Read after the bus was closed", err, event.ErrUnavailable)
			_, err = p.Bus.Watch(p.ctx, here)
			p.refused("Watch after the bus was closed", err, event.ErrUnavailable)
			d.send(d.Note("to nobody"))
			late := p.driveIn(live.Key{Tenant: "t", Conversation: "late"}, "run")
			late.send(late.Note("to nobody"))
			late.pub.Close()
			d.pub.Close()
			v.w.Close()
		}},
	}
}

func (p *probe) wait(done <-chan error) error {
	p.Helper()
	select {
	case err := <-done:
		return err
	case <-p.ctx.Done():
		p.Fatalf("nothing came in time")
		return nil
	}
}
