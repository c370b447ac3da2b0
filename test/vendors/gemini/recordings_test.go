package gemini_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"google.golang.org/genai"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// recording is an answer of the API, as charmbracelet/fantasy has recorded it.
type recording struct {
	file, body string
	stream     bool
}

// recorded reads the recordings in the folder that BRAID_FIXTURES names.
func recorded(t *testing.T) (out []recording) {
	t.Helper()
	root := os.Getenv("BRAID_FIXTURES")
	if root == "" {
		t.Skip("BRAID_FIXTURES does not name the folder of the recordings")
	}
	for _, pattern := range []string{"TestGoogle*/*/*.yaml", "TestImageUpload*/gemini*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, "provider-recordings", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recordings of %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var tape struct {
				Interactions []struct {
					Response struct {
						Body    string
						Headers map[string][]string
					}
				}
			}
			if err := yaml.Unmarshal(data, &tape); err != nil {
				t.Fatal(err)
			}
			for _, x := range tape.Interactions {
				stream := strings.HasPrefix(http.Header(x.Response.Headers).Get("Content-Type"), "text/event-stream")
				out = append(out, recording{filepath.Base(file), x.Response.Body, stream})
			}
		}
	}
	return out
}

// said is what an answer says, whoever read it.
type said struct {
	Text, Thoughts string
	Calls          []saidCall
	// Signatures stand in order; texts have theirs at their end.
	Signatures []string
	Reason     genai.FinishReason
	Usage      event.Usage
	ID, Model  string
}

type saidCall struct{ ID, Name, Args string }

// bySDK is what the vendor's SDK reads.
func (r *recording) bySDK(t *testing.T) said {
	t.Helper()
	var out said
	events := []string{r.body}
	if r.stream {
		events = nil
		for line := range strings.Lines(r.body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				events = append(events, data)
			}
		}
	}
	for _, data := range events {
		var r genai.GenerateContentResponse
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			t.Fatal(err)
		}
		out.ID, out.Model = r.ResponseID, r.ModelVersion
		if u := r.UsageMetadata; u != nil {
			out.Usage = event.Usage{
				Input:     int64(u.PromptTokenCount - u.CachedContentTokenCount + u.ToolUsePromptTokenCount),
				CacheRead: int64(u.CachedContentTokenCount), Output: int64(u.CandidatesTokenCount + u.ThoughtsTokenCount),
				Reasoning: int64(u.ThoughtsTokenCount), Total: int64(u.TotalTokenCount),
			}
		}
		for _, c := range r.Candidates {
			if c.FinishReason != "" {
				out.Reason = c.FinishReason
			}
			for _, p := range c.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					out.Calls = append(out.Calls, saidCall{p.FunctionCall.ID, p.FunctionCall.Name, object(t, p.FunctionCall.Args)})
				case p.Thought:
					out.Thoughts += p.Text
				default:
					out.Text += p.Text
				}
				if len(p.ThoughtSignature) > 0 {
					out.Signatures = append(out.Signatures, base64.StdEncoding.EncodeToString(p.ThoughtSignature))
				}
			}
		}
	}
	return out
}

// object is a value as JSON of one form.
func object(t *testing.T, v any) string {
	t.Helper()
	if raw, ok := v.(json.RawMessage); ok {
		var members map[string]any
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		v = members
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// answered gives a body to each request.
type answered struct{ kind, body string }

func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
	}, nil
}

// byUs is what the provider reads of the answer as it was recorded: a stream, or one
// response at once.
func (r *recording) byUs(t *testing.T) said {
	t.Helper()
	kind := "application/json; charset=UTF-8"
	if r.stream {
		kind = "text/event-stream"
	}
	m, err := gemini.New(gemini.Default, secret.New("k"), gemini.HTTPClient(&http.Client{Transport: answered{kind, r.body}}))
	if err != nil {
		t.Fatal(err)
	}
	read := modeltest.Call(t.Context(), m, &model.Request{Messages: []event.Message{message(event.RoleUser, &event.Text{Text: "q"})}})
	if read.Err != nil || read.Stops != 1 {
		t.Fatalf("%s: %v", r.file, read.Err)
	}
	out := said{Usage: read.Usage, ID: read.ID, Model: read.Model}
	sign := func(s string) {
		if s, ok := strings.CutPrefix(s, "gemini."); ok && s != "" {
			out.Signatures = append(out.Signatures, s)
		}
	}
	for _, b := range read.Content {
		switch b := b.(type) {
		case *event.Text:
			out.Text += b.Text
			sign(b.Signature)
		case *event.Thinking:
			out.Thoughts += b.Text
			sign(b.Signature)
		case *event.ToolCall:
			out.Calls = append(out.Calls, saidCall{b.ID, b.Name, object(t, b.Args)})
			sign(b.Signature)
		default:
			t.Errorf("a block of %s", b.BlockKind())
		}
	}
	switch read.Stop {
	case event.StopEndTurn, event.StopToolUse:
		out.Reason = "STOP"
	default:
		out.Reason = genai.FinishReason(read.Stop)
	}
	if (read.Stop == event.StopToolUse) != (len(out.Calls) > 0) {
		t.Errorf("%s: stop %q", r.file, read.Stop)
	}
	return out
}

func TestRecordingsDecodeToWhatTheSDKMakesOfThem(t *testing.T) {
	t.Parallel()
	streams, calls, thoughts, signatures := 0, 0, 0, 0
	for _, r := range recorded(t) {
		got, want := r.byUs(t), r.bySDK(t)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s -SDK +ours:\n%s", r.file, d)
		}
		if got.Usage.Output == 0 || got.Usage.Input == 0 {
			t.Errorf("%s: usage %+v", r.file, got.Usage)
		}
		if r.stream {
			streams++
		} else if again := (&recording{r.file, "[" + r.body + "]", false}); cmp.Diff(want, again.byUs(t)) != "" {
			t.Errorf("%s: an array of it says something else", r.file)
		}
		calls += len(want.Calls)
		signatures += len(want.Signatures)
		if want.Thoughts != "" {
			thoughts++
		}
	}
	if streams < 25 || calls < 20 || thoughts < 4 || signatures < 20 {
		t.Errorf("only %d streams, %d calls, %d thoughts, %d signatures", streams, calls, thoughts, signatures)
	}
}

// BenchmarkSDK is what a stream of 500 deltas costs through the vendor's SDK.
// model/gemini has the benchmarks of the provider.
func BenchmarkSDK(b *testing.B) {
	var body bytes.Buffer
	const n = 500
	for range n {
		body.WriteString(`data: {"candidates": [{"content": {"parts": [{"text": " piece"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 218}}` + "\r\n\r\n")
	}
	c, err := genai.NewClient(b.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "k", HTTPClient: &http.Client{Transport: answered{"text/event-stream", body.String()}},
		HTTPOptions: genai.HTTPOptions{BaseURL: "http://127.0.0.1:1"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for r, err := range c.Models.GenerateContentStream(b.Context(), gemini.Default, genai.Text("x"), nil) {
			if err != nil {
				b.Fatal(err)
			}
			_ = r.Text()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
}
