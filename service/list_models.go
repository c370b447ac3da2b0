package service

import (
	"context"

	"github.com/braidrun/braid/service/directory"
)

// Models lists the models that a run of the principal may name: the tenant's own and the shared
// ones that its policy allows. The default tenant without a policy may also name the server's
// models. Each entry says whether the model can be used now. Only the operator sees why a provider
// of the operator's is not ready.
func (s *Service) Models(ctx context.Context, p Principal) ([]Model, error) {
	const op = "list models"
	if err := p.check(op); err != nil {
		return nil, err
	}
	d := s.options.Directory
	if d == nil {
		return s.serversModels(ctx, p), nil
	}
	t, err := d.Tenant(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	var list []Model
	if len(t.Policy.Models) == 0 && t.ID == DefaultTenant {
		list = s.serversModels(ctx, p)
	}
	x := &ExecutionContext{Principal: p, Tenant: t}
	for _, tenant := range []string{t.ID, ""} {
		for cursor, more := "", true; more; more = cursor != "" {
			var page []directory.Model
			page, cursor, err = d.ListModels(ctx, tenant, directory.Query{Cursor: cursor, Limit: directory.MostPage, Status: directory.Active})
			if err != nil {
				return nil, err
			}
			for i := range page {
				m, usable := s.listed(ctx, x, &page[i])
				if usable {
					list = append(list, m)
				}
			}
		}
	}
	return list, nil
}

// listed returns the list entry of a model of the directory. It returns false if the tenant may not
// use it, or if all of its names select other models.
func (s *Service) listed(ctx context.Context, x *ExecutionContext, m *directory.Model) (Model, bool) {
	if !x.Tenant.Policy.Allows(m) {
		return Model{}, false
	}
	var names []string
	for _, name := range append([]string{m.ID}, m.Aliases...) {
		if found, err := s.builder.find(ctx, x, name); err == nil && found.Life == m.Life && found.Tenant == m.Tenant && found.ID == m.ID {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return Model{}, false
	}
	l := Model{Name: names[0], Aliases: names[1:], Simulated: m.Provider == demoProvider}
	if _, err := s.builder.key(ctx, m); err != nil {
		l.Why = "there is no key for this model"
	}
	return l, true
}

// serversModels returns the models that the server itself knows.
func (s *Service) serversModels(ctx context.Context, p Principal) (list []Model) {
	if s.options.Models == nil {
		return nil
	}
	for _, m := range s.options.Models(ctx) {
		if m.Why == "" || p.May(ScopeOperator) {
			list = append(list, m)
		}
	}
	return list
}
