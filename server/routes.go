package server

import (
	"net/http"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
)

// routes is the whole API.
func (s *Server) routes() []route {
	const open, read, write, operator = "", service.ScopeRead, service.ScopeWrite, service.ScopeOperator
	return append([]route{
		{"GET", "/healthz", open, s.health},
		{"GET", "/readyz", open, s.ready},
		{"GET", "/openapi.json", open, s.document},
		{"GET", "/metrics", operator, s.measures},
		{"GET", "/v1/models", read, s.listModels},
		{"GET", "/v1/mcp-grants", read, s.listOwnGrants},
		{"POST", "/v1/mcp-grants/{server}", write, s.beginOwnGrant},
		{"DELETE", "/v1/mcp-grants/{server}", write, s.revokeOwnGrant},
		{"POST", "/v1/conversations", write, s.createConversation},
		{"GET", "/v1/conversations", read, s.listConversations},
		{"GET", "/v1/conversations/{id}", read, s.getConversation},
		{"PATCH", "/v1/conversations/{id}", write, s.updateConversation},
		{"DELETE", "/v1/conversations/{id}", write, s.deleteConversation},
		{"POST", "/v1/conversations/{id}/reset", write, s.resetConversation},
		{"POST", "/v1/conversations/{id}/fork", write, s.forkConversation},
		{"GET", "/v1/conversations/{id}/export", read, s.exportConversation},
		{"GET", "/v1/conversations/{id}/files", read, s.listFiles},
		{"GET", "/v1/conversations/{id}/files/content", read, s.readFile},
		{"PUT", "/v1/conversations/{id}/files/content", write, s.writeFile},
		{"DELETE", "/v1/conversations/{id}/files/content", write, s.removeFile},
		{"GET", "/v1/conversations/{id}/files/archive", read, s.readFiles},
		{"POST", "/v1/conversations/{id}/files/archive", write, s.writeFiles},
		{"GET", "/v1/conversations/{id}/events", read, s.listEvents},
		{"GET", "/v1/conversations/{id}/stream", read, s.streamConversation},
		{"GET", "/v1/conversations/{id}/questions", read, s.listQuestions},
		{"POST", "/v1/conversations/{id}/questions/{token}", write, s.answerQuestion},
		{"POST", "/v1/conversations/{id}/runs", write, s.startRun},
		{"GET", "/v1/conversations/{id}/runs", read, s.listRuns},
		{"GET", "/v1/conversations/{id}/runs/{run}", read, s.getRun},
		{"POST", "/v1/conversations/{id}/runs/{run}/cancel", write, s.cancelRun},
		{"POST", "/v1/conversations/{id}/runs/{run}/retry", write, s.retryRun},
		{"GET", "/v1/conversations/{id}/runs/{run}/stream", read, s.streamRun},
	}, s.adminRoutes()...)
}

// browserRoutes are for browsers and authorization servers, when users sign in to MCP servers. They are no part of the API.
func (s *Server) browserRoutes() []route {
	return []route{{"GET", CallbackPath, "", s.signInPage}, {"GET", ClientPath, "", s.clientMetadata}}
}

