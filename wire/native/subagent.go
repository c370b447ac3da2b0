package native

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/story"
)

// opened sends the beginning of an agent that works for a call of a Task tool.
func (enc *Encoder) opened(it *story.Item, b *event.ScopeOpened) {
	if !b.Task {
		return
	}
	enc.send(&SubagentStart{
		ToolUseID: b.Call, SubagentType: b.Agent, Description: b.Description, Model: b.Model, ModelAlias: b.Asked, Background: b.Background,
		Place: placeOf(it),
	})
}

// closed sends the end of such an agent.
func (enc *Encoder) closed(it *story.Item, b *event.ScopeClosed) {
	a := it.Closed
	if a == nil || !a.Task {
		return
	}
	f := &SubagentEnd{ToolUseID: a.Call, SubagentType: a.Agent, Status: event.RunCompleted, Spending: spending(b.Models), Parent: a.Parent.Call}
	if began := a.Own.Opened; !began.IsZero() {
		f.DurationMS = it.Event.Time.Sub(began).Milliseconds()
	}
	if a.Background {
		f.Result = event.TextOf(b.Output)
	}
	if b.Err != nil {
		f.Status, f.Error = event.RunFailed, errorOf(b.Err)
		if b.Why == event.WhyCancelled || b.Why == event.WhyDeadline {
			f.Status = event.RunCancelled
		}
	}
	enc.send(f)
}

func modelUsage(rows []event.ModelUsage) (list []ModelUsage) {
	for _, m := range rows {
		list = append(list, ModelUsage{m.Model, UsageOf(m.Usage), dollars(m.CostNanoUSD), m.Estimated})
	}
	return list
}

// spending sums what models used.
func spending(rows []event.ModelUsage) Spending {
	var sum event.Usage
	nano := new(int64)
	s := Spending{ModelUsage: modelUsage(rows)}
	for i := range rows {
		m := &rows[i]
		sum = sum.Add(m.Usage)
		s.Estimated = s.Estimated || m.Estimated
		if m.CostNanoUSD == nil {
			nano = nil
		} else if nano != nil {
			*nano = event.AddCounts(*nano, *m.CostNanoUSD)
		}
	}
	s.Usage, s.TotalCostUSD = UsageOf(sum), dollars(nano)
	return s
}

// agents splits what a run used into the main agent's part and those of the others.
func agents(list []event.AgentUsage) (main *AgentUsage, subs []AgentUsage) {
	for i := range list {
		a := &list[i]
		if a.Scope == "" {
			main = &AgentUsage{Spending: spending(a.Models)}
			continue
		}
		subs = append(subs, AgentUsage{ToolUseID: a.Call, SubagentType: a.Agent, Spending: spending(a.Models)})
	}
	return main, subs
}
