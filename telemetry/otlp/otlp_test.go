package otlp_test

import (
	"compress/gzip"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/telemetry"
	"github.com/braidrun/braid/telemetry/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector is a receiver of OTLP over HTTP that keeps what it is sent.
type collector struct {
	*httptest.Server

	mu      sync.Mutex
	spans   map[string]string // name: the service's name and the keys of its attributes
	metrics []string
	headers http.Header
	faults  []string
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{spans: map[string]string{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements [http.Handler].
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzip, err := gzip.NewReader(r.Body)
		if err != nil {
			c.faults = append(c.faults, err.Error())
			return
		}
		body = unzip
	}
	data, err := io.ReadAll(body)
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.faults = append(c.faults, "no protobuf")
	}
	switch r.URL.Path {
	case "/v1/traces":
		var in tracepb.TracesData
		err = proto.Unmarshal(data, &in)
		for _, resource := range in.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans[s.GetName()] = words(resource.GetResource().GetAttributes()) + " " + words(s.GetAttributes())
				}
			}
		}
	case "/v1/metrics":
		var in metricspb.MetricsData
		err = proto.Unmarshal(data, &in)
		for _, resource := range in.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					c.metrics = append(c.metrics, m.GetName())
				}
			}
		}
	default:
		c.faults = append(c.faults, "somebody asked for "+r.URL.Path)
	}
	if err != nil {
		c.faults = append(c.faults, err.Error())
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func words(list []*commonpb.KeyValue) string {
	var b strings.Builder
	for _, one := range list {
		b.WriteString(one.GetKey() + "=" + one.GetValue().GetStringValue() + ";")
	}
	return b.String()
}

// clean takes the variables of whoever runs the tests away.
func clean(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_HEADERS",
		"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME", "OTEL_TRACES_SAMPLER",
		"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
	} {
		t.Setenv(name, variables[name])
	}
}

type echo struct{}

func (echo) Info() model.Info { return model.Info{Name: "demo:echo"} }

func (echo) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: req.Messages[0].Text()}, nil) &&
			yield(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 1, Output: 1}}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// run drives one run whose telemetry goes where the environment says.
func run(t *testing.T) (sends []string) {
	t.Helper()
	out, err := otlp.Open(t.Context(), otlp.Service{Name: "braid", Version: "1.2"})
	if err != nil {
		t.Fatal(err)
	}
	part, err := telemetry.Hooks(out.Options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := braid.New("root", echo{}, part).Run(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := out.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return out.Sends()
}

func TestACollectorIsSentEverything(t *testing.T) { //nolint:paralleltest // it sets the environment
	c := collect(t)
	clean(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
	})
	if sends := run(t); !slices.Equal(sends, []string{"traces", "metrics"}) {
		t.Errorf("it sends %q", sends)
	}
	if len(c.faults) > 0 {
		t.Fatal(c.faults)
	}
	for _, name := range []string{"invoke_agent root", "cycle", "chat echo"} {
		s, ok := c.spans[name]
		if !ok || !strings.Contains(s, "service.name=braid;") || !strings.Contains(s, "service.version=1.2;") ||
			!strings.Contains(s, "deployment.environment.name=test;") || strings.Contains(s, "hello") {
			t.Errorf("%s came as %q", name, s)
		}
	}
	for _, name := range []string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage", "gen_ai.client.operation.time_to_first_chunk"} {
		if !slices.Contains(c.metrics, name) {
			t.Errorf("%s did not come, but %q", name, c.metrics)
		}
	}
	if c.headers.Get("X-Key") != "abc" {
		t.Errorf("the headers were %v", c.headers)
	}
}

func TestVariables(t *testing.T) { //nolint:paralleltest // it sets the environment
	for _, c := range []struct {
		name      string
		variables map[string]string
		sends     string
		fails     string
	}{
		{"none", nil, "", ""},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_SDK_DISABLED": "TRUE"}, "", ""},
		{"traces alone", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "URL/v1/traces"}, "traces", ""},
		{"metrics alone", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_TRACES_EXPORTER": "none"}, "metrics", ""},
		{"another name", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_SERVICE_NAME": "mine"}, "traces metrics", ""},
		{"content", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}, "traces metrics content", ""},
		{"content on spans", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}, "traces metrics content", ""},
		{"content on events", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY"}, "traces metrics", ""},
		{"no sample", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_TRACES_SAMPLER": "always_off"}, "traces metrics", ""},
		{"protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "traces metrics", ""},
		{"grpc", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "", "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{"own protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"}, "", "METRICS_PROTOCOL"},
		{"exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, "", "OTEL_TRACES_EXPORTER"},
		{"no flag", map[string]string{"OTEL_SDK_DISABLED": "perhaps"}, "", "OTEL_SDK_DISABLED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := collect(t)
			for name, v := range c.variables {
				c.variables[name] = strings.ReplaceAll(v, "URL", to.URL)
			}
			clean(t, c.variables)
			if c.fails != "" {
				if _, err := otlp.Open(t.Context(), otlp.Service{}); event.KindOf(err) != event.ErrInvalid || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("it went well: %v", err)
				}
				return
			}
			if got := strings.Join(run(t), " "); got != c.sends {
				t.Errorf("it sends %q, want %q", got, c.sends)
			}
			span := to.spans["chat echo"]
			traced := strings.Contains(c.sends, "traces") && c.name != "no sample"
			if len(to.faults) > 0 || (span != "") != traced || (len(to.metrics) > 0) != strings.Contains(c.sends, "metrics") {
				t.Errorf("faults %q, spans %v, metrics %q", to.faults, to.spans, to.metrics)
			}
			if strings.Contains(span, "hello") != strings.Contains(c.sends, "content") {
				t.Errorf("the span is %q", span)
			}
			if c.name == "another name" && !strings.Contains(span, "service.name=mine;") {
				t.Errorf("the span is %q", span)
			}
		})
	}
}

func TestACollectorThatIsNotThere(t *testing.T) { //nolint:paralleltest // it sets the environment
	c := collect(t)
	c.Close()
	clean(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
	out, err := otlp.Open(t.Context(), otlp.Service{Name: "braid"})
	if err != nil {
		t.Fatal(err)
	}
	part, err := telemetry.Hooks(out.Options())
	if err != nil {
		t.Fatal(err)
	}
	r, err := braid.New("root", echo{}, part).Run(t.Context(), "hello")
	if err != nil || r.Text() != "hello" {
		t.Errorf("the run does not care: %v, %v", r, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if err := out.Close(ctx); event.KindOf(err) != event.ErrUnavailable {
		t.Errorf("closing says %v", err)
	}
}
