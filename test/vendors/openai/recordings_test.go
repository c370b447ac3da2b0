package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/secret"
)

// recording is an exchange with one of OpenAI's two APIs, or with another server.
type recording struct {
	file, url, answer string
	stream            bool
	api               openai.API
}

// recorded reads the recordings, which BRAID_FIXTURES names.
func recorded(t *testing.T) []recording {
	t.Helper()
	root := os.Getenv("BRAID_FIXTURES")
	if root == "" {
		t.Skip("BRAID_FIXTURES does not name the folder of the recordings")
	}
	var all []recording
	for _, pattern := range []string{"TestOpenAI*/*/*.yaml", "TestImageUpload*/openai*.yaml"} {
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
					Request  struct{ URL string }
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
				r := recording{file: strings.TrimPrefix(file, root), url: x.Request.URL, answer: x.Response.Body, api: openai.ChatCompletions}
				r.stream = strings.HasPrefix(http.Header(x.Response.Headers).Get("Content-Type"), "text/event-stream")
				if strings.HasSuffix(r.url, "/responses") {
					r.api = openai.Responses
				}
				all = append(all, r)
			}
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d recordings", len(all))
	}
	return all
}

// heard is what there is to be heard in an answer.
type heard struct {
	Text, Thought string
	Calls         []call
	Stop          event.StopReason
	Usage         event.Usage
	Model         string
	Sealed        int // items of reasoning with encrypted content
}

type call struct{ ID, Name, Args string }

// bySDK is what the vendor's SDK makes of the answer.
func (r *recording) bySDK(t *testing.T) heard {
	t.Helper()
	if r.api == openai.Responses {
		return r.responsesBySDK(t)
	}
	return r.chatBySDK(t)
}

func (r *recording) responsesBySDK(t *testing.T) heard {
	t.Helper()
	var m responses.Response
	raw := r.answer
	for line := range strings.Lines(r.answer) {
		data, ok := strings.CutPrefix(line, "data: ")
		var e struct {
			Type     string
			Response json.RawMessage
		}
		if ok && json.Unmarshal([]byte(data), &e) == nil && e.Type == "response.completed" {
			raw = string(e.Response)
		}
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatalf("%s: %v", r.file, err)
	}
	h := heard{Model: m.Model, Stop: event.StopEndTurn}
	u := m.Usage
	h.Usage = event.Usage{
		Input: u.InputTokens - u.InputTokensDetails.CachedTokens, CacheRead: u.InputTokensDetails.CachedTokens, Output: u.OutputTokens,
		Reasoning: u.OutputTokensDetails.ReasoningTokens, Total: u.TotalTokens,
	}
	for _, o := range m.Output {
		switch o.Type {
		case "message":
			for _, c := range o.Content {
				h.Text += c.Text
			}
		case "reasoning":
			for i, s := range o.Summary {
				if i > 0 {
					h.Thought += "\n\n"
				}
				h.Thought += s.Text
			}
			if o.EncryptedContent != "" {
				h.Sealed++
			}
		case "function_call":
			h.Stop = event.StopToolUse
			h.Calls = append(h.Calls, call{o.CallID, o.Name, o.Arguments.OfString})
		default:
			t.Fatalf("%s: an item of %s", r.file, o.Type)
		}
	}
	return h
}

