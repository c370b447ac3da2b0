package mcpauth

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Options describe a server, and this client to its authorization server. URL, Redirect and Store are required.
type Options struct {
	// Server is the name of the server for errors.
	Server string
	// URL is the address of the server: the protected resource.
	URL string
	// Redirect is the address to which the authorization server sends the user back.
	Redirect string
	// Key names the grant in the store; "" means the URL.
	Key string
	// Store keeps sign-ins and grants.
	Store Store

	// ClientMetadataURL is the address of this client's Client ID Metadata Document. It is used where the authorization
	// server supports such documents. "" means none.
	ClientMetadataURL string
	// ClientID and ClientSecret are those of a registered client; "" means none.
	ClientID     string
	ClientSecret secret.Secret
	// Issuer is the only authorization server that may get ClientID and ClientSecret. "" means the one that the MCP server
	// names, which may be hostile: set it if there is a secret.
	Issuer string
	// ClientName is the name with which the client registers itself where there is nothing else; default "Braid".
	ClientName string
	// NoRegistration turns dynamic registration off.
	NoRegistration bool

	// Scopes are asked for where the server's challenge names none. nil means those of the resource's metadata.
	Scopes []string
	// Patience is how long a sign-in may take; default 30 minutes.
	Patience time.Duration
	// Transport carries all requests; nil is Go's default. This is where a guard of outgoing connections goes.
	Transport http.RoundTripper
	// NewState returns a new value for the parameter "state", which nobody can guess. nil means 256 random bits.
	NewState func() (string, error)
	// Now returns the time; nil means [time.Now].
	Now func() time.Time
}

func (o *Options) withDefaults() Options {
	d := *o
	if d.Key == "" {
		d.Key = d.URL
	}
	if d.ClientName == "" {
		d.ClientName = "Braid"
	}
	if d.Patience <= 0 {
		d.Patience = 30 * time.Minute
	}
	if d.NewState == nil {
		d.NewState = func() (string, error) { return rand.Text() + rand.Text(), nil }
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return d
}

func (o *Options) check() error {
	switch {
	case !isHTTP(o.URL):
		return invalid(o.Server, "the address of the server is no http or https address", "correct it")
	case !isHTTP(o.Redirect):
		return invalid(o.Server, "the redirect address is no http or https address",
			"write it as http://127.0.0.1:PORT/callback or https://host/path")
	case o.Store == nil:
		return invalid(o.Server, "there is no store for grants", "set Store")
	case o.ClientMetadataURL != "" && !isDocumentURL(o.ClientMetadataURL):
		return invalid(o.Server, "the address of the client's metadata document cannot be used", "write it as https://host/path")
	case o.ClientID == "" && !o.ClientSecret.Empty():
		return invalid(o.Server, "there is a client secret and no client id", "set the client id, too")
	}
	return nil
}

// isDocumentURL holds what the draft of Client ID Metadata Documents wants of a client id.
func isDocumentURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") != "" && u.User == nil && u.Fragment == ""
}

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

func invalid(server, what, hint string) error {
	return fault(server, event.ErrInvalid, "cannot be signed in to: "+what, hint, nil)
}
