package directory

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/secret"
)

// APICredential is what an openapi server sends for one security scheme of its document: an API key, a bearer token, a user with a
// password, or what a client of OAuth gets a token for.
type APICredential struct {
	// Value is the template of the key, the token, the password or the client's secret: see
	// [HeaderTemplate]. It is empty if the value is stored: see [MCPServerSpec].
	Value string `json:"value_template,omitempty"`
	// User is the template of the user of basic authentication.
	User string `json:"user_template,omitempty"`
	// ClientID is the template of the id of an OAuth client.
	ClientID string `json:"client_id_template,omitempty"`
	// TokenURL is where an OAuth client gets its token. The document does not choose it.
	TokenURL string `json:"token_url,omitempty"`
	// Scopes are requested with the token of an OAuth client.
	Scopes []string `json:"scopes,omitempty"`
}

// CredentialPart names a template of an [APICredential].
type CredentialPart struct {
	// Scheme is the name of the security scheme.
	Scheme string
	// Field is value, user or client_id.
	Field string
}

// StoredHeader describes a stored secret value of a header or a credential.
type StoredHeader struct {
	// Ends are the last characters of the value.
	Ends string `json:"ends_in"`
	// Set is when the value was written.
	Set time.Time `json:"set_at"`
}

// MCPSecrets are the stored secrets of a server.
type MCPSecrets struct {
	// Headers are the values of secret headers.
	Headers map[string]secret.Secret
	// Credentials are the values of secret credentials, by the names of their security schemes.
	Credentials map[string]secret.Secret
}

// mostSchemes bounds the credentials of a server.
const mostSchemes = 32

// The fields of credentials with templates.
const (
	CredentialValue    = "value"
	CredentialUser     = "user"
	CredentialClientID = "client_id"
)

func (c APICredential) equal(other APICredential) bool {
	return c.Value == other.Value && c.User == other.User && c.ClientID == other.ClientID && c.TokenURL == other.TokenURL &&
		slices.Equal(c.Scopes, other.Scopes)
}

// parts returns the templates that are not empty, by field, in order.
func (c APICredential) parts() []struct{ field, text string } {
	all := []struct{ field, text string }{
		{CredentialValue, c.Value},
		{CredentialUser, c.User},
		{CredentialClientID, c.ClientID},
	}
	return slices.DeleteFunc(all, func(p struct{ field, text string }) bool { return p.text == "" })
}

// checkCredentials checks the credentials of an openapi server and the names of stored ones. The service compares them with the
// document.
func checkCredentials(c *checker, credentials map[string]APICredential, stored map[string]StoredHeader) {
	c.want(len(credentials)+len(stored) <= mostSchemes, "there are too many credentials", "send at most 32")
	for _, scheme := range slices.Sorted(maps.Keys(stored)) {
		c.want(isTokenName(scheme), "secret_credentials: the credential "+schemeNamed(scheme)+" cannot be set",
			"use the name of a security scheme of the document")
	}
	for _, scheme := range slices.Sorted(maps.Keys(credentials)) {
		one, where := credentials[scheme], "credentials: the credential "+schemeNamed(scheme)
		c.want(isTokenName(scheme), where+" cannot be set", "use the name of a security scheme of the document")
		_, hidden := stored[scheme]
		c.want(!hidden || one.Value == "", where+" has two values", "send it in value_template or in secret_credentials")
		c.want(hidden || one.Value != "", where+" has no value", "send value_template, or the value in secret_credentials")
		c.want(one.User == "" || one.ClientID == "", where+" has both a user and a client", "leave out the one that its scheme does not take")
		for _, p := range one.parts() {
			t, what := ParseHeaderTemplate(p.text)
			c.want(what == "", where+": "+p.field+"_template "+what, "write text and ${name} for a token of the run")
			c.want(what != "" || len(t) > 1 || p.field != CredentialValue, where+": value_template is a secret that everybody could read",
				"send it in secret_credentials, or write ${name} for a token of the run")
		}
		c.want((one.ClientID == "") == (one.TokenURL == ""), where+" has a client or a token_url, and not both",
			"send client_id_template and token_url for OAuth client credentials")
		c.want(one.TokenURL == "" || isBaseURL(one.TokenURL, false), where+": token_url cannot be used",
			"write it as https://host/path, without user, fragment and ${}")
		c.want(one.ClientID != "" || len(one.Scopes) == 0, where+" has scopes without a client", "leave them out")
		c.scopes(where+": scopes", one.Scopes)
	}
}

// schemeNamed returns a scheme's name for an error. It does not repeat a text that cannot be a name.
func schemeNamed(scheme string) string {
	if !isTokenName(scheme) {
		return "of this name"
	}
	return strconv.Quote(scheme)
}

// fillCredentials fills templates with a run's tokens, and returns the tokens that were inserted.
func fillCredentials(
	credentials map[string]APICredential, tokens map[string]secret.Secret,
) (filled map[CredentialPart]secret.Secret, used []secret.Secret, err error) {
	for _, scheme := range slices.Sorted(maps.Keys(credentials)) {
		one := credentials[scheme]
		for _, p := range one.parts() {
			t, what := ParseHeaderTemplate(p.text)
			if what != "" { // it was checked when it was written
				return nil, nil, invalid("credential template", "the credential "+schemeNamed(scheme)+" "+what, "change it")
			}
			value, err := t.Fill(tokens)
			if err != nil {
				return nil, nil, err
			}
			if filled == nil {
				filled = make(map[CredentialPart]secret.Secret, len(credentials))
			}
			filled[CredentialPart{scheme, p.field}] = value
			for _, name := range t.Names() {
				used = append(used, tokens[name])
			}
		}
	}
	return filled, used, nil
}

// checkStoredCredentials checks values that a write stores.
func checkStoredCredentials(c *checker, values map[string]secret.Secret) {
	for scheme, value := range values {
		c.want(value.Empty() || isTokenName(scheme), "secret_credentials: the credential "+schemeNamed(scheme)+" cannot be set",
			"use the name of a security scheme of the document")
		text := value.Reveal()
		c.want(sendable(text) && len(text) <= longestHeader, "secret_credentials: the value of "+schemeNamed(scheme)+" cannot be sent",
			"write it on one line, of at most 8 KiB")
	}
}
