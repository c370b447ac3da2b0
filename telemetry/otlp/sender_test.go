package otlp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/braidrun/braid/event"
)

func TestAddresses(t *testing.T) { //nolint:paralleltest // it sets the environment
	const both, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, c := range []struct{ both, own, want string }{
		{"", "", "http://localhost:4318/v1/traces"},
		{"https://c.example", "", "https://c.example/v1/traces"},
		{"https://c.example/otel/", "", "https://c.example/otel/v1/traces"},
		{"https://c.example", "http://t.example/in", "http://t.example/in"},
		{"https://c.example", "http://t.example", "http://t.example/"},
		{"c.example:4318", "", ""},
		{"", "grpc://x", ""},
		{"http://", "", ""},
	} {
		t.Setenv(both, c.both)
		t.Setenv(own, c.own)
		s, err := newSender(traceSignal)
		switch {
		case c.want == "" && event.KindOf(err) != event.ErrInvalid:
			t.Errorf("%+v: %v", c, err)
		case c.want != "" && (err != nil || s.address != c.want):
			t.Errorf("%+v: %+v, %v", c, s, err)
		}
	}
}

func TestWrongVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "secret-without-a-name", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "zstd", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": file, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": file,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, err := newSender(traceSignal)
			if event.KindOf(err) != event.ErrInvalid || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		})
	}
	h, err := headers("a=b%20c, x-key = 1=2 ,,")
	if err != nil || h.Get("A") != "b c" || h.Get("X-Key") != "1=2" {
		t.Errorf("%v, %v", h, err)
	}
}

// answering makes a sender whose collector answers with what is given, in turn.
func answering(t *testing.T, answers ...func(http.ResponseWriter)) (*sender, *atomic.Int64) {
	t.Helper()
	n := &atomic.Int64{}
	s := &sender{address: "http://collector.invalid/v1/traces", header: http.Header{"X-Key": {"k"}}, client: &http.Client{
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			answers[min(int(n.Add(1)), len(answers))-1](w)
			resp := w.Result()
			resp.Request = r
			return resp, nil
		}),
	}}
	s.life, s.end = context.WithCancel(context.Background())
	return s, n
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func TestACollectorThatAsksForPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s, n := answering(t, status(http.StatusServiceUnavailable, "Retry-After", "7"), status(http.StatusBadGateway), status(http.StatusOK))
		if err := s.send(t.Context(), nil); err != nil || n.Load() != 3 {
			t.Errorf("%v after %d", err, n.Load())
		}
		if waited := time.Since(began); waited < 9*time.Second || waited > 20*time.Second {
			t.Errorf("it waited %v", waited)
		}
		s, n = answering(t, status(http.StatusTooManyRequests))
		if err := s.send(t.Context(), nil); err == nil || n.Load() < 3 {
			t.Errorf("for ever: %v after %d", err, n.Load())
		}
		s, n = answering(t, status(http.StatusBadRequest))
		if err := s.send(t.Context(), nil); err == nil || n.Load() != 1 {
			t.Errorf("a refusal: %v after %d", err, n.Load())
		}
		s, n = answering(t, status(http.StatusTemporaryRedirect, "Location", "http://elsewhere.invalid"))
		s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if err := s.send(t.Context(), nil); err == nil || n.Load() != 1 {
			t.Errorf("a redirect: %v after %d", err, n.Load())
		}
		s, _ = answering(t, status(http.StatusServiceUnavailable))
		time.AfterFunc(time.Second, s.stop)
		began = time.Now()
		if err := s.send(t.Context(), nil); err == nil || time.Since(began) > 2*time.Second {
			t.Errorf("stopped: %v after %v", err, time.Since(began))
		}
	})
}

func TestAPartThatWasRejected(t *testing.T) { //nolint:paralleltest // it sets the handler of errors
	var mu sync.Mutex
	var told string
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		told = err.Error()
	}))
	t.Cleanup(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) })
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "too old")
	body := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	s, _ := answering(t, func(w http.ResponseWriter) { _, _ = w.Write(body) })
	if err := s.send(t.Context(), nil); err != nil || !strings.Contains(told, "3 rejected: too old") {
		t.Errorf("%v, %q", err, told)
	}
}

func FuzzRejected(f *testing.F) {
	f.Add([]byte{10, 4, 8, 3, 18, 0})
	f.Fuzz(func(_ *testing.T, b []byte) { rejected(b) })
}
