package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	// attempts is how often a request is sent in all.
	attempts = 4
	// firstWait is the wait before the second attempt; each further one is twice as long.
	firstWait = 200 * time.Millisecond
	// maxAnswer bounds an answer other than a file's bytes.
	maxAnswer = 8 << 20
)

// call is one request to the store.
type call struct {
	method, key string
	query       url.Values
	headers     map[string]string
	// body returns the bytes to send, from their beginning; nil means none. sum is their SHA-256.
	body func() (io.ReadCloser, error)
	size int64
	sum  string
}

// withBody makes b the bytes to send.
func (c *call) withBody(b []byte) *call {
	sum := sha256.Sum256(b)
	c.body = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	c.size, c.sum = int64(len(b)), hex.EncodeToString(sum[:])
	return c
}

// emptySum is the SHA-256 of no bytes.
var emptySum = func() string { sum := sha256.Sum256(nil); return hex.EncodeToString(sum[:]) }()

// refusal is an answer that is an error.
type refusal struct {
	status  int
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
	// again is how many attempts were made before.
	again int
}

func (r *refusal) Error() string { return http.StatusText(r.status) + " " + r.Code + ": " + r.Message }

// send sends a request until it is answered with success or a final error. The caller closes the body of the response.
func (b *Bucket) send(ctx context.Context, c *call) (*http.Response, error) {
	for n := 0; ; n++ {
		res, err := b.once(ctx, c)
		if err == nil {
			return res, nil
		}
		refused, answered := errors.AsType[*refusal](err)
		if answered {
			refused.again = n
			if refused.expired() && n == 0 {
				b.renew()
			}
		}
		final := answered && !refused.passes() && (n > 0 || !refused.expired())
		if n == attempts-1 || ctx.Err() != nil || final {
			return nil, err
		}
		wait := b.wait << n
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait/2 + rand.N(wait/2+1)): //nolint:gosec // it spreads the attempts, and is no secret
		}
	}
}

// passes reports whether the same request may succeed later.
func (r *refusal) passes() bool {
	return r.status == http.StatusTooManyRequests || r.status >= 500 && r.status != http.StatusNotImplemented || r.Code == "RequestTimeout"
}

// expired reports whether the credentials have ended.
func (r *refusal) expired() bool {
	return r.Code == "ExpiredToken" || r.Code == "RequestExpired" || r.Code == "TokenRefreshRequired"
}

// renew drops credentials that have ended.
func (b *Bucket) renew() {
	if cached, ok := b.keys.(interface{ Invalidate() }); ok {
		cached.Invalidate()
	}
}

// once sends a request once. The answer ends if the store sends nothing for a while.
func (b *Bucket) once(ctx context.Context, c *call) (*http.Response, error) {
	ctx, guard := watch(ctx, b.stall)
	res, err := b.dispatch(ctx, c, guard)
	if err != nil {
		guard.stop()
		return nil, err
	}
	res.Body = &guardedBody{ReadCloser: res.Body, guard: guard}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	bad := &refusal{status: res.StatusCode}
	if text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10)); err == nil {
		_ = xml.Unmarshal(text, bad) // some answers have no body
	}
	return nil, bad
}

func (b *Bucket) dispatch(ctx context.Context, c *call, guard *guard) (*http.Response, error) {
	address := *b.base
	if c.key != "" {
		address.Path, address.RawPath = b.base.Path+"/"+c.key, escapedKey(b.base.Path+"/"+c.key)
	} else if address.Path == "" {
		address.Path = "/"
	}
	address.RawQuery = c.query.Encode()
	var body io.ReadCloser
	sum := emptySum
	if c.body != nil {
		from, err := c.body()
		if err != nil {
			return nil, err
		}
		body, sum = &guardedBody{ReadCloser: from, guard: guard, lasts: true}, c.sum
	}
	req, err := http.NewRequestWithContext(ctx, c.method, address.String(), nil)
	if err != nil {
		return nil, err
	}
	req.URL = &address
	if body != nil {
		req.Body, req.ContentLength = body, c.size
		if c.size == 0 {
			_ = body.Close()
			req.Body = http.NoBody
		}
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("X-Amz-Content-Sha256", sum)
	keys, err := b.keys.Retrieve(ctx)
	if err != nil {
		return nil, errors.Join(errNoKeys, err)
	}
	err = b.signer.SignHTTP(ctx, keys, req, sum, "s3", b.region, time.Now(), func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err != nil {
		return nil, err
	}
	return b.client.Do(req)
}

// errNoKeys says that there are no credentials to sign with.
var errNoKeys = errors.New("there are no credentials")

// read sends a request and reads the whole answer.
func (b *Bucket) read(ctx context.Context, c *call) ([]byte, http.Header, error) {
	for n := 0; ; n++ {
		res, err := b.send(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
		_ = res.Body.Close()
		switch {
		case err == nil && len(data) > maxAnswer:
			return nil, nil, errors.New("the answer is too large")
		case err == nil || n == 1 || ctx.Err() != nil:
			return data, res.Header, err
		}
	}
}

var _ aws.CredentialsProvider = (*aws.CredentialsCache)(nil)
