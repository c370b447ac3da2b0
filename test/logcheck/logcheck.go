// Package logcheck checks a conversation's log against the promises that hold for every log,
// whatever failed while it was written. The simulation and the suites that kill and stop real
// processes share it.
package logcheck

import (
	"fmt"
	"slices"

	"github.com/braidrun/braid/event"
)

// Entry is a durable event and the epoch of the lease that wrote it.
type Entry struct {
	*event.Event

	Epoch int64
}

// Finding is a broken promise, by its number, with the details.
type Finding struct{ Promise, Says string }

// Attempt is what a log says about one attempt of a step. Begin, ends and questions are positions
// in the log.
type Attempt struct {
	Run, Step string
	Number    int
	Kind      event.StepKind
	Effect    event.Effect
	Begun     int
	Ends      []int
	Asked     []int
}

// Attempts lists the attempts in the order of their beginnings.
func Attempts(log []Entry) []*Attempt {
	var list []*Attempt
	type key struct {
		run, step string
		number    int
	}
	index, latest := map[key]*Attempt{}, map[key]*Attempt{}
	for i, e := range log {
		at, step := key{e.Run, e.Step, e.Attempt}, key{run: e.Run, step: e.Step}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			a := &Attempt{Run: e.Run, Step: e.Step, Number: e.Attempt, Kind: b.Step, Effect: b.Effect, Begun: i}
			index[at], latest[step] = a, a
			list = append(list, a)
		case *event.StepEnded:
			if a := index[at]; a != nil {
				a.Ends = append(a.Ends, i)
			} else if a := latest[step]; a != nil && e.Attempt == 0 {
				a.Ends = append(a.Ends, i) // the call is closed under any attempt
			}
		case *event.AssistantMessage:
			if a := index[at]; a != nil && !b.Piece {
				a.Ends = append(a.Ends, i)
			}
		case *event.Asked:
			if a := index[at]; a != nil {
				a.Asked = append(a.Asked, i)
			}
		}
	}
	return list
}

// Check checks the log of one conversation from its beginning and returns the broken promises.
//
//   - P2: an attempt ends once, and a step that has ended does not begin again.
//   - P3: what was in flight when its driver died is not said to be done, and only that is in
//     doubt, and only where doing it twice would matter.
//   - P4: one run after the other wrote it, and one driver after the other: a lease that
//     was taken over writes nothing more.
//   - P5: its numbers are dense.
//   - P16: a run that continues another one follows it at once, that one had failed, and no tool call that it had finished
//     begins again.
//
// name returns a run's name for the findings.
func Check(log []Entry, name func(run string) string) []Finding {
	c := &checker{log: log, name: name}
	c.order()
	c.continued()
	attempts := Attempts(log)
	c.steps(attempts)
	c.doubts(attempts)
	return c.found
}

type checker struct {
	log   []Entry
	name  func(run string) string
	found []Finding
}

func (c *checker) find(promise, format string, args ...any) {
	c.found = append(c.found, Finding{promise, fmt.Sprintf(format, args...)})
}

func (c *checker) of(a *Attempt) string {
	return fmt.Sprintf("%s/%d of %s", a.Step, a.Number, c.name(a.Run))
}

func (c *checker) order() {
	epoch, open := int64(0), ""
	for i, e := range c.log {
		if e.Seq != int64(i)+1 {
			c.find("P5", "event %d has the number %d", i+1, e.Seq)
		}
		if e.Epoch < epoch {
			c.find("P4", "event %d of epoch %d comes after epoch %d", e.Seq, e.Epoch, epoch)
		}
		epoch = e.Epoch
		switch e.Body.(type) {
		case *event.RunStarted:
			if open != "" {
				c.find("P4", "%s begins inside %s", c.name(e.Run), c.name(open))
			}
			open = e.Run
		case *event.RunEnded:
			if e.Run != open {
				c.find("P4", "%s ends inside %s", c.name(e.Run), c.name(open))
			}
			open = ""
		default:
			if e.Run != open {
				c.find("P4", "event %d of %s stands inside %s", e.Seq, c.name(e.Run), c.name(open))
			}
		}
	}
}

// continued checks runs that continue a failed run.
func (c *checker) continued() {
	newest, failed := "", false
	done := map[string]bool{} // tool calls finished by the run and by those that it continues
	continues := false
	for _, e := range c.log {
		switch b := e.Body.(type) {
		case *event.RunStarted:
			continues = b.Continues != ""
			if continues && (b.Continues != newest || !failed) {
				c.find("P16", "%s continues %s, and the run before it is %s", c.name(e.Run), c.name(b.Continues), c.name(newest))
			}
			if !continues {
				clear(done)
			}
			newest, failed = e.Run, false
		case *event.RunEnded:
			failed = b.Status == event.RunFailed
		case *event.StepBegun:
			if continues && b.Step == event.StepTool && done[e.Step] {
				c.find("P16", "%s repeats %s, which had ended before", c.name(e.Run), e.Step)
			}
		case *event.StepEnded:
			if b.Step == event.StepTool && b.RetryAt.IsZero() && e.Scope == "" {
				done[e.Step] = true
			}
		}
	}
}

func (c *checker) steps(attempts []*Attempt) {
	over := map[[2]string]bool{}
	for _, a := range attempts {
		step := [2]string{a.Run, a.Step}
		if over[step] {
			c.find("P2", "%s began after the step had ended", c.of(a))
		}
		if len(a.Ends) > 1 {
			c.find("P2", "%s ended %d times", c.of(a), len(a.Ends))
		}
		for _, i := range a.Ends {
			b, failed := c.log[i].Body.(*event.StepEnded)
			if !failed || b.Step == event.StepTool && b.RetryAt.IsZero() {
				over[step] = true
			}
		}
	}
}

func (c *checker) doubts(attempts []*Attempt) {
	for _, a := range attempts {
		if a.Kind != event.StepTool {
			continue
		}
		begun := c.log[a.Begun]
		for _, i := range a.Ends {
			b, ok := c.log[i].Body.(*event.StepEnded)
			if !ok {
				continue
			}
			same := c.log[i].Epoch == begun.Epoch
			if b.Outcome != event.OutcomeInDoubt {
				if b.Outcome == event.OutcomeDone && !same && b.Result != nil && !c.child(a) {
					c.find("P3", "%s was in flight when its driver died and is said to be done", c.of(a))
				}
				continue
			}
			switch {
			case len(a.Asked) > 0:
				c.find("P3", "%s asked and did not run, and is said to be in doubt", c.of(a))
			case same && !begun.Body.(*event.StepBegun).Reconcile:
				c.find("P3", "%s is in doubt, and its driver had not died", c.of(a))
			case a.Effect == event.EffectPure || a.Effect == event.EffectIdempotent:
				c.find("P3", "%s is %s and in doubt", c.of(a), a.Effect)
			}
		}
	}
}

// child reports whether the attempt calls an agent: other drivers may continue its scope.
func (c *checker) child(a *Attempt) bool {
	return slices.ContainsFunc(c.log, func(e Entry) bool {
		o, ok := e.Body.(*event.ScopeOpened)
		return ok && e.Run == a.Run && o.ID == a.Step
	})
}
