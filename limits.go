package braid

import (
	"cmp"
	"time"

	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/toolset"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
)

// Limits bound the work in an agent's scope and in the scopes below it. For the root agent that is the run with all
// sub-agents, for an agent used as a tool one call of it. A zero field means the default that is named beside it; a
// negative one means no bound.
//
// Cycles, tool calls, tokens and money are checked before each model call. So the call that reaches a limit is
// finished, and so are the tools that it asked for, and the conversation stays usable.
type Limits struct {
	// Cycles bounds the scope's own model calls, without repeated attempts; default 500.
	Cycles int
	// ToolCalls bounds the tool calls that the scope's own model asks for; default no bound.
	ToolCalls int
	// AllCycles and AllToolCalls bound the same with the scopes below; default no bound.
	AllCycles    int
	AllToolCalls int
	// InputTokens, OutputTokens and TotalTokens bound the tokens of the scope and the scopes below; default no bound.
	// Input includes tokens that were read from a provider's cache or written to it.
	InputTokens  int64
	OutputTokens int64
	TotalTokens  int64
	// CostNanoUSD bounds the cost of these model calls in 1e-9 US dollars; default no bound. An agent with this limit is
	// refused if the price of one of its models is unknown. A call that was cut off counts as much as the most expensive
	// one of its model so far.
	CostNanoUSD int64
	// Depth bounds how deep agents may call agents; default 8. Scopes bounds the number of scopes in a run, the root
	// included; default 256. A call beyond either gets an error result, and the scope that made it ends before its next
	// model call.
	Depth  int
	Scopes int
	// Repeats bounds how often a model may make the same tool call and get the same result while nothing else changes;
	// default 5. After RepeatNote times the model is told so; default 3. Tools that are meant to be polled do not count
	// ([tool.Polling]).
	Repeats    int
	RepeatNote int
	// Parallel bounds the tools that run at once; default 64.
	Parallel int
	// OutputRetries bounds how often the model is asked again for output that does not match its schema
	// ([OutputSchema]); default 3.
	OutputRetries int
	// ArgBytes and ResultBytes bound the arguments and the result of one tool call; default 1 MiB and 8 MiB. A larger
	// one becomes an error result.
	ArgBytes    int
	ResultBytes int
	// AnswerBytes bounds one answer of the model: its text, thinking, tool calls and other blocks, and 4 KiB for each
	// block; default 32 MiB. A call with a larger answer is cut and fails with [event.ErrModel].
	AnswerBytes int
	// ToolTime bounds the time of a tool that has no time-out of its own; default 10 minutes.
	ToolTime time.Duration
	// Grace is how long a cancelled tool or model may take to stop before it is abandoned; default 2 s.
	Grace time.Duration
	// Active bounds the time in which the run is driven, over all its drives; default no bound. Time in which it waits
	// for a user or for a driver does not count. A run that reaches it is stopped and ends as timed out.
	Active time.Duration
	// LostDrivers bounds how many drivers in a row the run may lose without progress because their processes died;
	// default 3. Then it is not driven any more: it ends as failed with [event.ErrPoisoned], and no model, tool or hook
	// is called. Drivers that hand the run back do not count.
	LostDrivers int
	// Conversation bounds all runs of the conversation together.
	Conversation Budget
}

// Budget is what all runs of a conversation may use together, sub-agents included. A zero field is no bound. If it is
// used up, a further run ends before its first model call. Its input stays in the history, and a run of an agent with
// a larger budget can continue from there.
type Budget struct {
	// Cycles, ToolCalls, tokens and CostNanoUSD are counted as in [Limits].
	Cycles       int
	ToolCalls    int
	InputTokens  int64
	OutputTokens int64
	TotalTokens  int64
	CostNanoUSD  int64
	// Scopes bounds the calls of agents as tools.
	Scopes int
	// Active bounds the time in which steps of the runs run.
	Active time.Duration
}

var defaultLimits = Limits{
	Cycles: 500, Repeats: 5, RepeatNote: 3, Depth: 8, Scopes: 256, Parallel: 64, OutputRetries: 3,
	ArgBytes: 1 << 20, ResultBytes: 8 << 20, AnswerBytes: 32 << 20,
	ToolTime: 10 * time.Minute, Grace: 2 * time.Second, LostDrivers: 3,
}

