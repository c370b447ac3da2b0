package anthropic

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
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

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// Info implements [model.Model]. The name is "anthropic:", "bedrock:" or "vertex:" and
// the vendor's name.
func (m *Model) Info() model.Info {
	return model.Info{Name: m.whom(), ContextWindow: window(m.name), Output: schematic(m.name), Setups: m.setups()}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a, err := m.request(req, false)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		g := idle.New(ctx, m.stall)
		defer g.End()
		answer, err := m.post(g, &a)
		refused := a.kept.Sent > 0 && refusesThinking(err)
		if refused {
			if a, err = m.request(req, true); err == nil {
				answer, err = m.post(g, &a)
			}
		}
		if err != nil {
			yield(model.Chunk{}, m.failure(g, err))
			return
		}
		defer answer.Body.Close()
		in := g.Reading(answer.Body)
		d := decoder{names: a.names, yield: yield}
		if binds(m.name) {
			d.bind = newBinding(&a)
		}
		if n := len(a.kept.Drop); n > 0 {
			d.send(bound.Report(n, refused))
		}
		from, err := m.events(answer, in)
		if err == nil {
			err = d.run(from)
		}
		switch {
		case d.left:
		case err != nil:
			yield(model.Chunk{}, m.failure(g, err))
		default:
			g.Drain(in)
		}
	}
}

// post sends a request and returns the response once its header has arrived. [Model.events]
// reads the response.
func (m *Model) post(g *idle.Guard, a *asked) (*http.Response, error) {
	accept := eventsType
	if m.aws != nil {
		accept = framesType
	}
	answer, err := m.send(g, http.MethodPost, m.address(), accept, a.header, jsonType, bodyOf(a.body))
	if err != nil {
		return nil, err
	}
	if kind := contentType(answer.Header); answer.StatusCode != http.StatusOK || kind != accept && kind != jsonType {
		return nil, strange(g, answer)
	}
	return answer, nil
}
