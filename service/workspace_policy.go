package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
)

// hasNoFiles reports that the tenant's policy gives its conversations no files.
func (x *ExecutionContext) hasNoFiles() bool {
	return x.Tenant.Policy.Workspaces == directory.WorkspacesOff
}

// allowsShell reports whether the run's agents may run commands, which work on files. Without a directory there is only the
// operator's own agent.
func (b *OptionsBuilder) allowsShell(x *ExecutionContext) bool {
	return !x.hasNoFiles() && (b.Directory == nil || x.Tenant.Policy.Shell)
}

// workspacesOf returns the store of the files of a tenant's conversations; nil if they have none.
func (s *Service) workspacesOf(t *directory.Tenant) workspace.Backend {
	if t.Policy.Workspaces == directory.WorkspacesOff {
		return nil
	}
	return s.workspaces
}

// filesOff reports that a tenant's policy gives its conversations no files.
func (s *Service) filesOff(ctx context.Context, tenant string) (bool, error) {
	if s.options.Directory == nil {
		return false, nil
	}
	t, err := s.options.Directory.Tenant(ctx, tenant)
	return t.Policy.Workspaces == directory.WorkspacesOff, err
}

// withoutFiles returns the error for the files of a tenant whose policy gives it none.
func withoutFiles(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Message: "the tenant's policy gives conversations no workspace",
		Hint: "ask the operator to set policy.workspaces to on",
	}
}
