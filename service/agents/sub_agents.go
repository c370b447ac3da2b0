package agents

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/task"
)

// subAgents makes the agents below an agent: tools, and the types of its Task tool.
func (a *Factory) subAgents(ctx context.Context, r *run, o *service.AgentOptions) (parts []braid.Part, err error) {
	var types []task.Type
	var names []string
	for _, name := range slices.Sorted(maps.Keys(o.SubAgents)) {
		sub := o.SubAgents[name]
		below, err := a.make(ctx, name, r, &sub.AgentOptions, nil, nil)
		if err != nil {
			return nil, err
		}
		if sub.Task == nil {
			parts = append(parts, braid.AsTool(below, cmp.Or(sub.Description, "Has the agent "+name+" do a part of the work.")))
			continue
		}
		one := task.Type{Agent: below, Description: sub.Description}
		switch sub.Task.Background {
		case directory.BackgroundAwait:
			one.Background = task.AwaitBackground
		case directory.BackgroundStop:
			one.Background = task.StopBackground
		}
		types, names = append(types, one), sub.Task.Models
	}
	if len(types) == 0 {
		return parts, nil
	}
	models := func(ctx context.Context, kind, name string) (task.Model, error) {
		return a.taskModel(ctx, o.SubAgents[kind], name)
	}
	return append(parts, braid.Tools(task.New(task.Options{Models: models, ModelNames: names}, types...))), nil
}

// taskModel opens the model that a call of the Task tool names.
func (a *Factory) taskModel(ctx context.Context, sub *service.SubAgentOptions, name string) (task.Model, error) {
	chosen, err := sub.Task.Choose(ctx, name)
	if err != nil {
		return task.Model{}, err
	}
	m, err := a.OpenModel(ctx, chosen.Model, chosen.Own)
	if err != nil {
		return task.Model{}, err
	}
	options := a.modelOptions(chosen)
	return task.Model{Model: m, Options: &options}, nil
}
