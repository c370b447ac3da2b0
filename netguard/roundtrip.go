package netguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// RoundTrip implements [http.RoundTripper]. It returns an error of kind [event.ErrPermission] for a request that the rules
// refuse. Reading the body of a response fails with [event.ErrTooLarge] above [Options.MaxBytes] and with [event.ErrTimeout]
// after [Options.Timeout].
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.CheckURL(r.URL); err != nil {
		closeBody(r)
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	if g.options.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(r.Context(), g.options.Timeout, errTooSlow)
	}
	sent := r.Clone(ctx)
	// A pooled connection is found by the host of the URL. The Host header of the request may be another one, which is the
	// way to a virtual host that nobody checked.
	sent.Host = ""
	resp, err := g.transport.RoundTrip(sent)
	if err != nil {
		err = g.timedOut(ctx, err)
		cancel()
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, guard: g, ctx: ctx, cancel: cancel, left: g.options.MaxBytes}
	resp.Request = r
	return resp, nil
}

// Client returns a client that uses the guard and follows at most [Options.Redirects] redirects.
func (g *Guard) Client() *http.Client {
	return &http.Client{Transport: g, CheckRedirect: g.redirect}
}

func (g *Guard) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > g.options.Redirects {
		if g.options.Redirects == 0 {
			return http.ErrUseLastResponse
		}
		return refused(fmt.Sprintf("there are more than %d redirects", g.options.Redirects), "Use the final address.")
	}
	last := via[len(via)-1].URL
	if last.Scheme == "https" && r.URL.Scheme != "https" {
		return refused("a redirect leads from https to http", "Use the final address.")
	}
	// net/http copies the first request's headers for every hop, so one hop elsewhere is enough to drop them.
	elsewhere := slices.ContainsFunc(append(slices.Clone(via), r), func(hop *http.Request) bool { return !sameOrigin(via[0].URL, hop.URL) })
	if elsewhere && r.Body != nil && r.Body != http.NoBody {
		return refused("a redirect leads to another host, with the body of the request", "Use the final address.")
	}
	if elsewhere {
		kept := http.Header{}
		for _, name := range []string{"Accept", "Accept-Language", "Content-Type", "User-Agent"} {
			if v := r.Header.Values(name); len(v) > 0 {
				kept[name] = v
			}
		}
		r.Header = kept //nolint:gosec // it drops the sensitive headers
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

var errTooSlow = errors.New("the request took too long")

// timedOut replaces an error by the guard's own one if the guard's time is over.
func (g *Guard) timedOut(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errTooSlow) {
		return &event.Error{
			Op: op, Kind: event.ErrTimeout, Message: fmt.Sprintf("the request took longer than %v", g.options.Timeout),
			Hint: "try again later", Err: err,
		}
	}
	return err
}

// body is the body of a response within the guard's bounds.
type body struct {
	io.ReadCloser

	guard  *Guard
	ctx    context.Context //nolint:containedctx // it is the context of the request, which ends with the body
	cancel context.CancelFunc
	left   int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.guard.options.MaxBytes < 0 {
		n, err := b.ReadCloser.Read(p)
		return n, b.fault(err)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		b.left = 0
		return 0, &event.Error{
			Op: op, Kind: event.ErrTooLarge, Message: fmt.Sprintf("the response is larger than %d bytes", b.guard.options.MaxBytes),
			Hint: "ask for less",
		}
	}
	return n, b.fault(err)
}

func (b *body) fault(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return b.guard.timedOut(b.ctx, err)
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
