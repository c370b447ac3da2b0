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

// operation is an operation of the API: the end of its path, and the content type of its
// answer.
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

// caller asks the API. AWS's SDK gives configuration, credentials and signatures; address,
// request and answer are our own. It is safe for concurrent use.
type caller struct {
	endpoint

	client *http.Client
	// token gives a key of Bedrock's; nil signs with what keys gives.
	token  bearer.TokenProvider
	keys   aws.CredentialsProvider
	signer *v4.Signer
	// clock is that of the service's refusals, unless fixed leaves it as it is.
	fixed bool
	clock sigv4.Clock
}

// newCaller finds where and as whom the API is asked. base is an address that was given on
// purpose; client may be nil.
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
	// Package config puts the token of an SSO session there, in a cache. Beside credentials that
	// is no key of Bedrock's, unless the configuration says so.
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

// signs reports whether a preference puts signatures before keys; otherwise is what counts
// without one.
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

// clientOf makes a client of the configuration's. What package config makes would follow some
// redirects, so only its transport is used, which has the configuration's certificates.
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

// transport is a client of somebody's own.
type transport struct{ aws.HTTPClient }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// errNoKeys is wrapped by what went wrong before anything was sent: there is no key, and there
// are no credentials.
var errNoKeys = errors.New("no credentials can be had")

// ask sends a request and returns the answer once its header has come: of status 2xx and of the
// operation's content type. An error is what the API said (*[awserr.Said]), errNoAnswer,
// errNoKeys or one of the network's. The caller closes the answer's body.
//
// A signature that was refused because the clocks are apart is made again once, by the clock of
// the answer, as AWS's own SDKs do (aws-sdk-go-v2/aws/retry/middleware.go, "Clock Skew
// Correction").
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

// skewed is what the API said to a signature of another time than its own.
type skewed struct{ *awserr.Said }

// once is one request.
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
		_, _ = io.CopyN(io.Discard, resp.Body, mostDrained) // the connection may be used again
		resp.Body.Close()
		return nil, errNoAnswer
	}
	return resp, nil
}

// mostDrained bounds what is read of an answer that is none.
const mostDrained = 64 << 10

// authorize adds the key, or the signature as of now.
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

// refused reads why the API gives no answer.
func (c *caller) refused(r *provider.Refused, skew time.Duration, begun, ended time.Time) error {
	said := awserr.Before(r.Status, r.Header, r.Body, ended)
	if c.token == nil && !c.fixed && c.clock.Correct(skew, said.Kind, r.Header, begun, ended) {
		return &skewed{said}
	}
	return said
}

// maxWhole bounds an answer that does not stream.
const maxWhole = 64 << 20

// whole asks for an answer that comes at once.
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
