package logcheck_test

import (
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/test/logcheck"
)

type log []logcheck.Entry

// say adds an event of run r under a lease.
func (l log) say(epoch int64, step string, attempt int, body event.Body) log {
	e := &event.Event{Body: body}
	e.Seq, e.Run, e.Step, e.Attempt = int64(len(l))+1, "r", step, attempt
	return append(slices.Clip(l), logcheck.Entry{Event: e, Epoch: epoch})
}

func (l log) begins(epoch int64, attempt int, effect event.Effect) log {
	return l.say(epoch, "t1.0", attempt, &event.StepBegun{Step: event.StepTool, Call: "c", Tool: "pay", Effect: effect})
}

func (l log) ends(epoch int64, attempt int, outcome event.Outcome) log {
	return l.say(epoch, "t1.0", attempt, &event.StepEnded{Step: event.StepTool, Outcome: outcome, Result: &event.ToolResult{Call: "c"}})
}

func (l log) over(epoch int64) log { return l.say(epoch, "", 0, &event.RunEnded{}) }

// Check finds each broken promise under its number, and nothing else.
func TestCheck(t *testing.T) {
	t.Parallel()
	start := log{}.say(1, "", 0, &event.RunStarted{})
	other := func(l log, run string) log {
		l = slices.Clone(l)
		e := *l[len(l)-1].Event
		e.Run = run
		l[len(l)-1].Event = &e
		return l
	}
	of := func(l log, run string, bodies ...event.Body) log { // events of another run
		for _, b := range bodies {
			l = other(l.say(1, "", 0, b), run)
		}
		return l
	}
	failed := &event.RunEnded{Status: event.RunFailed}
	paid := start.begins(1, 1, "").ends(1, 1, event.OutcomeDone)
	for name, c := range map[string]struct {
		log  log
		want []string
	}{
		"continued":               {of(paid.say(1, "", 0, failed), "s", &event.RunStarted{Continues: "r"}, &event.RunEnded{}), nil},
		"continued, complete":     {of(paid.over(1), "s", &event.RunStarted{Continues: "r"}), []string{"P16"}},
		"continued, another":      {of(of(paid.say(1, "", 0, failed), "s", &event.RunStarted{}, failed), "u", &event.RunStarted{Continues: "r"}), []string{"P16"}},
		"continued, paid again":   {other(of(paid.say(1, "", 0, failed), "s", &event.RunStarted{Continues: "r"}).begins(1, 1, ""), "s"), []string{"P16"}},
		"another pays":            {other(of(paid.say(1, "", 0, failed), "s", &event.RunStarted{}).begins(1, 1, ""), "s"), nil},
		"a run":                   {start.begins(1, 1, "").ends(1, 1, event.OutcomeDone).over(1), nil},
		"taken over, in doubt":    {start.begins(1, 1, "").ends(2, 1, event.OutcomeInDoubt).over(2), nil},
		"taken over, made again":  {start.begins(1, 1, event.EffectPure).begins(2, 2, event.EffectPure).ends(2, 2, event.OutcomeDone).over(2), nil},
		"a late result":           {start.begins(1, 1, "").ends(2, 1, event.OutcomeDone).over(2), []string{"P3"}},
		"the old holder writes":   {start.begins(1, 1, "").ends(2, 1, event.OutcomeInDoubt).over(1), []string{"P4"}},
		"an attempt ends twice":   {start.begins(1, 1, "").ends(1, 1, event.OutcomeDone).ends(1, 1, event.OutcomeDone), []string{"P2"}},
		"begins after its end":    {start.begins(1, 1, "").ends(1, 1, event.OutcomeDone).begins(1, 2, ""), []string{"P2"}},
		"in doubt without cause":  {start.begins(1, 1, "").ends(1, 1, event.OutcomeInDoubt), []string{"P3"}},
		"in doubt for nothing":    {start.begins(1, 1, event.EffectPure).ends(2, 1, event.OutcomeInDoubt), []string{"P3"}},
		"a hole":                  {slices.Delete(start.begins(1, 1, "").over(1), 1, 2), []string{"P5"}},
		"a run inside another":    {other(start.say(1, "", 0, &event.RunStarted{}), "s"), []string{"P4"}},
		"an event of another run": {other(start.begins(1, 1, ""), "s"), []string{"P4"}},
		"words after the end":     {start.over(1).begins(1, 1, ""), []string{"P4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range logcheck.Check(c.log, func(run string) string { return run }) {
				got = append(got, f.Promise)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v", logcheck.Check(c.log, func(run string) string { return run }))
			}
		})
	}
}
