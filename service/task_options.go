package service

import (
	"context"

	"github.com/braidrun/braid/service/directory"
)

// taskAliases are the aliases that the Task tool names to a model, where the tenant has them.
var taskAliases = []string{"haiku", "sonnet", "opus"}

// task makes the options of a sub-agent that its parent calls with the Task tool.
func (b *OptionsBuilder) task(ctx context.Context, x *ExecutionContext, settings *directory.Settings, a *AgentOptions) *TaskOptions {
	t := &TaskOptions{Choose: func(ctx context.Context, model string) (*AgentOptions, error) {
		chosen := *a
		var err error
		if chosen.Model, chosen.Own, err = b.model(ctx, x, model); err != nil {
			return nil, err
		}
		chosen.Settings, err = settingsOf(&x.Tenant.Policy, settings, chosen.Own)
		return &chosen, err
	}}
	if b.Directory == nil {
		return t
	}
	for _, name := range taskAliases {
		if m, err := b.find(ctx, x, name); err == nil && x.Tenant.Policy.Allows(&m) {
			t.Models = append(t.Models, name)
		}
	}
	return t
}
