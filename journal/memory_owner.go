package journal

import "strings"

// The prefixes of state keys that are not the conversation's own.
const (
	appPrefix  = "app:"
	userPrefix = "user:"
	tempPrefix = "temp:"
)

// owner is the owner of shared state: a tenant, or a user in it. app distinguishes the tenant
// from a user without a name.
type owner struct {
	tenant string
	user   string
	app    bool
}

func ownerOf(r *Run, key string) (owner, bool) {
	switch {
	case strings.HasPrefix(key, appPrefix):
		return owner{tenant: r.Tenant, app: true}, true
	case strings.HasPrefix(key, userPrefix):
		return owner{tenant: r.Tenant, user: r.User}, true
	default:
		return owner{}, false
	}
}
