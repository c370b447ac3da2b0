package mcptool

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// flight is what is known of one request on its way, below the SDK: whether it
// can have reached the server, and the answer as the server wrote it. The SDK
// hands results out decoded, which loses the order of a schema's properties, the
// digits of long numbers and kinds of content that it does not know.
//
// It travels in the request's context, which every transport is handed.
type flight struct {
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	id     string // of the request, as JSON, where that is needed
	sent   bool
	status int
	// answered is set when the server answered with an error, raw when with a result.
	answered bool
	// refusal is the server's words where it refused the request by its status.
	refusal string
	raw     json.RawMessage
	err     error
	// questions are what the server has asked on the stream of the answer.
	questions map[string]int
}

type flightKey struct{}

func withFlight(ctx context.Context) (context.Context, *flight) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{cancel: cancel}
	return context.WithValue(ctx, flightKey{}, f), f
}

// flightOf finds the request's flight; nil where nobody wants to know.
func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// land frees what is left of the request.
func (f *flight) land() { f.cancel(nil) }

func (f *flight) setID(id string) {
	f.mu.Lock()
	f.id = id
	f.mu.Unlock()
}

func (f *flight) requestID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.id
}

func (f *flight) setSent() {
	f.mu.Lock()
	f.sent = true
	f.mu.Unlock()
}

func (f *flight) wasSent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

func (f *flight) setStatus(code int) {
	f.mu.Lock()
	f.status = code
	f.mu.Unlock()
}

func (f *flight) lastStatus() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *flight) setAnswered() {
	f.mu.Lock()
	f.answered = true
	f.mu.Unlock()
}

func (f *flight) wasAnswered() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered
}

func (f *flight) setRefusal(words string) {
	f.mu.Lock()
	f.refusal = words
	f.mu.Unlock()
}

// refused gives the words of a server that took the request, understood who
// sent it, and would not carry it out.
func (f *flight) refused() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return ""
	}
	if f.status < http.StatusBadRequest {
		return ""
	}
	return f.refusal
}

// setResult notes the answer. A call that is made again with what the server has asked for has another one.
func (f *flight) setResult(raw json.RawMessage) {
	f.mu.Lock()
	f.raw = raw
	f.mu.Unlock()
}

func (f *flight) result() json.RawMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raw
}

// carry notes a question that came on the stream of the answer.
func (f *flight) carry(question string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.questions == nil {
		f.questions = map[string]int{}
	}
	if len(f.questions) < mostQuestions {
		f.questions[question]++
	}
}

// carried reports whether such a question came.
func (f *flight) carried(question string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.questions[question] > 0
}

// fail ends the request from below; the first error counts.
func (f *flight) fail(err error) {
	f.mu.Lock()
	if f.err == nil {
		f.err = err
	}
	f.mu.Unlock()
	f.cancel(err)
}

func (f *flight) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// tapped is a connection that tells flights their answers. It is for transports
// of one stream; the streamable one, which the SDK must see bare, is tapped where
// it sends its requests.
type tapped struct {
	mcp.Connection
	traffic *traffic
	mu      sync.Mutex
	flights map[jsonrpc.ID]*flight
}

func tap(c mcp.Connection, t *traffic) *tapped {
	return &tapped{Connection: c, traffic: t, flights: map[jsonrpc.ID]*flight{}}
}

func (t *tapped) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := t.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Response); ok && err == nil {
		t.mu.Lock()
		f := t.flights[r.ID]
		delete(t.flights, r.ID)
		t.mu.Unlock()
		switch {
		case f == nil:
		case r.Error != nil:
			f.setAnswered()
		default:
			f.setResult(r.Result)
		}
	}
	return m, err
}

func (t *tapped) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		if f := flightOf(ctx); f != nil {
			t.mu.Lock()
			t.flights[r.ID] = f
			t.mu.Unlock()
			// A request that was given up gets no answer.
			context.AfterFunc(ctx, func() {
				t.mu.Lock()
				delete(t.flights, r.ID)
				t.mu.Unlock()
			})
		}
	}
	err := t.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == methodCancelled {
		t.traffic.notices.Add(-1)
	}
	return err
}

// traffic counts what must be over before a connection may be closed: calls
// that are on their way back, and the word to the server that they were given up.
// The SDK sends that word beside the call, and not at all once it is closing.
type traffic struct {
	calls   atomic.Int64
	notices atomic.Int64
}

// quiet waits until nothing is under way, for at most d.
func (t *traffic) quiet(d time.Duration) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(d)
	defer late.Stop()
	for t.calls.Load() > 0 || t.notices.Load() > 0 {
		select {
		case <-tick.C:
		case <-late.C:
			return
		}
	}
}

// methodCancelled is the word that a call was given up.
const methodCancelled = "notifications/cancelled"
