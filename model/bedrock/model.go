package bedrock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/schema"
)

const op = "model bedrock"

// Model is a [model.Model]. It caches the encodings of recent conversations, at most 64 MiB, so
// callers must not change a block after it was sent; the loop never does. A Model is safe for
// concurrent use.
type Model struct {
	histories reqcache.Histories[encoder, *encoder]
	forms     schema.Forms

	name string
	// plain is the model's id without a profile, if it is known.
	plain     string
	base      string
	family    family
	stall     time.Duration
	cache     CachePoints
	streaming Streaming
	guard     *Guardrail
	fields    map[string]json.RawMessage
	metadata  []byte
	tier      string
	latency   string
	client    *http.Client
	caller    *caller
}

var (
	_ model.Checker = (*Model)(nil)
	_ model.Counter = (*Model)(nil)
)

// names matches models, inference profiles and the ARNs of both.
var names = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`)

// longest is the API's bound for the length of an id.
const longest = 2048

// The default model, and environment variables. This package reads neither variable.
const (
	// Default is the model for users who have credentials and name no model. Its
	// profile is global: it works in every region.
	Default = "global.anthropic.claude-sonnet-4-6"
	// KeyVariable usually holds a Bedrock API key, and RegionVariable the region. The
	// other AWS credentials have their own variables.
	KeyVariable    = "AWS_BEARER_TOKEN_BEDROCK"
	RegionVariable = "AWS_REGION"
)

// New returns the model with this AWS id, such as "amazon.nova-pro-v1:0",
// "us.meta.llama4-scout-17b-instruct-v1:0" or the ARN of an inference profile. It makes no
// connection.
//
// New uses these fields of cfg:
//
//   - Region, which is required.
//   - BearerAuthTokenProvider, a Bedrock API key, unless AuthSchemePreference begins with
//     "sigv4". A *bearer.TokenCache beside Credentials is an SSO session's token and not a key.
//   - Credentials otherwise.
//   - HTTPClient and DisableClockSkewCorrection.
//   - BaseEndpoint, and the endpoint, FIPS and dual-stack settings of AWS's configuration sources.
//
// It reads nothing else from the environment and runs no SDK middleware (APIOptions).
//
// The error is an [*event.Error]: ErrInvalid for an invalid id, region, address or option,
// ErrUnsupported for an option that the model lacks, ErrModelAuth for missing credentials.
func New(name string, cfg aws.Config, opts ...Option) (*Model, error) {
	if len(name) > longest || !names.MatchString(name) {
		return nil, wrong("Amazon Bedrock has no model of such an id", "name one as AWS does, such as "+Default)
	}
	m := &Model{
		name: name, plain: plainModel(name), family: familyOf(name), stall: DefaultStall, cache: CacheAuto, streaming: StreamAuto,
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if cfg.Region == "" {
		return nil, wrong("no region is set for Amazon Bedrock", "set "+RegionVariable+", or name a region")
	}
	if m.cache == CacheHour && m.family.cache != noCache && !m.family.hourCache {
		return nil, notSent(event.ErrUnsupported, "the model %q caches nothing for an hour", "use the cache that stays for five minutes", name)
	}
	var err error
	if m.caller, err = newCaller(&cfg, m.base, m.client); err != nil {
		return nil, err
	}
	return m, nil
}

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// Info implements [model.Model]. The name is "bedrock:" and AWS's id.
func (m *Model) Info() model.Info {
	return model.Info{Name: "bedrock:" + m.name, ContextWindow: m.family.window, Output: m.family.output}
}

// whole reports whether the answer to req does not stream.
func (m *Model) whole(req *model.Request) bool {
	switch m.streaming {
	case Stream:
		return false
	case Whole:
		return true
	default:
		return m.family.noStream || m.family.noToolStream && (len(req.Tools) > 0 || called(req.Messages))
	}
}

// called reports whether the history has a tool call. The API then requires tool
// definitions.
func called(messages []event.Message) bool {
	for i := range messages {
		for _, b := range messages[i].Content {
			if _, ok := b.(*event.ToolCall); ok {
				return true
			}
		}
	}
	return false
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
		g.Arm()
		answer, err := m.post(g.Context(), &a, m.whole(req))
		refused := a.kept.Sent > 0 && refusesThinking(err)
		if refused {
			if a, err = m.request(req, true); err == nil {
				g.Arm()
				answer, err = m.post(g.Context(), &a, m.whole(req))
			}
		}
		g.Rest()
		if err != nil {
			yield(model.Chunk{}, m.failure(g, answer.header != nil, req, err))
			return
		}
		d := decoder{
			family: &m.family, guard: m.guard, id: answer.header.Get("X-Amzn-Requestid"),
			names: m.family.names.Back(req.Tools), serial: req.ToolChoice.Serial, yield: yield,
		}
		if m.family.binds {
			d.stamper = a.kept.Stamper()
		}
		d.send(model.Chunk{Kind: model.ChunkResponse, ID: d.id, Text: m.name})
		if n := len(a.kept.Drop); n > 0 {
			d.send(bound.Report(n, refused))
		}
		if answer.stream == nil {
			err = d.answer(answer.whole)
		} else {
			defer answer.stream.Close()
			err = d.run(g, answer.stream)
		}
		if err != nil && !d.left {
			yield(model.Chunk{}, m.failure(g, true, req, err))
		}
	}
}

// answer is an answer of the API, streamed or whole.
type answer struct {
	// header is nil until the answer begins.
	header http.Header
	stream io.ReadCloser
	whole  []byte
}

// post sends a request.
func (m *Model) post(ctx context.Context, a *asked, whole bool) (answer, error) {
	if whole {
		body, header, err := m.caller.whole(ctx, converse, m.name, a.header, a.body)
		return answer{header: header, whole: body}, err
	}
	resp, err := m.caller.ask(ctx, converseStream, m.name, a.header, a.body) //nolint:bodyclose // who reads the answer closes it
	if err != nil {
		return answer{}, err
	}
	return answer{header: resp.Header, stream: resp.Body}, nil
}

var (
	errCut        = errors.New("the answer ended before its end signal")
	errUnreadable = errors.New("an event of the answer cannot be read")
)

// metadataWait bounds the wait for the metadata after an answer's end signal. It
// comes at once or never.
const metadataWait = 5 * time.Second

// Bounds for a stream: its bytes, and its open blocks.
const (
	maxStream = 512 << 20
	maxOpen   = 1 << 10
)

// run reads a stream until the answer is complete and returns the error that cut it.
// If the caller stopped reading chunks, d.left is set and run returns nil.
func (d *decoder) run(g *idle.Guard, body io.Reader) error {
	in := g.Reading(body)
	f := awsframe.NewReader(in)
	var late *time.Timer
	var over atomic.Bool
	total := 0
	defer func() {
		if late != nil {
			late.Stop()
		}
	}()
	for !d.left && (!d.told || !d.stopped) {
		m, err := f.Next()
		switch {
		case err == nil:
			err = d.message(&m)
			if total += len(m.Payload); err == nil && (total > cmp.Or(d.most, maxStream) ||
				d.held > cmp.Or(d.most, maxWhole) || len(d.open) > maxOpen) {
				err = awsframe.ErrTooLong
			}
		case errors.Is(err, io.EOF) && d.stopped, d.stopped && g.Outer().Err() == nil && (over.Load() || g.Stalled()):
			// No metadata followed the end signal: the usage is unknown.
			d.finish()
			return nil
		case errors.Is(err, io.EOF):
			err = errCut
		}
		if err != nil {
			return err
		}
		if d.stopped && late == nil {
			late = time.AfterFunc(metadataWait, func() { over.Store(true); g.Cancel() })
		}
	}
	if !d.left {
		d.finish()
	}
	if !d.left {
		g.Drain(in)
	}
	return nil
}

// message decodes one message of a stream.
func (d *decoder) message(m *awsframe.Frame) error {
	switch string(m.Kind) {
	case "event":
		return d.event(string(m.Name), m.Payload)
	case "exception", "error":
		return awserr.Exception(string(m.Name), string(m.Message), m.Payload)
	default:
		return nil
	}
}
