package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/test/logcheck"
)

// The deadlines of the promises, counted from the end of the last fault. The engine sweeps every
// 2 s.
const (
	endSeen     = 5 * time.Second
	takenOver   = term + 2*time.Second + restart + 100*time.Millisecond
	takenInFile = 2*time.Second + restart + 100*time.Millisecond
	cancelQuick = 500 * time.Millisecond
	cancelSlow  = takenOver
)

// check compares the record with the journal and the promises.
func (w *world) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disks.err != nil {
		w.failLocked("sim", "the files cannot be used: %v", w.disks.err)
		return
	}
	stalled := len(w.failures) > 0
	w.checkLog()
	w.checkEffects()
	w.checkViewers(stalled)
	w.checkTakeOver()
	w.checkCancels()
	w.checkUsage()
	w.checkModels()
	w.checkAnswers()
	w.checkMessages(stalled)
	w.checkDrain()
	w.checkPoison()
	w.checkDeadly()
}

// checkDrain checks that a drain fails no run and repeats no step (P14).
func (w *world) checkDrain() {
	if !w.scenario.drains || len(w.c.Strikes) > 0 {
		return
	}
	for _, a := range w.attempts() {
		name := fmt.Sprintf("%s/%d of %s", a.step, a.attempt, w.aliasLocked(a.run))
		if a.attempt > 1 && (a.kind == event.StepModel || a.attempt > 2 || !w.askedBefore(a)) {
			w.failLocked("P14", "%s repeats a step", name)
		}
		for _, e := range a.ends {
			if b, ok := e.Body.(*event.StepEnded); ok && b.Outcome != event.OutcomeDone {
				w.failLocked("P14", "%s is %s", name, b.Outcome)
			}
		}
	}
	for id, run := range w.record.runs {
		if run.ended != nil && run.ended.Status != event.RunCompleted {
			w.failLocked("P14", "%s is %s", w.aliasLocked(id), run.ended.Status)
		}
	}
}

// askedBefore reports whether an earlier attempt of the step asked a question.
func (w *world) askedBefore(a *attempt) bool {
	return slices.ContainsFunc(w.g().entries, func(e entry) bool {
		_, ok := e.Body.(*event.Asked)
		return ok && e.Run == a.run && e.Step == a.step && e.Attempt < a.attempt
	})
}

func (w *world) g() *log { return w.record.log(talk) }

// epochs pairs the events of a log with the leases under which they were acknowledged.
func epochs(g *log, events []*event.Event) []logcheck.Entry {
	list := make([]logcheck.Entry, 0, len(events))
	for i, e := range events {
		if i < len(g.entries) {
			list = append(list, logcheck.Entry{Event: e, Epoch: g.entries[i].epoch})
		}
	}
	return list
}

// checkLog checks that the journal holds what was acknowledged (P1) and that its logs keep the
// promises of every log (P2 to P5).
func (w *world) checkLog() {
	g := w.g()
	events, err := logOf(w.base, talk)
	if err != nil {
		w.failLocked("P1", "the log cannot be read: %v", err)
		return
	}
	if len(events) != len(g.entries) {
		w.failLocked("P1", "the journal has %d events, and %d were acknowledged", len(events), len(g.entries))
	}
	for i, e := range events {
		if i >= len(g.entries) {
			break
		}
		own := g.entries[i]
		if own.Run != e.Run || own.Body.Kind() != e.Body.Kind() || own.Step != e.Step || own.Attempt != e.Attempt {
			w.failLocked("P1", "event %d was acknowledged as %s %s/%d, and is %s %s/%d", e.Seq,
				own.Body.Kind(), own.Step, own.Attempt, e.Body.Kind(), e.Step, e.Attempt)
		}
	}
	for _, f := range logcheck.Check(epochs(g, events), w.aliasLocked) {
		w.failLocked(f.Promise, "%s", f.Says)
	}
	rows, err := whole(w.base)
	if err != nil {
		w.failLocked("P1", "the runs cannot be listed: %v", err)
		return
	}
	for _, a := range w.record.accepted {
		row, ok := rows[a.run]
		if !ok {
			w.failLocked("P1", "%q was accepted as %s, which the journal does not know", a.text, w.aliasLocked(a.run))
		} else if run := w.record.runs[a.run]; row.Status.Ended() && run.ended == nil {
			w.failLocked("P1", "%s is %s, and its log does not say so", w.aliasLocked(a.run), row.Status)
		}
	}
}

