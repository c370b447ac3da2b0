package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// lostDrivers is the default number of drivers that a run may lose in a row without progress.
const lostDrivers = 3

// always is the number of deaths of a tool that always ends its process.
const always = 1 << 10

// deadly is a scenario with tools that end their process, some only a few times, and a model that
// fails permanently once. The run fails twice, and the client retries it each time.
func deadly() *scenario {
	return &scenario{
		name: "deadly", root: "worker",
		scripts: map[string][]reply{"worker": {
			{text: "with care", calls: []want{{"pay", "{}"}, {"burn", "{}"}}},
			{text: "once more", calls: []want{{"stumble", "{}"}, {"look", "{}"}}, fails: 1},
			{text: "no good", calls: []want{{"fatal", "{}"}}},
			{text: "done"},
		}},
		make: solo(func() []braid.Tool {
			return append(kit(),
				&simTool{name: "burn", class: event.EffectUnsafe, kills: 1},
				&simTool{name: "stumble", class: event.EffectIdempotent, kills: lostDrivers - 1},
				&simTool{name: "fatal", class: event.EffectIdempotent, kills: always})
		}),
		clients: func(w *world) {
			w.viewer("eve")
			w.client("ann", func(c *client) {
				c.submit("do it, whatever it costs")
				for n := 1; ; n++ {
					c.see(ended(n))
					if c.w.over() || !c.retry() {
						return
					}
				}
			})
		},
	}
}

// retry continues the failed run with a new one. It returns false if there is none.
func (c *client) retry() bool {
	c.jobs++
	run := journal.Run{
		ID: fmt.Sprintf("%s-%d", c.name, c.jobs), Conversation: talk, Tenant: tenant, Agent: c.w.scenario.root,
		Key: fmt.Sprintf("%s-key-%d", c.name, c.jobs),
	}
	failed, sent := "", false
	ok, err := c.ask(func(ctx context.Context, p *process) (err error) {
		if !sent { // a run that may have been admitted is the newest
			if failed, err = braid.Open(p.store, talk).Retryable(ctx); failed == "" || err != nil {
				return err
			}
		}
		sent = true
		run.Metadata = map[string]string{journal.ContinuesLabel: failed}
		_, err = call(p, Submit, c.name, func() (journal.Run, error) { return p.engine.Submit(ctx, run) })
		return err
	})
	if ok && err != nil {
		c.w.fail("P16", "%s cannot be continued: %v", c.w.alias(failed), err)
	}
	return ok && err == nil && sent
}

// dies ends the process of a call if it is due, before or after the call's effect. It reports
// whether the process has ended.
func (t *simTool) dies(ctx context.Context, c *toolCall, after bool) bool {
	if t.kills == 0 || c.proc.w.deaths(c.key, after, t.kills) {
		return false
	}
	c.proc.crash()
	c.proc.again(ToolEffect, who(ctx)+" "+c.step)
	return true
}

// deaths counts a death of a call, unless the call has died often enough or dies at the other
// moment this time.
func (w *world) deaths(key string, after bool, most int) (lives bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.record.deaths[key]
	if n >= most || after != ((w.c.Seed+uint64(n))%2 == 0) {
		return true
	}
	w.record.deaths[key]++
	w.gate.tell(fmt.Sprintf("death %d of a call", n+1))
	return false
}

// failsNow reports whether a model must fail a cycle permanently because it has not failed it
// most times yet.
func (w *world) failsNow(cycle, most int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.record.refused[cycle] >= most {
		return false
	}
	w.record.refused[cycle]++
	return true
}

// checkPoison checks that a run ends as poisoned only if it lost that many drivers since its last
// progress, and that no call ends more processes. A run that continues a failed one does not
// repeat its steps.
func (w *world) checkPoison() {
	g := w.g()
	for id, run := range w.record.runs {
		if run.ended == nil || run.ended.Err == nil || run.ended.Err.Kind != event.ErrPoisoned {
			continue
		}
		w.record.poisoned++
		progress, end := 0, 0
		for _, e := range g.entries {
			if e.Run != id {
				continue
			}
			if _, ok := e.Body.(*event.RunEnded); ok {
				end = e.stamp
			} else if journal.Progresses([]*event.Event{e.Event}) && !endsRun(g, e) {
				progress = e.stamp
			}
		}
		taken := 0 // each time from a lost driver
		for _, a := range w.record.acquires {
			if a.run == id && a.stamp > progress && a.stamp < end {
				taken++
			}
		}
		if taken < lostDrivers {
			w.failLocked("poison", "%s was ended because of drivers that died, and only %d were lost since it got on last", w.aliasLocked(id), taken)
		}
	}
	for _, n := range w.record.deaths {
		w.record.died += n
		if n > lostDrivers {
			w.failLocked("poison", "a call ended %d processes", n)
		}
	}
	w.checkRepeated()
}

// endsRun reports whether an event belongs to the commit that ends the run. Closing a call there
// is not progress.
func endsRun(g *log, e entry) bool {
	return slices.ContainsFunc(g.entries, func(o entry) bool {
		_, ends := o.Body.(*event.RunEnded)
		return ends && o.Run == e.Run && o.batch == e.batch
	})
}

// checkRepeated checks calls by the model's ids: a chain of continued runs makes each call once.
func (w *world) checkRepeated() {
	if w.scenario.name != "deadly" {
		return
	}
	steps := map[string]string{}
	for _, c := range w.record.tools {
		at := c.run + " " + c.step
		if was, ok := steps[c.id]; ok && was != at && c.begun > 0 {
			w.failLocked("P16", "call %s was made by %s and by %s", c.id, was, at)
		}
		steps[c.id] = at
	}
}

// checkDeadly checks that the scenario runs to its end if no other fault strikes.
func (w *world) checkDeadly() {
	if w.scenario.name != "deadly" || len(w.c.Strikes) > 0 {
		return
	}
	failed, completed := 0, 0
	for _, run := range w.record.runs {
		if run.ended == nil {
			continue
		}
		switch run.ended.Status {
		case event.RunFailed:
			failed++
		case event.RunCompleted:
			completed++
		}
	}
	if want := 1 + lostDrivers - 1 + lostDrivers; failed != 2 || completed != 1 || w.record.poisoned != 1 || w.record.died != want {
		w.failLocked("poison", "%d runs failed, %d of them poisoned, %d completed, and %d processes died: want 2, 1, 1 and %d",
			failed, w.record.poisoned, completed, w.record.died, want)
	}
}
