package anthropic_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// recording is an answer of the API or of Bedrock, as charmbracelet/fantasy has recorded it.
type recording struct {
	file, kind, body string
	bedrock          bool
}

// recorded reads the recordings in the folder that BRAID_FIXTURES names.
func recorded(t *testing.T) (out []recording) {
	t.Helper()
	root := os.Getenv("BRAID_FIXTURES")
	if root == "" {
		t.Skip("BRAID_FIXTURES does not name the folder of the recordings")
	}
	for _, pattern := range []string{"TestAnthropic*/*/*.yaml", "TestImageUpload*/anthropic*.yaml", "TestBedrock*/*.yaml", "TestBedrock*/*/*.yaml"} {
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
				kind, _, _ := strings.Cut(http.Header(x.Response.Headers).Get("Content-Type"), ";")
				out = append(out, recording{file: filepath.Base(file), kind: strings.TrimSpace(kind), body: x.Response.Body, bedrock: strings.HasPrefix(pattern, "TestBedrock")})
			}
		}
	}
	return out
}

// bySDK is what the SDK makes of the answer.
func (r *recording) bySDK(t *testing.T) (m sdk.Message) {
	t.Helper()
	add := func(data []byte) {
		var e sdk.MessageStreamEventUnion
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "ping" {
			return
		}
		if err := m.Accumulate(e); err != nil {
			t.Fatal(err)
		}
	}
	switch r.kind {
	case "text/event-stream":
		for line := range strings.Lines(r.body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				add([]byte(data))
			}
		}
	case "application/vnd.amazon.eventstream":
		for in := strings.NewReader(r.body); in.Len() > 0; {
			f, err := eventstream.NewDecoder().Decode(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			var chunk struct {
				Bytes []byte `json:"bytes"`
			}
			if err := json.Unmarshal(f.Payload, &chunk); err != nil {
				t.Fatal(err)
			}
			add(chunk.Bytes)
		}
	default:
		if err := json.Unmarshal([]byte(r.body), &m); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// A recorded answer, streamed or at once, comes through the provider as the SDK reads it.
func TestRecordingsComeAsTheSDKReadsThem(t *testing.T) {
	t.Parallel()
	all := recorded(t)
	streams := 0
	for _, r := range all {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", r.kind)
			_, _ = w.Write([]byte(r.body))
		}))
		m, err := anthropic.New("claude-sonnet-4-5", secret.New("k"), anthropic.BaseURL(s.URL), anthropic.HTTPClient(s.Client()))
		if r.bedrock {
			m, err = anthropic.NewBedrock(anthropic.BedrockDefault, aws.Config{Region: "us-east-1", Credentials: static},
				anthropic.BaseURL(s.URL), anthropic.HTTPClient(s.Client()))
		}
		if err != nil {
			t.Fatal(err)
		}
		got := modeltest.Call(t.Context(), m, &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "q"}}}}})
		s.Close()
		if got.Err != nil {
			t.Errorf("%s: %v", r.file, got.Err)
			continue
		}
		if r.kind != "application/json" {
			streams++
		}
		want := r.bySDK(t)
		if d := cmp.Diff(theirs(want.Content), ours(got.Content)); d != "" {
			t.Errorf("%s -SDK +ours:\n%s", r.file, d)
		}
		u := want.Usage
		if got.ID != want.ID || got.Model != want.Model || string(got.Stop) != string(want.StopReason) || got.Stops != 1 ||
			got.Usage.Input != u.InputTokens || got.Usage.Output != u.OutputTokens || got.Usage.CacheRead != u.CacheReadInputTokens ||
			got.Usage.CacheWrite != u.CacheCreationInputTokens {
			t.Errorf("%s: %+v, the SDK reads %+v", r.file, got, want)
		}
	}
	if len(all) < 45 || streams < 22 {
		t.Errorf("only %d recordings, %d streams", len(all), streams)
	}
}

// static are credentials that sign.
var static = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIATEST000000000000", SecretAccessKey: "secret"}, nil
})

func theirs(content []sdk.ContentBlockUnion) (out []string) {
	for _, b := range content {
		switch b.Type {
		case "text":
			out = append(out, "text "+b.Text)
		case "thinking":
			out = append(out, "thinking "+b.Thinking+" "+b.Signature)
		case "tool_use":
			out = append(out, "call "+b.ID+" "+b.Name+" "+plain(b.Input))
		default:
			out = append(out, b.Type)
		}
	}
	return out
}

func ours(content []event.Block) (out []string) {
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			out = append(out, "text "+b.Text)
		case *event.Thinking:
			out = append(out, "thinking "+b.Text+" "+b.Signature)
		case *event.ToolCall:
			out = append(out, "call "+b.ID+" "+b.Name+" "+plain(b.Args))
		default:
			out = append(out, string(b.BlockKind()))
		}
	}
	return out
}

// plain is JSON in one form.
func plain(raw []byte) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return "{}"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
