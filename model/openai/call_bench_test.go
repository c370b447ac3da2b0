package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
)

// canned is a network that gives one answer to each request.
type canned struct{ header, body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.header}}, Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
	}, nil
}

// BenchmarkCall is what a call costs beside the network: the request, the transport's
// handling, and an answer of ten deltas.
func BenchmarkCall(b *testing.B) {
	for api, body := range map[API]string{ChatCompletions: chatDeltas(10), Responses: responsesDeltas(10)} {
		b.Run(string(api), func(b *testing.B) {
			m, err := New("gpt-5.4", secret.New("k"), Use(api), HTTPClient(&http.Client{Transport: canned{"text/event-stream", body}}))
			if err != nil {
				b.Fatal(err)
			}
			req := &model.Request{Messages: []event.Message{from(event.RoleUser, &event.Text{Text: "Hello."})}}
			b.ReportAllocs()
			for range b.N {
				for _, err := range m.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