// attempt is what the log holds about one attempt of a step.
type attempt struct {
	run, step string
	attempt   int
	kind      event.StepKind
	begun     *entry
	ends      []entry
}

func (w *world) attempts() []*attempt {
	entries := w.g().entries
	log := make([]logcheck.Entry, len(entries))
	for i, e := range entries {
		log[i] = logcheck.Entry{Event: e.Event, Epoch: e.epoch}
	}
	of := func(at []int) (list []entry) {
		for _, i := range at {
			list = append(list, entries[i])
		}
		return list
	}
	var list []*attempt
	for _, a := range logcheck.Attempts(log) {
		list = append(list, &attempt{
			run: a.Run, step: a.Step, attempt: a.Number, kind: a.Kind, begun: &entries[a.Begun], ends: of(a.Ends),
		})
	}
	return list
}

// checkEffects checks that the class of a call decides what happens to it after a crash, and that
// a call in doubt is shown (P3).
func (w *world) checkEffects() {
	effects := map[string][]*toolCall{}
	for _, c := range w.record.tools {
		if c.effect > 0 {
			effects[c.key] = append(effects[c.key], c)
		}
	}
	for _, list := range effects {
		c := list[0]
		for _, o := range list {
			if o.id != c.id || o.class != c.class {
				w.failLocked("P3", "%s of %s was repeated as another call", c.step, w.aliasLocked(c.run))
			}
		}
		// A driver that has lost its lease without knowing it may still cause an effect. For
		// calls whose effect can be queried, that effect is extra.
		fenced := slices.DeleteFunc(slices.Clone(list), func(o *toolCall) bool { return o.zombie })
		switch {
		case c.class == event.EffectUnsafe && len(list) > 1:
			w.failLocked("P3", "%s of %s is unsafe and took effect %d times", c.step, w.aliasLocked(c.run), len(list))
		case c.class == event.EffectReconcilable && len(fenced) > 1:
			w.failLocked("P3", "%s of %s can be asked about and took effect %d times", c.step, w.aliasLocked(c.run), len(fenced))
		}
	}
	w.checkDoubt()
}

// checkDoubt checks that the next request in its scope shows a call in doubt.
func (w *world) checkDoubt() {
	g := w.g()
	for _, a := range w.attempts() {
		for _, e := range a.ends {
			b, ok := e.Body.(*event.StepEnded)
			if !ok || a.kind != event.StepTool || b.Outcome != event.OutcomeInDoubt {
				continue
			}
			for _, m := range w.record.models {
				if m.run == a.run && m.scope == e.Scope && !m.sum && w.begunAt(g, m) > e.Seq {
					if told := m.results[b.Result.Call]; told != event.TextOf(b.Result.Content) {
						w.failLocked("P3", "%s/%d of %s is in doubt, and the model was told %q", a.step, a.attempt, w.aliasLocked(a.run), told)
					}
					break
				}
			}
		}
	}
}

// begunAt returns the position in the log at which a model call began.
func (w *world) begunAt(g *log, m *modelCall) int64 {
	for _, e := range g.entries {
		if _, ok := e.Body.(*event.StepBegun); ok && e.Run == m.run && e.Step == m.step && e.Attempt == m.attempt {
			return e.Seq
		}
	}
	return 0
}

