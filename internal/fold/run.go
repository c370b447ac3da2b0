package fold

import (
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/userdata"
)

// Run is the part of the fold that belongs to the newest run.
type Run struct {
	// ID, Agent, Labels and Started are the run's own, from its first event.
	ID      string
	Agent   string
	Labels  map[string]string
	Started time.Time
	// First is the Seq of the run's first event.
	First int64
	// Inputs counts the messages of the run's input in the log.
	Inputs int32
	// Rounds counts the messages with which hooks continued the run.
	Rounds int32
	// Scopes are the run's scopes in the order in which they were opened, beginning with the root.
	Scopes []*Scope
	byID   map[string]*Scope
	// working are the open ones in the same order.
	working []*Scope
	// Usage sums what the model calls used.
	Usage event.Usage
	// Models splits usage and cost by model, sorted by name.
	Models bill
	// Tasks reports whether a Task tool opened a scope, and split whether usage is also counted by scope.
	Tasks, split bool
	// Metrics counts what the run did; its Duration is not set.
	Metrics event.Metrics
	// LastMessage is the root scope's last complete answer.
	LastMessage event.Message
	// Questions are all questions of the run, in order.
	Questions []*Ask
	// Active is the time in which steps ran.
	Active time.Duration
	// At is the time of the last event.
	At time.Time
	// flying counts the steps that ran at that time.
	flying int
	// Effects are the ends of the tool calls that had or may have had an effect.
	Effects []effect
	// left holds other lasting changes, which stay even if the run fails; nil for none.
	left *leftovers
	// files are the changes of files by the run's tools.
	files fileChanges
	// Ended is the run's last event; nil while it is open.
	Ended *event.RunEnded
	// continues reports whether the run took over the work of a failed run.
	continues bool
}

// leftovers holds a run's lasting changes besides effects of its own tool calls.
type leftovers struct {
	// changed are the keys of the state that the run's tools set or deleted.
	changed []string
	// saved are the names of the artifacts that the run's tools saved.
	saved []string
	// doubts are the tool calls of sub-agents that may or may not have happened.
	doubts []effect
}

// effect is the end of the tool call of a step.
type effect struct {
	Step  string
	Ended *event.StepEnded
}

// Files returns what the run's tools did to files, in the order of their paths, and how many changes the list lacks. A file
// that was added and removed again is not in it.
func (r *Run) Files() (list []event.FileChange, more int) { return r.files.list() }

// Scope returns an open or closed scope of the run; nil if there is none.
func (r *Run) Scope(id string) *Scope {
	if r == nil {
		return nil
	}
	if id == "" {
		return r.Scopes[0]
	}
	return r.byID[id]
}

// OpenScopes returns the run's open scopes in the order in which they were opened. When a scope closes, those behind it move up
// in the list, and its end becomes nil.
func (r *Run) OpenScopes() []*Scope { return r.working }

// drop removes a scope that has closed from the open ones.
func (r *Run) drop(s *Scope) {
	if i := slices.Index(r.working, s); i >= 0 {
		r.working = slices.Delete(r.working, i, i+1)
	}
}

// change records the keys of the state that the run has changed.
func (r *Run) change(b *event.StateChanged) {
	l := r.leave()
	for k := range b.Set {
		if !strings.HasPrefix(k, userdata.Reserved) {
			l.changed = append(l.changed, k)
		}
	}
	l.changed = append(l.changed, b.Delete...)
}

// leave returns the run's leftovers for writing.
func (r *Run) leave() *leftovers {
	if r.left == nil {
		r.left = &leftovers{}
	}
	return r.left
}

// tick adds to the time in which steps ran. It adds only at events that drivers write while they run steps, so that
// the time without a driver does not count.
func (r *Run) tick(e *event.Event) {
	begins := 0
	counts := true
	switch b := e.Body.(type) {
	case *event.StepBegun:
		counts = e.Attempt == 1
		begins = 1
	case *event.StepEnded:
		counts = b.Outcome != event.OutcomeLost && b.Outcome != event.OutcomeInDoubt
		begins = -1
	case *event.AssistantMessage:
		if e.Step != "" && !b.Piece {
			begins = -1
		}
	case *event.Asked:
		if e.Step != "" {
			begins = -1
		}
	case *event.ScopeOpened:
		if b.Call != "" {
			begins = -1 // the call waits for the scope, whose own steps count
		}
	case *event.RunEnded:
	default:
		counts = false
	}
	if dt := e.Time.Sub(r.At); counts && r.flying > 0 && dt > 0 {
		r.Active += dt
	}
	r.At = e.Time
	r.flying = max(0, r.flying+begins)
}
