package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

// exchange is one call on its way through the SDK: the body that is sent in the
// place of the SDK's, and the answer that is taken out before the SDK reads it.
type exchange struct {
	body []byte
	sent bool
	// attempt is which one of the loop's it is.
	attempt int
	// answer is one that is no error, header that of any.
	answer *http.Response
	header http.Header
}

type exchangeKey struct{}

func (x *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// transport is where a call leaves the SDK.
type transport struct {
	next  http.RoundTripper
	token TokenSource
}

var errTwice = errors.New("the SDK tried to repeat a call")

// largestError bounds how much of an error is read, far above what the API sends.
const largestError = 64 << 10

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok || x.sent {
		return nil, errors.Join(errTwice, closed(r.Body))
	}
	x.sent = true
	if err := closed(r.Body); err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(x.body)), int64(len(x.body))
	// A connection that was closed while nobody used it is not known as such
	// before something is sent.
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
	if t.token != nil {
		token, err := t.token(r.Context())
		if err != nil {
			return nil, &tokenError{err}
		}
		out.Header.Del("X-Goog-Api-Key")
		out.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	x.header = answer.Header
	if answer.StatusCode/100 != 2 {
		answer.Body = readCloser{io.LimitReader(answer.Body, largestError), answer.Body}
		return answer, nil
	}
	x.answer = answer
	empty := *answer
	empty.Body = http.NoBody
	return &empty, nil
}

func closed(body io.Closer) error {
	if body == nil {
		return nil
	}
	return body.Close()
}

type readCloser struct {
	io.Reader
	io.Closer
}

// tokenError says that there was no token, so that nothing was sent.
type tokenError struct{ err error }

// Error implements error, for operators.
func (e *tokenError) Error() string { return "no token: " + e.err.Error() }

// Unwrap gives the cause.
func (e *tokenError) Unwrap() error { return e.err }
