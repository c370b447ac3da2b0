// Package mcpauth signs users in to MCP servers with OAuth, as the authorization specification of the Model Context
// Protocol says (2025-11-25 and 2026-07-28).
//
// A [Client] belongs to one server and one user. It never waits for the user: [Client.Begin] returns a link,
// [Client.Complete] takes what the authorization server sent back, in this process or in another one, and a [Store] keeps
// both the sign-in and the grant that results from it.
//
// A client
//
//   - finds the authorization server in the metadata of the protected resource (RFC 9728), and its endpoints in the metadata
//     of that server (RFC 8414, OpenID Connect), whose issuer must match
//   - identifies itself with a Client ID Metadata Document, as a registered client, or by dynamic registration (RFC 7591)
//   - uses PKCE with S256, resource indicators (RFC 8707), and checks the issuer of the answer (RFC 9207)
//   - renews grants with rotating refresh tokens, one renewal at a time across all processes that share the store
//   - asks for more scopes if the server wants them, and keeps those that were granted before
//   - revokes grants (RFC 7009)
//
// Errors contain neither tokens nor codes, and no text of an authorization server except for its error codes.
package mcpauth
