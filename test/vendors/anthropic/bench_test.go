package anthropic_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/secret"
)

// fixed answers each request with the same stream, without a network.
type fixed string

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(f))),
		Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// BenchmarkStream is a call with 500 deltas through the provider, beside the SDK.
func BenchmarkStream(b *testing.B) {
	const n = 500
	pieces := make([]string, n)
	for i := range pieces {
		pieces[i] = " the next few words"
	}
	transport := &http.Client{Transport: fixed(anthropictest.Text(pieces...).Body)}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		m, err := anthropic.New(anthropic.Default, secret.New("k"), anthropic.HTTPClient(transport))
		if err != nil {
			b.Fatal(err)
		}
		req := &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hello."}}}}}
		for range b.N {
			for _, err := range m.Stream(b.Context(), req) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		c := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithHTTPClient(transport), option.WithMaxRetries(0))
		for range b.N {
			s := c.Messages.NewStreaming(b.Context(), question(anthropic.Default))
			for s.Next() {
				_ = s.Current().Delta.Text
			}
			if s.Err() != nil {
				b.Fatal(s.Err())
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
	})
}
