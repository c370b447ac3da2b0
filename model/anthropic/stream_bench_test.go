package anthropic

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
)

// fixed answers each request with the same body, without a network.
type fixed struct{ kind, body string }

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {f.kind}}, Body: io.NopCloser(strings.NewReader(f.body)),
		Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// BenchmarkStream is what a call costs from the request to the last chunk, without a
// network: with 500 deltas, and with one.
func BenchmarkStream(b *testing.B) {
	for _, tc := range []struct {
		name string
		n    int
	}{{"500 deltas", 500}, {"1 delta", 1}} {
		body := deltas(tc.n)
		client := &http.Client{Transport: fixed{"text/event-stream", body}}
		m, err := New(Default, secret.New("k"), HTTPClient(client))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(tc.name, func(b *testing.B) { stream(b, m, tc.n) })
		client = &http.Client{Transport: fixed{"application/vnd.amazon.eventstream", framed(body)}}
		m, err = NewBedrock(BedrockDefault, aws.Config{Region: "us-east-1", Credentials: static}, HTTPClient(client))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(tc.name+" on Bedrock", func(b *testing.B) { stream(b, m, tc.n) })
	}
}

func stream(b *testing.B, m *Model, n int) {
	b.Helper()
	b.ReportAllocs()
	req := &model.Request{Instructions: "Be brief.", Tools: add, Messages: long()[:21]}
	for range b.N {
		got := 0
		for c, err := range m.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
			if c.Kind == model.ChunkText {
				got++
			}
		}
		if got < n {
			b.Fatalf("%d chunks", got)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delta")
}

// static are credentials that sign.
var static = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIATEST000000000000", SecretAccessKey: "secret"}, nil
})