// checkViewers checks that every viewer was shown every event once (P5), and the end in time
// (P7).
func (w *world) checkViewers(stalled bool) {
	g := w.g()
	for _, v := range w.viewers {
		for i, s := range v.seen {
			if i >= len(g.entries) {
				w.failLocked("P5", "%s was shown event %d, which the journal does not have", v.name, s.Seq)
				break
			}
			own := g.entries[i]
			if s.Run != own.Run || s.Body.Kind() != own.Body.Kind() || s.Step != own.Step || s.Attempt != own.Attempt {
				w.failLocked("P5", "%s was shown another event %d than the journal has", v.name, s.Seq)
			}
			if _, ok := s.Body.(*event.RunEnded); ok && !own.at.Equal(w.begun) {
				if late := s.at.Sub(w.since(own.at)); late > endSeen {
					w.failLocked("P7", "%s was told %v late that %s has ended", v.name, late, w.aliasLocked(s.Run))
				}
			}
		}
		if len(v.seen) < len(g.entries) && !stalled {
			w.failLocked("P5", "%s was shown %d of %d events", v.name, len(v.seen), len(g.entries))
		}
	}
}

// since returns the start of a promise's time, which is not before the end of the last fault.
func (w *world) since(at time.Time) time.Time {
	if w.quiet.After(at) {
		return w.quiet
	}
	return at
}

// checkTakeOver checks that another process continues a dead process's run in time (P8).
func (w *world) checkTakeOver() {
	bound := takenOver
	if w.c.Store == "sqlite" && !slices.ContainsFunc(w.c.Strikes, func(s Strike) bool { return s.Fault == Pause || s.Fault == PauseAfter }) {
		bound = takenInFile
	}
	for _, s := range w.record.stops {
		for _, conv := range s.convs {
			at, run, ok := w.wentOn(conv, s.stamp)
			if late := at.Sub(w.since(s.at)); ok && late > bound {
				w.failLocked("P8", "%s went on %v after %s had stopped", w.aliasLocked(run), late, s.proc.name)
			}
		}
	}
}

// wentOn returns when a process acquired the conversation or wrote to it after a time.
func (w *world) wentOn(conv string, stamp int) (at time.Time, run string, ok bool) {
	for _, a := range w.record.acquires {
		if a.stamp > stamp && a.conv == conv {
			at, run, ok = a.at, a.run, true
			break
		}
	}
	for _, e := range w.record.log(conv).entries {
		if e.stamp > stamp {
			if !ok || e.at.Before(at) {
				at, run, ok = e.at, e.Run, true
			}
			break
		}
	}
	return at, run, ok
}

// checkCancels checks that a run is cancelled in time and begins nothing after the driver's next
// commit (P9).
func (w *world) checkCancels() {
	for _, c := range w.record.cancels {
		name := w.aliasLocked(c.run)
		run := w.record.runs[c.run]
		if run == nil || run.ended == nil {
			continue // it is reported already
		}
		commits := map[int]bool{}
		began := map[int]bool{}
		for _, e := range w.g().entries {
			if e.Run != c.run || e.stamp < c.stamp {
				continue
			}
			commits[e.batch] = true
			if _, ok := e.Body.(*event.StepBegun); ok {
				began[e.batch] = true
			}
		}
		if run.ended.Status != event.RunCancelled && len(commits) > 1 {
			w.failLocked("P9", "%s was to be cancelled and is %s %d commits later", name, run.ended.Status, len(commits))
		}
		bound := cancelQuick
		if len(w.c.Strikes) > 0 || w.scenario.loops {
			bound = cancelSlow
		}
		if late := run.endedAt.Sub(w.since(c.at)); late > bound {
			w.failLocked("P9", "%s ended %v after it was to be cancelled", name, late)
		}
		if len(w.c.Strikes) == 0 && !w.scenario.loops && len(began) > 1 {
			w.failLocked("P9", "%s began something in %d commits after it was to be cancelled", name, len(began))
		}
	}
}

