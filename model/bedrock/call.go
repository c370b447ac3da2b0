package bedrock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth/bearer"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/provider"
)

// The SDK finds the address, the credentials and the signature. What it would do
// anew for every call is done here: the body, whose parts are kept, and the
// answer, which is read without a goroutine and without a value for each event.

// exchange is one call on its way through the SDK.
type exchange struct {
	body []byte
	// sent says that a request has left for the network; resp is the answer.
	sent bool
	resp *http.Response
	// whole is an answer that does not stream.
	whole []byte
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// newClient makes the SDK's client. It repeats nothing, and takes nothing from the
// environment: what the SDK would find there of itself is put back to what cfg says.
func (m *Model) newClient(cfg aws.Config) *bedrockruntime.Client {
	return bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) {
		if m.base != "" {
			o.BaseEndpoint = &m.base
			if strings.HasPrefix(m.base, "http:") {
				o.BearerAuthSigner = plainBearer{}
				o.AuthSchemes = nil // they are made of the signer
			}
		}
		o.Retryer = aws.NopRetryer{}
		o.RetryMaxAttempts = 0
		o.BearerAuthTokenProvider = cfg.BearerAuthTokenProvider
		o.AuthSchemePreference = cfg.AuthSchemePreference
		if cfg.BearerAuthTokenProvider != nil && len(o.AuthSchemePreference) == 0 {
			o.AuthSchemePreference = []string{"httpBearerAuth"}
		}
		o.APIOptions = append(append([]func(*middleware.Stack) error(nil), cfg.APIOptions...), ownSteps)
		o.Protocol = protocol{o.Protocol}
		var do bedrockruntime.HTTPClient = m.client
		if m.client == nil {
			do = provider.Client()
			if cfg.HTTPClient != nil {
				do = cfg.HTTPClient
			}
		}
		o.HTTPClient = watched{do}
	})
}

// ownSteps leaves out of the SDK's steps what reads streams and environment, and
// says who calls.
func ownSteps(stack *middleware.Stack) error {
	// Only a call that streams has the first, and an SDK that does without the
	// others has nothing to be left out.
	_, _ = stack.Deserialize.Remove("OperationEventStreamDeserializer")
	_, _ = stack.Build.Remove("RecursionDetection")
	_, _ = stack.Build.Remove("UserAgent")
	return nil
}

// plainBearer signs with a key of Bedrock's where there is no TLS, which the SDK
// refuses: for addresses that somebody has given on purpose.
type plainBearer struct{}

func (plainBearer) SignWithBearerToken(_ context.Context, t bearer.Token, r bearer.Message) (bearer.Message, error) {
	req, ok := r.(*smithyhttp.Request)
	if !ok {
		return nil, errors.New("there is no request to sign")
	}
	signed := req.Clone()
	signed.Header.Set("Authorization", "Bearer "+t.Value)
	return signed, nil
}

// watched notes that a request has left. It gives the request a body of its own:
// the SDK closes its one as soon as an answer has begun, and a connection that has
// not looked behind the body's end by then would break.
type watched struct{ bedrockruntime.HTTPClient }

func (w watched) Do(r *http.Request) (*http.Response, error) {
	if x := exchangeOf(r.Context()); x != nil {
		x.sent = true
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
		r.Body = io.NopCloser(bytes.NewReader(x.body))
	}
	return w.HTTPClient.Do(r)
}

// protocol writes our body and leaves the answer to us.
type protocol struct{ smithyhttp.ClientProtocol }

func (p protocol) SerializeRequest(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, req *smithyhttp.Request) error {
	if err := p.ClientProtocol.SerializeRequest(ctx, op, in, req); err != nil {
		return err
	}
	x := exchangeOf(ctx)
	if x == nil {
		return nil
	}
	filled, err := req.SetStream(bytes.NewReader(x.body))
	if err != nil {
		return err
	}
	*req = *filled
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "braid")
	return nil
}

// maxError bounds what is read of an answer that says why there is none, and
// maxWhole an answer that does not stream.
const (
	maxError = 64 << 10
	maxWhole = 64 << 20
)

func (p protocol) DeserializeResponse(
	ctx context.Context, op *smithy.OperationSchema, types *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable,
) error {
	x := exchangeOf(ctx)
	if x == nil {
		return p.ClientProtocol.DeserializeResponse(ctx, op, types, resp, out)
	}
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		return refused(resp.Response)
	}
	x.resp = resp.Response
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if op.IsOutputEventStream() {
		if kind == eventStream {
			return nil
		}
		defer resp.Body.Close()
		_, _ = io.CopyN(io.Discard, resp.Body, maxError) // the connection may be used again
		return errNoAnswer
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxWhole+1))
	switch {
	case err != nil:
		return errors.Join(errCut, err)
	case kind != "application/json":
		return errNoAnswer
	case len(body) > maxWhole:
		return awsframe.ErrTooLong
	}
	x.whole = body
	return nil
}

const eventStream = "application/vnd.amazon.eventstream"

// refused reads why the API gives no answer.
func refused(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // what can be read of it will do
	return awserr.Before(resp.StatusCode, resp.Header, body, time.Now())
}

// post sends a request; the answer, or its beginning, stands in the exchange.
func (m *Model) post(ctx context.Context, x *exchange, whole bool) error {
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	if err := ctx.Err(); err != nil {
		return err
	}
	var err error
	if whole {
		_, err = m.sdk.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: &m.name})
	} else {
		_, err = m.sdk.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: &m.name})
	}
	if err != nil && x.resp != nil {
		x.resp.Body.Close()
	}
	return err
}
