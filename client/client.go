package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/native"
)

// Options configure a client. The zero value has good defaults.
type Options struct {
	// HTTP sends the requests. nil means the client's own. Its Timeout and CheckRedirect are not
	// used.
	HTTP *http.Client
	// Timeout bounds a request without a stream, and the time until a stream begins. 0 means
	// [DefaultTimeout].
	Timeout time.Duration
	// Silence is how long a stream may be silent before it counts as cut. 0 means [DefaultSilence].
	// The server sends a heartbeat every 15 s.
	Silence time.Duration
	// Wait is the pause before the second attempt to connect. It doubles with each further attempt,
	// up to [MostWait]. 0 means [DefaultWait].
	Wait time.Duration
	// Tries is how many connections of a stream may fail in a row before it is given up. 0 means
	// [DefaultTries].
	Tries int
}

// These are the defaults of [Options].
const (
	DefaultTimeout = 60 * time.Second
	DefaultSilence = 60 * time.Second
	DefaultWait    = 200 * time.Millisecond
	DefaultTries   = 10
	MostWait       = 10 * time.Second
)

// Client is a client of one server. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	token   secret.Secret
	http    *http.Client
	options Options
}

// New returns a client of the server at an address such as "http://127.0.0.1:7421" or
// "unix:/run/braid/braid.sock". It sends the token only to that server, even if the server
// redirects. It returns [event.ErrInvalid] for a wrong address.
func New(address string, token secret.Secret, o Options) (*Client, error) {
	path, base, isSocket, err := socketOf(address)
	if !isSocket {
		base, err = baseOf(address)
	}
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Silence <= 0 {
		o.Silence = DefaultSilence
	}
	if o.Wait <= 0 {
		o.Wait = DefaultWait
	}
	if o.Tries <= 0 {
		o.Tries = DefaultTries
	}
	own := http.Client{}
	if o.HTTP != nil {
		own = *o.HTTP
	}
	if isSocket {
		if err := through(&own, path); err != nil {
			return nil, err
		}
	}
	// A limit on the whole response would end every stream.
	own.Timeout = 0
	own.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		// net/http keeps credentials for subdomains of the first host. Ours and the content are for
		// this server only.
		const most = 3
		if r.URL.Scheme != base.Scheme || r.URL.Host != base.Host || len(via) > most {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return &Client{base: base, token: token, http: &own, options: o}, nil
}

// baseOf parses a server's address.
func baseOf(address string) (*url.URL, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, &event.Error{
			Op: "client", Kind: event.ErrInvalid, Message: "the server's address is not valid",
			Hint: "give it as http://HOST:PORT, https://HOST or unix:PATH",
		}
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	return base, nil
}

// mostAnswer bounds a response without a stream.
const mostAnswer = 64 << 20

// call sends in as JSON unless it is nil, and decodes the response into out unless it is nil.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	return c.callWith(ctx, method, path, query, nil, in, out)
}

// callWith is call with more headers.
func (c *Client) callWith(ctx context.Context, method, path string, query url.Values, header http.Header, in, out any) error {
	to, long := out.(io.Writer)
	if !long {
		bounded, stop := context.WithTimeout(ctx, c.options.Timeout)
		defer stop()
		ctx = bounded
	}
	if header == nil {
		header = http.Header{}
	}
	var body []byte
	switch in := in.(type) {
	case nil:
	case rawBody:
		body = in.data
		header.Set("Content-Type", in.kind)
	default:
		b, err := json.Marshal(in)
		if err != nil {
			return invalid("what is to be sent has no JSON form", err)
		}
		body = b
	}
	header.Set("Accept", "application/json")
	res, err := c.send(ctx, method, path, query, body, header)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	if long {
		if _, err := io.Copy(to, res.Body); err != nil {
			return broken(ctx, err)
		}
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return broken(ctx, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return foreign(err)
	}
	return nil
}

// rawBody is a request body that is not JSON.
type rawBody struct {
	kind string
	data []byte
}

// send sends a request. It returns an error for an error response.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body []byte, header http.Header) (*http.Response, error) {
	to := *c.base
	to.Path += path
	to.RawPath = ""
	to.RawQuery = query.Encode()
	var from io.Reader
	if body != nil {
		from = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, to.String(), from)
	if err != nil {
		return nil, invalid("the request cannot be made", err)
	}
	r.Header = header
	if body != nil && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if !c.token.Empty() {
		r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, broken(ctx, err)
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, refused(res)
}

// mostError bounds an error response.
const mostError = 1 << 20

// refused returns the error of a response.
func refused(res *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(res.Body, mostError))
	var body native.ErrorBody
	if err != nil || json.Unmarshal(data, &body) != nil || body.Error.Code == "" {
		// The response comes from something between client and server.
		e := &event.Error{Op: "client", Kind: event.ErrUnavailable, Message: "the answer was " + res.Status + ", which Braid does not say like this"}
		switch {
		case res.StatusCode >= 300 && res.StatusCode < 400:
			e.Kind = event.ErrInvalid
			e.Message = "the server sends the client to another address"
			e.Hint = "give the address that it names, if you trust it: the token is not sent there"
		case res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests:
			e.Kind = event.ErrInvalid
			e.Hint = "look at the address, and at what stands before the server"
		}
		return e
	}
	e := body.Error.Err()
	e.Op = "client"
	if e.RetryAfter == 0 {
		if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
			e.RetryAfter = time.Duration(min(n, 3600)) * time.Second
		}
	}
	return e
}

// broken returns the error of a failed connection. It is not retryable if it would stay.
func broken(ctx context.Context, err error) error {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case untrusted:
		return &event.Error{
			Op: "client", Kind: event.ErrInvalid, Err: err,
			Message: "the server's certificate is not one that this machine trusts, or is for another name",
			Hint:    "look at the address; have the system trust who signed the certificate (on Linux also by a file that SSL_CERT_FILE names)",
		}
	case errors.Is(err, http.ErrSchemeMismatch):
		return &event.Error{
			Op: "client", Kind: event.ErrInvalid, Message: "the server speaks no TLS", Hint: "give its address with http://", Err: err,
		}
	case errors.Is(ctx.Err(), context.Canceled):
		return &event.Error{Op: "client", Kind: event.ErrCancelled, Message: "the request was cancelled", Err: err}
	case ctx.Err() != nil:
		return &event.Error{Op: "client", Kind: event.ErrTimeout, Message: "the server did not answer in time", Err: err}
	default:
		return &event.Error{
			Op: "client", Kind: event.ErrUnavailable, Message: "the server cannot be reached",
			Hint: "check that it runs, and its address", Err: err,
		}
	}
}

// foreign returns the error for a response that is not Braid's.
func foreign(err error) error {
	return &event.Error{
		Op: "client", Kind: event.ErrInvalid, Message: "the response is not from a Braid server",
		Hint: "check the address, or use a newer client", Err: err,
	}
}

func invalid(message string, err error) error {
	return &event.Error{Op: "client", Kind: event.ErrInvalid, Message: message, Err: err}
}
