package gemini

import (
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/secret"
)

const op = "model gemini"

// Model is a [model.Model]. It caches the encodings of recent conversations, at most 64 MiB, so
// callers must not change a block after it was sent; the loop never does. A Model is safe for
// concurrent use.
type Model struct {
	kept reqcache.Histories[encoder, *encoder]
	// mixed caches the conversations of requests for which [Model.mixes] is true.
	mixed reqcache.Histories[encoder, *encoder]
	forms schema.Forms

	// name is the vendor's name of the model, provider the prefix before it.
	name, provider string
	generation     int
	key            secret.Secret
	base           string
	// keyFrom and baseFrom name the sources of key and address, for hints.
	keyFrom, baseFrom string
	stall             time.Duration
	client            *http.Client

	level    Level
	thoughts *bool
	safety   []SafetySetting
	cached   string

	// vertex is set for Vertex AI. In its express mode, project and location are empty.
	vertex            bool
	project, location string
	token             TokenSource
}

var _ model.Checker = (*Model)(nil)

// The default model, and environment variables. This package reads no variable.
const (
	// Default is the model for users who have a key and name no model: the vendor's newest
	// stable model for agents.
	Default = "gemini-3.6-flash"
	// KeyVariable usually holds the key. The vendor's tools read OtherKeyVariable before
	// it. BaseVariable holds another address.
	KeyVariable      = "GEMINI_API_KEY"
	OtherKeyVariable = "GOOGLE_API_KEY"
	BaseVariable     = "GOOGLE_GEMINI_BASE_URL"
	// VertexBaseVariable holds another address of Vertex AI.
	VertexBaseVariable = "GOOGLE_VERTEX_BASE_URL"
)

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// Info implements [model.Model]. The name is "gemini:", or the prefix set by [Named], and the
// vendor's name. Models before Gemini 3 take an output schema only without tools, so Output is
// false for them and the schema goes into the prompt.
func (m *Model) Info() model.Info {
	return model.Info{Name: m.provider + ":" + m.name, ContextWindow: window(m.name), Output: m.generation >= levels}
}

// Level is the vendor's level of thinking.
type Level string

// The levels. docs/thinking lists those of each model.
const (
	LevelMinimal Level = "MINIMAL"
	LevelLow     Level = "LOW"
	LevelMedium  Level = "MEDIUM"
	LevelHigh    Level = "HIGH"
)

// SafetySetting sets the probability from which the vendor blocks a category, in its own
// words, such as HARM_CATEGORY_HARASSMENT and BLOCK_ONLY_HIGH (docs/safety-settings).
type SafetySetting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
}

// TokenSource returns an OAuth access token with the scope
// https://www.googleapis.com/auth/cloud-platform. It should cache the token until it
// expires, and must be safe for concurrent use.
type TokenSource func(context.Context) (string, error)
