// Package tenants runs many clients of many tenants on one server at once, over HTTP and on both stores. Everything
// of a tenant contains its mark, so that the tests detect any leak to another tenant: in prompts, agents, models,
// credentials, tools, answers, logs and bills.
//
// The full load needs PostgreSQL's binaries, and a minute:
//
//	scripts/test-peers tenants
package tenants
