package vendor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// mostRefused bounds how much of an error's body is read.
const mostRefused = 64 << 10

// Refused is a response with a status other than 2xx. It contains nothing of the request, which has
// the key.
type Refused struct {
	Status int
	Header http.Header
	// Body is the response's body, at most 64 KiB.
	Body []byte
}

// Error implements error, for operators.
func (r *Refused) Error() string { return fmt.Sprintf("status %d", r.Status) }

// Post sends body to address and returns the response once its header has arrived. The caller must
// close the response's body. A response with a status other than 2xx is a [*Refused]; any other
// error means that there was no response. Post never retries and follows no redirect, whatever c
// does. It does not change header.
func Post(ctx context.Context, c *http.Client, address string, header http.Header, body []byte) (*http.Response, error) {
	return Send(ctx, c, http.MethodPost, address, header, body)
}

// Send is [Post] with another method.
func Send(ctx context.Context, c *http.Client, method, address string, header http.Header, body []byte) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	return Do(c, req)
}

// Do sends a request that the caller has made, as [Post] does.
func Do(c *http.Client, req *http.Request) (*http.Response, error) {
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "braid")
	}
	once := *c
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := once.Do(req) //nolint:gosec // the address is configuration
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, mostRefused))
	if err != nil && req.Context().Err() != nil {
		return nil, err
	}
	return nil, &Refused{Status: resp.StatusCode, Header: resp.Header, Body: said}
}

// ErrTooLong is the error of [ReadAll] for a body that is too long.
var ErrTooLong = errors.New("the answer is too long")

// ReadAll reads a body of up to most bytes. It returns [ErrTooLong] for a longer one.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, ErrTooLong
	}
	return b, nil
}
