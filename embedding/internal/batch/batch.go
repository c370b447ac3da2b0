// Package batch holds the common parts of embedding providers: it checks requests, splits them into
// calls, sends the calls and checks the responses.
package batch

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/vendor"
	"github.com/braidrun/braid/secret"
)

// mostDimensions bounds the length of a vector.
const mostDimensions = 1 << 16

// Check refuses a request that no model takes.
func Check(op string, req *embedding.Request) error {
	switch {
	case len(req.Texts) == 0:
		return vendor.NotSent(op, event.ErrInvalid, "there are no texts to embed", "give at least one")
	case len(req.Texts) > embedding.MaxTexts:
		return vendor.NotSent(op, event.ErrTooLarge, "there are more than %d texts to embed", "embed them in several requests", embedding.MaxTexts)
	case req.Dimensions < 0 || req.Dimensions > mostDimensions:
		return vendor.NotSent(op, event.ErrInvalid, "vectors cannot have so many dimensions", "give a number from 1, or 0 for the model's own")
	case req.Task != "" && req.Task != embedding.Query && req.Task != embedding.Document:
		return vendor.NotSent(op, event.ErrInvalid, "there is no such task of embeddings", "use query or document, or leave it out")
	}
	for i, text := range req.Texts {
		switch {
		case strings.TrimSpace(text) == "":
			return vendor.NotSent(op, event.ErrInvalid, "the text %d to embed is empty", "leave it out", i+1)
		case len(text) > embedding.MaxText:
			return vendor.NotSent(op, event.ErrTooLarge, "the text %d to embed is larger than 1 MiB", "split it", i+1)
		case !utf8.ValidString(text):
			return vendor.NotSent(op, event.ErrInvalid, "the text %d to embed is not UTF-8", "encode it as UTF-8", i+1)
		}
	}
	return nil
}

// Split splits texts into calls. Each has no more than most texts, and at most the given bytes unless a
// single text is larger.
func Split(texts []string, most, bytes int) [][]string {
	var calls [][]string
	for len(texts) > 0 {
		n, size := 0, 0
		for n < len(texts) && n < most && (n == 0 || size+len(texts[n]) <= bytes) {
			size += len(texts[n])
			n++
		}
		calls = append(calls, texts[:n])
		texts = texts[n:]
	}
	return calls
}

// Bound returns how many bytes a response with n vectors may have. 0 dimensions mean unknown.
func Bound(n, dimensions int) int64 {
	if dimensions == 0 {
		dimensions = 1 << 13
	}
	return 1<<20 + int64(n)*int64(dimensions)*32
}

// Caller sends the calls of a provider.
type Caller struct {
	// Op is the operation of errors.
	Op string
	// Title is the vendor's name in messages.
	Title string
	// Base is the server's address.
	Base string
	// Next is the hint if no server answers there.
	Next   string
	Client *http.Client
	// Key is masked in the server's messages.
	Key secret.Secret
	// KeyNext is the hint if the key is refused.
	KeyNext string
	// Said returns the server's code and message of an error response.
	Said func(header http.Header, body []byte) (code, message string)
	// Long reports whether an error means that a text is too long.
	Long func(code, message string) bool
}

// Post sends a call and reads at most bound bytes of the response.
func (c *Caller) Post(ctx context.Context, path string, header http.Header, body []byte, bound int64) ([]byte, http.Header, error) {
	resp, err := vendor.Post(ctx, c.Client, c.Base+path, header, body)
	if err != nil {
		return nil, nil, c.failure(ctx, err)
	}
	return c.Read(ctx, resp, bound)
}

// Do sends a request that the provider has made.
func (c *Caller) Do(ctx context.Context, req *http.Request, bound int64) ([]byte, http.Header, error) {
	resp, err := vendor.Do(c.Client, req)
	if err != nil {
		return nil, nil, c.failure(ctx, err)
	}
	return c.Read(ctx, resp, bound)
}

// Read reads a response and closes its body.
func (c *Caller) Read(ctx context.Context, resp *http.Response, bound int64) ([]byte, http.Header, error) {
	defer resp.Body.Close()
	data, err := vendor.ReadAll(resp.Body, bound)
	switch {
	case errors.Is(err, vendor.ErrTooLong):
		return nil, nil, c.Wrong("it is longer than vectors can be")
	case err != nil:
		return nil, nil, c.failure(ctx, err)
	}
	return data, resp.Header, nil
}

// Wrong returns the error for an invalid response.
func (c *Caller) Wrong(what string) error {
	return &event.Error{
		Op: c.Op, Kind: event.ErrModel, Message: "the answer of " + c.Title + " cannot be used: " + what,
		Hint: "check that the address is one of embeddings, and that the model embeds texts",
	}
}

