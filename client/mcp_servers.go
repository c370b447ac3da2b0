package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/braidrun/braid/secret"
)

// MCPServer is an MCP server of a tenant, in one of its versions.
type MCPServer struct {
	Tenant  string `json:"tenant"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Version int    `json:"version"`
	// NewestVersion is the last version that exists.
	NewestVersion int `json:"newest_version"`

	MCPServerSpec //nolint:embeddedstructfieldcheck // the order of the JSON

	// Document describes the stored document of an openapi server.
	Document *MCPDocument `json:"document,omitempty"`
	// SecretHeaders describe headers whose values are never shown.
	SecretHeaders map[string]StoredHeader `json:"secret_headers,omitempty"`
	// SecretCredentials describe credentials whose values are never shown.
	SecretCredentials map[string]StoredHeader `json:"secret_credentials,omitempty"`
	Revision          int64                   `json:"revision"`
	CreatedAt         time.Time               `json:"created_at"`
	UpdatedAt         time.Time               `json:"updated_at"`
}

// MCPServerSpec holds the settings of an MCP server that can be read back.
type MCPServerSpec struct {
	Name string `json:"name,omitempty"`
	// Type is http, sse, openapi or stdio.
	Type string `json:"type,omitempty"`
	// URL is the address of the server, or the base address of an API.
	URL string `json:"url,omitempty"`
	// Program is the operator's name of a stdio server.
	Program string `json:"program,omitempty"`
	// Headers are sent with each request. ${name} stands for a token of the run.
	Headers map[string]string `json:"headers_template,omitempty"`
	// Credentials are for the security schemes of an openapi server's document, by their names.
	Credentials map[string]APICredential `json:"credentials,omitempty"`
	// OAuth has users sign in to an http server. nil means that nobody signs in.
	OAuth *MCPOAuth `json:"oauth,omitempty"`
	// Tools are names or patterns of the tools to use. nil means all.
	Tools     []string       `json:"allowed_tools,omitzero"`
	Overrides []ToolOverride `json:"tool_overrides,omitempty"`
	// TimeoutSeconds bounds a call. 0 means the server's limit for tools.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`
	// Required refuses runs without the server.
	Required bool `json:"required,omitempty"`
}

