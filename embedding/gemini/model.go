// Package gemini embeds texts through Google's Gemini API.
//
// The API is described on ai.google.dev/gemini-api/docs/embeddings and
// ai.google.dev/api/embeddings: batchEmbedContents with at most 100 texts. gemini-embedding-001 has
// a member for the task; gemini-embedding-2 reads the task in front of the text.
package gemini

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

const op = "embedding gemini"

const (
	// Default is the default model.
	Default = "gemini-embedding-2"
	// Base is the vendor's address.
	Base = "https://generativelanguage.googleapis.com"
	// KeyVariable is the environment variable that usually holds the key. This package does not
	// read it.
	KeyVariable = "GEMINI_API_KEY"
	// OtherKeyVariable is used if KeyVariable is not set.
	OtherKeyVariable = "GOOGLE_API_KEY"
	// BaseVariable is the environment variable for another address.
	BaseVariable = "GOOGLE_GEMINI_BASE_URL"
)

// These bound the texts and bytes of a call.
const (
	mostTexts = 100
	mostBytes = 200_000
)

// Model is an [embedding.Model]. It is safe for concurrent use.
type Model struct {
	model  string
	key    secret.Secret
	caller batch.Caller
	// prefixes is set for models that read the task in front of the text.
	prefixes bool
	tokens   int
}

// Option changes how a model is called.
type Option func(*Model) error

// BaseURL sends the calls to another address. "" keeps the vendor's.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !vendor.Address(address) {
			return vendor.NotSent(op, event.ErrInvalid, "the base URL of Gemini is no address", "write it as https://host, without a user")
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

// Sources set where hints of errors say that key and address come from.
func Sources(key, base string) Option {
	return func(m *Model) error {
		m.caller.KeyNext, m.caller.Next = "look at "+cmp.Or(key, KeyVariable), "look at "+cmp.Or(base, BaseVariable)
		return nil
	}
}

var names = lazyre.New(`^[a-z][a-z0-9.-]{0,99}$`)

// dimensions is the default and largest number of dimensions, fewestDimensions the smallest.
const (
	dimensions       = 3072
	fewestDimensions = 128
)

// New returns a model with the vendor's name. It makes no connection. It returns an [*event.Error]
// of kind ErrInvalid, or ErrModelAuth without a key.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, vendor.NotSent(op, event.ErrInvalid, "Gemini has no model of such a name", "name one as the vendor does, such as "+Default)
	}
	m := &Model{
		model: name, key: key, prefixes: strings.HasPrefix(name, "gemini-embedding-2"),
		caller: batch.Caller{
			Op: op, Title: "Gemini", Base: Base, Client: vendor.Client(), Key: key, Said: said, Long: long,
			KeyNext: "look at " + KeyVariable, Next: "look at the address",
		},
	}
	switch {
	case m.prefixes:
		m.tokens = 8192
	case strings.HasPrefix(name, "gemini-embedding-001"):
		m.tokens = 2048
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if key.Empty() {
		return nil, vendor.NotSent(op, event.ErrModelAuth, "there is no key for Gemini", "set "+KeyVariable)
	}
	return m, nil
}

// Info implements [embedding.Model].
func (m *Model) Info() embedding.Info {
	info := embedding.Info{Name: "gemini:" + m.model, MaxTokens: m.tokens}
	if m.tokens > 0 {
		info.Dimensions = dimensions
	}
	return info
}

// Embed implements [embedding.Model].
func (m *Model) Embed(ctx context.Context, req *embedding.Request) (*embedding.Response, error) {
	if err := batch.Check(op, req); err != nil {
		return nil, err
	}
	if n := req.Dimensions; n > dimensions || n > 0 && n < fewestDimensions {
		return nil, vendor.NotSent(op, event.ErrUnsupported, "Gemini has no vectors of %d dimensions", "ask for 128 to 3072", n)
	}
	return m.caller.Run(ctx, batch.Split(req.Texts, mostTexts, mostBytes), cmp.Or(req.Dimensions, m.Info().Dimensions), 1, func(
		ctx context.Context, texts []string,
	) ([][]float32, event.Usage, bool, error) {
		return m.call(ctx, texts, req)
	})
}

type (
	part struct {
		Text string `json:"text"`
	}
	content struct {
		Parts []part `json:"parts"`
	}
	one struct {
		Model      string  `json:"model"`
		Content    content `json:"content"`
		Task       string  `json:"taskType,omitempty"`
		Dimensions int     `json:"outputDimensionality,omitempty"`
	}
)

// ask returns the request for one text.
func (m *Model) ask(text string, req *embedding.Request) one {
	o := one{Model: "models/" + m.model, Dimensions: req.Dimensions}
	switch {
	case m.prefixes && req.Task == embedding.Query:
		text = "task: search result | query: " + text
	case m.prefixes && req.Task == embedding.Document:
		text = "title: none | text: " + text
	case req.Task == embedding.Query:
		o.Task = "RETRIEVAL_QUERY"
	case req.Task == embedding.Document:
		o.Task = "RETRIEVAL_DOCUMENT"
	}
	o.Content = content{[]part{{text}}}
	return o
}

func (m *Model) call(ctx context.Context, texts []string, req *embedding.Request) (vectors [][]float32, u event.Usage, known bool, err error) {
	all := make([]one, len(texts))
	for i, text := range texts {
		all[i] = m.ask(text, req)
	}
	b, err := json.Marshal(map[string][]one{"requests": all})
	if err != nil {
		return nil, u, false, err
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Goog-Api-Key": {m.key.Reveal()}}
	data, _, err := m.caller.Post(ctx, "/v1beta/models/"+m.model+":batchEmbedContents", header, b, batch.Bound(len(texts), dimensions))
	if err != nil {
		return nil, u, false, err
	}
	var a struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
		Usage struct {
			Prompt int64 `json:"promptTokenCount"`
		} `json:"usageMetadata"`
	}
	if json.Unmarshal(data, &a) != nil {
		return nil, u, false, m.caller.Wrong("it is not JSON with vectors")
	}
	for i := range a.Embeddings {
		vectors = append(vectors, a.Embeddings[i].Values)
	}
	u.Input, u.Total = a.Usage.Prompt, a.Usage.Prompt
	return vectors, u, u.Input > 0, nil
}

// said returns the code and the message of an error response.
func said(_ http.Header, data []byte) (code, message string) {
	var all struct {
		Error struct {
			Status  string `json:"status"`
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(data, &all) // an unreadable body gives no message
	code = all.Error.Status
	for _, d := range all.Error.Details {
		if d.Reason != "" {
			code = d.Reason
		}
	}
	return code, all.Error.Message
}

func long(_, message string) bool {
	return strings.Contains(message, "exceeds the maximum number of tokens") || strings.Contains(message, "input token count")
}
