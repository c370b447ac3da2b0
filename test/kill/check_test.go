//go:build unix

package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/test/kill/worker"
)

// record is everything known of a world: the ledger's entries, the journal's content, the
// requests and their answers, what watchers saw, and when each process lived.
type record struct {
	// deadly means that runs may fail and that failed runs are continued.
	deadly bool
	// partial means that the test was interrupted.
	partial bool
	entries []ledger.Entry
	talks   []talk
	orders  []order
	sights  []sight
	watched map[string][]worker.Sight
	lives   []life
}

// talk is a conversation in the journal.
type talk struct {
	id     string
	runs   []journal.Run
	events []*event.Event
}

// record reads the journal after the last process has ended.
func (w *world) record() (*record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &record{deadly: w.deadly, partial: w.lie != "", entries: w.ledger.Entries(), sights: w.sights, watched: w.watched, lives: w.lives}
	for _, o := range w.orders {
		r.orders = append(r.orders, *o)
	}
	store, err := sqlite.Open(w.folder, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	ctx := context.Background()
	list, err := store.Conversations(ctx, worker.Tenant, "", 0)
	if err != nil {
		return nil, err
	}
	for i := range list {
		t := talk{id: list[i].ID}
		if t.runs, err = store.Runs(ctx, t.id, 0, 0); err != nil {
			return nil, err
		}
		if t.events, err = store.Read(ctx, t.id, 0, 0); err != nil {
			return nil, err
		}
		r.talks = append(r.talks, t)
	}
	return r, nil
}

// promise is the promise that a finding breaks.
type promise string

// The promises, by their numbers in the design.
const (
	kept     promise = "P1: what was acknowledged is there, once"
	once     promise = "P2: a finished step is never executed again"
	effects  promise = "P3: effects by their class, doubts only where there is cause, and shown"
	dense    promise = "P5: a dense log, sent after it is written, each event once"
	ends     promise = "P7: every run comes to an end"
	billed   promise = "P10: usage once per model call"
	answered promise = "P11: an answer is accepted once"
	poison   promise = "poison: a run that ends its processes is ended, and no other one is"
	retried  promise = "P16: a failed run goes on where it failed, and repeats no finished step"
	paired   promise = "a model is never shown a history that no provider takes"
)

// finding is a broken promise with its details.
type finding struct {
	promise promise
	says    string
}

// figures count the contents of a checked record.
type figures struct {
	runs, completed, cancelled, events  int
	models, tools, effects              int
	doubts, happened, shown, repeated   int
	lost, reconciled, messages, answers int
	joined, refused, unknownUsage       int
	repeats, seen, later                int
	compactions, summed                 int
	deadly                              deadlyFigures
}

func (f *figures) add(g figures) {
	for _, p := range []struct{ to, from *int }{
		{&f.runs, &g.runs},
		{&f.completed, &g.completed},
		{&f.cancelled, &g.cancelled},
		{&f.events, &g.events},
		{&f.models, &g.models},
		{&f.tools, &g.tools},
		{&f.effects, &g.effects},
		{&f.doubts, &g.doubts},
		{&f.happened, &g.happened},
		{&f.shown, &g.shown},
		{&f.later, &g.later},
		{&f.repeated, &g.repeated},
		{&f.lost, &g.lost},
		{&f.reconciled, &g.reconciled},
		{&f.messages, &g.messages},
		{&f.answers, &g.answers},
		{&f.joined, &g.joined},
		{&f.repeats, &g.repeats},
		{&f.seen, &g.seen},
		{&f.refused, &g.refused},
		{&f.unknownUsage, &g.unknownUsage},
		{&f.compactions, &g.compactions},
		{&f.summed, &g.summed},
	} {
		*p.to += *p.from
	}
}

func (f *figures) String() string {
	return fmt.Sprintf("%d runs (%d completed, %d cancelled), %d events, %d seen by clients\n"+
		"%d model calls, %d of them lost; usage unknown of %d attempts\n"+
		"%d tool calls, %d effects, %d attempts repeated by class, %d reconciled\n"+
		"%d in doubt (%d of them had happened), %d shown to a model, %d to the model of the next run\n"+
		"%d messages (%d joined a run, %d refused, %d said again), %d answers\n"+
		"%d compactions, %d of them with a summary",
		f.runs, f.completed, f.cancelled, f.events, f.seen,
		f.models, f.lost, f.unknownUsage,
		f.tools, f.effects, f.repeated, f.reconciled,
		f.doubts, f.happened, f.shown, f.later,
		f.messages, f.joined, f.refused, f.repeats, f.answers,
		f.compactions, f.summed)
}

// stepKey names a step of a run.
type stepKey struct{ run, step string }

// attemptKey names an attempt of it.
type attemptKey struct {
	stepKey

	attempt int
}

// step is the log's view of a step.
type step struct {
	kind     event.StepKind
	scope    string
	cycle    int
	tool     string
	call     string
	effect   event.Effect
	begun    []time.Time // by attempt, from 1
	ended    int         // the attempt with the final end; 0 is none
	open     bool
	outcome  event.Outcome
	endedAt  time.Time
	result   *event.ToolResult
	usage    map[int]event.Usage // by attempt, if known
	unknown  map[int]bool
	children bool
}

// checker compares a record with the promises.
type checker struct {
	*record

	found []finding
	count figures

	steps    map[stepKey]*step
	status   map[string]event.RunStatus
	poisoned map[string]bool // the runs that were given up because their drivers died
	turns    map[string]int
	marks    map[string][]string // the runs whose log has the mark
	answers  map[string][]*event.Answered
	askedBy  map[stepKey][]string
	deeds    map[stepKey][]ledger.Entry
	showings map[attemptKey][]ledger.Entry
	bills    map[attemptKey][]ledger.Entry
	places   map[attemptKey]int64 // where an attempt begins
}

// check returns the findings and the figures.
func (r *record) check() ([]finding, figures) {
	c := &checker{
		record: r, steps: map[stepKey]*step{}, status: map[string]event.RunStatus{}, poisoned: map[string]bool{}, turns: map[string]int{}, marks: map[string][]string{},
		answers: map[string][]*event.Answered{}, askedBy: map[stepKey][]string{}, deeds: map[stepKey][]ledger.Entry{},
		showings: map[attemptKey][]ledger.Entry{}, bills: map[attemptKey][]ledger.Entry{},
		places: map[attemptKey]int64{},
	}
	for i := range r.talks {
		c.readTalk(&r.talks[i])
	}
	c.readLedger()
	c.checkTools()
	c.checkModels()
	for i := range c.talks {
		c.checkCompactions(&c.talks[i])
	}
	if c.deadly {
		c.checkDeadly()
	}
	c.checkOrders()
	c.checkSights()
	c.checkClients()
	return c.found, c.count
}

func (c *checker) find(p promise, format string, args ...any) {
	c.found = append(c.found, finding{promise: p, says: fmt.Sprintf(format, args...)})
}

// readTalk reads a conversation's log: its order, its runs and its steps.
func (c *checker) readTalk(t *talk) {
	c.count.events += len(t.events)
	begun, over := map[string]int{}, map[string]*event.RunEnded{}
	usage := map[string]event.Usage{}
	turn := 0
	for i, e := range t.events {
		if e.Seq != int64(i+1) || e.Conversation != t.id {
			c.find(dense, "%s: event %d has the number %d", t.id, i+1, e.Seq)
		}
		if over[e.Run] != nil {
			c.find(ends, "%s: run %s says %s after its end", t.id, e.Run, e.Body.Kind())
		}
		switch b := e.Body.(type) {
		case *event.RunStarted:
			begun[e.Run]++
			if turn++; b.Turn != turn {
				c.find(kept, "%s: run %s has turn %d and comes as number %d", t.id, e.Run, b.Turn, turn)
			}
		case *event.RunEnded:
			over[e.Run] = b
		case *event.UserMessage:
			for _, mark := range worker.MarksOf(event.TextOf(b.Content)) {
				c.marks[mark] = append(c.marks[mark], e.Run)
			}
			if b.Mail != "" {
				c.count.joined++
			}
		case *event.Answered:
			c.answers[b.Token] = append(c.answers[b.Token], b)
		}
		usage[e.Run] = usage[e.Run].Add(c.readStep(t, e))
	}
	c.count.runs += len(t.runs)
	for i := range t.runs {
		run := &t.runs[i]
		end := over[run.ID]
		c.status[run.ID], c.turns[run.ID] = run.Status, run.Turn
		c.poisoned[run.ID] = end != nil && end.Err != nil && end.Err.Kind == event.ErrPoisoned
		switch run.Status {
		case event.RunCompleted:
			c.count.completed++
		case event.RunCancelled:
			c.count.cancelled++
		}
		switch {
		case run.Turn != i+1:
			c.find(kept, "%s: run %s has turn %d and is number %d", t.id, run.ID, run.Turn, i+1)
		case !run.Status.Ended() || end == nil:
			c.find(ends, "%s: run %s is %s, and its end is in the log: %t", t.id, run.ID, run.Status, end != nil)
		case begun[run.ID] != 1:
			c.find(ends, "%s: run %s began %d times", t.id, run.ID, begun[run.ID])
		case end.Status != run.Status || run.Status == event.RunFailed && !c.deadly:
			c.find(ends, "%s: run %s is %s and ended as %s: %v", t.id, run.ID, run.Status, end.Status, end.Err)
		case end.Usage != usage[run.ID]:
			c.find(billed, "%s: run %s sums its usage up as %+v, its steps give %+v", t.id, run.ID, end.Usage, usage[run.ID])
		}
	}
}

// readStep reads an event of a step and returns the usage that it reports.
func (c *checker) readStep(t *talk, e *event.Event) event.Usage {
	if e.Step == "" {
		return event.Usage{}
	}
	key := stepKey{e.Run, e.Step}
	at := fmt.Sprintf("%s: %s of %s", t.id, e.Step, e.Run)
	s := c.steps[key]
	begun, begins := e.Body.(*event.StepBegun)
	switch {
	case s == nil && begins:
		s = &step{
			kind: begun.Step, scope: e.Scope, cycle: e.Cycle, tool: begun.Tool, call: begun.Call, effect: begun.Effect,
			usage: map[int]event.Usage{}, unknown: map[int]bool{},
		}
		c.steps[key] = s
	case s == nil:
		if ended, ok := e.Body.(*event.StepEnded); ok && e.Attempt == 0 && ended.Outcome == event.OutcomeCancelled {
			return event.Usage{} // the step never began
		}
		c.find(once, "%s: %s, and it never began", at, e.Body.Kind())
		return event.Usage{}
	}
	switch b := e.Body.(type) {
	case *event.StepBegun:
		if s.ended > 0 {
			c.find(once, "%s begins attempt %d after attempt %d has ended it", at, e.Attempt, s.ended)
		}
		if e.Attempt != len(s.begun)+1 {
			c.find(once, "%s begins attempt %d after %d", at, e.Attempt, len(s.begun))
		}
		if s.call != b.Call || s.tool != b.Tool {
			c.find(once, "%s was %s (%s) and is %s (%s)", at, s.tool, s.call, b.Tool, b.Call)
		}
		s.begun = append(s.begun, e.Time)
		s.open = true
		c.places[attemptKey{key, e.Attempt}] = e.Seq
	case *event.Asked:
		s.open = false
		c.askedBy[key] = append(c.askedBy[key], b.Token)
	case *event.AssistantMessage:
		c.endStep(at, s, e, event.OutcomeDone)
		s.usage[e.Attempt] = b.Usage
		return b.Usage
	case *event.StepEnded:
		// A request that the model refused as too long is repeated with less content.
		again := b.Outcome == event.OutcomeLost || !b.RetryAt.IsZero() || b.Err != nil && b.Err.Kind == event.ErrContextOverflow
		if again {
			s.open = false
		} else {
			c.endStep(at, s, e, b.Outcome)
		}
		s.result = b.Result
		if s.kind != event.StepTool {
			if b.UsageUnknown {
				s.unknown[e.Attempt] = true
			} else {
				s.usage[e.Attempt] = b.Usage
			}
		}
		return b.Usage
	case *event.ScopeOpened:
		s.children = true
	}
	return event.Usage{}
}

func (c *checker) endStep(at string, s *step, e *event.Event, outcome event.Outcome) {
	if s.ended > 0 {
		c.find(once, "%s ends twice", at)
	}
	if e.Attempt != len(s.begun) && e.Attempt != 0 {
		c.find(once, "%s ends attempt %d, and the last that began is %d", at, e.Attempt, len(s.begun))
	}
	s.ended, s.open, s.outcome, s.endedAt = max(e.Attempt, 1), false, outcome, e.Time
	if outcome != event.OutcomeDone && e.Attempt == 0 {
		s.ended = len(s.begun)
	}
}

// readLedger sorts the ledger's entries.
func (c *checker) readLedger() {
	models := map[[4]string]string{}
	for key, s := range c.steps {
		if s.kind != event.StepTool {
			models[[4]string{string(s.kind), key.run, s.scope, fmt.Sprint(s.cycle)}] = key.step
		}
	}
	for i := range c.entries {
		e := &c.entries[i]
		switch e.Op {
		case ledger.Effect:
			c.deeds[stepKey{e.Run, e.Step}] = append(c.deeds[stepKey{e.Run, e.Step}], *e)
		case ledger.Reconcile:
			c.count.reconciled++
		case ledger.Shown, ledger.Billed:
			name, ok := models[[4]string{string(e.Kind), e.Run, e.Scope, fmt.Sprint(e.Cycle)}]
			key := attemptKey{stepKey{e.Run, name}, e.Attempt}
			if !ok || len(c.steps[key.stepKey].begun) < e.Attempt {
				c.find(once, "the model was called for cycle %d of %q in %s, attempt %d, which the log does not begin",
					e.Cycle, e.Scope, e.Run, e.Attempt)
				continue
			}
			if e.Op == ledger.Shown {
				c.showings[key] = append(c.showings[key], *e)
			} else {
				c.bills[key] = append(c.bills[key], *e)
			}
		}
	}
}

// checkTools compares each tool call with its effects outside.
func (c *checker) checkTools() {
	names := map[string]stepKey{}
	for key, deeds := range c.deeds {
		s := c.steps[key]
		if s == nil || s.kind != event.StepTool {
			c.find(once, "%s of %s acted, and the log does not know it", key.step, key.run)
			continue
		}
		perAttempt := map[int]int{}
		keys := map[string]bool{}
		for i := range deeds {
			d := &deeds[i]
			perAttempt[d.Attempt]++
			keys[d.Key] = true
			if d.Attempt > len(s.begun) {
				c.find(once, "%s of %s acted in attempt %d, and %d have begun", key.step, key.run, d.Attempt, len(s.begun))
			}
			if s.ended > 0 && d.Attempt > s.ended {
				c.find(once, "%s of %s acted in attempt %d after attempt %d ended it", key.step, key.run, d.Attempt, s.ended)
			}
			if d.Call != s.call || d.Tool != s.tool {
				c.find(once, "%s of %s acted as %s (%s), and is %s (%s)", key.step, key.run, d.Tool, d.Call, s.tool, s.call)
			}
			if other, taken := names[d.Key]; taken && other != key {
				c.find(effects, "the key %s names two calls", d.Key)
			}
			names[d.Key] = key
		}
		for attempt, n := range perAttempt {
			if n > 1 {
				c.find(once, "%s of %s acted %d times in attempt %d", key.step, key.run, n, attempt)
			}
		}
		class := deeds[0].Class
		c.count.effects += len(deeds)
		if len(deeds) > 1 {
			c.count.repeated += len(deeds) - 1
		}
		switch {
		case class == event.EffectUnsafe && len(deeds) > 1:
			c.find(effects, "%s (%s) of %s is unsafe and happened %d times", key.step, s.tool, key.run, len(deeds))
		case class == event.EffectReconcilable && len(deeds) > 1:
			c.find(effects, "%s (%s) of %s is reconcilable and happened %d times", key.step, s.tool, key.run, len(deeds))
		case class == event.EffectIdempotent && len(keys) > 1:
			c.find(effects, "%s (%s) of %s is idempotent and happened under %d keys", key.step, s.tool, key.run, len(keys))
		}
	}
	for key, s := range c.steps {
		if s.kind == event.StepTool {
			c.count.tools++
			c.checkTool(key, s)
		}
	}
}

func (c *checker) checkTool(key stepKey, s *step) {
	deeds := c.deeds[key]
	completed := c.status[key.run] == event.RunCompleted
	switch {
	case s.ended == 0:
		c.find(ends, "%s (%s) of %s never ends", key.step, s.tool, key.run)
	case s.outcome == event.OutcomeDone && s.tool != worker.HelperName && s.result.IsError:
		c.find(effects, "%s (%s) of %s failed: %s", key.step, s.tool, key.run, event.TextOf(s.result.Content))
	case s.outcome == event.OutcomeDone && s.tool != worker.HelperName && len(deeds) == 0:
		c.find(effects, "%s (%s) of %s is done, and nothing happened", key.step, s.tool, key.run)
	case s.outcome == event.OutcomeCancelled && completed:
		c.find(effects, "%s (%s) of %s was cancelled in a run that completed", key.step, s.tool, key.run)
	}
	if s.outcome == event.OutcomeInDoubt {
		c.checkDoubt(key, s, completed)
	}
	for i := range deeds {
		if tokens := c.askedBy[key]; len(tokens) > 0 {
			given := c.answers[tokens[0]]
			if len(given) == 0 || string(given[0].Value) != fmt.Sprintf("%q", deeds[i].Answer) {
				c.find(answered, "%s of %s acted on the answer %q, the log has %v", key.step, key.run, deeds[i].Answer, given)
			}
		}
	}
}

// checkDoubt checks that a doubt has a cause and is reported.
func (c *checker) checkDoubt(key stepKey, s *step, completed bool) {
	c.count.doubts++
	if len(c.deeds[key]) > 0 {
		c.count.happened++
	}
	// A run that is given up calls no tool, so nobody asks a reconcilable one what has happened.
	unasked := worker.Tools[s.tool] == event.EffectReconcilable && c.poisoned[key.run]
	if worker.Tools[s.tool] != event.EffectUnsafe && !unasked {
		c.find(effects, "%s of %s is in doubt, and %s is %s", key.step, key.run, s.tool, worker.Tools[s.tool])
	}
	begun, ended := c.lifeOf(s.begun[len(s.begun)-1]), c.lifeOf(s.endedAt)
	if begun < 1 || begun >= ended || c.lives[begun-1].cause == drained {
		c.find(effects, "%s of %s is in doubt, and nobody was killed while it ran: process %d, then %d", key.step, key.run, begun, ended)
	}
	if s.result == nil || !s.result.IsError || len(s.result.Content) == 0 {
		c.find(effects, "%s of %s is in doubt, and its result does not say so", key.step, key.run)
	}
	shown, later := false, false
	for i := range c.entries {
		if e := &c.entries[i]; e.Op == ledger.Shown && slices.Contains(e.Doubts, s.call) {
			shown = shown || e.Run == key.run && e.Scope == s.scope
			later = later || e.Run != key.run
		}
	}
	switch {
	case shown:
		c.count.shown++
	case completed:
		c.find(effects, "%s of %s is in doubt, and no model was told", key.step, key.run)
	case later:
		c.count.later++
	case s.scope == "" && c.goesOn(key.run):
		c.find(effects, "%s of %s is in doubt, the run was cancelled, and the model of the next one was not told", key.step, key.run)
	}
}

// goesOn reports whether a later run of the conversation completed.
func (c *checker) goesOn(run string) bool {
	for i := range c.talks {
		runs := c.talks[i].runs
		at := slices.IndexFunc(runs, func(r journal.Run) bool { return r.ID == run })
		if at >= 0 {
			return slices.ContainsFunc(runs[at:], func(r journal.Run) bool { return r.Status == event.RunCompleted })
		}
	}
	return false
}

// lifeOf returns the number of the process that lived at a time, from 1; 0 is none.
func (c *checker) lifeOf(at time.Time) int {
	for i := range c.lives {
		if !at.Before(c.lives[i].began) && !at.After(c.lives[i].ended) {
			return i + 1
		}
	}
	return 0
}

// checkModels compares each model call with what its provider saw.
func (c *checker) checkModels() {
	for key, shown := range c.showings {
		s := c.steps[key.stepKey]
		if len(shown) > 1 {
			c.find(once, "%s of %s called the model %d times in attempt %d", key.step, key.run, len(shown), key.attempt)
		}
		if s.ended > 0 && key.attempt > s.ended {
			c.find(once, "%s of %s called the model in attempt %d after attempt %d ended it", key.step, key.run, key.attempt, s.ended)
		}
		for i := range shown {
			marks := slices.Sorted(slices.Values(shown[i].Marks))
			if len(slices.Compact(slices.Clone(marks))) < len(marks) {
				c.find(kept, "%s of %s shows the model a message twice: %v", key.step, key.run, shown[i].Marks)
			}
		}
	}
	for key, bills := range c.bills {
		s := c.steps[key.stepKey]
		usage, known := s.usage[key.attempt]
		switch {
		case len(bills) > 1:
			c.find(billed, "attempt %d of %s of %s was billed %d times", key.attempt, key.step, key.run, len(bills))
		case known && usage != bills[0].Usage && usage != (event.Usage{}):
			c.find(billed, "attempt %d of %s of %s was billed %+v and wrote down %+v", key.attempt, key.step, key.run, bills[0].Usage, usage)
		case known && usage == (event.Usage{}):
			c.find(billed, "attempt %d of %s of %s was billed %+v and wrote down nothing", key.attempt, key.step, key.run, bills[0].Usage)
		case !known && !s.unknown[key.attempt]:
			c.find(billed, "attempt %d of %s of %s was billed, and the log says nothing of its usage", key.attempt, key.step, key.run)
		}
	}
	for key, s := range c.steps {
		if s.kind == event.StepTool {
			continue
		}
		c.count.models++
		// After a lost call, its run may be cancelled before the retry, or the summary may no
		// longer be needed.
		if s.ended == 0 && (s.open || s.kind == event.StepModel && c.status[key.run] == event.RunCompleted) {
			c.find(ends, "%s of %s never ends", key.step, key.run)
		}
		c.count.lost += len(s.begun) - 1
		c.count.unknownUsage += len(s.unknown)
		for attempt, usage := range s.usage {
			if bills := c.bills[attemptKey{key, attempt}]; len(bills) == 0 && usage != (event.Usage{}) {
				c.find(billed, "attempt %d of %s of %s wrote down %+v, and nobody sent a bill", attempt, key.step, key.run, usage)
			}
		}
	}
}

// checkOrders checks that the log has each acknowledged message and answer once.
func (c *checker) checkOrders() {
	wanted := map[string]bool{}
	last := map[string]string{}
	for i := range c.orders {
		o := &c.orders[i]
		if o.told == nil {
			c.find(kept, "an order was never answered: %+v", o.Order)
			continue
		}
		switch o.Do {
		case worker.DoAnswer:
			c.checkAnswer(o)
			continue
		case worker.DoLook:
			continue
		case worker.DoRetry:
			if o.told.Error != "" {
				c.find(retried, "a run of %s cannot be continued: %s", o.Conversation, o.told.Says)
			}
			continue
		}
		if o.again {
			c.count.repeats++
			if o.told.Error != "" {
				c.find(kept, "message %s was accepted, and is refused when it is said again: %s", o.mark, o.told.Says)
			}
			continue
		}
		wanted[o.mark] = true
		places := c.marks[o.mark]
		if o.told.Error != "" {
			c.count.refused++
			if o.Policy != braid.Reject || o.told.Error != event.ErrLocked {
				c.find(kept, "message %s (%s) is refused: %s", o.mark, o.Policy, o.told.Says)
			}
			if len(places) != 0 {
				c.find(kept, "message %s was refused, and stands in %v", o.mark, places)
			}
			continue
		}
		c.count.messages++
		if len(places) != 1 {
			c.find(kept, "message %s (%s, %s) was acknowledged and stands %d times in the log %v", o.mark, o.Do, o.Policy, len(places), places)
			continue
		}
		shown := slices.ContainsFunc(c.entries, func(e ledger.Entry) bool {
			return e.Op == ledger.Shown && slices.Contains(e.Marks, o.mark)
		})
		if !shown && c.status[places[0]] == event.RunCompleted {
			c.find(kept, "message %s stands in run %s, which completed, and no model was shown it", o.mark, places[0])
		}
		// Messages that join runs keep their order among themselves, as do messages that start
		// runs.
		line := fmt.Sprint(o.Conversation, o.told.Joined)
		if before, ok := last[line]; ok && c.position(o.Conversation, before) > c.position(o.Conversation, o.mark) {
			c.find(kept, "message %s was sent after %s and stands before it", o.mark, before)
		}
		last[line] = o.mark
	}
	c.checkInterrupts()
	for mark, places := range c.marks {
		if !wanted[mark] {
			c.find(kept, "nobody sent message %s, and it stands in %v", mark, places)
		}
	}
}

// checkInterrupts checks that an interrupting message cancelled only earlier runs.
func (c *checker) checkInterrupts() {
	until := map[string]int{}
	for i := range c.orders {
		o := &c.orders[i]
		if o.Policy == braid.Interrupt && !o.again && len(c.marks[o.mark]) == 1 {
			until[o.Conversation] = max(until[o.Conversation], c.turns[c.marks[o.mark][0]])
		}
	}
	for i := range c.talks {
		for j := range c.talks[i].runs {
			if run := &c.talks[i].runs[j]; run.Status == event.RunCancelled && run.Turn >= until[c.talks[i].id] {
				c.find(kept, "%s: run %s has turn %d and was cancelled, and nobody interrupted it", c.talks[i].id, run.ID, run.Turn)
			}
		}
	}
}

// position finds a message in its conversation's log.
func (c *checker) position(conversation, mark string) int64 {
	i := slices.IndexFunc(c.talks, func(t talk) bool { return t.id == conversation })
	if i < 0 {
		return 0
	}
	for _, e := range c.talks[i].events {
		if m, ok := e.Body.(*event.UserMessage); ok && strings.Contains(event.TextOf(m.Content), "<"+mark+">") {
			return e.Seq
		}
	}
	return 0
}

func (c *checker) checkAnswer(o *order) {
	given := c.answers[o.Token]
	if len(given) > 1 {
		c.find(answered, "the question %s has %d answers", o.Token, len(given))
	}
	if o.told.Error != "" {
		return
	}
	if o.again {
		c.find(answered, "the question %s was answered, and took another answer", o.Token)
		return
	}
	c.count.answers++
	want, err := json.Marshal(o.Text)
	if err != nil {
		c.find(answered, "%v", err)
	}
	interrupted := false
	for key, tokens := range c.askedBy {
		if slices.Contains(tokens, o.Token) {
			interrupted = c.status[key.run] == event.RunCancelled
		}
	}
	switch {
	case len(given) == 0 && !interrupted:
		c.find(answered, "the answer %s was acknowledged and is not in the log", want)
	case len(given) == 1 && !bytes.Equal(given[0].Value, want):
		c.find(answered, "the question %s was answered %s, and the log has %s", o.Token, want, given[0].Value)
	}
}

// checkClients checks that a client which resumes at each new process has seen each event exactly
// once.
func (c *checker) checkClients() {
	for i := range c.talks {
		t := &c.talks[i]
		seen := c.watched[t.id]
		c.count.seen += len(seen)
		for j := range seen {
			s := &seen[j]
			if s.Seq != int64(j+1) || j >= len(t.events) {
				c.find(dense, "a client of %s saw event %d as number %d of %d", t.id, s.Seq, j+1, len(t.events))
				break
			}
			if e := t.events[j]; e.Run != s.Run || e.Body.Kind() != s.Kind || e.Step != s.Step || e.Attempt != s.Attempt {
				c.find(dense, "a client of %s saw event %d as %+v, and it is another in the log", t.id, s.Seq, *s)
			}
		}
	}
}

// checkSights checks that nobody saw a false event, or an event without its predecessors.
func (c *checker) checkSights() {
	logs := map[string][]*event.Event{}
	for i := range c.talks {
		logs[c.talks[i].id] = c.talks[i].events
	}
	type line struct {
		process int
		talk    string
	}
	last := map[line]int64{}
	seen := map[string]map[int64]bool{}
	for i := range c.sights {
		s := &c.sights[i]
		log := logs[s.Conversation]
		if s.Seq < 1 || s.Seq > int64(len(log)) {
			c.find(dense, "event %d of %s was sent and is not in the log", s.Seq, s.Conversation)
			continue
		}
		e := log[s.Seq-1]
		if e.Run != s.Run || e.Body.Kind() != s.Kind || e.Step != s.Step || e.Attempt != s.Attempt {
			c.find(dense, "event %d of %s was sent as %+v and is another in the log", s.Seq, s.Conversation, s.Sight)
		}
		if seen[s.Conversation] == nil {
			seen[s.Conversation] = map[int64]bool{}
		}
		if seen[s.Conversation][s.Seq] {
			c.find(dense, "event %d of %s was sent twice", s.Seq, s.Conversation)
		}
		seen[s.Conversation][s.Seq] = true
		at := line{s.process, s.Conversation}
		if before := last[at]; before > 0 && s.Seq != before+1 {
			c.find(dense, "process %d sent event %d of %s after %d", s.process, s.Seq, s.Conversation, before)
		}
		last[at] = s.Seq
	}
}
