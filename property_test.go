package braid

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/fold/foldtest"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/argtype"
	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
)

// propertyCases is how many generated cases each run of the tests plays;
// -rapid.checks asks for more, -short for a fifth, the race detector for a twentieth.
const propertyCases = 5000

var deadlineless = context.Background()

// TestGeneratedRuns plays generated conversations and checks the promises about every run:
//
//   - the log cut at any event resumes to the same tool results and the same last
//     text; a finished step is never executed again; an unsafe one that was in
//     flight is never repeated and shown as in doubt
//   - neither a model nor a caller ever sees a call without its result, or a
//     result without its call
//   - the fold of a log is the same warm, from scratch and from JSON
//   - usage is the sum over the model steps
//   - a run that failed, or that a limit ended, is continued by another one that repeats no finished step, wherever
//     that one is cut
//   - the conversation takes another run, whatever happened in this one
func TestGeneratedRuns(t *testing.T) {
	t.Parallel()
	counts := &histogram{kinds: map[string]int{}}
	perShard, shards := 100, 1
	if f := flag.Lookup("rapid.checks"); f != nil {
		perShard, _ = strconv.Atoi(f.Value.String())
	}
	chosen := flag.Lookup("rapid.seed").Value.String() != "0" || flag.Lookup("rapid.failfile").Value.String() != ""
	if !chosen {
		cases := propertyCases
		if race.On {
			cases /= 40
		}
		shards = max((cases+perShard-1)/perShard, 1)
	}
	t.Run("cases", func(t *testing.T) {
		for range shards {
			t.Run("shard", func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { checkPlan(t, rapid.Custom(drawPlan).Draw(t, "plan"), counts) })
			})
		}
	})
	counts.report(t, !chosen && !race.On && !t.Failed())
}

// checkPlan plays a plan and checks everything that there is to check.
func checkPlan(t *rapid.T, p *casePlan, counts *histogram) {
	c := &testCase{plan: p, conv: planConversation()}
	defer c.close()
	if err := c.check(counts); err != nil {
		t.Fatal(err)
	}
}

// testCase is a plan while it is played.
type testCase struct {
	plan   *casePlan
	conv   *Conversation
	inputs []string
	worlds []*world
	// cuts counts the places at which the log was cut.
	cuts, doubts, crashes int
	// retried counts the runs that were continued.
	retried int
}

func (c *testCase) world() *world {
	w := newWorld()
	c.worlds = append(c.worlds, w)
	return w
}

func (c *testCase) close() {
	for _, w := range c.worlds {
		close(w.release)
	}
}

