package client_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/client"
)

// answers is one page of a list.
type answers[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next_cursor"`
}

// through reads an answer as the client does and writes it again; what the type cannot hold is an
// error.
func through[T any](raw []byte) ([]byte, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// Each answer that the API's document describes, with all that it may have, is held whole by the
// client's type for it: nothing is dropped, and nothing is called otherwise.
func TestTypesHoldWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	type made struct {
		client.APIKey

		Token string `json:"token"`
	}
	type madeWebhook struct {
		client.Webhook

		Secret string `json:"secret"`
	}
	types := map[string]func([]byte) ([]byte, error){
		"createWebhook": through[madeWebhook], "listWebhooks": through[answers[client.Webhook]], "getWebhook": through[client.Webhook],
		"updateWebhook": through[client.Webhook], "rotateWebhook": through[madeWebhook], "testWebhook": through[client.WebhookReport],
		"listDeliveries": through[answers[client.Delivery]], "getDelivery": through[client.Delivery],
		"createTenant": through[client.Tenant], "listTenants": through[answers[client.Tenant]], "getTenant": through[client.Tenant],
		"updateTenant": through[client.Tenant], "eraseTenant": through[client.Erased],
		"createAgent": through[client.Agent], "listAgents": through[answers[client.Agent]], "getAgent": through[client.Agent],
		"updateAgent": through[client.Agent], "listAgentVersions": through[answers[client.AgentVersion]], "getAgentVersion": through[client.Agent],
		"createModel": through[client.TenantModel], "listModelsOf": through[answers[client.TenantModel]], "getModel": through[client.TenantModel],
		"updateModel":     through[client.TenantModel],
		"createMCPServer": through[client.MCPServer], "listMCPServers": through[answers[client.MCPServer]], "getMCPServer": through[client.MCPServer],
		"beginMCPGrant": through[client.MCPSignIn], "beginOwnMCPGrant": through[client.MCPSignIn],
		"listMCPGrants": through[answers[client.MCPGrant]], "listOwnMCPGrants": through[answers[client.MCPGrant]], "updateMCPServer": through[client.MCPServer], "testMCPServer": through[client.MCPServerReport],
		"uploadSkill": through[client.Skill], "listSkills": through[answers[client.Skill]], "getSkill": through[client.Skill],
		"updateSkill": through[client.Skill], "listSkillVersions": through[answers[client.SkillVersion]], "getSkillVersion": through[client.Skill],
		"listMCPServerVersions": through[answers[client.MCPServerVersion]], "getMCPServerVersion": through[client.MCPServer],
		"createKey": through[made], "listKeys": through[answers[client.APIKey]], "getKey": through[client.APIKey], "revokeKey": through[client.APIKey],
		"listAudit": through[answers[client.AuditEntry]], "verifyAudit": through[client.Verified],
		"listUsage": through[answers[client.Usage]], "sumUsage": through[answers[client.UsageSum]], "listToolCalls": through[answers[client.ToolUse]],
		"listMessages": through[answers[client.LoggedMessage]], "listTenantConversations": through[answers[client.Conversation]],
		"findRuns": through[answers[client.OperatedRun]], "findRun": through[client.OperatedRun],
		"createConversation": through[client.Conversation], "listConversations": through[answers[client.Conversation]],
		"getConversation": through[client.Conversation], "updateConversation": through[client.Conversation],
		"resetConversation": through[client.Conversation], "forkConversation": through[client.Conversation],
		"getRun": through[client.Run],
	}
	raw, err := os.ReadFile("../server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			ID        string `json:"operationId"`
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for _, status := range []string{"200", "201"} {
				schema := op.Responses[status].Content["application/json"].Schema
				hold, known := types[strings.TrimSuffix(op.ID, "Shared")]
				switch {
				case schema == nil:
				case known:
					held[strings.TrimSuffix(op.ID, "Shared")] = true
					holds(t, op.ID, schema, hold)
				case strings.HasPrefix(path, "/v1/admin"):
					t.Errorf("no type of the client's is for %s %s (%s)", method, path, op.ID)
				}
			}
		}
	}
	for id := range types {
		if !held[id] {
			t.Errorf("the document has no answer of %s", id)
		}
	}
}

func holds(t *testing.T, id string, schema map[string]any, hold func([]byte) ([]byte, error)) {
	t.Helper()
	raw, err := json.Marshal(example(schema))
	if err != nil {
		t.Fatal(err)
	}
	back, err := hold(raw)
	if err != nil {
		t.Errorf("%s: %v: %s", id, err, raw)
		return
	}
	var want, got any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(back, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", id, diff)
	}
}

// example is a value with all that a schema has, none of it empty.
func example(schema map[string]any) any {
	kind, _ := schema["type"].(string)
	if list, ok := schema["type"].([]any); ok {
		i := slices.IndexFunc(list, func(v any) bool { return v != "null" })
		kind, _ = list[i].(string)
	}
	of := func(v any) any {
		sub, ok := v.(map[string]any)
		if !ok {
			return "anything"
		}
		return example(sub)
	}
	switch kind {
	case "string":
		if schema["contentEncoding"] == "base64" {
			return "aGFzaA=="
		}
		return "2026-11-21T07:00:00.000001Z" // it is a text like any other, and a time
	case "integer", "number":
		return 7
	case "boolean":
		return true
	case "array":
		return []any{of(schema["items"])}
	case "object":
		o := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			o[name] = of(p)
		}
		if more, ok := schema["additionalProperties"].(map[string]any); ok && more["not"] == nil {
			o["name"] = example(more)
		}
		return o
	}
	return map[string]any{"any": "thing"}
}
