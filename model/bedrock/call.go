package bedrock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/provider"
)

// operation is an operation of the API: the end of its path, and the content type of its answer.
type operation struct{ path, answer string }

// The operations (bedrock/latest/APIReference, API_runtime_Converse, API_runtime_ConverseStream
// and API_runtime_CountTokens).
var (
	converse       = operation{"/converse", jsonType}
	converseStream = operation{"/converse-stream", eventStream}
	countTokens    = operation{"/count-tokens", jsonType}
)

const (
	jsonType    = "application/json"
	eventStream = "application/vnd.amazon.eventstream"
)

// caller calls the API. Configuration, credentials and signatures are those of AWS's SDK; address, request and answer
// are our own. It is safe for concurrent use.
type caller struct {
	endpoint

	client *http.Client
	// token provides a Bedrock API key. If it is nil, signatures use the credentials of keys.
	token  bearer.TokenProvider
	keys   aws.CredentialsProvider
	signer *v4.Signer
	// clock corrects signatures to the service's time after refusals, unless fixed is set.
	fixed bool
	clock sigv4.Clock
}

// newCaller returns a caller for the endpoint and credentials of cfg. base is an explicitly given address; client may
// be nil.
func newCaller(cfg *aws.Config, base string, client *http.Client) (*caller, error) {
	at, err := endpointOf(cfg, base)
	if err != nil {
		return nil, err
	}
	c := &caller{endpoint: at, client: client, fixed: cfg.DisableClockSkewCorrection}
	if c.client == nil {
		c.client = clientOf(cfg.HTTPClient)
	}
	anonymous := cfg.Credentials == nil || aws.IsCredentialsProvider(cfg.Credentials, aws.AnonymousCredentials{}) ||
		aws.IsCredentialsProvider(cfg.Credentials, (*aws.AnonymousCredentials)(nil))
	// Package config puts the token of an SSO session there, in a cache. If there are also credentials, this token is
	// not a Bedrock key, unless the configuration says so.
	_, session := cfg.BearerAuthTokenProvider.(*bearer.TokenCache)
	switch {
	case cfg.BearerAuthTokenProvider != nil && (anonymous || !signs(cfg.AuthSchemePreference, session)):
		c.token = cfg.BearerAuthTokenProvider
		if base == "" && strings.HasPrefix(at.address, "http:") {
			return nil, wrong("a key of Amazon Bedrock goes over TLS only", "write the endpoint with https://")
		}
	case anonymous:
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there are no credentials for Amazon Bedrock",
			Hint: "set " + KeyVariable + ", or AWS credentials in any of the usual ways",
		}
	default:
		c.keys, c.signer = cfg.Credentials, v4.NewSigner()
	}
	return c, nil
}

// signs reports whether a preference puts signatures before keys. It returns otherwise if there is no preference.
func signs(preference []string, otherwise bool) bool {
	for _, name := range preference {
		switch name[strings.LastIndexByte(name, '#')+1:] {
		case "sigv4":
			return true
		case "httpBearerAuth":
			return false
		}
	}
	return otherwise
}

// clientOf returns a client with the configuration's transport, which has the configured certificates. It does not
// use the client of package config itself, which follows some redirects.
func clientOf(c aws.HTTPClient) *http.Client {
	switch c := c.(type) {
	case nil:
		return provider.Client()
	case *http.Client:
		return c
	case interface {
		GetTransport() *http.Transport
		GetTimeout() time.Duration
	}:
		return &http.Client{Transport: c.GetTransport(), Timeout: c.GetTimeout()}
	default:
		return &http.Client{Transport: transport{c}}
	}
}

// transport adapts a caller's HTTP client.
type transport struct{ aws.HTTPClient }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// ask sends a request and returns the answer when its header has arrived, with status 2xx and the operation's content
// type. Other errors are the API's (*[awserr.Said]), errNoAnswer, errNoKeys or the network's. The caller closes the
// answer's body.
//
// If a signature is refused because the clocks differ, ask signs once more with the time of the answer, as AWS's own
// SDKs do (aws-sdk-go-v2/aws/retry/middleware.go, "Clock Skew Correction").
func (c *caller) ask(ctx context.Context, o operation, id string, header http.Header, body []byte) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	resp, err := c.once(ctx, o, id, header, body)
	if _, ok := errors.AsType[*skewed](err); ok {
		resp, err = c.once(ctx, o, id, header, body)
	}
	if refused, ok := errors.AsType[*skewed](err); ok {
		err = refused.Said
	}
	return resp, err
}

// skewed is the API's error for a signature whose time differs from its own.
type skewed struct{ *awserr.Said }

// once sends one request.
func (c *caller) once(ctx context.Context, o operation, id string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address+"/model/"+escaped(id)+o.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {jsonType}}
	for name, values := range header {
		req.Header[name] = slices.Clone(values)
	}
	skew := c.clock.Ahead()
	if err := c.authorize(ctx, req, body, skew); err != nil {
		return nil, err
	}
	begun := time.Now()
	resp, err := provider.Do(c.client, req)
	if refused, ok := errors.AsType[*provider.Refused](err); ok {
		return nil, c.refused(refused, skew, begun, time.Now())
	}
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != o.answer {
		_, _ = io.CopyN(io.Discard, resp.Body, mostDrained) // so that the connection can be reused
		resp.Body.Close()
		return nil, errNoAnswer
	}
	return resp, nil
}

// mostDrained limits how much is read of an unusable answer.
const mostDrained = 64 << 10

// authorize adds the key, or a signature with the current time.
func (c *caller) authorize(ctx context.Context, req *http.Request, body []byte, skew time.Duration) error {
	if c.token != nil {
		t, err := c.token.RetrieveBearerToken(ctx)
		if err != nil {
			return errors.Join(errNoKeys, err)
		}
		req.Header.Set("Authorization", "Bearer "+t.Value)
		return nil
	}
	keys, err := c.keys.Retrieve(ctx)
	if err != nil {
		return errors.Join(errNoKeys, err)
	}
	sum := sha256.Sum256(body)
	if err := c.signer.SignHTTP(ctx, keys, req, hex.EncodeToString(sum[:]), "bedrock", c.region, time.Now().Add(skew)); err != nil {
		return errors.Join(errNoKeys, err)
	}
	return nil
}

// refused returns the error of a response that is not an answer.
func (c *caller) refused(r *provider.Refused, skew time.Duration, begun, ended time.Time) error {
	said := awserr.Before(r.Status, r.Header, r.Body, ended)
	if c.token == nil && !c.fixed && c.clock.Correct(skew, said.Kind, r.Header, begun, ended) {
		return &skewed{said}
	}
	return said
}

// maxWhole limits the size of an answer that is not streamed.
const maxWhole = 64 << 20

// whole requests an answer that is not streamed.
func (c *caller) whole(ctx context.Context, o operation, id string, header http.Header, body []byte) ([]byte, http.Header, error) {
	resp, err := c.ask(ctx, o, id, header, body)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := provider.ReadAll(resp.Body, maxWhole)
	switch {
	case errors.Is(err, provider.ErrTooLong):
		return nil, resp.Header, awsframe.ErrTooLong
	case err != nil:
		return nil, resp.Header, errors.Join(errCut, err)
	}
	return answer, resp.Header, nil
}
