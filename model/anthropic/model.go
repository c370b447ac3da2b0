package anthropic

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/secret"
)

const op = "model anthropic"

// Model is a [model.Model]. It caches the encodings of recent conversations, at most 64 MiB, so
// callers must not change a block after it was sent; the loop never does. A Model is safe for
// concurrent use.
type Model struct {
	kept  reqcache.Histories[encoder, *encoder]
	forms schema.Forms

	name string
	// Exactly one of key (Anthropic's API), aws (Amazon Bedrock) and google (Vertex AI)
	// is set.
	key    secret.Secret
	aws    *cloud
	google *vertex
	base   string
	// keyFrom and baseFrom name the sources of key and address, for hints.
	keyFrom, baseFrom string
	version           string
	stall             time.Duration
	cache             CachePoints
	hour              bool
	client            *http.Client
	// defaults fill in the settings that a request leaves out. extraBetas are sent with every
	// request.
	defaults   *model.Options
	extraBetas []string
}

var (
	_ model.Checker   = (*Model)(nil)
	_ model.Counter   = (*Model)(nil)
	_ model.FileStore = (*Model)(nil)
)

var names = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$`)

// New returns the Claude model with the vendor's name, such as "claude-sonnet-5-5". It makes no
// connection and reads nothing from the environment; package models does. The error is an
// [*event.Error]: ErrInvalid for an invalid name or option, ErrModelAuth for a missing key.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, wrong("Anthropic has no model of such a name", "name one as the vendor does, such as "+Default)
	}
	if key.Empty() {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there is no key for Anthropic's API",
			Hint: "set " + KeyVariable + ", or give a key",
		}
	}
	m := &Model{name: name, key: key, stall: DefaultStall, cache: CacheAuto, client: provider.Client(), keyFrom: KeyVariable, baseFrom: BaseVariable}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// The default model, and environment variables. This package reads neither variable.
const (
	// Default is the model for users who have a key and name no model. The vendor recommends it
	// as the best combination of speed and intelligence.
	Default = "claude-sonnet-5-5"
	// KeyVariable usually holds the key, and BaseVariable the address of a gateway.
	KeyVariable  = "ANTHROPIC_API_KEY"
	BaseVariable = "ANTHROPIC_BASE_URL"
)

// Option configures a [Model].
type Option func(*Model) error

// DefaultStall is the default of [Stall]. The API sends a ping every few seconds while the
// model thinks.
const DefaultStall = 2 * time.Minute

// CachePoints selects where a request has cache points (build-with-claude/prompt-caching).
type CachePoints string

// cloud holds the credentials and the region for Bedrock.
type cloud struct {
	cfg aws.Config
	// clock learns the service's time from refused signatures. If fixed is set, it does not.
	clock sigv4.Clock
	fixed bool
}

// vertex holds the token, the project and the location for Vertex AI.
type vertex struct {
	project, location string
	token             func(context.Context) (string, error)
}

// wrong returns the error for an invalid configuration.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

const (
	// CacheAuto sets a point after the tools and instructions, and lets the API set one after
	// the newest message. The API looks back 20 blocks; for longer turns Braid adds points. The
	// encoded messages stay identical from request to request.
	CacheAuto CachePoints = "auto"
	// CacheExplicit sets all points explicitly, for gateways without the automatic point: after
	// the tools and instructions, after the newest message, and after the two user messages
	// before it.
	CacheExplicit CachePoints = "explicit"
	// CacheOff sets no cache points, for prompts that are sent only once.
	CacheOff CachePoints = "off"
)
