package main

import (
	"context"
	"slices"
	"strings"

	"github.com/braidrun/braid"
)

// lifeGrants keeps the grants of one life of a tenant: a tenant that is made under the id of an erased
// one has none of its grants.
type lifeGrants struct {
	kept *fileGrants
	// life is the tenant's; empty means that the tenant's id is enough.
	life string
}

// lifeMark stands between a tenant's id and its life in the file. No id has it.
const lifeMark = "@"

func (l lifeGrants) of(g braid.Grant) braid.Grant {
	if l.life != "" {
		g.Tenant += lifeMark + l.life
	}
	return g
}

// Granted implements [braid.Grants].
func (l lifeGrants) Granted(ctx context.Context, call braid.Grant) (bool, error) {
	return l.kept.Granted(ctx, l.of(call))
}

// Grant implements [braid.Grants].
func (l lifeGrants) Grant(ctx context.Context, g braid.Grant) error {
	return l.kept.Grant(ctx, l.of(g))
}

// tenantOf is whose a grant is, and in which life.
func tenantOf(g *braid.Grant) (id, life string) {
	id, life, _ = strings.Cut(g.Tenant, lifeMark)
	return id, life
}

// forgetTenants takes back the grants of tenants that gone picks.
func (f *fileGrants) forgetTenants(gone func(id, life string) bool) error {
	picks := func(g braid.Grant) bool {
		id, life := tenantOf(&g)
		return gone(id, life)
	}
	if list, err := f.read(); err != nil || !slices.ContainsFunc(list, picks) {
		return err
	}
	return f.change(func(list []braid.Grant) ([]braid.Grant, error) {
		return slices.DeleteFunc(slices.Clone(list), picks), nil
	})
}
