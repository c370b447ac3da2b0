// Package bedrock embeds texts with Amazon's Titan and Cohere's Embed on Amazon Bedrock.
//
// The models' parameters are in AWS's guide
// (bedrock/latest/userguide/model-parameters-titan-embed-text and model-parameters-embed, and its
// -v3 and -v4). Titan takes one text in a call, Cohere 96. AWS's SDK provides the signer and the
// configuration; nothing else of it is used.
package bedrock

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/internal/batch"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/internal/vendor"
)

const op = "embedding bedrock"

// Default is the default model.
const Default = "amazon.titan-embed-text-v2:0"

// Model is an [embedding.Model]. It is safe for concurrent use.
type Model struct {
	id     string
	family *family
	cfg    aws.Config
	signer *v4.Signer
	clock  sigv4.Clock
	caller batch.Caller
}

// family describes a group of models by their ids.
type family struct {
	id *lazyre.Regexp
	// sizes are the possible dimensions, the default first. A single size cannot be requested.
	sizes  []int
	tokens int
	// cohere is set for Embed.
	cohere bool
	// v4 is set for Embed's fourth generation.
	v4 bool
	// normalize is set for Titan's second generation.
	normalize bool
}

var families = []family{
	{id: lazyre.New(`^amazon\.titan-embed-text-v2`), sizes: []int{1024, 512, 256}, tokens: 8192, normalize: true},
	{id: lazyre.New(`^amazon\.titan-embed-(text-v1|g1-text)`), sizes: []int{1536}, tokens: 8192},
	{id: lazyre.New(`^cohere\.embed-v4`), sizes: []int{1536, 1024, 512, 256}, tokens: 128_000, cohere: true, v4: true},
	{id: lazyre.New(`^cohere\.embed-(english|multilingual)-v3`), sizes: []int{1024}, tokens: 512, cohere: true},
}

var profile = lazyre.New(`^(us-gov|[a-z]{2}|apac|global)\.`)

func familyOf(id string) *family {
	id = id[len(profile.FindString(id)):]
	for i := range families {
		if families[i].id.MatchString(id) {
			return &families[i]
		}
	}
	return nil
}

// Option changes how a model is called.
type Option func(*Model) error

