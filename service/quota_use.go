package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/service/directory"
)

// Quota returns the tenant's current quota and the tenant's life. Without a directory there is no
// quota.
func (s *Service) Quota(ctx context.Context, tenant string) (q directory.Quota, life string, err error) {
	return s.quotas.of(ctx, tenant)
}

// Use returns how much of its quota a tenant uses.
func (s *Service) Use(ctx context.Context, tenant string) (u directory.Use, err error) {
	if u.Conversations, err = s.options.Rows.Count(ctx, tenant); err != nil {
		return directory.Use{}, err
	}
	if u.Storage, err = s.quotas.stored(ctx, tenant); err != nil {
		return directory.Use{}, err
	}
	if s.options.Directory == nil {
		return u, nil
	}
	if u.Agents, err = s.options.Directory.CountAgents(ctx, tenant); err != nil {
		return directory.Use{}, err
	}
	_, life, err := s.Quota(ctx, tenant)
	if err != nil {
		return directory.Use{}, err
	}
	today, err := s.quotas.spending.Spent(ctx, directory.SpendOf{Tenant: tenant, Life: life, Day: dayOf(time.Now())})
	u.Tokens, u.Cost = today.Tokens, today.Cost
	return u, err
}