// checkModels checks that a run stays with one model until a call falls back. The fallback is
// committed before the next model is called, and the log names the model that was called (P2).
func (w *world) checkModels() {
	asked := map[string]string{}
	for _, m := range w.record.models {
		asked[fmt.Sprintf("%s/%s/%d", m.run, m.step, m.attempt)] = m.model
	}
	last, instead := map[string]string{}, map[string]string{}
	for _, e := range w.g().entries {
		scope := e.Run + "/" + e.Scope
		name := fmt.Sprintf("%s/%d of %s", e.Step, e.Attempt, w.aliasLocked(e.Run))
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if b.Step != event.StepModel {
				continue
			}
			want := last[scope]
			if instead[scope] != "" {
				want = instead[scope]
			}
			if want != "" && b.Model != want || (b.Why == event.WhyFallback) != (instead[scope] != "") {
				w.failLocked("P2", "%s asks %s because of %s, and %s was to be asked", name, b.Model, b.Why, want)
			}
			if was := asked[fmt.Sprintf("%s/%s/%d", e.Run, e.Step, e.Attempt)]; was != "" && was != b.Model {
				w.failLocked("P2", "%s is said to ask %s, and %s was asked", name, b.Model, was)
			}
			last[scope], instead[scope] = b.Model, ""
		case *event.StepEnded:
			if b.Step == event.StepModel {
				instead[scope] = b.Fallback
			}
		}
	}
}

// checkUsage checks that the usage of a model call is recorded once, whatever its outcome (P10).
func (w *world) checkUsage() {
	total := map[string]event.Usage{}
	told := map[string]*modelCall{}
	for _, m := range w.record.models {
		told[fmt.Sprintf("%s/%s/%d", m.run, m.step, m.attempt)] = m
	}
	for _, a := range w.attempts() {
		if a.kind == event.StepTool {
			continue
		}
		name := fmt.Sprintf("%s/%d of %s", a.step, a.attempt, w.aliasLocked(a.run))
		if len(a.ends) == 0 && w.record.runs[a.run].ended != nil {
			w.failLocked("P10", "%s never ended", name)
		}
		for _, e := range a.ends {
			var used event.Usage
			unknown := false
			switch b := e.Body.(type) {
			case *event.AssistantMessage:
				used = b.Usage
			case *event.StepEnded:
				used, unknown = b.Usage, b.UsageUnknown
			}
			total[a.run] = total[a.run].Add(used)
			m := told[fmt.Sprintf("%s/%s/%d", a.run, a.step, a.attempt)]
			switch {
			case m == nil || m.usage == nil:
				if used != (event.Usage{}) {
					w.failLocked("P10", "%s is said to have used %d tokens, and no provider said so", name, used.Total)
				}
				if _, ok := e.Body.(*event.StepEnded); ok && !unknown {
					w.failLocked("P10", "%s was cut off, and its usage is said to be known", name)
				}
			case e.epoch == a.begun.epoch && !unknown && used != *m.usage:
				w.failLocked("P10", "%s used %d tokens, and the log says %d", name, m.usage.Total, used.Total)
			}
		}
	}
	for id, run := range w.record.runs {
		if run.ended != nil && (run.ended.CostNanoUSD == nil || *run.ended.CostNanoUSD != 3*run.ended.Usage.Total) {
			w.failLocked("P10", "%s is said to have cost %v for %d tokens", w.aliasLocked(id), run.ended.CostNanoUSD, run.ended.Usage.Total)
		}
		if run.ended != nil && run.ended.Usage != total[id] {
			w.failLocked("P10", "%s is said to have used %d tokens, and its steps %d", w.aliasLocked(id), run.ended.Usage.Total, total[id].Total)
		}
	}
}