// Limit sets the agent's limits. Depth, Scopes, Parallel, Grace, Active, LostDrivers and Conversation count only for
// the root agent of a run.
func Limit(l Limits) Part {
	return partFunc(func(a *Agent) error {
		l := l // another agent may get the same part
		l.Cycles = cmp.Or(l.Cycles, defaultLimits.Cycles)
		l.Repeats = cmp.Or(l.Repeats, defaultLimits.Repeats)
		l.RepeatNote = cmp.Or(l.RepeatNote, defaultLimits.RepeatNote)
		l.Depth = cmp.Or(l.Depth, defaultLimits.Depth)
		l.Scopes = cmp.Or(l.Scopes, defaultLimits.Scopes)
		l.Parallel = cmp.Or(l.Parallel, defaultLimits.Parallel)
		l.OutputRetries = cmp.Or(l.OutputRetries, defaultLimits.OutputRetries)
		l.ArgBytes = cmp.Or(l.ArgBytes, defaultLimits.ArgBytes)
		l.ResultBytes = cmp.Or(l.ResultBytes, defaultLimits.ResultBytes)
		l.AnswerBytes = cmp.Or(l.AnswerBytes, defaultLimits.AnswerBytes)
		l.ToolTime = cmp.Or(l.ToolTime, defaultLimits.ToolTime)
		l.Grace = cmp.Or(l.Grace, defaultLimits.Grace)
		l.LostDrivers = cmp.Or(l.LostDrivers, defaultLimits.LostDrivers)
		a.limit(&l)
		return nil
	})
}

// limit holds the agent's runs to l, which nobody may change any more.
func (a *Agent) limit(l *Limits) {
	a.bounded = l
	a.set.Bounds, a.set.Limits = new(l.bounds()), new(l.driven())
}

// The default limits, as decisions and drivers look at them. Agents share them: making an agent (row d of the bench) takes 224
// bytes less.
var defaultBounds, defaultDriven = defaultLimits.bounds(), defaultLimits.driven()

// driven returns the limits that a driver looks at.
func (l *Limits) driven() drive.Limits {
	return drive.Limits{
		Depth: l.Depth, Scopes: l.Scopes, Parallel: l.Parallel, ArgBytes: l.ArgBytes, ResultBytes: l.ResultBytes,
		AnswerBytes: l.AnswerBytes, ToolTime: l.ToolTime, Active: l.Active, Grace: l.Grace, LostDrivers: l.LostDrivers,
		Budgeted: l.Conversation != (Budget{}), Budget: drive.Budget{Scopes: l.Conversation.Scopes, Active: l.Conversation.Active},
	}
}

// money reports whether the agent bounds money.
func (l *Limits) money() bool { return l.CostNanoUSD > 0 || l.Conversation.CostNanoUSD > 0 }

// priced says which of the models that a bound in money counts has no price: what such a
// model costs would count as nothing. root is the agent, with its limits and its tools.
func (a *Agent) priced(root *drive.Agent, bounded *Limits, o *toolset.Offer) error {
	if !bounded.money() {
		return nil
	}
	seen := map[*Agent]bool{}
	for todo := []*Agent{a}; len(todo) > 0; {
		one := todo[0]
		todo = todo[1:]
		if seen[one] {
			continue
		}
		seen[one] = true
		models := one.set.Models()
		if one == a {
			models = root.Models()
		}
		for _, m := range models {
			if m == nil {
				continue
			}
			info := m.Info()
			if _, known, _ := cost.Of(&info, event.Usage{Input: 1, Output: 1, Total: 2}); !known {
				return &event.Error{
					Op: "agent " + a.set.Name, Kind: event.ErrInvalid,
					Message: "a limit in money cannot be held: nobody knows what the model " + info.Name + " costs",
					Hint:    "give it a price, or use other limits",
				}
			}
		}
		offered := o
		if one != a {
			offered = one.current()
		}
		todo = append(todo, one.opens(offered)...)
	}
	return nil
}

// bounds returns the limits that decisions look at.
func (l *Limits) bounds() decide.Limits {
	return decide.Limits{
		Cycles: l.Cycles, ToolCalls: l.ToolCalls, Repeats: l.Repeats, RepeatNote: l.RepeatNote, Outputs: l.OutputRetries,
		All: decide.Bounds{
			Cycles: l.AllCycles, ToolCalls: l.AllToolCalls, InputTokens: l.InputTokens, OutputTokens: l.OutputTokens,
			TotalTokens: l.TotalTokens, CostNanoUSD: l.CostNanoUSD,
		},
		Conversation: l.Conversation.bounds(),
	}
}

func (b *Budget) bounds() decide.Bounds {
	return decide.Bounds{
		Cycles: b.Cycles, ToolCalls: b.ToolCalls, InputTokens: b.InputTokens, OutputTokens: b.OutputTokens,
		TotalTokens: b.TotalTokens, CostNanoUSD: b.CostNanoUSD,
	}
}
