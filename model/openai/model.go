package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
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

// New returns the model with its server's name, such as "gpt-6.1-sol". It makes no connection
// and reads nothing from the environment; package models does. The error is an [*event.Error]:
// ErrInvalid for an invalid name or option, ErrModelAuth for a missing key. Servers other than
// OpenAI's need no key.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, wrong("there can be no model of such a name", "name one as its server does, such as "+Default)
	}
	m := &Model{
		name: name, prefix: "openai", title: "OpenAI's API", key: key, base: vendorsAddress, vendors: true, thinks: reasons(name),
		keyFrom: KeyVariable, baseFrom: BaseVariable,
		stall: DefaultStall, client: provider.Client(),
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if m.schemas == nil {
		m.outputs = m.vendors && holds(cmp.Or(m.family, name)) || m.dialect.Schemas
	} else {
		m.outputs = *m.schemas
	}
	if u, err := url.Parse(m.base); err == nil {
		m.host = strings.ToLower(u.Host)
	}
	if m.vendors && m.key.Empty() {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there is no key for " + m.title, Hint: "set " + m.keyFrom + ", or give a key",
		}
	}
	if m.api == "" {
		m.api = ChatCompletions
		if m.vendors {
			m.api = Responses
		}
	}
	return m, nil
}

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

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// Info implements [model.Model]. The name is "openai:", or the prefix set by [Named],
// and the server's name.
func (m *Model) Info() model.Info {
	info := model.Info{Name: m.prefix + ":" + m.name, Output: m.outputs}
	if m.vendors {
		info.ContextWindow = window(cmp.Or(m.family, m.name))
	}
	return info
}

// Check implements [model.Checker]. It builds a request and discards it.
func (m *Model) Check(req *model.Request) error {
	if req == nil {
		return nil
	}
	if _, err := m.header(req.Options.Headers); err != nil {
		return err
	}
	_, err := m.around(req, nil)
	return err
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		body, way, err := m.body(req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		g := idle.New(ctx, m.stall)
		defer g.End()
		answer, err := m.post(g, &req.Options, body)
		left := 0
		if refusesReasoning(err) {
			var bare *model.Request
			if bare, left = bound.Without(req, m.unsealed); left > 0 {
				if body, way, err = m.body(bare); err == nil {
					answer, err = m.post(g, &req.Options, body)
				}
			}
		}
		if err != nil {
			yield(model.Chunk{}, m.failure(g, err))
			return
		}
		defer answer.Body.Close()
		if left > 0 && !yield(bound.Report(left, true), nil) {
			return
		}
		s := stream{in: answer.in, events: m.decoder(way, yield)}
		if answer.in == nil {
			err = s.all(answer.whole)
		} else {
			err = s.run()
		}
		switch {
		case s.sender().left:
		case err != nil:
			yield(model.Chunk{}, m.failure(g, err))
		case answer.in != nil:
			g.Drain(s.in)
		}
	}
}

// back is what the decoder needs from the request.
type back struct {
	// names maps tool names that were changed for the wire back to the agent's.
	names map[string]string
	// absent are the members of the structured output that are null if absent.
	absent map[string]bool
	// nulled are the same for the arguments of strict tools, by tool.
	nulled map[string]map[string]bool
}

// decoder returns the decoder for an answer.
func (m *Model) decoder(way back, yield func(model.Chunk, error) bool) events {
	s := sender{names: way.names, yield: yield, arguments: arguments{nulled: way.nulled}}
	if len(way.absent) > 0 {
		s.absent = &filter{names: way.absent}
	}
	if m.api == Responses {
		return &responsesDecoder{to: s, runsCustom: m.host == xai}
	}
	return &chatDecoder{to: s, host: m.host}
}