// checkAnswers checks that a question is answered once, by a client that was told so and meant to
// answer (P11).
func (w *world) checkAnswers() {
	values := map[string][]string{}
	asked := map[string]bool{}
	for _, e := range w.g().entries {
		switch b := e.Body.(type) {
		case *event.Asked:
			asked[b.Token] = true
		case *event.Answered:
			values[b.Token] = append(values[b.Token], string(b.Value))
			if !asked[b.Token] {
				w.failLocked("P11", "event %d answers what was not asked", e.Seq)
			}
			if !slices.ContainsFunc(w.record.mails, func(m mailRecord) bool {
				return m.mail.Kind == journal.MailAnswer && m.mail.Token == b.Token && string(m.mail.Value) == string(b.Value)
			}) {
				w.failLocked("P11", "event %d is an answer that nobody gave", e.Seq)
			}
		}
	}
	for _, list := range values {
		if len(list) > 1 {
			w.failLocked("P11", "a question was answered %d times: %q", len(list), list)
		}
	}
	given := map[string]string{}
	for _, a := range w.record.answers {
		if other, ok := given[a.token]; ok && other != a.value {
			w.failLocked("P11", "two answers to one question were accepted: %q and %q", other, a.value)
		}
		given[a.token] = a.value
		if list := values[a.token]; len(list) > 0 && !slices.Contains(list, fmt.Sprintf("%q", a.value)) {
			w.failLocked("P11", "%s was told that %q counts, and the log says %q", a.client, a.value, list)
		}
	}
}

// checkMessages checks that the log holds each accepted message once, in order of acceptance.
// Every later model call of the root shows it once, and no earlier one does.
func (w *world) checkMessages(stalled bool) {
	g := w.g()
	place := map[string][]entry{}
	for _, e := range g.entries {
		if u, ok := e.Body.(*event.UserMessage); ok {
			place[event.TextOf(u.Content)] = append(place[event.TextOf(u.Content)], e)
		}
	}
	last := map[string]accepted{}
	for _, a := range w.record.accepted {
		at := place[a.text]
		switch {
		case len(at) == 0 && !stalled:
			w.failLocked("messages", "%q was accepted and is nowhere", a.text)
		case len(at) > 1:
			w.failLocked("messages", "%q is in the log %d times", a.text, len(at))
		}
		if len(at) != 1 {
			continue
		}
		before, ok := last[a.client]
		if ok && len(place[before.text]) == 1 && place[before.text][0].Seq > at[0].Seq && ordered(before.policy, a.policy) {
			w.failLocked("messages", "%q comes before %q", a.text, before.text)
		}
		last[a.client] = a
		w.checkShown(g, a.text, at[0])
	}
	for _, text := range w.record.missing {
		if len(place[text]) > 0 {
			w.failLocked("messages", "%q was refused and is in the log", text)
		}
	}
	if w.scenario.setup != nil {
		for _, m := range w.record.models {
			if n := count(m.texts, summary); n != 1 {
				w.failLocked("messages", "a model call shows what was compacted %d times", n)
			}
			if count(m.texts, forgotten) > 0 {
				w.failLocked("messages", "a model call shows what was summed up")
			}
		}
	}
}

// ordered reports whether a message under the policy b cannot overtake one under a. A steering
// message goes to the open run, before the queued ones.
func ordered(a, b braid.Policy) bool { return b != braid.Steer || a == braid.Steer }

func (w *world) checkShown(g *log, text string, at entry) {
	if run := w.record.runs[at.Run]; run.ended != nil && run.ended.Status == event.RunFailed {
		return // the request omits its texts
	}
	for _, m := range w.record.models {
		if m.scope != "" || m.sum {
			continue
		}
		n := count(m.texts, text)
		switch after := w.begunAt(g, m) > at.Seq; {
		case after && n == 0:
			w.failLocked("messages", "%q is not in the model call %s/%d of %s", text, m.step, m.attempt, w.aliasLocked(m.run))
		case n > 1:
			w.failLocked("messages", "%q is %d times in the model call %s/%d of %s", text, n, m.step, m.attempt, w.aliasLocked(m.run))
		case !after && n > 0:
			w.failLocked("messages", "%q is in a model call that began before it came", text)
		}
	}
}

func count(list []string, s string) int {
	n := 0
	for _, one := range list {
		if one == s {
			n++
		}
	}
	return n
}
