package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// This file decides which conversations a user may reach in a tenant. [conversations.row] is the only way
// from a request to a conversation, and it calls reaches.

// reaches returns the user to whose conversations the principal is restricted; "" means all of the
// tenant. A principal without a user reaches all: it acts for the whole tenant.
func (s *conversations) reaches(ctx context.Context, p Principal) (user string, err error) {
	if p.User == "" {
		return "", nil
	}
	t, err := s.settings(ctx, p.Tenant)
	if err != nil || t.Isolation == directory.IsolationTenant {
		return "", err
	}
	return p.User, nil
}

// settings returns the tenant's settings, active or not. It returns the defaults if there is no
// directory or no such tenant.
func (s *conversations) settings(ctx context.Context, tenant string) (directory.Tenant, error) {
	if s.options.Directory == nil {
		return directory.Tenant{ID: tenant}, nil
	}
	t, err := s.options.Directory.Tenant(ctx, tenant)
	if errors.Is(err, event.ErrNotFound) || err != nil && t.ID == tenant { // unknown or inactive
		return directory.Tenant{ID: tenant, Isolation: t.Isolation, Approvals: t.Approvals}, nil
	}
	return t, err
}

// mayAnswer refuses a user who answers for another one, unless the tenant lets any user answer.
// asked is the user whose run asks.
func (s *conversations) mayAnswer(ctx context.Context, op string, p Principal, asked string) error {
	if p.User == "" || p.User == asked {
		return nil
	}
	t, err := s.settings(ctx, p.Tenant)
	if err != nil || t.Approvals == directory.ApprovalsAny {
		return err
	}
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Code: "ANSWER_NOT_YOURS", Message: "the question is for another user",
		Hint: "let that user answer, or let the tenant's administrator set approvals to any",
	}
}

// ownerOf returns the owner of a new conversation: the principal's user, or the named one if the
// principal has no user.
func ownerOf(op string, p Principal, named string) (string, error) {
	switch {
	case named == "" || named == p.User:
		return p.User, nil
	case p.User == "":
		return named, checkUser(op, named)
	}
	return "", &event.Error{
		Op: op, Kind: event.ErrPermission, Code: "KEY_BOUND_TO_USER", Message: "the key acts for one user and cannot do this for others",
		Hint: "leave user out, or use a key without a user",
	}
}

// row returns the row of a conversation that the principal may reach. Another tenant's conversation
// is not found. If the tenant isolates its users, another user's conversation is not found.
func (s *conversations) row(ctx context.Context, p Principal, op, id string) (Row, error) {
	if err := p.check(op); err != nil {
		return Row{}, err
	}
	if err := checkID(op, "conversation", conversationPrefix, id); err != nil {
		return Row{}, err
	}
	user, err := s.reaches(ctx, p)
	if err != nil {
		return Row{}, err
	}
	return s.options.Rows.Find(ctx, p.Tenant, user, id)
}
