package directory

import "strings"

// OAuthClientSecret is the name of the secret credential of an http server that is its client secret.
const OAuthClientSecret = "client_secret"

// MCPOAuth says how users sign in to an MCP server with OAuth. The zero value has the service use its metadata document, or
// register itself.
type MCPOAuth struct {
	// ClientID is that of a client that is registered with the authorization server.
	ClientID string `json:"client_id,omitempty"`
	// Issuer is the only authorization server that gets the client id. Empty means the one that the MCP server names.
	Issuer string `json:"issuer,omitempty"`
	// Scopes are asked for where the server names none.
	Scopes []string `json:"scopes,omitzero"`
}

// checkOAuth checks how users sign in.
func (s *MCPServer) checkOAuth(c *checker) {
	_, confidential := s.SecretCredentials[OAuthClientSecret]
	if s.Type != MCPOpenAPI {
		c.want(len(s.Credentials) == 0 && (len(s.SecretCredentials) == 0 || confidential && len(s.SecretCredentials) == 1),
			"only a server of type openapi has credentials", "leave them out, and send headers; the secret of oauth is called client_secret")
		c.want(!confidential || s.OAuth != nil, "secret_credentials has a client_secret, and the server has no oauth",
			"send oauth with client_id and issuer, or null as the client_secret")
	}
	o := s.OAuth
	if o == nil {
		return
	}
	c.want(s.Type == MCPHTTP, "only a server of type http has users that sign in", "leave oauth out")
	for _, headers := range []int{countAuthorization(s.Headers), countAuthorization(s.SecretHeaders)} {
		c.want(headers == 0, "a server with an Authorization header has no users that sign in", "leave out oauth, or the header")
	}
	c.text("oauth.client_id", o.ClientID, longestURL)
	c.want(o.Issuer == "" || isBaseURL(o.Issuer, true), "oauth.issuer cannot be used", "write it as https://host/path")
	c.want(!confidential || o.ClientID != "" && o.Issuer != "", "oauth has a client secret without client_id or issuer",
		"send both: the secret goes to no other authorization server")
	c.scopes("oauth.scopes", o.Scopes)
}

func countAuthorization[V any](headers map[string]V) (n int) {
	for name := range headers {
		if strings.EqualFold(name, "Authorization") {
			n++
		}
	}
	return n
}

// checkSameClient refuses to send a stored client secret as that of another client, or to another authorization server: who may
// change a server cannot read its secret.
func (s *MCPServer) checkSameClient(op string, old *MCPServer, in *MCPServerInput) error {
	_, had := old.SecretCredentials[OAuthClientSecret]
	_, has := s.SecretCredentials[OAuthClientSecret]
	_, sent := in.Credentials[OAuthClientSecret]
	if !had || !has || sent || old.OAuth == nil || s.OAuth == nil || old.OAuth.ClientID == s.OAuth.ClientID && old.OAuth.Issuer == s.OAuth.Issuer {
		return nil
	}
	return invalid(op, "the stored client secret belongs to another client_id or issuer", "send secret_credentials with client_secret again")
}