func (c *testCase) check(counts *histogram) error {
	main := c.plan.main
	w, err := c.history(c.conv)
	if err != nil {
		return err
	}
	result, err := w.play(deadlineless, c.conv, main, c.input(len(c.plan.before)))
	log := c.conv.logged()
	if err := c.settled("the run", c.conv, result, err); err != nil {
		return fmt.Errorf("%w\n%s", err, showLog(log))
	}
	if err := w.ledger(log, result.Run, main.cancel == noCancel); err != nil {
		return fmt.Errorf("%w\n%s", err, showLog(log))
	}
	if err := checkOrders(log[firstOf(log, result.Run):], main); err != nil {
		return fmt.Errorf("%w\n%s", err, showLog(log))
	}
	cuts := c.places(log, result.Run)
	agent := main.agent()
	team, err := agent.team()
	if err != nil {
		return err
	}
	chosen := func(n int) bool { return c.plan.all || slices.Contains(cuts, n) }
	seed := uint64(c.plan.cuts[0])
	if err = checkFold(log, chosen); err == nil {
		agentOf := func(name string) *drive.Agent { return cmp.Or(team[name], agent.frozen) }
		err = decidetest.OneCommand(log, deciding(agentOf), func(n int) bool { return seed%32 == 0 || chosen(n) })
	}
	if err == nil {
		err = sameOutline(log)
	}
	if err == nil && seed%4 == 1 {
		_, err = foldtest.StoredFolds(log)
	}
	if err == nil && seed%4 == 0 {
		err = decidetest.UnderAll(log, chosen)
	}
	for more := range uint64(3) {
		if err == nil {
			err = checkTorn(log, agent.frozen, team, seed+256*more)
		}
	}
	if err == nil {
		if err = checkHidden(log, seed); err == nil {
			err = checkPlanned(log, seed)
		}
	}
	if err == nil && c.plan.json {
		err = checkJSON(log, c.plan.all)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, showLog(log))
	}

	// What the cut logs are compared with: the same run, had nobody cancelled it.
	want, wantLog := result, log
	if main.cancel != noCancel {
		calm := *main
		calm.cancel = noCancel
		conv := planConversation()
		w, err := c.history(conv)
		if err != nil {
			return err
		}
		want, err = w.play(deadlineless, conv, &calm, c.input(len(c.plan.before)))
		if err := c.settled("the same run without its cancellation", conv, want, err); err != nil {
			return err
		}
		wantLog = conv.logged()
	}
	for _, cut := range cuts {
		resumed, err := c.resume(log[:cut], want, wantLog)
		if err == nil && c.plan.again > 0 {
			// The second driver dies too.
			second := cut + 1 + c.plan.again*max(len(resumed)-cut-2, 0)/256
			if second < len(resumed) {
				c.crashes++
				_, err = c.resume(resumed[:second], want, wantLog)
			}
		}
		if err != nil {
			return fmt.Errorf("cut after event %d: %w", cut, err)
		}
	}

	if err := c.continued(log, result.Run); err != nil {
		return fmt.Errorf("continued: %w", err)
	}

	// Whatever happened: the next run is answered.
	after := &runPlan{agents: []*agentPlan{{name: "root", last: lastText}}}
	w = c.world()
	result, err = w.play(deadlineless, c.conv, after, "and now?")
	c.inputs = append(c.inputs, "and now?")
	if err == nil && !strings.HasPrefix(result.Text(), "root saw") {
		err = fmt.Errorf("it says %q", result.Text())
	}
	if err := c.settled("the run after it", c.conv, result, err); err != nil || result.Stop != event.StopEndTurn {
		return fmt.Errorf("the run after it: %s, %w\n%s", result.Stop, err, showLog(c.conv.logged()))
	}
	if err := c.remembered(log, w.seen[0].messages); err != nil {
		return fmt.Errorf("the run after it: %w\n%s", err, showLog(c.conv.logged()))
	}
	for _, w := range c.worlds {
		if faults := w.verdict(true); len(faults) > 0 {
			return errors.New(strings.Join(faults, "\n"))
		}
	}
	counts.add(c.plan, log, c)
	return nil
}

// remembered checks what the model of the run after log saw: of a failed run that was not kept only a note that names the
// calls with effects, of every other run the user's message.
func (c *testCase) remembered(log []*event.Event, messages []event.Message) error {
	text, n := show(messages), 0
	var effects []string
	for _, e := range log {
		switch b := e.Body.(type) {
		case *event.RunStarted:
			n++
			effects = nil
		case *event.StepEnded:
			if b.Step == event.StepTool && b.Outcome == event.OutcomeDone && (b.Result.Name == "idem" || b.Result.Name == "unsafe") &&
				e.Scope == "" {
				effects = append(effects, fmt.Sprintf("%s (call %s)", b.Result.Name, b.Result.Call))
			}
		case *event.RunEnded:
			gone := b.Status == event.RunFailed && !b.Keep
			if strings.Contains(text, fmt.Sprintf("question %d\"", n)) == gone {
				return fmt.Errorf("run %d has %s, and the next one sees\n%s", n, b.Status, text)
			}
			for _, effect := range effects {
				if gone && !strings.Contains(text, effect) {
					return fmt.Errorf("run %d has failed, and the note does not name %s:\n%s", n, effect, text)
				}
			}
		}
	}
	return nil
}

func (c *testCase) input(i int) string { return fmt.Sprintf("question %d", i+1) }

// history plays the runs before, and gives the world of the one that is next.
func (c *testCase) history(conv *Conversation) (*world, error) {
	for i, r := range c.plan.before {
		result, err := c.world().play(deadlineless, conv, r, c.input(i))
		if err := c.settled("a run before", conv, result, err); err != nil {
			return nil, err
		}
	}
	return c.world(), nil
}

