package anthropic

import (
	"context"
	"io"
	"iter"
	"mime"
	"net/http"
	"regexp"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/schema"
	"github.com/braidrun/braid/secret"
)

const op = "model anthropic"

// Model is a [model.Model]. It keeps the encodings of the conversations that it
// was last asked about, 64 MiB at most: a block that has been sent once must not
// be changed, which the loop never does. It is safe for concurrent use.
type Model struct {
	kept  reqcache.Histories[encoder, *encoder]
	forms schema.Forms

	name string
	// key is for Anthropic's API, aws for Amazon Bedrock: one of them is there.
	key  secret.Secret
	aws  *cloud
	base string
	// keyFrom and baseFrom say where key and address come from.
	keyFrom, baseFrom string
	version           string
	stall             time.Duration
	cache             CachePoints
	hour              bool
	client            *http.Client
	sdk               sdk.Client
	// defaults are for requests that leave settings out, extraBetas for all of them.
	defaults   *model.Options
	extraBetas []string
}

var _ model.Checker = (*Model)(nil)

var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$`)

// New makes a model of the name that the vendor gives it, such as
// "claude-sonnet-5-5". It reads nothing from the environment and makes no
// connection; package models does the former. The error is an [*event.Error]:
// ErrInvalid for a name or an option that cannot be, ErrModelAuth for no key.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, wrong("Anthropic has no model of such a name.", "name one as the vendor does, such as "+Default)
	}
	if key.Empty() {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "There is no key for Anthropic's API.",
			Hint: "set " + KeyVariable + ", or give a key",
		}
	}
	m := &Model{name: name, key: key, stall: DefaultStall, cache: CacheAuto, client: provider.Client(), keyFrom: KeyVariable, baseFrom: BaseVariable}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	m.sdk = sdk.NewClient(m.options()...)
	return m, nil
}

// Names and variables that others need to know.
const (
	// Default is the model that is used where somebody has a key and names none:
	// the vendor's best combination of speed and intelligence.
	Default = "claude-sonnet-5-5"
	// KeyVariable is the environment variable that usually holds the key,
	// BaseVariable the one with another address. Nothing here reads them.
	KeyVariable  = "ANTHROPIC_API_KEY"
	BaseVariable = "ANTHROPIC_BASE_URL"
)

func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(m.client),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "braid"),
		// The server's own telemetry decides what is traced.
		option.WithoutOpenTelemetry(), option.WithOpenTelemetryPropagation(false),
	}
	if m.aws != nil {
		opts = append(opts, m.aws.options()...)
	} else {
		opts = append(opts, option.WithAPIKey(m.key.Reveal()), option.WithHeader("Accept", eventsType))
	}
	if m.base != "" {
		opts = append(opts, option.WithBaseURL(m.base))
	}
	if m.version != "" {
		opts = append(opts, option.WithHeader("anthropic-version", m.version))
	}
	return opts
}

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// Info implements [model.Model]: the name is "anthropic:" or "bedrock:", and the
// vendor's.
func (m *Model) Info() model.Info {
	prefix := "anthropic:"
	if m.aws != nil {
		prefix = "bedrock:"
	}
	return model.Info{Name: prefix + m.name, ContextWindow: window(m.name), Output: schematic(m.name), Setups: m.setups()}
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
		events := m.events(in)
		switch err := d.run(events); {
		case d.left:
		case err != nil:
			yield(model.Chunk{}, m.failure(g, err))
		default:
			g.Drain(in)
		}
	}
}

// eventsType is the content type of a stream of the API.
const eventsType = "text/event-stream"

// events reads an answer in the form in which it comes.
func (m *Model) events(in io.Reader) events {
	if m.aws != nil {
		return newFrames(in)
	}
	return newLines(in)
}

// post sends a request and gives the answer once it has begun to come.
func (m *Model) post(g *idle.Guard, a *asked) (*http.Response, error) {
	if err := g.Context().Err(); err != nil {
		return nil, err
	}
	g.Arm()
	defer g.Rest()
	var answer *http.Response
	var added []option.RequestOption
	for name := range a.header {
		added = append(added, option.WithHeader(name, a.header.Get(name)))
	}
	if err := m.sdk.Post(g.Context(), "v1/messages", a.body, &answer, added...); err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	want := eventsType
	if m.aws != nil {
		want = framesRead
	}
	if answer.StatusCode != http.StatusOK || err != nil || kind != want {
		_, _ = io.CopyN(io.Discard, answer.Body, 4<<10)
		answer.Body.Close()
		return nil, errNoStream
	}
	return answer, nil
}
