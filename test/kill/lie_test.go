//go:build unix

package kill

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/test/kill/worker"
)

// The checks find each faulty worker under the promise that it breaks. So a check without findings
// means something.
func TestLies(t *testing.T) {
	t.Parallel()
	program := built(t)
	inPay := []way{{inCall: true, tool: "pay", at: 1}, {inCall: true, tool: "pay", at: 2}}
	for lie, c := range map[worker.Lie]struct {
		breaks promise
		ways   []way
	}{
		worker.LiePure:  {effects, inPay},
		worker.LieKey:   {effects, []way{{inCall: true, tool: "file", at: 1}, {inCall: true, tool: "file", at: 2}}},
		worker.LieBlind: {effects, []way{{inCall: true, tool: "book", at: 1}, {inCall: true, tool: "book", at: 2}}},
		worker.LieBill:  {billed, inPay},
		worker.LieEarly: {kept, []way{{point: "sqlite/commit", at: 3}, {point: "sqlite/commit", at: 5}}},
		worker.LieTwice: {kept, []way{{point: "send/posted", at: 1}, {point: "send/admitted", at: 2}}},
	} {
		t.Run(string(lie), func(t *testing.T) {
			t.Parallel()
			caught(t, program, lie, c.breaks, c.ways)
		})
	}
}

// caught checks that a fault is found when processes die in these ways.
func caught(t *testing.T, program string, lie worker.Lie, breaks promise, ways []way) {
	t.Helper()
	// The crashes that reveal a fault may need a few attempts.
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		w := newWorld(t, program, lie)
		people := w.people(4, random)
		for _, way := range ways {
			w.kill(way)
		}
		// With a faulty worker users may wait in vain.
		w.finish(people)
		r, err := w.record()
		if err != nil {
			t.Fatal(err)
		}
		found, _ := r.check()
		for _, f := range found {
			if f.promise == breaks {
				t.Logf("found in world %d: %s", seed+1, f.says)
				return
			}
		}
	}
	t.Errorf("nobody found out that %q breaks %q", lie, breaks)
}

// sound is the record of a correct world, made once. Tests change only copies.
func sound(t *testing.T) *record {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 4))
	w := newWorld(t, built(t), "")
	people := w.people(4, random)
	for _, way := range []way{
		{inCall: true, tool: "pay", at: 2},
		{inCall: true, tool: "file", at: 2},
		{inCall: true, tool: "pay", at: 3, before: true},
		{point: "worker/billed", at: 3},
		{point: "drive/committed", at: 40},
	} {
		w.kill(way)
	}
	if !w.finish(people) {
		t.FailNow()
	}
	r, err := w.record()
	if err != nil {
		t.Fatal(err)
	}
	found, count := r.check()
	report(t, found)
	if len(found) > 0 || count.doubts == 0 {
		t.Fatalf("the record is not fit to be spoilt: %s", count.String())
	}
	return r
}

// spoil changes a record so that one promise is broken.
type spoil struct {
	name   string
	breaks promise
	do     func(r *record) bool
}

// eachEvent calls f with copies of events until f reports that it has spoilt one.
func (r *record) eachEvent(f func(t *talk, i int, e *event.Event) bool) bool {
	for i := range r.talks {
		t := &r.talks[i]
		for j := range t.events {
			e := *t.events[j]
			t.events[j] = &e
			if f(t, j, &e) {
				return true
			}
		}
	}
	return false
}

// drop removes an event and closes the gap.
func (t *talk) drop(i int) {
	t.events = slices.Delete(t.events, i, i+1)
	for j := i; j < len(t.events); j++ {
		e := *t.events[j]
		e.Seq--
		t.events[j] = &e
	}
}

// insert inserts an event and renumbers those after it.
func (t *talk) insert(i int, e event.Event) {
	t.events = slices.Insert(t.events, i, &e)
	for j := i; j < len(t.events); j++ {
		e := *t.events[j]
		e.Seq = int64(j + 1)
		t.events[j] = &e
	}
}

// eachEntry finds an entry and spoils it in place.
func (r *record) eachEntry(f func(e *ledger.Entry) bool) bool {
	for i := range r.entries {
		if f(&r.entries[i]) {
			return true
		}
	}
	return false
}