// settled checks a run that has come to its end: the handle, the log, the result.
func (c *testCase) settled(what string, conv *Conversation, r *Result, err error) error {
	bad := func(problem error) error { return fmt.Errorf("%s: %w", what, problem) }
	if r == nil || r.Stop == "" {
		return bad(fmt.Errorf("no result: %w", err))
	}
	log := conv.logged()
	end, ok := log[len(log)-1].Body.(*event.RunEnded)
	if !ok {
		return bad(errors.New("it has not ended"))
	}
	if r.Stop != end.Stop || r.Why != end.Why || r.Usage != end.Usage {
		return bad(fmt.Errorf("the result says %s %s %+v, the log %s %s %+v", r.Stop, r.Why, r.Usage, end.Stop, end.Why, end.Usage))
	}
	if end.Err != nil && !errors.Is(err, end.Err.Kind) && err != nil {
		return bad(fmt.Errorf("the error is %w, the log's %w", err, end.Err))
	}
	if end.Err == nil && err != nil {
		return bad(err)
	}
	if err := checkLog(log); err != nil {
		return bad(err)
	}
	if err := checkHandles(conv); err != nil {
		return bad(err)
	}
	if faults := c.worlds[len(c.worlds)-1].verdict(false); len(faults) > 0 {
		return bad(errors.New(strings.Join(faults, "\n")))
	}
	return nil
}

// places gives the lengths at which the log is cut: inside the run, which has
// begun and not ended.
func (c *testCase) places(log []*event.Event, run string) []int {
	first := firstOf(log, run) + 1
	var places []int
	if c.plan.all {
		for n := first; n < len(log); n++ {
			places = append(places, n)
		}
		return places
	}
	for _, at := range c.plan.cuts {
		n := first + at*(len(log)-first)/256
		if !slices.Contains(places, n) {
			places = append(places, n)
		}
	}
	return places
}

// firstOf is the index of a run's first event.
func firstOf(log []*event.Event, run string) int {
	return slices.IndexFunc(log, func(e *event.Event) bool { return e.Run == run })
}

// ledger compares what the world saw with what the log says began: every attempt
// of a tool is one entry, and no effect stands twice. Where a run was cancelled,
// some attempts never came to run.
func (w *world) ledger(log []*event.Event, run string, all bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	begun := begunAttempts(log, run)
	for key, n := range w.entries {
		if n > begun[key] {
			return fmt.Errorf("%s was entered %d times and begun %d times", key, n, begun[key])
		}
		if w.effects[key] > 1 {
			return fmt.Errorf("%s had its effect %d times", key, w.effects[key])
		}
	}
	for key, n := range begun {
		if all && w.entries[key]+w.reconciledOnly(key) < n {
			return fmt.Errorf("%s was begun %d times and entered %d times", key, n, w.entries[key])
		}
	}
	return nil
}

// reconciledOnly counts the attempts that asked the outside and did not act.
func (w *world) reconciledOnly(key string) int {
	if w.known[key] {
		return w.reconciled[key]
	}
	return 0
}

// begunAttempts counts the attempts of tools, by key, that really call a tool:
// not agents, and not what is refused at once.
func begunAttempts(log []*event.Event, run string) map[string]int {
	begun := map[string]int{}
	refused := map[string]bool{}
	for _, e := range log {
		switch b := e.Body.(type) {
		case *event.AssistantMessage:
			for i, call := range event.CallsOf(b.Content) {
				// The typed tools refuse what is JSON and not theirs before they are entered.
				var in toolIn
				if call.Args == nil || decodeToolIn(call.Args, &in) != nil {
					refused[e.Run+"/"+fold.StepName(e.Scope, 't', e.Cycle, i)] = true
				}
			}
		case *event.StepBegun:
			key := e.Run + "/" + e.Step
			if e.Run == run && b.Step == event.StepTool && !refused[key] && b.Tool != "missing" && !strings.HasPrefix(b.Tool, "sub") {
				begun["conversation/"+key]++
			}
		}
	}
	return begun
}

// decodeToolIn decodes as the typed tools do.
func decodeToolIn(args []byte, in *toolIn) error {
	p, err := argtype.Of(reflect.TypeFor[toolIn]())
	if err != nil {
		return err
	}
	return p.Decode(args, in)
}

