package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
)

// hasNoFiles reports that the conversation has no files: it was made without, or the tenant's policy gives it none.
func (x *ExecutionContext) hasNoFiles() bool {
	return x.noFiles || x.Tenant.Policy.Workspaces == directory.WorkspacesOff
}

// allowsShell reports whether the run's agents may run commands, which work on files. Without a directory there is only the
// operator's own agent.
func (b *OptionsBuilder) allowsShell(x *ExecutionContext) bool {
	return !x.hasNoFiles() && (b.Directory == nil || x.Tenant.Policy.Shell)
}

// workspacesOf returns the store of the files of a run's conversation; nil if it has none.
func (s *Service) workspacesOf(x *ExecutionContext) workspace.Backend {
	if x.hasNoFiles() {
		return nil
	}
	return s.workspaces
}

// withFiles returns an error if a conversation has no files: it was made without, or the policy of its tenant gives it none.
func (s *Service) withFiles(ctx context.Context, op string, row *Row) error {
	if row.NoFiles {
		return &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "this conversation was made without a workspace",
			Hint: "make another one, and leave workspace out",
		}
	}
	if s.options.Directory == nil {
		return nil
	}
	t, err := s.options.Directory.Tenant(ctx, row.Tenant)
	if err == nil && t.Policy.Workspaces == directory.WorkspacesOff {
		err = &event.Error{
			Op: op, Kind: event.ErrPermission, Message: "the tenant's policy gives conversations no workspace",
			Hint: "ask the operator to set policy.workspaces to on",
		}
	}
	return err
}
