package braid

import (
	"cmp"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/tool"
)

// ToolSearch says when a model looks for its tools instead of being shown all of them.
type ToolSearch struct {
	// Above is how many tools a model is shown without looking for them; default 20. An agent
	// with no more than that shows them all.
	Above int
	// Always names tools that are shown in any case. Agents that are used as tools are, too.
	Always []string
	// Results is how many tools one search finds at most; default 5.
	Results int
}

// SearchTools spares an agent with many tools their schemas: where it has more than
// s.Above, its model is shown the tool "find_tools" instead, and those that it has found
// with it. It may call any other by its name all the same.
//
// What is found stays shown for the rest of the session, behind what was shown before, so that a
// provider's cache keeps what it has up to there. It is in the log
// ([event.StepEnded], [event.RunStarted]), so that every later run, wherever it is
// driven, shows the same.
func SearchTools(s ToolSearch) Part {
	return partFunc(func(a *Agent) error {
		s.Above, s.Results = cmp.Or(s.Above, 20), cmp.Or(s.Results, 5)
		a.set.Search = &drive.ToolSearch{Above: s.Above, Always: s.Always, Results: s.Results}
		return Func(drive.FindTool,
			"You have more tools than are listed. This one finds them by what they are for; those that it finds you can call from then on. "+
				"Look here before you say that something cannot be done.",
			a.set.FindTools, tool.Pure()).attach(a)
	})
}