// BaseURL sends the calls to another address. "" keeps that of the region.
func BaseURL(address string) Option {
	return func(m *Model) error {
		if address == "" {
			return nil
		}
		if !vendor.Address(address) {
			return vendor.NotSent(op, event.ErrInvalid,
				"the base URL of Amazon Bedrock is not an address", "write it as https://host, without a user")
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

// As names the model whose parameters apply, for an id that does not say, such as the ARN of a
// profile.
func As(id string) Option {
	return func(m *Model) error {
		m.family = familyOf(id)
		return nil
	}
}

var (
	ids     = lazyre.New(`^[a-z0-9][A-Za-z0-9.:/_-]{2,299}$`)
	regions = lazyre.New(`^[a-z]{2}(-[a-z]+)+-\d{1,2}$`)
)

// New returns a model with AWS's id. It makes no connection. It uses these fields of cfg: Region,
// which is required; BearerAuthTokenProvider, a Bedrock key, or else Credentials; BaseEndpoint. It
// returns an [*event.Error] of kind ErrInvalid, ErrUnsupported for a model that this package does
// not know, or ErrModelAuth without credentials.
func New(id string, cfg aws.Config, opts ...Option) (*Model, error) {
	switch {
	case !ids.MatchString(id):
		return nil, vendor.NotSent(op, event.ErrInvalid, "Amazon Bedrock has no model of such an id", "name one as AWS does, such as "+Default)
	case !regions.MatchString(cfg.Region):
		return nil, vendor.NotSent(op, event.ErrInvalid, "no region is set for Amazon Bedrock",
			"set AWS_REGION, or name a region")
	case cfg.BearerAuthTokenProvider == nil && cfg.Credentials == nil:
		return nil, vendor.NotSent(op, event.ErrModelAuth, "there are no credentials for Amazon Bedrock",
			"set AWS credentials in any of the usual ways")
	}
	host := "https://bedrock-runtime." + cfg.Region + ".amazonaws.com"
	if strings.HasPrefix(cfg.Region, "cn-") {
		host += ".cn"
	}
	m := &Model{id: id, family: familyOf(id), cfg: cfg, signer: v4.NewSigner(), caller: batch.Caller{
		Op: op, Title: "Amazon Bedrock", Base: host, Client: vendor.Client(), Said: said, Long: long,
		KeyNext: "look at AWS's credentials, and at the models that they may use", Next: "look at the region and the network",
	}}
	opts = append([]Option{BaseURL(aws.ToString(cfg.BaseEndpoint))}, opts...)
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if m.family == nil {
		return nil, vendor.NotSent(op, event.ErrUnsupported, "the model %q embeds no texts that Braid knows how to ask for",
			"use amazon.titan-embed-text-… or cohere.embed-…", id)
	}
	return m, nil
}

// Info implements [embedding.Model].
func (m *Model) Info() embedding.Info {
	return embedding.Info{Name: "bedrock:" + m.id, Dimensions: m.family.sizes[0], MaxTokens: m.family.tokens}
}

// These bound the texts and bytes of a call to Cohere. Titan takes one text in a call, and this
// package makes several calls at once.
const (
	mostTexts = 96
	mostBytes = 250_000
	atOnce    = 8
)

// Embed implements [embedding.Model]. Titan embeds queries and documents alike. For Cohere a text
// without a task is a document.
func (m *Model) Embed(ctx context.Context, req *embedding.Request) (*embedding.Response, error) {
	if err := batch.Check(op, req); err != nil {
		return nil, err
	}
	f := m.family
	if n := req.Dimensions; n > 0 && !slices.Contains(f.sizes, n) {
		return nil, vendor.NotSent(op, event.ErrUnsupported, "the model %q has no vectors of %d dimensions", "leave the dimensions out", m.id, n)
	}
	size, texts, beside := cmp.Or(req.Dimensions, f.sizes[0]), 1, atOnce
	if f.cohere {
		texts, beside = mostTexts, 1
	}
	return m.caller.Run(ctx, batch.Split(req.Texts, texts, mostBytes), size, beside, func(
		ctx context.Context, texts []string,
	) ([][]float32, event.Usage, bool, error) {
		body, err := m.body(texts, req)
		if err != nil {
			return nil, event.Usage{}, false, err
		}
		return m.call(ctx, body, batch.Bound(len(texts), size))
	})
}

// body returns the request body.
func (m *Model) body(texts []string, req *embedding.Request) ([]byte, error) {
	f := m.family
	if !f.cohere {
		body := map[string]any{"inputText": texts[0]}
		if f.normalize {
			body["normalize"], body["dimensions"] = true, cmp.Or(req.Dimensions, f.sizes[0])
		}
		return json.Marshal(body)
	}
	kind := "search_document"
	if req.Task == embedding.Query {
		kind = "search_query"
	}
	body := map[string]any{"texts": texts, "input_type": kind, "truncate": "NONE", "embedding_types": []string{"float"}}
	if f.v4 && req.Dimensions > 0 {
		body["output_dimension"] = req.Dimensions
	}
	return json.Marshal(body)
}

// counted is the response header with the number of input tokens.
const counted = "X-Amzn-Bedrock-Input-Token-Count"

var escapes = strings.NewReplacer(":", "%3A", "/", "%2F")

func (m *Model) call(ctx context.Context, body []byte, bound int64) (vectors [][]float32, u event.Usage, known bool, err error) {
	data, header, err := m.send(ctx, body, bound)
	if err != nil {
		return nil, u, false, err
	}
	var a struct {
		Embedding  []float32       `json:"embedding"`
		Tokens     *int64          `json:"inputTextTokenCount"`
		Embeddings json.RawMessage `json:"embeddings"`
	}
	var typed struct {
		Float [][]float32 `json:"float"`
	}
	switch {
	case json.Unmarshal(data, &a) != nil:
		return nil, u, false, m.caller.Wrong("it is not JSON with vectors")
	case !m.family.cohere:
		vectors = [][]float32{a.Embedding}
	case json.Unmarshal(a.Embeddings, &typed) == nil:
		vectors = typed.Float
	case json.Unmarshal(a.Embeddings, &vectors) != nil:
		return nil, u, false, m.caller.Wrong("it is not JSON with vectors")
	}
	n, err := strconv.ParseInt(header.Get(counted), 10, 64)
	if known = err == nil; a.Tokens != nil {
		n, known = *a.Tokens, true
	}
	u.Input, u.Total = n, n
	return vectors, u, known, nil
}

// send sends a call. If the signature is refused because the clocks differ, it signs once more with
// the service's time.
func (m *Model) send(ctx context.Context, body []byte, bound int64) ([]byte, http.Header, error) {
	for again := false; ; again = true {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.caller.Base+"/model/"+escapes.Replace(m.id)+"/invoke", bytes.NewReader(body))
		if err != nil {
			return nil, nil, err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
		ahead, begun := m.clock.Ahead(), time.Now()
		if err := m.authorize(ctx, req, body, ahead); err != nil {
			return nil, nil, err
		}
		data, header, err := m.caller.Do(ctx, req, bound)
		refused, ok := errors.AsType[*vendor.Refused](err)
		if again || !ok || m.cfg.BearerAuthTokenProvider != nil || m.cfg.DisableClockSkewCorrection {
			return data, header, err
		}
		if code, _ := said(refused.Header, refused.Body); !m.clock.Correct(ahead, code, refused.Header, begun, time.Now()) {
			return data, header, err
		}
	}
}

// authorize adds the key or a signature. ahead is how far the service's clock is ahead.
func (m *Model) authorize(ctx context.Context, req *http.Request, body []byte, ahead time.Duration) error {
	none := func(err error) error {
		if ctx.Err() != nil {
			return vendor.Ended(op, ctx)
		}
		return &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there are no credentials for Amazon Bedrock",
			Hint: "set AWS credentials in any of the usual ways", Err: err,
		}
	}
	if m.cfg.BearerAuthTokenProvider != nil {
		token, err := m.cfg.BearerAuthTokenProvider.RetrieveBearerToken(ctx)
		if err != nil {
			return none(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Value)
		return nil
	}
	keys, err := m.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return none(err)
	}
	sum := sha256.Sum256(body)
	if err := m.signer.SignHTTP(ctx, keys, req, hex.EncodeToString(sum[:]), "bedrock", m.cfg.Region, time.Now().Add(ahead)); err != nil {
		return none(err)
	}
	return nil
}

// said returns the code and the message of an error response.
func said(h http.Header, data []byte) (code, message string) {
	var all struct {
		Message string `json:"message"`
		Upper   string `json:"Message"`
	}
	_ = json.Unmarshal(data, &all) // an unreadable body gives no message
	code, _, _ = strings.Cut(h.Get("X-Amzn-Errortype"), ":")
	return code, cmp.Or(all.Message, all.Upper)
}

func long(_, message string) bool {
	return strings.Contains(message, "Too many input tokens") || strings.Contains(message, "expected maxLength") ||
		strings.Contains(message, "too many tokens")
}
