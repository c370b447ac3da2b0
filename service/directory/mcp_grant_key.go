package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// MCPGrantKey names what a user has granted to a server of a tenant.
type MCPGrantKey struct {
	Tenant, Server string
	// Life is the server's life. A grant for a server that was removed counts for no other one with its id.
	Life string
	// User may be empty: runs without a user share what was granted for them.
	User string
}

// ID returns the id of the grant.
func (k MCPGrantKey) ID() string {
	sum := sha256.Sum256([]byte(k.Server + "\x00" + k.User))
	return "mcpg_" + hex.EncodeToString(sum[:16])
}

// MCPGrantInfo is what may be shown of a grant.
type MCPGrantInfo struct {
	// Status is signed_in or pending.
	Status string `json:"status"`
	// Issuer is the authorization server.
	Issuer string   `json:"issuer,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	// SignedIn is when the user signed in.
	SignedIn time.Time `json:"signed_in_at,omitzero"`
	// Expires is when a pending sign-in ends.
	Expires time.Time `json:"expires_at,omitzero"`
}

// MCPGrant is what a user has granted to a server, or is about to.
type MCPGrant struct {
	MCPGrantInfo

	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Server string `json:"mcp_server"`
	User   string `json:"user"`

	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

// grantPlace returns the context for which a grant is encrypted. The id stands for server and user.
func grantPlace(tenant, id, life string) []byte {
	return []byte(tenant + "|mcp_grant|" + id + "|secret|" + life)
}

// Check returns [event.ErrInvalid] for a user that no key can have.
func (k MCPGrantKey) Check() error {
	c := checker{op: "MCP grant"}
	c.text("the user", k.User, longestName)
	return c.err
}
