package gemini

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
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

var names = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)

// New returns the model with the vendor's name, such as "gemini-3.6-flash". It makes no
// connection and reads nothing from the environment; package models does. The error is
// an [*event.Error]: ErrInvalid for an invalid name or option, ErrModelAuth for a missing
// key.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) || strings.Contains(name, "..") {
		return nil, wrong("Google has no model of such a name", "name one as the vendor does, such as "+Default)
	}
	m := &Model{
		name: name, provider: "gemini", generation: generation(name), key: key, stall: DefaultStall, client: &http.Client{},
		keyFrom: KeyVariable, baseFrom: BaseVariable,
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if key.Empty() && m.token == nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there is no key for the Gemini API",
			Hint: "set " + KeyVariable + ", or give a key",
		}
	}
	switch {
	case m.level != "" && m.generation < levels:
		return nil, wrong("this model does not think by a level", "leave the level out, or take Gemini 3 or later")
	case m.level == LevelMinimal && !m.minimal():
		return nil, wrong("this model does not have the level MINIMAL", "use LOW, MEDIUM or HIGH")
	}
	if m.token != nil && m.keyFrom == KeyVariable {
		m.keyFrom = "the credentials of Google Cloud"
	}
	return m, nil
}

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

// Check implements [model.Checker].
func (m *Model) Check(req *model.Request) error {
	if req == nil {
		return notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a request")
	}
	if _, err := m.appendHead(nil, req); err != nil {
		return err
	}
	if err := unsupported(req.Messages); err != nil {
		return err
	}
	_, err := m.tail(req)
	return err
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		body, back, err := m.body(req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		g := idle.New(ctx, m.stall)
		defer g.End()
		x := exchange{action: streaming, body: body, attempt: req.Attempt}
		x.header, err = m.headers(&req.Options)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		err = m.post(g, &x)
		left := 0
		if refusesSignature(err) {
			var bare *model.Request
			if bare, left = bound.Without(req, unsigned); left > 0 {
				if body, back, err = m.body(bare); err == nil {
					x.body = body
					err = m.post(g, &x)
				}
			}
		}
		if err != nil {
			yield(model.Chunk{}, m.failure(g, &x, err))
			return
		}
		defer x.answer.Body.Close()
		if left > 0 && !yield(bound.Report(left, true), nil) {
			return
		}
		in, err := m.events(g, &x)
		if err != nil {
			yield(model.Chunk{}, m.failure(g, &x, err))
			return
		}
		s := stream{decoder: decoder{names: back, yield: yield, serial: req.ToolChoice.Serial}, in: in, end: g.Cancel}
		s.perPrompt = m.generation < levels
		if err := s.run(); err != nil && !s.left {
			yield(model.Chunk{}, m.failure(g, &x, err))
		}
	}
}
