package openapitool

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// Options say how the operations of a document are called. The zero value calls the server that the document names, without
// credentials.
type Options struct {
	// Name is the name of the API for users and logs. Default is the document's title.
	Name string
	// Server replaces the servers of the document, such as "https://api.example/v2".
	Server string
	// Variables set variables of the document's servers; others have their defaults. A model never sets them.
	Variables map[string]string
	// Credentials are used for the security schemes of the document, by the name of the scheme.
	Credentials map[string]Credential
	// OtherSchemes allows credentials for schemes that the document does not have, and fields that a scheme does not take. They are
	// an error otherwise.
	OtherSchemes bool
	// Headers are sent with each request. Values are templates, like those of [Credential].
	Headers map[string]secret.Secret
	// Fill returns the value of ${name} in a template, or an empty secret if there is none. Nil takes the secrets of the run
	// ([tool.SecretOf]). It is safe for concurrent use.
	Fill func(ctx context.Context, name string) secret.Secret

	// Only lists the operations that become tools, by the names of the tools, as patterns of [path.Match]. Nil is all.
	Only []string
	// Prefix is put in front of each tool's name.
	Prefix string
	// Reserved lists names that the agent's other tools have.
	Reserved []string
	// IdempotencyHeader is a header in which the server takes a key, such as "Idempotency-Key". It makes POST and PATCH
	// idempotent.
	IdempotencyHeader string
	// Retry is the policy for operations that may be repeated. Zero is three attempts; one attempt is none.
	Retry tool.Retry
	// Timeout bounds one attempt of a call. 0 is the agent's limit for tools.
	Timeout time.Duration

	// Transport sends the requests. Nil is like [http.DefaultTransport]. For documents and addresses of others, use a
	// netguard.Guard.
	Transport http.RoundTripper
	// MaxDocument bounds the document in bytes. Default 16 MiB.
	MaxDocument int
	// MaxOperations bounds the number of tools; other operations are left out. Default 2000.
	MaxOperations int
	// MaxResponse bounds a response in bytes. Default 8 MiB.
	MaxResponse int
	// MaxText bounds the text of a result in bytes; the rest is cut. Default 256 KiB.
	MaxText int
}

// Credential is what one security scheme needs. All values but TokenURL and Scopes are templates: ${name} stands for a secret of the
// run, and a call without that secret fails before anything is sent.
type Credential struct {
	// Token is an API key or a bearer token.
	Token secret.Secret
	// User and Password are for basic authentication. A user with a colon is an error of the call.
	User     string
	Password secret.Secret
	// ClientID and ClientSecret are for OAuth client credentials. The token is requested when it is first needed.
	ClientID     string
	ClientSecret secret.Secret
	// TokenURL is where the token is requested. Empty is the document's.
	TokenURL string
	// Scopes are requested with the token.
	Scopes []string
}

func (o Options) withDefaults() Options {
	o.MaxDocument = cmp.Or(o.MaxDocument, 16<<20)
	o.MaxOperations = cmp.Or(o.MaxOperations, 2000)
	o.MaxResponse = cmp.Or(o.MaxResponse, 8<<20)
	o.MaxText = cmp.Or(o.MaxText, 256<<10)
	o.Retry.Attempts = cmp.Or(o.Retry.Attempts, 3)
	if o.Fill == nil {
		o.Fill = tool.SecretOf
	}
	return o
}
