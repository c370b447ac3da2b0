package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// This file decides what a user reaches inside a tenant. [Service.row] is the only way from a
// request to a conversation, and it asks reaches.

// reaches gives the user whose conversations alone the principal reaches; "" is all of the tenant.
// A principal without a user reaches all: it is a program that acts for the whole tenant.
func (s *Service) reaches(ctx context.Context, p Principal) (user string, err error) {
	if p.User == "" {
		return "", nil
	}
	t, err := s.settings(ctx, p.Tenant)
	if err != nil || t.Isolation == directory.IsolationTenant {
		return "", err
	}
	return p.User, nil
}

// settings gives the tenant's settings, active or not. A tenant that no directory knows has the
// defaults.
func (s *Service) settings(ctx context.Context, tenant string) (directory.Tenant, error) {
	if s.options.Directory == nil {
		return directory.Tenant{ID: tenant}, nil
	}
	t, err := s.options.Directory.Tenant(ctx, tenant)
	if errors.Is(err, event.ErrNotFound) || err != nil && t.ID == tenant { // there is none, or it is not active
		return directory.Tenant{ID: tenant, Isolation: t.Isolation, Approvals: t.Approvals}, nil
	}
	return t, err
}

// mayAnswer refuses a user who answers for another one, unless the tenant lets any user answer.
// asked is whose run asks.
func (s *Service) mayAnswer(ctx context.Context, op string, p Principal, asked string) error {
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

// ownerOf gives the user whose conversation is made: the principal's own, or the one that a
// principal without a user names.
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
