package directory

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// MCPServer is a server of tools that belongs to a tenant. Its versions are added and never
// changed. Runs use the newest.
type MCPServer struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	// Life distinguishes servers that reuse one id. It is not shown.
	Life   string `json:"-"`
	Status Status `json:"status"`
	// Version is the version of the spec: 1, 2, 3 …
	Version int `json:"version"`
	// Newest is the last version that exists.
	Newest        int `json:"newest_version"`
	MCPServerSpec     //nolint:embeddedstructfieldcheck // the order of the JSON
	// Revision counts the changes, including those of the status.
	Revision int64     `json:"revision"`
	Created  time.Time `json:"created_at"`
	// Updated is the time of the last change, not of the version.
	Updated time.Time `json:"updated_at"`
}

// MCPType says how a server is reached.
type MCPType string

// These are the types.
const (
	// MCPHTTP is an MCP server over streamable HTTP.
	MCPHTTP MCPType = "http"
	// MCPSSE is an MCP server over the older transport of server-sent events.
	MCPSSE MCPType = "sse"
	// MCPOpenAPI is an HTTP API that an OpenAPI document describes.
	MCPOpenAPI MCPType = "openapi"
	// MCPStdio is a program that the operator of the service lists.
	MCPStdio MCPType = "stdio"
)

// MCPServerSpec is the content of a version of an [MCPServer].
type MCPServerSpec struct {
	// Name is the name for users.
	Name string  `json:"name,omitempty"`
	Type MCPType `json:"type"`
	// URL is the address of a server of type http or sse, or the base address of the operations of
	// an openapi server: a document and a model never choose another one.
	URL string `json:"url,omitempty"`
	// Program is the operator's name of the program of a stdio server.
	Program string `json:"program,omitempty"`
	// Document is the stored document of an openapi server.
	Document *MCPDocument `json:"document,omitempty"`
	// Headers are sent with each request. Values are templates: see [HeaderTemplate].
	Headers map[string]string `json:"headers_template,omitempty"`
	// SecretHeaders are sent too. Their values can be written and never read back: see
	// [MCPServerInput].
	SecretHeaders map[string]StoredHeader `json:"secret_headers,omitempty"`
	// Credentials are sent for the security schemes of an openapi server's document, by the names of
	// the schemes. A scheme without a value here has one in SecretCredentials.
	Credentials map[string]APICredential `json:"credentials,omitempty"`
	// SecretCredentials are values of Credentials that can be written and never read back: see
	// [MCPServerInput].
	SecretCredentials map[string]StoredHeader `json:"secret_credentials,omitempty"`
	// OAuth has users sign in to an http server. nil means that nobody signs in.
	OAuth *MCPOAuth `json:"oauth,omitempty"`
	// Tools are the names or patterns of the tools to use, as the server calls them. nil means all.
	Tools []string `json:"allowed_tools,omitzero"`
	// Overrides change single tools. The last one that fits a tool and sets a field wins.
	Overrides []ToolOverride `json:"tool_overrides,omitempty"`
	// Seconds bounds a call. 0 means the service's limit for tools.
	Seconds int `json:"timeout_seconds,omitempty"`
	// Required says that a run without the server is refused or fails. Otherwise it goes on without
	// the server's tools.
	Required bool `json:"required,omitempty"`
}

// MCPDocument describes a stored OpenAPI document.
type MCPDocument struct {
	// URL is where the document was fetched. It is empty if the document was uploaded.
	URL string `json:"url,omitempty"`
	// SHA256 is the digest of the document in hexadecimal.
	SHA256 string `json:"sha256"`
	// Bytes is the length of the document.
	Bytes int `json:"bytes"`
}

// ToolOverride changes the tools that a pattern fits.
type ToolOverride struct {
	// Tool is a name or a pattern in the syntax of [path.Match], as the server calls its tools.
	Tool string `json:"tool"`
	// Effect is what repeating a call does: pure, idempotent or unsafe. Empty means the default:
	// unsafe for a tool of an MCP server, that of the HTTP method for an operation.
	Effect event.Effect `json:"effect,omitempty"`
	// Permission is allow, ask or deny. Empty means that no permission is added.
	Permission ToolPermission `json:"permission,omitempty"`
}

// ToolPermission says whether a tool may be called.
type ToolPermission string

// These are the permissions.
const (
	ToolAllow ToolPermission = "allow"
	ToolAsk   ToolPermission = "ask"
	ToolDeny  ToolPermission = "deny"
)

// MCPServerVersion is one version of an [MCPServer].
type MCPServerVersion struct {
	Version       int       `json:"version"`
	Created       time.Time `json:"created_at"`
	MCPServerSpec           //nolint:embeddedstructfieldcheck // the order of the JSON
}

// MCPServerInput is what a write stores beside an [MCPServerSpec]. Only the newest version has it.
type MCPServerInput struct {
	// Headers are values of SecretHeaders. An empty one removes the header; others stay.
	Headers map[string]secret.Secret
	// Credentials are values of SecretCredentials. An empty one removes the value; others stay.
	Credentials map[string]secret.Secret
	// Document is the OpenAPI document. nil keeps the stored one.
	Document []byte
	// DocumentURL is where Document was fetched. Empty means that it was uploaded.
	DocumentURL string
}

const (
	mcpColumns = `s.tenant, s.id, s.life, s.status, s.version, s.revision, s.created, s.updated, v.version, v.doc`
	selectMCP  = `SELECT ` + mcpColumns + ` FROM mcp_server s JOIN mcp_server_version v ON v.tenant = s.tenant AND v.server = s.id`
)

func scanMCPServer(scan func(...any) error) (MCPServer, error) {
	var s MCPServer
	var created, updated int64
	var doc string
	if err := scan(&s.Tenant, &s.ID, &s.Life, &s.Status, &s.Newest, &s.Revision, &created, &updated, &s.Version, &doc); err != nil {
		return MCPServer{}, err
	}
	s.Created, s.Updated = database.Time(created), database.Time(updated)
	return s, decode(doc, &s.MCPServerSpec)
}

// NoMCPServer returns the error of a server that is not there.
func NoMCPServer(op string) error { return mcpNotFound(op) }

func mcpNotFound(op string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Code: "MCP_SERVER_NOT_FOUND", Message: "there is no such MCP server", Hint: "check the id"}
}
