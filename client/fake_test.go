package client_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "the-token-of-this-test"

// request is a request as a fake server was sent it.
type request struct {
	method, path, body string
	header             http.Header
}

// fake answers requests without a network.
type fake struct {
	answer func(n int, r *request) (*http.Response, error)

	mu   sync.Mutex
	seen []request
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	in := request{method: r.Method, path: r.URL.RequestURI(), header: r.Header}
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		in.body = string(b)
	}
	f.mu.Lock()
	f.seen = append(f.seen, in)
	n := len(f.seen)
	f.mu.Unlock()
	res, err := f.answer(n, &in)
	if err != nil {
		return nil, err
	}
	if b, ok := res.Body.(*endless); ok {
		b.ctx = r.Context()
	}
	res.Request = r
	return res, nil
}

// to makes a client of the fake.
func (f *fake) client(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	// A limit on whole answers would end streams: the client does not heed it.
	o.HTTP = &http.Client{Transport: f, Timeout: time.Second}
	c, err := client.New("http://braid.example/base/", secret.New(token), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func streamed(body string) *http.Response {
	res := answer(200, "text/event-stream; charset=utf-8", body)
	res.Header.Set("X-Run-Id", "r1")
	return res
}

// broken is a body that ends in the middle.
func broken(body []byte) io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{}))
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// endless is a body that says something and then nothing more.
type endless struct {
	io.Reader

	ctx context.Context
}

func (e *endless) Read(p []byte) (int, error) {
	if n, err := e.Reader.Read(p); err == nil {
		return n, nil
	}
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func (e *endless) Close() error { return nil }

// wire is a stream of frames, each with the next id.
func wire(frames ...native.Frame) string {
	var b []byte
	for i, f := range frames {
		b = native.AppendFrames(b, native.Cursor{Seq: int64(i) + 1}, []native.Frame{f})
	}
	return string(b)
}

// serve gives the stream of a conversation from a place on, begun when now events had
// happened.
func serve(events []event.Event, from native.Cursor, now int) []byte {
	for i := now; i < len(events); i++ { // what the reader has seen has happened
		if e := &events[i]; e.Seq > 0 && e.Seq <= from.Seq ||
			e.Live() && (e.Epoch < from.Epoch || e.Epoch == from.Epoch && e.N <= from.N) {
			now = i + 1
		}
	}
	enc := wiretest.Feed(native.NewEncoder(wiretest.Name), "")
	var b []byte
	for i := range events[:now] {
		switch e := &events[i]; {
		case e.Live():
		case e.Seq <= from.Seq:
			enc.Skip(e)
		default:
			b = enc.Append(b, e)
		}
	}
	for _, step := range wiretest.InFlight(events[:now], 1<<20) {
		b = enc.AppendSnapshot(b, &step)
	}
	for i := range events[now:] {
		b = enc.Append(b, &events[now+i])
	}
	return b
}
