// Package ollama embeds texts with the models of an Ollama server through its API /api/embed
// (docs.ollama.com/api/embed). A text that is too long is an error: the server is told not to cut
// it.
package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/internal/batch"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/vendor"
	"github.com/braidrun/braid/secret"
)

const op = "embedding ollama"

// Base is the address of an Ollama server on this machine.
const Base = "http://127.0.0.1:11434"

// These bound the texts and bytes of a call: the server computes all of it before it responds.
const (
	mostTexts = 64
	mostBytes = 250_000
)

// Model is an [embedding.Model]. It is safe for concurrent use.
type Model struct {
	model  string
	key    secret.Secret
	caller batch.Caller
}

// Option changes how a model is called.
type Option func(*Model) error

// BaseURL sends the calls to another server, such as http://192.168.1.5:11434. It removes a "/v1"
// at the end. "" keeps this machine's.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !vendor.Address(address) {
			return vendor.NotSent(op, event.ErrInvalid, "the base URL of Ollama is no address", "write it as http://host:11434, without a user")
		}
		m.caller.Base = strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/v1")
		return nil
	}
}

// HTTPClient sends the calls through c.
func HTTPClient(c *http.Client) Option {
	return func(m *Model) error {
		if c == nil {
			return vendor.NotSent(op, event.ErrInvalid, "there is no HTTP client", "leave the option out, or give a client")
		}
		m.caller.Client = c
		return nil
	}
}

// Key is sent to a server that needs a key. Ollama itself needs none.
func Key(key secret.Secret) Option {
	return func(m *Model) error {
		m.key, m.caller.Key = key, key
		return nil
	}
}

var names = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$`)

// New returns a model with a name of "ollama list". It makes no connection. It returns an
// [*event.Error] of kind ErrInvalid.
func New(name string, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, vendor.NotSent(op, event.ErrInvalid, "ollama has no model of such a name",
			"name one as \"ollama list\" does, such as nomic-embed-text")
	}
	m := &Model{model: name, caller: batch.Caller{
		Op: op, Title: "Ollama", Base: Base, Client: vendor.Client(), Said: said, Long: long,
		KeyNext: "check the key", Next: "start it with \"ollama serve\"",
	}}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Info implements [embedding.Model]. Only the server knows the properties of a local model.
func (m *Model) Info() embedding.Info { return embedding.Info{Name: "ollama:" + m.model} }

// Embed implements [embedding.Model]. The server embeds queries and documents alike.
func (m *Model) Embed(ctx context.Context, req *embedding.Request) (*embedding.Response, error) {
	if err := batch.Check(op, req); err != nil {
		return nil, err
	}
	return m.caller.Run(ctx, batch.Split(req.Texts, mostTexts, mostBytes), req.Dimensions, 1, func(
		ctx context.Context, texts []string,
	) ([][]float32, event.Usage, bool, error) {
		return m.call(ctx, texts, req.Dimensions)
	})
}

type body struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Truncate   bool     `json:"truncate"`
	Dimensions int      `json:"dimensions,omitempty"`
}

func (m *Model) call(ctx context.Context, texts []string, asked int) (vectors [][]float32, u event.Usage, known bool, err error) {
	b, err := json.Marshal(body{Model: m.model, Input: texts, Dimensions: asked})
	if err != nil {
		return nil, u, false, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if !m.key.Empty() {
		header.Set("Authorization", "Bearer "+m.key.Reveal())
	}
	data, _, err := m.caller.Post(ctx, "/api/embed", header, b, batch.Bound(len(texts), asked))
	if err != nil {
		return nil, u, false, err
	}
	var a struct {
		Embeddings [][]float32 `json:"embeddings"`
		Prompt     *int64      `json:"prompt_eval_count"`
	}
	if json.Unmarshal(data, &a) != nil {
		return nil, u, false, m.caller.Wrong("it is not JSON with vectors")
	}
	if a.Prompt != nil {
		u.Input, u.Total, known = *a.Prompt, *a.Prompt, true
	}
	return a.Embeddings, u, known, nil
}

// said returns the message of an error response.
func said(_ http.Header, data []byte) (code, message string) {
	var all struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(data, &all) // an unreadable body gives no message
	return "", all.Error
}

func long(_, message string) bool {
	return strings.Contains(message, "exceeds the context length") || strings.Contains(message, "exceeds maximum context length")
}
