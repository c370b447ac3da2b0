package openai

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/secret"
)

const op = "model openai"

// Model is a [model.Model]. It caches the encodings of recent conversations, at most 64 MiB, so
// callers must not change a block after it was sent; the loop never does. A Model is safe for
// concurrent use.
type Model struct {
	kept  reqcache.Histories[encoder, *encoder]
	forms schema.Forms

	name   string
	prefix string
	title  string
	key    secret.Secret
	base   string
	// keyFrom and baseFrom name the sources of key and address, for hints.
	keyFrom, baseFrom string
	// vendors is set if the address is OpenAI's own.
	vendors bool
	api     API
	thinks  bool
	effort  string
	// outputs is set if the model has structured outputs.
	outputs  bool
	schemas  *bool
	cacheKey string
	// retention is how long the vendor caches prompt prefixes.
	retention string
	// strict is set if tools are strict whenever their schemas allow it.
	strict bool
	// family is the name of the vendor's model behind a deployment; "" means that it is name.
	family string
	// azure is set for Azure's addresses. version is the version in the address, or empty.
	azure   bool
	version string
	// dialect describes the differences from OpenAI's server. host is the server's host.
	dialect Dialect
	host    string
	stall   time.Duration
	client  *http.Client
}

var _ model.Checker = (*Model)(nil)

var names = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$`)

// The default model, environment variables and Ollama's address. This package reads no
// variable.
const (
	// Default is the model for users who have a key and name no model.
	Default = "gpt-6.1-sol"
	// KeyVariable usually holds the key, and BaseVariable another address.
	KeyVariable  = "OPENAI_API_KEY"
	BaseVariable = "OPENAI_BASE_URL"
	// Ollama is Ollama's default address.
	Ollama = "http://127.0.0.1:11434/v1"

	vendorsAddress = "https://api.openai.com/v1"
)

// isVendors reports whether an address is OpenAI's own, in any region.
func isVendors(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
}

// API selects one of OpenAI's two APIs for model calls.
type API string

// Option configures a [Model].
type Option func(*Model) error

// DefaultStall is the default of [Stall]. The API sends no pings, so a model that reasons
// silently sends nothing.
const DefaultStall = 5 * time.Minute

// wrong returns the error for an invalid configuration.
func wrong(message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// The APIs.
const (
	Responses       API = "responses"
	ChatCompletions API = "chat completions"
)
