package agentcore

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
)

// Options configure a handler. A caller needs Token, an API key, or a key that Keys
// knows, unless TrustPlatform is set. The zero value accepts no caller.
type Options struct {
	// Service executes the runs. [ForAgent] makes one.
	Service *service.Service
	// Token is a bearer token of Tenant, which is "default" if empty.
	Token  secret.Secret
	Tenant string
	// Door authenticates for a server that has other handlers too: it knows the token and the
	// API keys. nil accepts Token only.
	Door *door.Door
	// TrustPlatform accepts /invocations and /ws without a credential and under any host name.
	// Set it only inside AgentCore Runtime: there the platform has checked both, and nobody else
	// reaches the port. Elsewhere it opens the agent to everybody who reaches the port.
	TrustPlatform bool
	// Runtime is the ARN that the AWS endpoints serve,
	// arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID. Empty disables them.
	Runtime string
	// Keys finds an AWS access key and its tenant by the key's id. With nil, the AWS endpoints
	// accept the bearer token only.
	Keys func(ctx context.Context, id string) (Key, bool)
	// Stream is the form of the stream for callers that ask for no other.
	Stream Stream
	// Card describes the agent to other agents; see [Card].
	Card Card
	// Health returns the health that /ping reports. If it is nil, returns "" or panics, the
	// handler derives the health from its tasks.
	Health func() Health
	// Debug enables the SDK's debug actions in the body of an invocation.
	Debug bool
	// Hosts are further host names of the handler, beside those of this machine.
	Hosts []string
	// Origins are other sites whose pages may call the handler.
	Origins []string
	// Base is a path prefix of all the handler's paths, such as "/braid"; empty is none.
	// Signatures cover the whole path. Next gets requests with the prefix.
	Base string
	// Next handles requests for other paths; nil responds 404.
	Next http.Handler
	// BodyBytes is the maximum size of a body; 0 means [DefaultBodyBytes].
	BodyBytes int64
	// BodyTime is the maximum time to receive a body; 0 means [DefaultBodyTime].
	BodyTime time.Duration
	// WriteTime is the timeout of one write, after which the reader counts as gone; 0 means
	// [DefaultWriteTime].
	WriteTime time.Duration
	// Grace is how long a run continues after its last reader left, if the invocation had an
	// amz-sdk-invocation-id. An SDK that repeats the invocation in that time reads on. 0 means
	// [DefaultGrace], a negative value means none. A run without such an id is cancelled at
	// once.
	Grace time.Duration
	// Observe is called after each request; nil disables it. route is one of a fixed set, never
	// the caller's text.
	Observe func(method, route string, status int, took time.Duration)
	// Refused is called with each error that the handler responds with; nil disables it.
	Refused func(err error)
	// Log receives one line per request; nil disables logging.
	Log *slog.Logger
}

// The defaults of [Options].
const (
	// DefaultBodyBytes is the platform's own limit of a payload.
	DefaultBodyBytes = 100 << 20
	DefaultBodyTime  = 2 * time.Minute
	DefaultWriteTime = 60 * time.Second
	DefaultGrace     = 10 * time.Second
)

// Key is the secret part of an AWS access key, and its owner.
type Key struct {
	Secret secret.Secret
	// Session is the session token of temporary keys; empty for other keys.
	Session secret.Secret
	// Tenant is the isolation boundary; User may be empty.
	Tenant, User string
}
