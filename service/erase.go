package service

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// EraseTenant removes a tenant with everything that belongs to it. It cancels the open runs,
// removes the conversations with their logs and files, then the usage, then agents, models, keys
// and audit, and last the tenant. What remains is one entry in the operator's own audit.
//
// Only the operator may call it, and only while the tenant is inactive. After an error it can be
// repeated.
func (s *Service) EraseTenant(ctx context.Context, by directory.By, tenant string) (directory.Erased, error) {
	const op = "erase tenant"
	people := s.options.Directory
	if people == nil {
		return directory.Erased{}, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "this service has no tenants", Hint: "give it a directory",
		}
	}
	t, err := people.GetTenant(ctx, tenant)
	if err != nil || t.Status != directory.Inactive || !by.Operator {
		if err == nil { // it returns the reason for the refusal
			return people.EraseTenant(ctx, by, tenant)
		}
		return directory.Erased{}, err
	}
	// Other processes may still have the tenant cached as active, and what they begin would outlive it.
	if err := people.Settle(ctx); err != nil {
		return directory.Erased{}, err
	}
	p, gone := Principal{Tenant: tenant}, int64(0)
	for _, archived := range []bool{false, true} {
		for {
			rows, err := s.options.Rows.List(ctx, tenant, Query{Archived: archived, Limit: MostPage})
			if err != nil {
				return directory.Erased{}, err
			}
			for i := range rows {
				if err := s.eraseConversation(ctx, p, rows[i].ID); err != nil {
					return directory.Erased{}, err
				}
				gone++
			}
			if len(rows) < MostPage {
				break
			}
		}
	}
	if err := s.options.Journal.RemoveTenant(ctx, tenant); err != nil && !errors.Is(err, event.ErrNotFound) {
		return directory.Erased{}, err
	}
	if s.workspaces != nil {
		if err := s.workspaces.RemoveTenant(ctx, tenant); err != nil {
			return directory.Erased{}, err
		}
	}
	if s.options.ForgetTenant != nil {
		if err := s.options.ForgetTenant(ctx, t); err != nil {
			return directory.Erased{}, err
		}
	}
	erased, err := people.EraseTenant(ctx, by, tenant)
	erased.Conversations += gone
	if err != nil {
		return erased, err
	}
	people.Drop()
	s.Deleted()
	if err := s.ScrubSoon(context.WithoutCancel(ctx)); err != nil { // the next call of ScrubSoon tries again
		s.log.Warn("files may still hold what was erased", "tenant", tenant, "error", err)
	}
	// A sync.Pool frees its items in the second collection. FreeOSMemory returns empty pages to the system.
	runtime.GC()
	debug.FreeOSMemory()
	return erased, nil
}

// eraseWait bounds how long an erasure waits for the runs that it cancelled. eraseLook is how often it checks.
const (
	eraseWait = 15 * time.Second
	eraseLook = 50 * time.Millisecond
)

// eraseConversation cancels the open runs of a conversation and removes it.
func (s *Service) eraseConversation(ctx context.Context, p Principal, id string) error {
	open, err := s.queue(ctx, id)
	if err != nil {
		return err
	}
	for i := range open {
		err := s.CancelRun(ctx, p, id, open[i].ID)
		if err != nil && !errors.Is(err, event.ErrConflict) && !errors.Is(err, event.ErrNotFound) { // the run has ended
			return err
		}
	}
	for until := time.Now().Add(eraseWait); ; {
		err := s.remove(ctx, p, id, s.options.Rows.Delete) // without an audit entry: the audit is erased too
		switch {
		case err == nil || errors.Is(err, event.ErrNotFound):
			return nil
		case !errors.Is(err, event.ErrLocked) || !time.Now().Before(until):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(eraseLook):
		}
	}
}
