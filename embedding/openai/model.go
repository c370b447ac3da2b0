package openai

import (
	"cmp"
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

const op = "embedding openai"

const (
	// Default is the default model.
	Default = "text-embedding-3-small"
	// Base is the vendor's address.
	Base = "https://api.openai.com/v1"
	// KeyVariable is the environment variable that usually holds the key. This package does not
	// read it.
	KeyVariable = "OPENAI_API_KEY"
	// BaseVariable is the environment variable for another address.
	BaseVariable = "OPENAI_BASE_URL"
)

// These bound the texts and bytes of a call. A token has at least one byte, so the vendor's bound
// of 300,000 tokens holds. Fewer texts than the vendor takes keep responses small.
const (
	mostTexts = 256
	mostBytes = 250_000
)

// Model is an [embedding.Model]. It is safe for concurrent use.
type Model struct {
	name, provider, model string
	key                   secret.Secret
	family                family
	caller                batch.Caller
}

// family describes a group of models by their name.
type family struct {
	begins string
	// dimensions is the default.
	dimensions int
	// most is the largest number of dimensions.
	most int
	// fixed models take no number of dimensions.
	fixed  bool
	tokens int
}

// families are OpenAI's models (developers.openai.com/api/docs/models/text-embedding-3-large and
// its siblings).
var families = []family{
	{begins: "text-embedding-3-small", dimensions: 1536, most: 1536, tokens: 8191},
	{begins: "text-embedding-3-large", dimensions: 3072, most: 3072, tokens: 8191},
	{begins: "text-embedding-ada-002", dimensions: 1536, fixed: true, tokens: 8191},
}

// Option changes how a model is called.
type Option func(*Model) error

// BaseURL sends the calls to another server, such as http://127.0.0.1:8000/v1. "" keeps OpenAI's.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !vendor.Address(address) {
			return vendor.NotSent(op, event.ErrInvalid, "the base URL of the server is no address", "write it as https://host/v1, without a user")
		}
		m.caller.Base = strings.TrimSuffix(address, "/")
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

// Named sets the provider's name and its title in messages.
func Named(provider, title string) Option {
	return func(m *Model) error {
		m.provider, m.caller.Title = provider, title
		return nil
	}
}

// Sources set where hints of errors say that key and address come from.
func Sources(key, base string) Option {
	return func(m *Model) error {
		m.caller.KeyNext, m.caller.Next = "look at "+cmp.Or(key, KeyVariable), "look at "+cmp.Or(base, BaseVariable)
		return nil
	}
}

var names = lazyre.New(`^[A-Za-z0-9@][A-Za-z0-9._:/@-]{0,199}$`)

// New returns a model with its server's name. It makes no connection. key may be empty for a server
// that needs none. It returns an [*event.Error] of kind ErrInvalid.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, vendor.NotSent(op, event.ErrInvalid, "there is no model of embeddings of such a name",
			"name one as the server does, such as "+Default)
	}
	m := &Model{
		model: name, provider: "openai", key: key,
		caller: batch.Caller{
			Op: op, Title: "OpenAI", Base: Base, Client: vendor.Client(), Key: key, Said: said, Long: long,
			KeyNext: "look at " + KeyVariable, Next: "look at the address",
		},
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	m.name = m.provider + ":" + name
	if m.provider == "openai" {
		for _, f := range families {
			if strings.HasPrefix(name, f.begins) {
				m.family = f
			}
		}
	}
	return m, nil
}

// Info implements [embedding.Model].
func (m *Model) Info() embedding.Info {
	return embedding.Info{Name: m.name, Dimensions: m.family.dimensions, MaxTokens: m.family.tokens}
}

// Embed implements [embedding.Model]. Its models embed queries and documents alike.
func (m *Model) Embed(ctx context.Context, req *embedding.Request) (*embedding.Response, error) {
	if err := batch.Check(op, req); err != nil {
		return nil, err
	}
	if req.Dimensions > 0 && (m.family.fixed || m.family.most > 0 && req.Dimensions > m.family.most) {
		return nil, vendor.NotSent(op, event.ErrUnsupported, "the model %q has no vectors of %d dimensions",
			"leave the dimensions out", m.model, req.Dimensions)
	}
	dimensions := cmp.Or(req.Dimensions, m.family.dimensions)
	return m.caller.Run(ctx, batch.Split(req.Texts, mostTexts, mostBytes), dimensions, 1, func(
		ctx context.Context, texts []string,
	) ([][]float32, event.Usage, bool, error) {
		return m.call(ctx, texts, req.Dimensions, dimensions)
	})
}

// body is the request body.
type body struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// answer is the response body.
type answer struct {
	Data []struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
	Usage *struct {
		Prompt int64 `json:"prompt_tokens"`
		Total  int64 `json:"total_tokens"`
	} `json:"usage"`
}

func (m *Model) call(ctx context.Context, texts []string, asked, dimensions int) (vectors [][]float32, u event.Usage, known bool, err error) {
	b, err := json.Marshal(body{m.model, texts, asked})
	if err != nil {
		return nil, u, false, err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if !m.key.Empty() {
		header.Set("Authorization", "Bearer "+m.key.Reveal())
	}
	data, _, err := m.caller.Post(ctx, "/embeddings", header, b, batch.Bound(len(texts), dimensions))
	if err != nil {
		return nil, u, false, err
	}
	var a answer
	if json.Unmarshal(data, &a) != nil {
		return nil, u, false, m.caller.Wrong("it is not JSON with vectors")
	}
	vectors = make([][]float32, len(texts))
	for i := range a.Data {
		at := i
		if p := a.Data[i].Index; p != nil {
			at = *p
		}
		if at < 0 || at >= len(vectors) || vectors[at] != nil {
			return nil, u, false, m.caller.Wrong("a vector belongs to no text, or two to the same")
		}
		vectors[at] = a.Data[i].Embedding
	}
	if a.Usage != nil && (a.Usage.Prompt > 0 || a.Usage.Total > 0) {
		known = true
		u.Input = cmp.Or(a.Usage.Prompt, a.Usage.Total)
		u.Total = u.Input
	}
	return vectors, u, known, nil
}

// said returns the code and the message of an error response. OpenAI's are below "error", others'
// at the top.
func said(_ http.Header, data []byte) (code, message string) {
	var all struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	_ = json.Unmarshal(data, &all) // an unreadable body gives no message
	var e struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(all.Error, &e) != nil {
		_ = json.Unmarshal(all.Error, &e.Message)
	}
	word, _ := e.Code.(string)
	return cmp.Or(word, e.Type), cmp.Or(e.Message, all.Message, all.Detail)
}

// long recognises the errors of OpenAI, vLLM and llama.cpp for a text that is too long.
func long(code, message string) bool {
	return code == "context_length_exceeded" || strings.Contains(message, "maximum context length") ||
		strings.Contains(message, "maximum input length") || strings.Contains(message, "too large to process") || code == "exceed_context_size_error"
}
