package drive

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
)

// openScopes opens child scopes that no call waits for: all of them or, where one may not be opened, none. It reports whether
// the scope moved.
func (d *driver) openScopes(s *fold.Scope, cmd *decide.Command) bool {
	inputs, guardedBy, failed := d.openingInputs(cmd.Open)
	if over := d.tooMany(s, len(cmd.Open)); over != nil {
		failed = &decide.Command{Why: event.WhyLimit, Stop: event.StopReason(over.Code), Err: over}
	}
	if failed != nil {
		if s.OwnFlow().Open > 0 {
			return false // it ends once they have
		}
		failed.Do = decide.Finish
		d.finish(s, *failed)
		return true
	}
	for i := range cmd.Open {
		o := &cmd.Open[i]
		d.addIn(s, joinBranch(s.Place.Branch, validText(o.Branch)), &event.ScopeOpened{
			ID: fold.StepName(s.ID, 'f', s.OwnFlow().Opened+1, 0), Parent: s.ID, Node: validText(o.Node), Agent: o.Agent,
			Depth: s.Depth + 1, Input: inputs[i],
		})
		d.record(s, "", 0, guardedBy[i])
	}
	return true
}

// addIn is add for an event of another branch: the event that opens a scope is the first one of the scope's branch.
func (d *activeRun) addIn(s *fold.Scope, branch string, body event.Body) {
	was := s.Place.Branch
	s.Place.Branch = branch
	d.add(s, "", 0, body)
	s.Place.Branch = was
}

// joinBranch appends to the path of a branch.
func joinBranch(path, segment string) string {
	if path == "" || segment == "" {
		return path + segment
	}
	return path + "." + segment
}

// openingInputs passes what the agents are asked through their guardrails.
func (d *activeRun) openingInputs(list []kind.Opening) (inputs [][]event.Block, guardedBy [][]string, failed *decide.Command) {
	for i := range list {
		input, by, err := d.filterBlocks(d.guardsOf(d.agentOf(list[i].Agent), guardrail.Input), slices.Clone(fold.Plain(list[i].Input)))
		if err != nil {
			return nil, nil, &decide.Command{Why: event.WhyFailed, Stop: event.StopError, Err: hookError(err)}
		}
		inputs, guardedBy = append(inputs, input), append(guardedBy, by)
	}
	return inputs, guardedBy, nil
}