// stepAt is where a step stands at a cut.
type stepAt struct {
	scope  string
	kind   event.StepKind
	tool   string
	effect event.Effect
	begun  bool
	asked  bool
	ended  bool
}

// neverTwice says it again, so that the loop is not judged by its own word.
func neverTwice(e event.Effect) bool { return e == event.EffectUnsafe || e == "" }

func (s *stepAt) inFlight() bool { return s.begun && !s.asked && !s.ended }

func stepsAt(log []*event.Event, run string) map[string]*stepAt {
	steps := map[string]*stepAt{}
	for _, e := range log {
		if e.Run != run || e.Step == "" {
			continue
		}
		s := steps[e.Step]
		if s == nil {
			s = &stepAt{scope: e.Scope}
			steps[e.Step] = s
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			s.begun, s.asked = true, false
			s.kind, s.tool, s.effect = b.Step, b.Tool, b.Effect
		case *event.Asked:
			s.asked = true
		case *event.AssistantMessage:
			s.ended = true
		case *event.StepEnded:
			s.ended = b.Step == event.StepTool
		}
	}
	return steps
}

// resume goes on with a log that was cut and compares where it ends with want.
// It gives the whole log.
func (c *testCase) resume(cut []*event.Event, want *Result, wantLog []*event.Event) ([]*event.Event, error) {
	c.cuts++
	conv, err := cutLog(cut, append(slices.Clone(c.inputs), c.inputsOf(cut)...))
	if err != nil {
		return nil, fmt.Errorf("the store does not take the part: %w", err)
	}
	run := cut[len(cut)-1].Run
	before := stepsAt(cut, run)
	w := c.world()
	args := map[string]toolIn{}
	for _, e := range cut {
		if b, ok := e.Body.(*event.AssistantMessage); ok && e.Run == run {
			for i, call := range event.CallsOf(b.Content) {
				var in toolIn
				if call.Args != nil && decodeToolIn(call.Args, &in) == nil {
					args[fold.StepName(e.Scope, 't', e.Cycle, i)] = in
				}
			}
		}
	}
	doubtful, cancelled := 0, false
	for _, e := range cut {
		if b, ok := e.Body.(*event.StepEnded); ok && e.Run == run {
			switch b.Outcome {
			case event.OutcomeInDoubt:
				doubtful++
			case event.OutcomeCancelled, event.OutcomeStraggler:
				cancelled = true
			default:
			}
		}
		if b, ok := e.Body.(*event.ScopeClosed); ok && e.Run == run &&
			(b.Why == event.WhyCancelled || b.Why == event.WhyDeadline) {
			cancelled = true
		}
	}
	for name, s := range before {
		if in, ok := args[name]; ok && s.inFlight() && s.effect == event.EffectReconcilable && in.reconcilable() {
			w.known["conversation/"+run+"/"+name] = hash(name)%2 == 0
		}
		if s.inFlight() && s.kind == event.StepTool && neverTwice(s.effect) {
			doubtful++
		}
	}
	if doubtful > 0 {
		c.doubts++
	}

	calm := *c.plan.main
	calm.cancel, calm.single = noCancel, !calm.single
	result, err := w.play(deadlineless, conv, &calm, "")
	log := conv.logged()
	fail := func(format string, args ...any) ([]*event.Event, error) {
		return nil, fmt.Errorf(format+"\nthe log, and as it was resumed:\n%s  ----\n%s", append(args, showLog(log[:len(cut)]), showLog(log[len(cut):]))...)
	}
	if err := c.settled("the resumed run", conv, result, err); err != nil {
		return fail("%w", err)
	}
	for i, e := range cut {
		if log[i] != e && !erased(log, log[i], e) {
			return fail("event %d was written over", i+1)
		}
	}

	// What was finished is not executed again, and what was not, as its effect says.
	for name, s := range before {
		key := "conversation/" + run + "/" + name
		switch {
		case s.kind == event.StepModel && s.ended && w.models[run+"/"+name] > 0:
			return fail("model step %s was finished and is executed again", name)
		case s.kind != event.StepTool:
		case s.ended && w.entries[key]+w.reconciled[key] > 0:
			return fail("step %s was finished and is executed again", name)
		case s.inFlight() && neverTwice(s.effect) && w.entries[key] > 0:
			return fail("step %s is unsafe and is executed a second time", name)
		case s.inFlight() && s.effect == event.EffectReconcilable && args[name] != (toolIn{}) && w.reconciled[key] == 0:
			return fail("step %s is reconcilable and the outside was not asked", name)
		case w.known[key] && w.entries[key] > 0:
			return fail("step %s is known outside and is executed a second time", name)
		}
	}
	if err := w.ledger(log[len(cut):], run, false); err != nil {
		return fail("%w", err)
	}

	got, wanted := resultsOf(log, run), resultsOf(wantLog, run)
	for name, s := range before {
		if s.inFlight() && s.kind == event.StepTool && neverTwice(s.effect) {
			if got[name].outcome != event.OutcomeInDoubt {
				return fail("step %s was in flight and unsafe, and ended %s", name, got[name].outcome)
			}
			if !w.shownDoubt(conv, s.scope) {
				return fail("nobody is shown that step %s is in doubt", name)
			}
		}
	}
	if cancelled {
		return log, nil
	}
	for name, r := range got {
		if r.outcome == event.OutcomeInDoubt || doubtful > 0 && r.agent {
			continue
		}
		if have, ok := wanted[name]; (ok || doubtful == 0) && have.print != r.print {
			return fail("step %s came to %s, want %s", name, r.print, have.print)
		}
	}
	if doubtful > 0 {
		return log, nil
	}
	if len(got) != len(wanted) {
		return fail("%d steps, want %d", len(got), len(wanted))
	}
	if result.Text() != want.Text() || result.Stop != want.Stop || result.Why != want.Why {
		return fail("it ended with %q %s %s, want %q %s %s", result.Text(), result.Stop, result.Why, want.Text(), want.Stop, want.Why)
	}
	return log, nil
}

