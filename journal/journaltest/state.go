package journaltest

import (
	"encoding/json"
	"maps"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func stateCases() []testCase {
	type state = map[string]string
	// open admits and acquires a run of a tenant's user in a new conversation.
	open := func(p *probe, id, tenant, user string) *pen {
		p.Helper()
		p.admit(journal.Run{ID: id, Conversation: "talk of " + id, Tenant: tenant, User: user})
		return p.take(id)
	}
	// seen requires that a new run of the tenant's user gets this state.
	seen := func(p *probe, id, tenant, user string, want state) {
		p.Helper()
		got := state{}
		for k, v := range open(p, id, tenant, user).opened.Shared {
			got[k] = string(v)
		}
		equal(p, "state that "+user+" of "+tenant+" sees", got, want)
	}
	return []testCase{
		{"there is none at first", func(p *probe) {
			seen(p, "a", "acme", "ann", state{})
		}},
		{"app state is the tenant's, user state the user's, the rest the conversation's", func(p *probe) {
			w := open(p, "a", "acme", "ann")
			w.write(set("app:n", `1`, "user:n", `2`, "n", `3`, "appetite", `4`, "User:n", `5`, "x:app:n", `6`))
			seen(p, "b", "acme", "ann", state{"app:n": "1", "user:n": "2"})
			seen(p, "c", "acme", "bob", state{"app:n": "1"})
			seen(p, "d", "acme", "", state{"app:n": "1"})
			seen(p, "e", "zeta", "ann", state{})
			seen(p, "f", "", "ann", state{})
			seen(p, "g", "", "", state{})
		}},
		{"the state of nobody in particular is nobody else's", func(p *probe) {
			open(p, "a", "", "").write(set("app:n", `1`, "user:n", `2`))
			open(p, "b", "acme", "").write(set("app:n", `3`, "user:n", `4`))
			seen(p, "c", "", "", state{"app:n": "1", "user:n": "2"})
			seen(p, "d", "", "acme", state{"app:n": "1"})
			seen(p, "e", "acme", "", state{"app:n": "3", "user:n": "4"})
			seen(p, "f", "acme", "ann", state{"app:n": "3"})
			seen(p, "g", "acmea", "nn", state{})
		}},
		{"the same names in two tenants are two states", func(p *probe) {
			open(p, "a", "acme", "ann").write(set("app:n", `"acme"`, "user:n", `"ann of acme"`))
			open(p, "b", "zeta", "ann").write(set("app:n", `"zeta"`, "user:n", `"ann of zeta"`))
			seen(p, "c", "acme", "ann", state{"app:n": `"acme"`, "user:n": `"ann of acme"`})
			seen(p, "d", "zeta", "ann", state{"app:n": `"zeta"`, "user:n": `"ann of zeta"`})
		}},
		{"later changes win, in the order of the log", func(p *probe) {
			w := open(p, "a", "acme", "ann")
			w.write(set("app:a", `1`, "app:b", `1`, "app:c", `1`), set("app:a", `2`), unset("app:b"), unset("app:c"), set("app:c", `3`))
			w.write(set("user:a", `1`), unset("user:a", "user:never", "app:never"), set("user:b", `4`))
			seen(p, "b", "acme", "ann", state{"app:a": "2", "app:c": "3", "user:b": "4"})
			w.write(unset("app:a", "app:c", "user:b"))
			seen(p, "c", "acme", "ann", state{})
		}},
		{"null is a value", func(p *probe) {
			open(p, "a", "acme", "ann").write(set("app:n", `null`))
			seen(p, "b", "acme", "ann", state{"app:n": "null"})
		}},
		{"values are any JSON", func(p *probe) {
			value := json.RawMessage(`{"list":[1,2.5,"ü",null,true],"big":12345678901234567890}`)
			open(p, "a", "acme", "ann").write(set("app:n", string(value)))
			equal(p, "state", open(p, "b", "acme", "ann").opened.Shared, map[string]json.RawMessage{"app:n": value})
		}},
		{"it changes with its commit or not at all", func(p *probe) {
			w := open(p, "a", "acme", "ann")
			w.write(set("app:n", `1`))
			w.refused("commit with a step that has not begun",
				w.batch(set("app:n", `2`), answer("m", 1)), event.ErrConflict)
			w.refused("commit with temp state", w.batch(set("app:n", `2`), set("temp:n", `2`)), event.ErrInvalid)
			seen(p, "b", "acme", "ann", state{"app:n": "1"})
		}},
		{"what the caller does with its map changes nothing", func(p *probe) {
			open(p, "a", "acme", "ann").write(set("app:n", `1`, "user:n", `2`))
			got := open(p, "b", "acme", "ann").opened.Shared
			maps.DeleteFunc(got, func(string, json.RawMessage) bool { return true })
			got["app:m"] = json.RawMessage(`3`)
			seen(p, "c", "acme", "ann", state{"app:n": "1", "user:n": "2"})
		}},
	}
}