// failure returns the error with its kind.
func (c *Caller) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return vendor.Ended(c.Op, ctx)
	}
	refused, ok := errors.AsType[*vendor.Refused](err)
	if !ok {
		return vendor.Unreached(c.Op, c.Title, c.Base, c.Next, err)
	}
	code, message := c.Said(refused.Header, refused.Body)
	said := vendor.Line(message, c.Key)
	e := &event.Error{Op: c.Op, Code: vendor.Line(code, c.Key), RetryAfter: vendor.RetryAfter(refused.Header, time.Now()), Err: refused}
	tell := func(kind event.ErrorKind, what, hint string) {
		e.Kind, e.Message, e.Hint = kind, vendor.Tell(c.Title+" "+what, said), hint
	}
	switch status := refused.Status; {
	case c.Long != nil && c.Long(code, message):
		tell(event.ErrContextOverflow, "says that a text is too long", "split the texts")
	case status == http.StatusUnauthorized:
		tell(event.ErrModelAuth, "refused the key", c.KeyNext)
	case status == http.StatusForbidden:
		tell(event.ErrModelAuth, "does not let this key use the model", c.KeyNext)
	case status == http.StatusNotFound:
		tell(event.ErrModelNotFound, "has no such model", "check the model's name and the address")
	case status == http.StatusRequestEntityTooLarge:
		tell(event.ErrTooLarge, "says that the request is too large", "embed fewer texts at once")
	case status == http.StatusTooManyRequests:
		tell(event.ErrThrottled, "is asked too often", "try again later")
	case status == http.StatusRequestTimeout || status == http.StatusServiceUnavailable || status == 529:
		tell(event.ErrOverloaded, "is overloaded", "try again later")
	case status >= http.StatusInternalServerError:
		tell(event.ErrUnavailable, "failed", "try again later")
	case status >= http.StatusBadRequest:
		tell(event.ErrInvalid, "refused the request", "check the model's settings")
	default:
		tell(event.ErrModel, "sends the caller elsewhere", "name the address that it redirects to, if it is to be trusted")
	}
	return e
}

// Take checks the vectors of one call and normalizes them. dimensions is that of earlier calls or
// of the request; 0 means unknown. It returns the vectors' dimensions.
func (c *Caller) Take(vectors [][]float32, n, dimensions int) (int, error) {
	if len(vectors) != n {
		return 0, c.Wrong("it does not have one vector for each text")
	}
	for _, v := range vectors {
		if dimensions == 0 {
			dimensions = len(v)
		}
		if len(v) == 0 || len(v) > mostDimensions || len(v) != dimensions {
			return 0, c.Wrong("a vector has other dimensions than it should")
		}
		if !normalize(v) {
			return 0, c.Wrong("a vector has numbers that cannot be")
		}
	}
	return dimensions, nil
}

// normalize scales a vector to length one. It reports whether that is possible.
func normalize(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if math.IsNaN(length) || math.IsInf(length, 0) || length == 0 {
		return false
	}
	if math.Abs(length-1) > 1e-6 {
		for i := range v {
			v[i] = float32(float64(v[i]) / length)
		}
	}
	return true
}

// Call embeds some of the texts.
type Call func(ctx context.Context, texts []string) (vectors [][]float32, usage event.Usage, known bool, err error)

// Run makes the calls, at most atOnce at a time, and joins their vectors.
func (c *Caller) Run(ctx context.Context, calls [][]string, dimensions, atOnce int, call Call) (*embedding.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type part struct {
		vectors [][]float32
		usage   event.Usage
		known   bool
		err     error
	}
	parts := make([]part, len(calls))
	slots, done := make(chan struct{}, atOnce), make(chan int, len(calls))
	for i, texts := range calls {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots; done <- i }()
			p := &parts[i]
			if p.err = ctx.Err(); p.err != nil {
				p.err = vendor.Ended(c.Op, ctx)
				return
			}
			p.vectors, p.usage, p.known, p.err = call(ctx, texts)
		}()
	}
	var first error
	for range calls {
		if i := <-done; parts[i].err != nil && first == nil {
			first = parts[i].err
			cancel()
		}
	}
	if first != nil {
		return nil, first
	}
	out := &embedding.Response{}
	for i := range parts {
		p := &parts[i]
		var err error
		if dimensions, err = c.Take(p.vectors, len(calls[i]), dimensions); err != nil {
			return nil, err
		}
		out.Vectors = append(out.Vectors, p.vectors...)
		used, faults := p.usage.Clip()
		out.Usage, out.UsageUnknown = out.Usage.Add(used), out.UsageUnknown || !p.known || faults != nil
	}
	out.Vectors = slices.Clip(out.Vectors)
	return out, nil
}
