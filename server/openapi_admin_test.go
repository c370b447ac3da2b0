package server

import (
	"maps"

	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
	"github.com/braidrun/braid/wire/native"
)

// What many operations of the administration take.
var (
	listQuery = map[string]string{
		"status": "active or inactive; all where it is left out.", "sort": "id, created_at or -created_at.",
		"cursor": "next_cursor of the page before.", "limit": "How many, at most 100; 20 where it is left out.",
	}
	pageQuery   = map[string]string{"cursor": listQuery["cursor"], "limit": listQuery["limit"]}
	makeHeaders = map[string]string{"Idempotency-Key": "The same key and body makes it once."}
	readHeaders = map[string]string{"If-Match": "The ETag of what was read: 409 where somebody was faster."}
)

// standing says what the parameter status of a list of conversations means.
const standing = "Whose oldest open run, else newest run, is open, queued, running, waiting, completed, failed or cancelled. " +
	"The list is then by that run, newest first, and a page may have fewer than limit."

func also(query map[string]string, more map[string]string) map[string]string {
	all := maps.Clone(query)
	maps.Copy(all, more)
	return all
}

func taken(about string) answered { return answered{about, typeOf[native.ErrorBody](), ""} }

// adminOperations are those below /v1/admin.
func adminOperations() map[string]operation {
	const tenant = "/v1/admin/tenants/{tenant}"
	conflict := taken("Somebody was faster, or it cannot be so.")
	ops := map[string]operation{
		"POST /v1/admin/tenants": {
			id: "createTenant", summary: "Makes a tenant.", headers: makeHeaders, body: typeOf[tenantRequest](),
			example: `{"id": "example", "name": "Example Ltd", "system_prompt": "You help the customers of Example Ltd."}`,
			answers: map[int]answered{201: {"The tenant.", typeOf[directory.Tenant](), ""}, 409: conflict},
		},
		"GET /v1/admin/tenants": {
			id: "listTenants", summary: "Lists tenants.", query: listQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.Tenant]](), ""}},
		},
		"GET /v1/admin/runs": {
			id: "findRuns", summary: "Lists the runs of all tenants, newest first, for the operator. A page may be short while there are more.",
			query: also(pageQuery, map[string]string{
				"tenant": "Of this tenant.", "status": "open, queued, running, waiting, completed, failed or cancelled.",
				"user": "Of this user.", "agent": "Of this agent.", "error_kind": "Failed with this kind of error, such as run_poisoned.",
				"since": "Admitted then or later, such as 2026-11-21 or 2026-11-21T07:00:00Z.",
			}),
			answers: map[int]answered{200: {"A page.", typeOf[page[operatedRun]](), ""}},
		},
		"GET /v1/admin/runs/{run}": {
			id: "findRun", summary: "Gives a run of any tenant, for the operator.",
			answers: map[int]answered{200: {"The run.", typeOf[operatedRun](), ""}},
		},
		"POST /v1/admin/runs/{run}/cancel": {
			id: "cancelAnyRun", summary: "Asks for a run of any tenant to end, on whichever server. The tenant's audit notes it.",
			answers: map[int]answered{202: {"It will end.", typeOf[cancelBody](), ""}, 409: taken("The run has ended.")},
		},
		"GET " + tenant: {id: "getTenant", summary: "Gives a tenant, its quota in force, and how much of it is used.", answers: map[int]answered{200: {"The tenant.", typeOf[tenantState](), ""}}},
		"PATCH " + tenant: {
			id: "updateTenant", summary: "Changes a tenant, by a JSON merge patch. Only the operator changes status, limits, quota, policy and retention.",
			headers: readHeaders, body: typeOf[tenantFields](), example: `{"name": "Example Limited"}`,
			answers: map[int]answered{200: {"The tenant.", typeOf[directory.Tenant](), ""}, 409: conflict},
		},
		"DELETE " + tenant: {
			id: "eraseTenant", summary: "Removes everything that there is of a tenant that is not active. It cannot be undone.",
			answers: map[int]answered{200: {"What was removed.", typeOf[directory.Erased](), ""}, 409: taken("The tenant is active, or something still runs.")},
		},
		"POST " + tenant + "/agents": {
			id: "createAgent", summary: "Makes an agent, in its first version.", headers: makeHeaders, body: typeOf[agentRequest](),
			example: `{"id": "example", "instructions": "Answer in one sentence.", "tools": ["clock"]}`,
			answers: map[int]answered{201: {"The agent.", typeOf[directory.Agent](), ""}, 409: conflict},
		},
		"GET " + tenant + "/agents": {
			id: "listAgents", summary: "Lists agents, each in its newest version.", query: listQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.Agent]](), ""}},
		},
		"GET " + tenant + "/agents/{agent}": {
			id: "getAgent", summary: "Gives an agent in its newest version.", answers: map[int]answered{200: {"The agent.", typeOf[directory.Agent](), ""}},
		},
		"PATCH " + tenant + "/agents/{agent}": {
			id: "updateAgent", summary: "Changes an agent, by a JSON merge patch. What it is changes by a new version.",
			headers: readHeaders, body: typeOf[agentFields](), example: `{"instructions": "Answer in two sentences."}`,
			answers: map[int]answered{200: {"The agent.", typeOf[directory.Agent](), ""}, 409: conflict},
		},
		"GET " + tenant + "/agents/{agent}/versions": {
			id: "listAgentVersions", summary: "Lists what an agent was, the newest first.", query: pageQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.AgentVersion]](), ""}},
		},
		"GET " + tenant + "/agents/{agent}/versions/{version}": {
			id: "getAgentVersion", summary: "Gives an agent in one of its versions.", answers: map[int]answered{200: {"The agent.", typeOf[directory.Agent](), ""}},
		},
		"POST " + tenant + "/mcp-servers": {
			id: "createMCPServer", summary: "Makes an MCP server, in its first version. A document is an OpenAPI document: an object, or its text.", headers: makeHeaders, body: typeOf[mcpServerRequest](),
			example: `{"id": "crm", "type": "http", "url": "https://mcp.example/mcp", "headers_template": {"Authorization": "Bearer ${crm_token}"}}`,
			answers: map[int]answered{201: {"The MCP server.", typeOf[directory.MCPServer](), ""}, 409: conflict, 422: taken("Its address or document cannot be used.")},
		},
		"GET " + tenant + "/mcp-servers": {
			id: "listMCPServers", summary: "Lists MCP servers, each in its newest version.", query: listQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.MCPServer]](), ""}},
		},
		"GET " + tenant + "/mcp-servers/{server}": {
			id: "getMCPServer", summary: "Gives an MCP server in its newest version, without its secrets.", answers: map[int]answered{200: {"The MCP server.", typeOf[directory.MCPServer](), ""}},
		},
		"PATCH " + tenant + "/mcp-servers/{server}": {
			id: "updateMCPServer", summary: "Changes an MCP server, by a JSON merge patch; a document as a whole. What it is changes by a new version.",
			headers: readHeaders, body: typeOf[mcpServerFields](), example: `{"allowed_tools": ["get_*"]}`,
			answers: map[int]answered{200: {"The MCP server.", typeOf[directory.MCPServer](), ""}, 409: conflict, 422: taken("Its address or document cannot be used.")},
		},
		"DELETE " + tenant + "/mcp-servers/{server}": {
			id: "deleteMCPServer", summary: "Removes an MCP server, with its versions and secrets. One that an agent names is MCP_SERVER_IN_USE.",
			query: map[string]string{"force": "true removes it although an agent names it."}, headers: readHeaders,
			answers: map[int]answered{204: {about: "It is gone."}, 409: conflict},
		},
		"POST " + tenant + "/mcp-servers/{server}/test": {
			id: "testMCPServer", summary: "Connects to an MCP server as a run does, and lists its tools.", body: typeOf[testMCPServerRequest](), bodyOption: true,
			answers: map[int]answered{200: {"How it answers.", typeOf[service.ToolServerReport](), ""}, 422: taken("A token is missing.")},
		},
		"GET " + tenant + "/mcp-servers/{server}/grants": {
			id: "listMCPGrants", summary: "Lists what users have granted to an MCP server.", query: pageQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.MCPGrant]](), ""}},
		},
		"POST " + tenant + "/mcp-servers/{server}/grants": {
			id: "beginMCPGrant", summary: "Begins to sign a user in to an MCP server, beside any run. The link is a secret of the user.",
			body: typeOf[beginGrantRequest](), bodyOption: true, example: `{"user": "ann"}`,
			answers: map[int]answered{201: {"The link, also of a sign-in that had begun before.", typeOf[service.SignInLink](), ""}, 409: conflict},
		},
		"DELETE " + tenant + "/mcp-servers/{server}/grants/{grant}": {
			id: "revokeMCPGrant", summary: "Ends a user's grant for an MCP server, here and at its authorization server.", answers: map[int]answered{204: {about: "It is gone."}},
		},
		"GET " + tenant + "/mcp-servers/{server}/versions": {
			id: "listMCPServerVersions", summary: "Lists what an MCP server was, the newest first.", query: pageQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.MCPServerVersion]](), ""}},
		},
		"GET " + tenant + "/mcp-servers/{server}/versions/{version}": {
			id: "getMCPServerVersion", summary: "Gives an MCP server in one of its versions.", answers: map[int]answered{200: {"The MCP server.", typeOf[directory.MCPServer](), ""}},
		},
		"POST " + tenant + "/webhooks": {
			id: "createWebhook", summary: "Makes a webhook. Only this response has its secret.", headers: makeHeaders, body: typeOf[webhookRequest](),
			example: `{"id": "office", "url": "https://example.com/webhooks", "events": ["run.ended"]}`,
			answers: map[int]answered{201: {"The webhook.", typeOf[newWebhookBody](), ""}, 409: conflict, 422: taken("Its address cannot be used.")},
		},
		"GET " + tenant + "/webhooks": {
			id: "listWebhooks", summary: "Lists webhooks.", query: listQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.Webhook]](), ""}},
		},
		"GET " + tenant + "/webhooks/{webhook}": {
			id: "getWebhook", summary: "Gives a webhook, without its secret.", answers: map[int]answered{200: {"The webhook.", typeOf[directory.Webhook](), ""}},
		},
		"PATCH " + tenant + "/webhooks/{webhook}": {
			id: "updateWebhook", summary: "Changes a webhook, by a JSON merge patch. One that becomes active is no longer disabled.",
			headers: readHeaders, body: typeOf[webhookFields](), example: `{"status": "active"}`,
			answers: map[int]answered{200: {"The webhook.", typeOf[directory.Webhook](), ""}, 409: conflict, 422: taken("Its address cannot be used.")},
		},
		"DELETE " + tenant + "/webhooks/{webhook}": {
			id: "deleteWebhook", summary: "Removes a webhook, with its secret and its deliveries.", headers: readHeaders,
			answers: map[int]answered{204: {about: "It is gone."}, 409: conflict},
		},
		"POST " + tenant + "/webhooks/{webhook}/rotate": {
			id: "rotateWebhook", summary: "Gives a webhook another secret. For the overlap, messages have a signature of each.",
			headers: readHeaders, body: typeOf[rotateRequest](), bodyOption: true, example: `{"overlap_seconds": 3600}`,
			answers: map[int]answered{200: {"The webhook.", typeOf[newWebhookBody](), ""}, 409: conflict},
		},
		"POST " + tenant + "/webhooks/{webhook}/test": {
			id: "testWebhook", summary: "Sends a message of the type webhook.ping now, once.",
			answers: map[int]answered{200: {"How the endpoint answers.", typeOf[webhooks.Report](), ""}},
		},
		"POST " + tenant + "/webhooks/{webhook}/replay": {
			id: "replayWebhook", summary: "Sends failed deliveries again that were made since a time, or all.", body: typeOf[replayRequest](),
			example: `{"since": "2026-11-28T00:00:00Z"}`,
			answers: map[int]answered{202: {"How many are sent.", typeOf[replayBody](), ""}, 409: taken("The webhook is not active.")},
		},
		"GET " + tenant + "/webhooks/{webhook}/deliveries": {
			id: "listDeliveries", summary: "Lists the deliveries of a webhook, newest first.",
			query:   also(pageQuery, map[string]string{"status": "pending, delivered or failed."}),
			answers: map[int]answered{200: {"A page.", typeOf[page[webhooks.Delivery]](), ""}},
		},
		"GET " + tenant + "/webhooks/{webhook}/deliveries/{delivery}": {
			id: "getDelivery", summary: "Gives a delivery, with what is sent.", answers: map[int]answered{200: {"The delivery.", typeOf[deliveryBody](), ""}},
		},
		"POST " + tenant + "/webhooks/{webhook}/deliveries/{delivery}/replay": {
			id: "replayDelivery", summary: "Sends a delivery again, with the same webhook-id.",
			answers: map[int]answered{202: {"The delivery.", typeOf[webhooks.Delivery](), ""}, 409: taken("The webhook is not active.")},
		},
		"POST " + tenant + "/skills": {
			id: "uploadSkill", raw: "application/zip", form: true,
			summary: "Stores the folder of a skill as a new version, from a zip archive or a form. The same files change nothing.",
			headers: also(readHeaders, map[string]string{"If-None-Match": "* stores a new skill only."}),
			answers: map[int]answered{
				200: {"The skill, with a new version or as it was.", typeOf[directory.Skill](), ""}, 201: {"The new skill.", typeOf[directory.Skill](), ""},
				409: conflict, 413: taken("There are too many files or bytes."), 422: taken("It is no skill that can be used."),
			},
		},
		"GET " + tenant + "/skills": {
			id: "listSkills", summary: "Lists skills, each in its newest version.", query: listQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.Skill]](), ""}},
		},
		"GET " + tenant + "/skills/{skill}": {
			id: "getSkill", summary: "Gives a skill in its newest version.", answers: map[int]answered{200: {"The skill.", typeOf[directory.Skill](), ""}},
		},
		"PATCH " + tenant + "/skills/{skill}": {
			id: "updateSkill", summary: "Changes the status of a skill, by a JSON merge patch.", headers: readHeaders, body: typeOf[skillFields](),
			example: `{"status": "inactive"}`, answers: map[int]answered{200: {"The skill.", typeOf[directory.Skill](), ""}, 409: conflict},
		},
		"DELETE " + tenant + "/skills/{skill}": {
			id: "deleteSkill", summary: "Removes a skill, with its versions and files. One that an agent names is SKILL_IN_USE.",
			query: map[string]string{"force": "true removes it although an agent names it."}, headers: readHeaders,
			answers: map[int]answered{204: {about: "It is gone."}, 409: conflict},
		},
		"GET " + tenant + "/skills/{skill}/archive": {
			id: "readSkill", summary: "Gives the files of a skill as a zip archive.",
			answers: map[int]answered{200: {"The archive. The entity tag is its sha256.", nil, "application/zip"}},
		},
		"GET " + tenant + "/skills/{skill}/versions": {
			id: "listSkillVersions", summary: "Lists what a skill was, the newest first.", query: pageQuery,
			answers: map[int]answered{200: {"A page.", typeOf[page[directory.SkillVersion]](), ""}},
		},
		"GET " + tenant + "/skills/{skill}/versions/{version}": {
			id: "getSkillVersion", summary: "Gives a skill in one of its versions.", answers: map[int]answered{200: {"The skill.", typeOf[directory.Skill](), ""}},
		},
		"GET " + tenant + "/skills/{skill}/versions/{version}/archive": {
			id: "readSkillVersion", summary: "Gives the files of a skill in one of its versions as a zip archive.",
			answers: map[int]answered{200: {"The archive. The entity tag is its sha256.", nil, "application/zip"}},
		},
		"GET " + tenant + "/conversations": {
			id: "listTenantConversations", summary: "Lists a tenant's conversations, newest first. The audit notes who reads it.",
			query: also(pageQuery, map[string]string{
				"archived": "true lists the archived ones instead.", "user": "Of this user; empty lists those of no user.", "agent": "Of this agent.",
				"status": standing,
			}),
			answers: map[int]answered{200: {"A page.", typeOf[page[conversationBody]](), ""}},
		},
	}
	span := map[string]string{
		"conversation": "Of this conversation.", "run": "Of this run.", "executor": "Of this executor.",
		"from": "The first moment, such as 2026-11-21 or 2026-11-21T07:00:00Z.", "to": "The moment after the last.",
	}
	ops["GET "+tenant+"/usage"] = operation{
		id: "listUsage", summary: "Lists what models were used for, newest first: one row for each attempt of a call.",
		query:   also(also(pageQuery, span), map[string]string{"model": "Of this model.", "user": "Of runs of this user."}),
		answers: map[int]answered{200: {"A page.", typeOf[page[usageBody]](), ""}},
	}
	ops["GET "+tenant+"/usage/sums"] = operation{
		id: "sumUsage", summary: "Adds up what models were used for.",
		query: also(also(pageQuery, span), map[string]string{
			"model": "Of this model.", "user": "Of runs of this user.",
			"by": "model (where it is left out), day, conversation, run, executor, user, agent or kind.",
		}),
		answers: map[int]answered{200: {"A page.", typeOf[page[sumBody]](), ""}},
	}
	ops["GET "+tenant+"/tools"] = operation{
		id: "listToolCalls", summary: "Lists what tools did, newest first. The audit notes who reads it.",
		query:   also(also(pageQuery, span), map[string]string{"tool": "Of this tool."}),
		answers: map[int]answered{200: {"A page.", typeOf[page[toolBody]](), ""}},
	}
	ops["GET "+tenant+"/conversations/{id}/messages"] = operation{
		id: "listMessages", summary: "Lists what was said in a conversation by runs that have ended. The audit notes who reads it.",
		query:   also(pageQuery, map[string]string{"run": "Of this run."}),
		answers: map[int]answered{200: {"A page.", typeOf[page[messageBody]](), ""}},
	}
	for _, w := range []struct{ at, of, whose string }{{tenant, "", "a tenant's own"}, {"/v1/admin", "Shared", "all share"}} {
		keys := w.whose + " keys"
		if w.of != "" {
			keys = "the operator's own keys"
		}
		models := "models that are " + w.whose
		if w.of != "" {
			models = "models that all share"
		}
		for key, op := range map[string]operation{
			"POST " + w.at + "/models": {
				id: "createModel", summary: "Makes one of the " + models + ".", headers: makeHeaders, body: typeOf[modelRequest](),
				example: `{"id": "example", "provider": "demo", "name": "assistant", "aliases": ["example-alias"], "prices": {"input": "3", "output": "15"}}`,
				answers: map[int]answered{201: {"The model.", typeOf[directory.Model](), ""}, 409: conflict},
			},
			"GET " + w.at + "/models": {
				id: "listModelsOf", summary: "Lists the " + models + ".", query: listQuery,
				answers: map[int]answered{200: {"A page.", typeOf[page[directory.Model]](), ""}},
			},
			"GET " + w.at + "/models/{model}": {
				id: "getModel", summary: "Gives one of the " + models + ", without its secret.", answers: map[int]answered{200: {"The model.", typeOf[directory.Model](), ""}},
			},
			"PATCH " + w.at + "/models/{model}": {
				id: "updateModel", summary: "Changes one of the " + models + ", by a JSON merge patch; the credential as a whole.",
				query:   map[string]string{"force": "true takes aliases away that something refers to."},
				headers: readHeaders, body: typeOf[modelFields](), example: `{"region": "eu-central-1"}`,
				answers: map[int]answered{200: {"The model.", typeOf[directory.Model](), ""}, 409: conflict},
			},
			"DELETE " + w.at + "/models/{model}": {
				id: "deleteModel", summary: "Removes one of the " + models + ", with its secret. One that something refers to is MODEL_IN_USE.",
				query: map[string]string{"force": "true removes it although something refers to it."}, headers: readHeaders,
				answers: map[int]answered{204: {about: "It is gone."}, 409: conflict},
			},
			"POST " + w.at + "/keys": {
				id: "createKey", summary: "Makes one of " + keys + ". The answer is the only one that holds its token.", headers: makeHeaders,
				body: typeOf[keyRequest](), example: `{"name": "example", "scopes": ["read"]}`,
				answers: map[int]answered{201: {"The key.", typeOf[newKeyBody](), ""}, 409: conflict},
			},
			"GET " + w.at + "/keys": {
				id: "listKeys", summary: "Lists " + keys + ", those that have ended too.", query: listQuery,
				answers: map[int]answered{200: {"A page.", typeOf[page[directory.Key]](), ""}},
			},
			"GET " + w.at + "/keys/{key}": {
				id: "getKey", summary: "Gives one of " + keys + ", without its token.", answers: map[int]answered{200: {"The key.", typeOf[directory.Key](), ""}},
			},
			"DELETE " + w.at + "/keys/{key}": {
				id: "revokeKey", summary: "Ends one of " + keys + ", at once: streams that it has opened are cut.",
				answers: map[int]answered{200: {"The key.", typeOf[directory.Key](), ""}},
			},
			"GET " + w.at + "/audit": {
				id: "listAudit", summary: "Reads who has changed what, the newest first.",
				query:   also(pageQuery, map[string]string{"action": "Such as agent.update.", "object": "Such as agent/helper."}),
				answers: map[int]answered{200: {"A page.", typeOf[page[directory.Entry]](), ""}},
			},
			"GET " + w.at + "/audit/verify": {
				id: "verifyAudit", summary: "Looks through the audit for entries that were changed, taken out or added.",
				answers: map[int]answered{200: {"What was found.", typeOf[directory.Verified](), ""}},
			},
		} {
			if w.of != "" {
				op.id += w.of
			}
			ops[key] = op
		}
	}
	return ops
}
