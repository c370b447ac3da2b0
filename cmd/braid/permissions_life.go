package main

import (
	"context"
	"slices"
	"strings"

	"github.com/braidrun/braid/grant"
)

// lifeGrants keeps the grants of one life of a tenant: a new tenant with the ID of an erased one has none
// of its grants.
type lifeGrants struct {
	kept *fileGrants
	// life is the tenant's life; empty uses the tenant's ID alone.
	life string
}

// lifeMark separates a tenant's ID from its life in the file. No ID contains it.
const lifeMark = "@"

func (l lifeGrants) of(g grant.Grant) grant.Grant {
	if l.life != "" {
		g.Tenant += lifeMark + l.life
	}
	return g
}

// Granted implements [grant.Store].
func (l lifeGrants) Granted(ctx context.Context, call grant.Grant) (bool, error) {
	return l.kept.Granted(ctx, l.of(call))
}

// Grant implements [grant.Store].
func (l lifeGrants) Grant(ctx context.Context, g grant.Grant) error {
	return l.kept.Grant(ctx, l.of(g))
}

// tenantOf returns the tenant of a grant and its life.
func tenantOf(g *grant.Grant) (id, life string) {
	id, life, _ = strings.Cut(g.Tenant, lifeMark)
	return id, life
}

// forgetTenants revokes the grants of all tenants for which gone is true.
func (f *fileGrants) forgetTenants(gone func(id, life string) bool) error {
	picks := func(g grant.Grant) bool {
		id, life := tenantOf(&g)
		return gone(id, life)
	}
	if list, err := f.read(); err != nil || !slices.ContainsFunc(list, picks) {
		return err
	}
	return f.change(func(list []grant.Grant) ([]grant.Grant, error) {
		return slices.DeleteFunc(slices.Clone(list), picks), nil
	})
}
