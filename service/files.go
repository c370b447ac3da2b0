package service

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// Files returns the workspace of a conversation. What is stored there counts towards the tenant's quota. It returns
// [event.ErrUnsupported] if the service has no workspaces, and [event.ErrPermission] if the conversation was made without one or the
// tenant's policy gives it none.
func (s *Service) Files(ctx context.Context, p Principal, id string) (workspace.Files, error) {
	const op = "workspace"
	row, err := s.row(ctx, p, op, id)
	if err != nil {
		return nil, err
	}
	if s.workspaces == nil {
		return nil, noWorkspaces(op)
	}
	if err := s.withFiles(ctx, op, &row); err != nil {
		return nil, err
	}
	return s.countedFiles(&row), nil
}

func noWorkspaces(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported, Message: "this server has no workspaces", Hint: "ask the operator of this service to enable them",
	}
}

// countedFiles returns the workspace of a conversation, which counts towards the tenant's quota.
func (s *Service) countedFiles(row *Row) *countedFiles {
	return &countedFiles{
		Files: openFiles(s.workspaces, row.Key()), quotas: s.quotas, tenant: row.Tenant,
		there: func(ctx context.Context) bool {
			now, err := s.options.Rows.Get(ctx, row.Tenant, row.ID)
			return err == nil && now.life() == row.life() || err != nil && event.KindOf(err) != event.ErrNotFound
		},
	}
}

// forkFiles gives a fork the files of its origin.
func (s *Service) forkFiles(ctx context.Context, origin, fork *Row) error {
	if s.workspaces == nil {
		return nil
	}
	return s.workspaces.Copy(ctx, origin.Key().files(), fork.Key().files())
}