// shownDoubt reports whether somebody reads of a doubt in the scope: its model,
// where it is called again, or else who goes on with the conversation.
func (w *world) shownDoubt(conv *Conversation, scope string) bool {
	asked := false
	for _, s := range w.seen {
		if s.scope == scope {
			asked = true
			if strings.Contains(show(s.messages), "In doubt") {
				return true
			}
		}
	}
	if asked || scope != "" {
		return !asked
	}
	messages, err := conv.Messages(deadlineless)
	return err == nil && strings.Contains(strings.ToLower(show(messages)), "in doubt")
}

// inputsOf gives the inputs of the runs in a log, in order.
func (c *testCase) inputsOf(log []*event.Event) []string {
	var inputs []string
	for _, e := range log {
		if b, ok := e.Body.(*event.RunStarted); ok && b.Continues != "" {
			inputs = append(inputs, "")
		} else if ok {
			inputs = append(inputs, c.input(len(inputs)))
		}
	}
	return inputs
}

// stepResult is what a step of a run came to.
type stepResult struct {
	outcome event.Outcome
	agent   bool
	print   string
}

// resultsOf collects what the steps of a run came to: tools by their result,
// models by their message.
func resultsOf(log []*event.Event, run string) map[string]stepResult {
	results := map[string]stepResult{}
	for _, e := range log {
		if e.Run != run {
			continue
		}
		switch b := e.Body.(type) {
		case *event.StepEnded:
			if b.Step == event.StepTool {
				results[e.Step] = stepResult{
					outcome: b.Outcome, agent: strings.HasPrefix(b.Result.Name, "sub"),
					print: fmt.Sprintf("%s end %v %s", b.Outcome, b.EndTurn, show([]event.Message{{Content: []event.Block{b.Result}}})),
				}
			}
		case *event.AssistantMessage:
			if e.Step != "" {
				results[e.Step] = stepResult{agent: true, print: show([]event.Message{{Content: b.Content}})}
			}
		}
	}
	return results
}

// histogram counts what kinds of cases were played.
type histogram struct {
	mu    sync.Mutex
	cases int
	kinds map[string]int
	cuts  int
}

// named are the kinds that issue 2 names: each is in at least 5 % of the cases.
var named = []string{"parallel tools", "tool errors", "waits", "cancels", "nested agents", "failed run before"}