func spoils() []spoil {
	double := func(class event.Effect, change func(*ledger.Entry)) func(*record) bool {
		return func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				if e.Op != ledger.Effect || e.Class != class {
					return false
				}
				again := *e
				change(&again)
				r.entries = append(r.entries, again)
				return true
			})
		}
	}
	return []spoil{
		{"an unsafe effect happens twice", effects, double(event.EffectUnsafe, func(e *ledger.Entry) { e.Attempt++ })},
		{"an attempt acts twice", once, double(event.EffectPure, func(*ledger.Entry) {})},
		{"an idempotent effect happens under another key", effects, double(event.EffectIdempotent, func(e *ledger.Entry) { e.Key += "x" })},
		{"a finished step acts again", once, double(event.EffectIdempotent, func(e *ledger.Entry) { e.Attempt++ })},
		{"an effect of nobody", once, double(event.EffectPure, func(e *ledger.Entry) { e.Step = "t99.0" })},
		{"a done tool did nothing", effects, func(r *record) bool {
			n := len(r.entries)
			r.entries = slices.DeleteFunc(r.entries, func(e ledger.Entry) bool { return e.Op == ledger.Effect && e.Class == event.EffectIdempotent })
			return len(r.entries) < n
		}},
		{"a doubt is not shown", effects, func(r *record) bool {
			shown := false
			for i := range r.entries {
				shown = shown || len(r.entries[i].Doubts) > 0
				r.entries[i].Doubts = nil
			}
			return shown
		}},
		{"a doubt without a kill", effects, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				b, ok := e.Body.(*event.StepEnded)
				if !ok || b.Outcome != event.OutcomeInDoubt {
					return false
				}
				for _, begun := range t.events[:i] {
					if begun.Step == e.Step && begun.Run == e.Run && begun.Attempt == e.Attempt {
						e.Time = begun.Time
					}
				}
				return true
			})
		}},
		{"a step begins after its end", once, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				b, ok := e.Body.(*event.StepEnded)
				if !ok || b.Outcome != event.OutcomeDone {
					return false
				}
				again := *e
				again.Attempt++
				again.Body = &event.StepBegun{Step: event.StepTool, Call: b.Result.Call, Tool: b.Result.Name}
				t.insert(i+1, again)
				return true
			})
		}},
		{"a model's answer is there twice", once, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if _, ok := e.Body.(*event.AssistantMessage); !ok {
					return false
				}
				t.insert(i+1, *e)
				return true
			})
		}},
		{"a gap in the log", dense, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if _, ok := e.Body.(*event.AssistantMessage); !ok {
					return false
				}
				t.events = slices.Delete(t.events, i, i+1)
				return true
			})
		}},
		{"a sight of what is not written", dense, func(r *record) bool {
			last := r.sights[len(r.sights)-1]
			last.Seq += 1000
			r.sights = append(r.sights, last)
			return true
		}},
		{"an event is sent twice", dense, func(r *record) bool {
			r.sights = append(r.sights, r.sights[0])
			return true
		}},
		{"a client misses an event", dense, func(r *record) bool {
			for talk, seen := range r.watched {
				if len(seen) > 2 {
					r.watched[talk] = slices.Delete(slices.Clone(seen), 1, 2)
					return true
				}
			}
			return false
		}},
		{"a client sees an event twice", dense, func(r *record) bool {
			for talk, seen := range r.watched {
				if len(seen) > 0 {
					r.watched[talk] = append(slices.Clone(seen), seen[len(seen)-1])
					return true
				}
			}
			return false
		}},
		{"a watcher misses an event", dense, func(r *record) bool {
			r.sights = slices.Delete(r.sights, 1, 2)
			return true
		}},
		{"a run without an end", ends, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if _, ok := e.Body.(*event.RunEnded); !ok {
					return false
				}
				t.drop(i)
				return true
			})
		}},
		{"a run that goes on waiting", ends, func(r *record) bool {
			r.talks[0].runs[0].Status = event.RunWaiting
			return true
		}},
		{"a message is lost", kept, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if _, ok := e.Body.(*event.UserMessage); !ok {
					return false
				}
				t.drop(i)
				return true
			})
		}},
		{"a message is there twice", kept, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if _, ok := e.Body.(*event.UserMessage); !ok {
					return false
				}
				t.insert(i+1, *e)
				return true
			})
		}},
		{"a message that nobody sent", kept, func(r *record) bool {
			i := slices.IndexFunc(r.orders, func(o order) bool { return o.mark != "" && o.told.Error == "" })
			r.orders = slices.Delete(r.orders, i, i+1)
			return true
		}},
		{"a refused message is there", kept, func(r *record) bool {
			i := slices.IndexFunc(r.orders, func(o order) bool { return o.mark != "" && o.told.Error == "" })
			told := *r.orders[i].told
			told.Error, r.orders[i].Policy = event.ErrLocked, braid.Reject
			r.orders[i].told = &told
			return true
		}},
		{"a message is refused when it is said again", kept, func(r *record) bool {
			again := r.orders[slices.IndexFunc(r.orders, func(o order) bool { return o.mark != "" && o.told.Error == "" })]
			told := *again.told
			told.Error, again.again, again.told = event.ErrConflict, true, &told
			r.orders = append(r.orders, again)
			return true
		}},
		{"a run is cancelled that nobody interrupted", kept, func(r *record) bool {
			for i := range r.talks {
				t := &r.talks[i]
				last := &t.runs[len(t.runs)-1]
				last.Status = event.RunCancelled
			}
			return true
		}},
		{"a model is shown a message twice", kept, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				if len(e.Marks) == 0 {
					return false
				}
				e.Marks = append(slices.Clone(e.Marks), e.Marks[0])
				return true
			})
		}},
		{"a message that no model was shown", kept, func(r *record) bool {
			for i := range r.entries {
				r.entries[i].Marks = nil
			}
			return true
		}},
		{"an answer is lost", answered, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				completed := slices.ContainsFunc(t.runs, func(run journal.Run) bool {
					return run.ID == e.Run && run.Status == event.RunCompleted
				})
				if _, ok := e.Body.(*event.Answered); !ok || !completed {
					return false
				}
				t.drop(i)
				return true
			})
		}},
		{"an answer is there twice", answered, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if _, ok := e.Body.(*event.Answered); !ok {
					return false
				}
				t.insert(i+1, *e)
				return true
			})
		}},
		{"a tool acts on another answer", answered, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				if e.Answer == "" {
					return false
				}
				e.Answer = "no"
				return true
			})
		}},
		{"usage is written down twice", billed, func(r *record) bool {
			return r.eachEvent(func(_ *talk, _ int, e *event.Event) bool {
				b, ok := e.Body.(*event.RunEnded)
				if !ok {
					return false
				}
				twice := *b
				twice.Usage = b.Usage.Add(b.Usage)
				e.Body = &twice
				return true
			})
		}},
		{"usage is not what was billed", billed, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				if e.Op != ledger.Billed {
					return false
				}
				e.Usage.Output++
				return true
			})
		}},
		{"usage that nobody billed", billed, func(r *record) bool {
			n := len(r.entries)
			r.entries = slices.DeleteFunc(r.entries, func(e ledger.Entry) bool { return e.Op == ledger.Billed })
			return len(r.entries) < n
		}},
		{"a model call that the log does not begin", once, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				if e.Op != ledger.Shown {
					return false
				}
				e.Attempt += 5
				return true
			})
		}},
		{"a compaction is there twice", once, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if b, ok := e.Body.(*event.Compacted); !ok || len(worker.SumsOf(b.Summary)) == 0 {
					return false
				}
				t.insert(i+1, *e)
				return true
			})
		}},
		{"a window is moved twice", once, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if b, ok := e.Body.(*event.Compacted); !ok || len(worker.SumsOf(b.Summary)) > 0 {
					return false
				}
				t.insert(i+1, *e)
				return true
			})
		}},
		{"a summary is paid for and lost", once, func(r *record) bool {
			return r.eachEvent(func(t *talk, i int, e *event.Event) bool {
				if b, ok := e.Body.(*event.Compacted); !ok || len(worker.SumsOf(b.Summary)) == 0 {
					return false
				}
				t.drop(i)
				return true
			})
		}},
		{"a model is shown a summary twice", kept, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				if len(e.Sums) == 0 {
					return false
				}
				e.Sums = append(slices.Clone(e.Sums), e.Sums[0])
				return true
			})
		}},
		{"a model is shown no summary of what is left out", kept, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				shown := len(e.Sums) > 0
				e.Sums = nil
				return shown
			})
		}},
		{"a model is not shown what is not left out", kept, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				if len(e.Marks) < 2 {
					return false
				}
				e.Marks = e.Marks[1:]
				return true
			})
		}},
		{"a model is shown a call without its result", paired, func(r *record) bool {
			return r.eachEntry(func(e *ledger.Entry) bool {
				e.Broken = "message 3 leaves 1 calls without a result"
				return e.Op == ledger.Shown
			})
		}},
		{"an order that nobody answers", kept, func(r *record) bool {
			r.orders[0].told = nil
			return true
		}},
	}
}

// The checker finds each of these faults in an otherwise correct record.
func TestChecker(t *testing.T) {
	t.Parallel()
	r := sound(t)
	for _, s := range spoils() {
		t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			c := r.clone()
			if !s.do(c) {
				t.Fatal("the record has nothing to spoil like this")
			}
			found, _ := c.check()
			if !slices.ContainsFunc(found, func(f finding) bool { return f.promise == s.breaks }) {
				t.Errorf("of %d findings none is %q; the first: %v", len(found), s.breaks, found[:min(len(found), 3)])
			}
		})
	}
}

// clone copies the parts of a record that tests change.
func (r *record) clone() *record {
	c := &record{
		entries: slices.Clone(r.entries), orders: slices.Clone(r.orders), sights: slices.Clone(r.sights), lives: r.lives,
		watched: maps.Clone(r.watched),
	}
	for _, t := range r.talks {
		c.talks = append(c.talks, talk{id: t.id, runs: slices.Clone(t.runs), events: slices.Clone(t.events)})
	}
	return c
}