func (r *recording) chatBySDK(t *testing.T) heard {
	t.Helper()
	var m sdk.ChatCompletion
	var acc sdk.ChatCompletionAccumulator
	thought := ""
	if r.stream {
		for line := range strings.Lines(r.answer) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok || strings.HasPrefix(data, "[DONE]") {
				continue
			}
			var e sdk.ChatCompletionChunk
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			e.ID = "one" // one server changes it on the way, and the SDK stops there
			if !acc.AddChunk(e) {
				t.Fatalf("%s: the SDK does not take %s", r.file, data)
			}
			for _, c := range e.Choices {
				thought += extra(t, c.Delta.JSON.ExtraFields["reasoning_content"].Raw())
			}
		}
		m = acc.ChatCompletion
	} else {
		if err := json.Unmarshal([]byte(r.answer), &m); err != nil {
			t.Fatal(err)
		}
		thought = extra(t, m.Choices[0].Message.JSON.ExtraFields["reasoning_content"].Raw())
	}
	c := m.Choices[0]
	h := heard{Text: c.Message.Content, Thought: thought, Model: m.Model, Stop: map[string]event.StopReason{
		"stop": event.StopEndTurn, "tool_calls": event.StopToolUse, "length": event.StopMaxTokens,
	}[c.FinishReason]}
	for _, k := range c.Message.ToolCalls {
		h.Calls = append(h.Calls, call{k.ID, k.Function.Name, k.Function.Arguments})
	}
	u := m.Usage
	h.Usage = event.Usage{
		Input: u.PromptTokens - u.PromptTokensDetails.CachedTokens, CacheRead: u.PromptTokensDetails.CachedTokens, Output: u.CompletionTokens,
		Reasoning: u.CompletionTokensDetails.ReasoningTokens, Total: u.TotalTokens,
	}
	if strings.Contains(r.file, "xai") {
		h.Usage.Output += h.Usage.Reasoning // it counts it apart
	}
	return h
}

// extra is a text that the SDK has no member for.
func extra(t *testing.T, raw string) string {
	t.Helper()
	s := ""
	if raw != "" && raw != "null" {
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// giving is a network that gives one answer.
type giving struct {
	kind, body string
	sent       *[]byte
}

func (g giving) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if g.sent != nil {
			*g.sent = body
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {g.kind}}, Body: io.NopCloser(strings.NewReader(g.body)), Request: r,
	}, nil
}

// read is what Braid makes of the answer.
func (r *recording) read(t *testing.T) heard {
	t.Helper()
	kind := "application/json"
	if r.stream {
		kind = "text/event-stream"
	}
	m, err := openai.New("m", secret.Secret{}, openai.BaseURL(strings.TrimSuffix(strings.TrimSuffix(r.url, "/responses"), "/chat/completions")),
		openai.Use(r.api), openai.HTTPClient(&http.Client{Transport: giving{kind: kind, body: r.answer}}))
	if err != nil { // the vendor's own address wants a key
		m, err = openai.New("m", secret.New("k"), openai.Use(r.api), openai.HTTPClient(&http.Client{Transport: giving{kind: kind, body: r.answer}}))
	}
	if err != nil {
		t.Fatal(err)
	}
	got := modeltest.Call(t.Context(), m, hello())
	if got.Err != nil || got.Stops != 1 {
		t.Errorf("%s: %v", r.file, got.Err)
	}
	h := heard{Stop: got.Stop, Usage: got.Usage, Model: got.Model}
	for _, b := range got.Content {
		switch b := b.(type) {
		case *event.Text:
			h.Text += b.Text
		case *event.Thinking:
			h.Thought += b.Text
			if strings.HasPrefix(b.Signature, "openai.") {
				h.Sealed++
			}
		case *event.ToolCall:
			h.Calls = append(h.Calls, call{b.ID, b.Name, string(b.Args)})
		}
	}
	return h
}

func hello() *model.Request {
	return &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hello."}}}}}
}

// Streams and whole answers say to Braid what they say to the vendor's SDK.
func TestRecordingsDecodeToWhatTheSDKMakesOfThem(t *testing.T) {
	t.Parallel()
	streams, whole, sealed := 0, 0, 0
	for _, r := range recorded(t) {
		want, got := r.bySDK(t), r.read(t)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s -SDK +ours:\n%s", r.file, d)
		}
		if want.Usage.Output == 0 || want.Text == "" && len(want.Calls) == 0 {
			t.Errorf("%s says nothing", r.file)
		}
		if sealed += got.Sealed; r.stream {
			streams++
		} else {
			whole++
		}
	}
	if streams < 50 || whole < 50 || sealed < 3 {
		t.Errorf("only %d streams, %d whole answers, %d items of encrypted reasoning", streams, whole, sealed)
	}
}
