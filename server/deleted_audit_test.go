package server_test

import (
	"testing"

	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// Who deletes a conversation stands in the tenant's audit, once. Who may not, or finds none, is not in it.
func TestADeletedConversationIsInTheAudit(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "acme", "default")
	s := open(t, with)
	ann, bob := userKey(t, dir, "acme", "ann"), userKey(t, dir, "acme", "bob")
	program, programID := keyOf(t, dir, "acme", service.ScopeRead, service.ScopeWrite)
	made := func(key string) string {
		t.Helper()
		return s.json(201, "POST", "/v1/conversations", "", "Authorization", "Bearer "+key)["id"].(string)
	}
	anns, others, mine := made(ann), made(ann), s.conversation()
	for _, c := range []struct {
		key, conversation string
		status            int
	}{{bob, anns, 404}, {ann, anns, 204}, {ann, anns, 404}, {program, others, 204}, {token, mine, 204}} {
		if res := s.ask("DELETE", "/v1/conversations/"+c.conversation, "", "Authorization", "Bearer "+c.key); res.StatusCode != c.status {
			t.Errorf("DELETE is %d, want %d", res.StatusCode, c.status)
		}
	}
	for tenant, want := range map[string][]directory.Entry{
		"acme": {
			{Object: "conversation/" + others, By: directory.By{Tenant: "acme", Key: programID}},
			{Object: "conversation/" + anns, By: directory.By{Tenant: "acme", User: "ann"}},
		},
		"default": {{Object: "conversation/" + mine, By: directory.By{Tenant: "default", Operator: true}}},
	} {
		list, _, err := dir.Audit(t.Context(), tenant, directory.AuditQuery{Action: "conversation.delete"})
		if err != nil || len(list) != len(want) {
			t.Fatalf("%s: %+v, %v", tenant, list, err)
		}
		for i, e := range list {
			by := want[i].By
			if e.Object != want[i].Object || e.By.Tenant != by.Tenant || e.By.User != by.User || e.By.Operator != by.Operator ||
				by.Key != "" && e.By.Key != by.Key {
				t.Errorf("%s: %+v, want %+v", tenant, e, want[i])
			}
		}
	}
}