// adminRoutes returns the routes below /v1/admin. A caller with a route's scope may use it for
// the tenant of the credential, and with the scope operator for every tenant.
func (s *Server) adminRoutes() []route {
	const read, write, operator = service.ScopeAdminRead, service.ScopeAdminWrite, service.ScopeOperator
	const tenant = "/v1/admin/tenants/{tenant}"
	list := []route{
		{"POST", "/v1/admin/tenants", operator, s.createTenant},
		{"GET", "/v1/admin/tenants", operator, s.listTenants},
		{"GET", "/v1/admin/runs", operator, s.findRuns},
		{"GET", "/v1/admin/runs/{run}", operator, s.findRun},
		{"POST", "/v1/admin/runs/{run}/cancel", operator, s.cancelAnyRun},
		{"GET", tenant, read, s.getTenant},
		{"PATCH", tenant, write, s.updateTenant},
		{"DELETE", tenant, operator, s.eraseTenant},
		{"POST", tenant + "/agents", write, s.createAgent},
		{"GET", tenant + "/agents", read, s.listAgents},
		{"GET", tenant + "/agents/{agent}", read, s.getAgent},
		{"PATCH", tenant + "/agents/{agent}", write, s.updateAgent},
		{"GET", tenant + "/agents/{agent}/versions", read, s.listAgentVersions},
		{"GET", tenant + "/agents/{agent}/versions/{version}", read, s.getAgentVersion},
		{"POST", tenant + "/mcp-servers", write, s.createMCPServer},
		{"GET", tenant + "/mcp-servers", read, s.listMCPServers},
		{"GET", tenant + "/mcp-servers/{server}", read, s.getMCPServer},
		{"PATCH", tenant + "/mcp-servers/{server}", write, s.updateMCPServer},
		{"DELETE", tenant + "/mcp-servers/{server}", write, s.deleteMCPServer},
		{"POST", tenant + "/mcp-servers/{server}/test", write, s.testMCPServer},
		{"GET", tenant + "/mcp-servers/{server}/versions", read, s.listMCPServerVersions},
		{"GET", tenant + "/mcp-servers/{server}/versions/{version}", read, s.getMCPServerVersion},
		{"GET", tenant + "/mcp-servers/{server}/grants", read, s.listGrants},
		{"POST", tenant + "/mcp-servers/{server}/grants", write, s.beginGrant},
		{"DELETE", tenant + "/mcp-servers/{server}/grants/{grant}", write, s.revokeGrant},
		{"POST", tenant + "/webhooks", write, s.createWebhook},
		{"GET", tenant + "/webhooks", read, s.listWebhooks},
		{"GET", tenant + "/webhooks/{webhook}", read, s.getWebhook},
		{"PATCH", tenant + "/webhooks/{webhook}", write, s.updateWebhook},
		{"DELETE", tenant + "/webhooks/{webhook}", write, s.deleteWebhook},
		{"POST", tenant + "/webhooks/{webhook}/rotate", write, s.rotateWebhook},
		{"POST", tenant + "/webhooks/{webhook}/test", write, s.testWebhook},
		{"POST", tenant + "/webhooks/{webhook}/replay", write, s.replayWebhook},
		{"GET", tenant + "/webhooks/{webhook}/deliveries", read, s.listDeliveries},
		{"GET", tenant + "/webhooks/{webhook}/deliveries/{delivery}", read, s.getDelivery},
		{"POST", tenant + "/webhooks/{webhook}/deliveries/{delivery}/replay", write, s.replayDelivery},
		{"POST", tenant + "/skills", write, s.uploadSkill},
		{"GET", tenant + "/skills", read, s.listSkills},
		{"GET", tenant + "/skills/{skill}", read, s.getSkill},
		{"PATCH", tenant + "/skills/{skill}", write, s.updateSkill},
		{"DELETE", tenant + "/skills/{skill}", write, s.deleteSkill},
		{"GET", tenant + "/skills/{skill}/archive", read, s.readSkill},
		{"GET", tenant + "/skills/{skill}/versions", read, s.listSkillVersions},
		{"GET", tenant + "/skills/{skill}/versions/{version}", read, s.getSkillVersion},
		{"GET", tenant + "/skills/{skill}/versions/{version}/archive", read, s.readSkill},
		{"GET", tenant + "/conversations", read, s.listTenantConversations},
		{"GET", tenant + "/usage", read, s.listUsage},
		{"GET", tenant + "/usage/sums", read, s.sumUsage},
		{"GET", tenant + "/tools", read, s.listToolCalls},
		{"GET", tenant + "/conversations/{id}/messages", read, s.listMessages},
	}
	// The routes below a tenant exist once more for what belongs to no tenant: shared models,
	// the operator's own keys, and the audit of operations on several tenants.
	for _, at := range []string{tenant, "/v1/admin"} {
		r, w := read, write
		if at != tenant {
			r, w = operator, operator
		}
		list = append(
			list,
			route{"POST", at + "/models", w, s.createModel},
			route{"GET", at + "/models", r, s.listModelsOf},
			route{"GET", at + "/models/{model}", r, s.getModel},
			route{"PATCH", at + "/models/{model}", w, s.updateModel},
			route{"DELETE", at + "/models/{model}", w, s.deleteModel},
			route{"POST", at + "/keys", w, s.createKey},
			route{"GET", at + "/keys", r, s.listKeys},
			route{"GET", at + "/keys/{key}", r, s.getKey},
			route{"DELETE", at + "/keys/{key}", w, s.revokeKey},
			route{"GET", at + "/audit", r, s.listAudit},
			route{"GET", at + "/audit/verify", r, s.verifyAudit},
		)
	}
	for i := range list {
		list[i].handle = s.administration(list[i].handle)
	}
	return list
}

func wrongMethod(allowed []string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &statusError{
			http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "this path does not take that method", "use " + strings.Join(allowed, " or "),
		}
	}
}

func noSuchPath(http.ResponseWriter, *http.Request) error {
	return &event.Error{Kind: event.ErrNotFound, Message: "there is no such path", Hint: "/openapi.json lists them"}
}