func (h *histogram) add(p *casePlan, log []*event.Event, c *testCase) {
	kinds := map[string]bool{
		"cut in doubt": c.doubts > 0, "two crashes": c.crashes > 0, "cut at every event": p.all, "through JSON": p.json, "continued": c.retried > 0,
	}
	run := log[len(log)-1].Run
	ids := map[string]bool{}
	for _, e := range log {
		if e.Run != run {
			if b, ok := e.Body.(*event.RunEnded); ok {
				kinds["failed run before"] = kinds["failed run before"] || b.Status == event.RunFailed
				kinds["completed run before"] = kinds["completed run before"] || b.Status == event.RunCompleted
			}
			continue
		}
		switch b := e.Body.(type) {
		case *event.AssistantMessage:
			calls := event.CallsOf(b.Content)
			kinds["parallel tools"] = kinds["parallel tools"] || len(calls) > 1
			kinds["empty answer"] = kinds["empty answer"] || len(b.Content) == 0
			for _, call := range calls {
				kinds["call id used before"] = kinds["call id used before"] || ids[call.ID]
				ids[call.ID] = true
				kinds["malformed arguments"] = kinds["malformed arguments"] || call.Args == nil
			}
			if _, ok := firstBlock(b.Content).(*event.Thinking); ok {
				kinds["thinking"] = true
			}
			kinds["paused"] = kinds["paused"] || b.Stop == event.StopPause
		case *event.StepBegun:
			kinds["tool "+string(b.Effect)] = true
			kinds["retry"] = kinds["retry"] || b.Why == event.WhyRetry
			kinds["fallback"] = kinds["fallback"] || b.Why == event.WhyFallback
			kinds["unknown tool"] = kinds["unknown tool"] || b.Tool == "missing"
		case *event.StepEnded:
			if b.Step == event.StepTool {
				kinds["tool errors"] = kinds["tool errors"] || b.Result.IsError && b.Outcome == event.OutcomeDone
				kinds["straggler"] = kinds["straggler"] || b.Outcome == event.OutcomeStraggler
			}
		case *event.Asked:
			kinds["waits"] = true
			kinds["several questions"] = kinds["several questions"] || b.Index > 0
		case *event.StateChanged:
			kinds["state"] = true
		case *event.ScopeOpened:
			kinds["nested agents"] = true
			kinds["two levels"] = kinds["two levels"] || b.Depth > 1
		case *event.RunEnded:
			kinds["why "+string(b.Why)] = true
			kinds["cancels"] = b.Status == event.RunCancelled
			kinds["unpriced"] = b.CostNanoUSD == nil
		case *event.Redacted:
			kinds["redacted"] = true
		}
	}
	delete(kinds, "tool ")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cases++
	h.cuts += c.cuts
	for kind, ok := range kinds {
		if ok {
			h.kinds[kind]++
		}
	}
}

func firstBlock(blocks []event.Block) event.Block {
	if len(blocks) == 0 {
		return nil
	}
	return blocks[0]
}

func (h *histogram) report(t *testing.T, judge bool) {
	var names []string
	for kind := range h.kinds {
		names = append(names, kind)
	}
	sort.Strings(names)
	var sb strings.Builder
	fmt.Fprintf(&sb, "%d cases, resumed at %d cuts\n", h.cases, h.cuts)
	for _, kind := range names {
		fmt.Fprintf(&sb, "%-24s %5d  %4.1f %%\n", kind, h.kinds[kind], 100*float64(h.kinds[kind])/float64(h.cases))
	}
	t.Log(sb.String())
	if !judge {
		return
	}
	for _, kind := range named {
		if 20*h.kinds[kind] < h.cases {
			t.Errorf("%q is in %d of %d cases, which is under 5 %%", kind, h.kinds[kind], h.cases)
		}
	}
}

// erased reports whether an event is what redactions of the log have left of another one.
func erased(log []*event.Event, left, was *event.Event) bool {
	n := 0
	for _, e := range log {
		if r, ok := e.Body.(*event.Redacted); ok && r.Target == was.Seq {
			was, _ = journal.Erase(r, was)
			n++
		}
	}
	a, errA := event.AppendJSON(nil, left)
	b, errB := event.AppendJSON(nil, was)
	return n > 0 && errA == nil && errB == nil && string(a) == string(b)
}