// APICredential is what an openapi server sends for one security scheme. In templates, ${name} stands for a token of the run.
type APICredential struct {
	// Value is the API key, the bearer token, the password or the client's secret. It is empty if it is stored.
	Value string `json:"value_template,omitempty"`
	// User is for basic authentication.
	User string `json:"user_template,omitempty"`
	// ClientID, TokenURL and Scopes are for OAuth client credentials.
	ClientID string   `json:"client_id_template,omitempty"`
	TokenURL string   `json:"token_url,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
}

// ToolOverride changes the tools that a pattern fits.
type ToolOverride struct {
	Tool string `json:"tool"`
	// Effect is pure, idempotent or unsafe.
	Effect string `json:"effect,omitempty"`
	// Permission is allow, ask or deny.
	Permission string `json:"permission,omitempty"`
}

// MCPDocument describes a stored OpenAPI document.
type MCPDocument struct {
	// URL is where the document was fetched. It is empty if it was uploaded.
	URL    string `json:"url,omitempty"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// StoredHeader describes a header or a credential whose value is never shown.
type StoredHeader struct {
	EndsIn string    `json:"ends_in"`
	SetAt  time.Time `json:"set_at"`
}

// MCPServerVersion is one version of an MCP server.
type MCPServerVersion struct {
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`

	MCPServerSpec //nolint:embeddedstructfieldcheck // the order of the JSON

	Document          *MCPDocument            `json:"document,omitempty"`
	SecretHeaders     map[string]StoredHeader `json:"secret_headers,omitempty"`
	SecretCredentials map[string]StoredHeader `json:"secret_credentials,omitempty"`
}

// NewMCPServer holds the settings of a new MCP server.
type NewMCPServer struct {
	MCPServerSpec

	ID     string `json:"id"`
	Status string `json:"status,omitempty"`
	// Document is an OpenAPI document, as JSON or YAML. It excludes DocumentURL.
	Document string `json:"document,omitempty"`
	// DocumentURL is the address from which the server fetches the document now.
	DocumentURL string `json:"document_url,omitempty"`
	// SecretHeaders are headers whose values are stored encrypted and never shown.
	SecretHeaders map[string]secret.Secret `json:"-"`
	// SecretCredentials are values of credentials, by the names of their security schemes. They are stored encrypted and
	// never shown.
	SecretCredentials map[string]secret.Secret `json:"-"`
}

// MCPServerReport says how an MCP server answers.
type MCPServerReport struct {
	// Status is connected, failed or needs-auth.
	Status string `json:"status"`
	// Reason says why it is not connected.
	Reason string         `json:"reason,omitempty"`
	Tools  []ReportedTool `json:"tools"`
	// Skipped are the tools that are left out, and why.
	Skipped []SkippedTool `json:"skipped,omitempty"`
}

// ReportedTool is a tool of an MCP server.
type ReportedTool struct {
	// Name is the name for the model, Tool the server's own.
	Name        string `json:"name"`
	Tool        string `json:"tool"`
	Description string `json:"description,omitempty"`
	Effect      string `json:"effect"`
	Permission  string `json:"permission,omitempty"`
}

// SkippedTool is a tool that is left out, and why. One without a name represents several.
type SkippedTool struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
}

// CreateMCPServer creates an MCP server of a tenant.
func (a Admin) CreateMCPServer(ctx context.Context, tenant string, m NewMCPServer) (out MCPServer, err error) {
	in := struct {
		NewMCPServer

		SecretHeaders     map[string]string `json:"secret_headers,omitempty"`
		SecretCredentials map[string]string `json:"secret_credentials,omitempty"`
	}{m, revealed(m.SecretHeaders), revealed(m.SecretCredentials)}
	return out, a.ask(ctx, http.MethodPost, once(), in, &out, tenant, "mcp-servers")
}

// MCPServers yields a tenant's MCP servers, each in its newest version.
func (a Admin) MCPServers(ctx context.Context, tenant string, o ListOptions) iter.Seq2[MCPServer, error] {
	return all[MCPServer](ctx, a, o.query(), tenant, "mcp-servers")
}

// MCPServer returns an MCP server in one of its versions. 0 means the newest.
func (a Admin) MCPServer(ctx context.Context, tenant, id string, version int) (out MCPServer, err error) {
	names := []string{"mcp-servers", id}
	if version != 0 {
		names = append(names, "versions", strconv.Itoa(version))
	}
	return out, a.ask(ctx, http.MethodGet, nil, nil, &out, tenant, names...)
}

// MCPServerVersions yields the versions of an MCP server, the newest first.
func (a Admin) MCPServerVersions(ctx context.Context, tenant, id string) iter.Seq2[MCPServerVersion, error] {
	return all[MCPServerVersion](ctx, a, url.Values{}, tenant, "mcp-servers", id, "versions")
}

// UpdateMCPServer changes an MCP server, as [Admin.UpdateTenant] does. In the patch, "secret_headers" and "secret_credentials" have
// the values to store, and nil for those to remove. "document" is a text.
func (a Admin) UpdateMCPServer(ctx context.Context, tenant, id string, revision int64, patch Patch) (out MCPServer, err error) {
	return out, a.ask(ctx, http.MethodPatch, ifAt(revision), patch, &out, tenant, "mcp-servers", id)
}

// DeleteMCPServer removes an MCP server with its versions and secrets. For a server that an agent names it needs
// [Force]; otherwise it returns [event.ErrConflict], which names the agents.
func (a Admin) DeleteMCPServer(ctx context.Context, tenant, id string, revision int64, options ...WriteOption) error {
	return a.askWith(ctx, http.MethodDelete, queryOf(options), ifAt(revision), nil, nil, tenant, "mcp-servers", id)
}

// TestMCPServer connects to an MCP server as a run with these tokens does, and lists its tools. A server that cannot be
// reached is a report and no error.
func (a Admin) TestMCPServer(ctx context.Context, tenant, id string, tokens map[string]secret.Secret) (out MCPServerReport, err error) {
	in := struct {
		Tokens map[string]string `json:"tokens,omitempty"`
	}{revealed(tokens)}
	return out, a.ask(ctx, http.MethodPost, nil, in, &out, tenant, "mcp-servers", id, "test")
}

// revealed returns the texts of secrets, for a request.
func revealed(from map[string]secret.Secret) map[string]string {
	to := make(map[string]string, len(from))
	for name, value := range from {
		to[name] = value.Reveal()
	}
	return to
}
