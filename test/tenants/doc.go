// Package tenants has many clients of many tenants at work on one server at once, over HTTP and on
// both stores. Everything of a tenant bears its mark, so that whatever crosses is seen: prompts,
// agents, models, credentials, tools, answers, logs and bills.
//
// The whole load needs PostgreSQL's binaries, and a minute:
//
//	scripts/test-peers tenants
package tenants
