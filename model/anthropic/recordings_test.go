package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/recordings"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// recording is an exchange with Anthropic's API or with Amazon Bedrock.
type recording struct {
	recordings.Exchange

	bedrock bool
}

func recorded(t *testing.T) []recording {
	t.Helper()
	var out []recording
	for _, x := range recordings.Of(t, 30, "TestAnthropic*/*/*.yaml", "TestImageUpload*/anthropic*.yaml") {
		out = append(out, recording{Exchange: x})
	}
	for _, x := range recordings.Of(t, 15, "TestBedrock*/*.yaml", "TestBedrock*/*/*.yaml") {
		out = append(out, recording{Exchange: x, bedrock: true})
	}
	return out
}

// bySDK is what the vendor's SDK makes of the answer.
func (r *recording) bySDK(t *testing.T) sdk.Message {
	t.Helper()
	var m sdk.Message
	if !r.Stream {
		if err := json.Unmarshal([]byte(r.Answer), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, data := range r.events(t) {
		var e sdk.MessageStreamEventUnion
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "ping" {
			continue
		}
		if err := m.Accumulate(e); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// events are those of a stream, by the SDK's reader of Bedrock's frames.
func (r *recording) events(t *testing.T) (out [][]byte) {
	t.Helper()
	if !r.bedrock {
		for line := range strings.Lines(r.Answer) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				out = append(out, []byte(data))
			}
		}
		return out
	}
	for in := strings.NewReader(r.Answer); in.Len() > 0; {
		m, err := eventstream.NewDecoder().Decode(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		if err := json.Unmarshal(m.Payload, &chunk); err != nil {
			t.Fatal(err)
		}
		out = append(out, chunk.Bytes)
	}
	return out
}

// body is the answer as a stream: its own, or one that says the same.
func (r *recording) body(t *testing.T) string {
	t.Helper()
	if r.Stream {
		return r.Answer
	}
	m := r.bySDK(t)
	var chunks []model.Chunk
	for i, b := range m.Content {
		add := func(k model.ChunkKind, id, text string) {
			chunks = append(chunks, model.Chunk{Kind: k, Index: i, ID: id, Text: text})
		}
		switch b.Type {
		case "text":
			add(model.ChunkText, "", b.Text)
		case "thinking":
			add(model.ChunkThinking, "", b.Thinking)
			add(model.ChunkSignature, "", b.Signature)
		case "tool_use":
			add(model.ChunkCall, b.ID, b.Name)
			add(model.ChunkCallInput, "", string(b.Input))
		default:
			t.Fatalf("%s: a block of %s", r.File, b.Type)
		}
	}
	u := event.Usage{
		Input: m.Usage.InputTokens, Output: m.Usage.OutputTokens, CacheRead: m.Usage.CacheReadInputTokens,
		CacheWrite: m.Usage.CacheCreationInputTokens,
	}
	if r.bedrock {
		return anthropictest.BedrockStream(chunks, string(m.StopReason), u).Body
	}
	return anthropictest.Stream(chunks, string(m.StopReason), u).Body
}

// decode reads a stream without a network.
func (r *recording) decode(in io.Reader) (modeltest.Read, error) {
	if r.bedrock {
		return decode(newFrames(in))
	}
	return decode(newLines(in))
}

func decode(from events) (modeltest.Read, error) {
	var chunks []model.Chunk
	d := decoder{yield: func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }}
	err := d.run(from)
	return modeltest.Put(chunks, err), err
}

func TestRecordingsDecodeToWhatTheSDKMakesOfThem(t *testing.T) {
	t.Parallel()
	streams := 0
	for _, r := range recorded(t) {
		want := r.bySDK(t)
		body := r.body(t)
		got, err := r.decode(strings.NewReader(body))
		if err != nil {
			t.Errorf("%s: %v", r.File, err)
			continue
		}
		if r.Stream {
			streams++
			if got.ID != want.ID || got.Model != want.Model {
				t.Errorf("%s: answer %s of %s", r.File, got.ID, got.Model)
			}
		}
		if d := cmp.Diff(sdkContent(t, want.Content), shape(t, got.Content)); d != "" {
			t.Errorf("%s -SDK +ours:\n%s", r.File, d)
		}
		total := want.Usage.InputTokens + want.Usage.OutputTokens + want.Usage.CacheCreationInputTokens + want.Usage.CacheReadInputTokens
		u := event.Usage{
			Input: want.Usage.InputTokens, Output: want.Usage.OutputTokens, Total: total,
			CacheRead: want.Usage.CacheReadInputTokens, CacheWrite: want.Usage.CacheCreationInputTokens,
		}
		if got.Usage != u || u.Output == 0 {
			t.Errorf("%s: usage %+v, want %+v", r.File, got.Usage, u)
		}
		if string(got.Stop) != string(want.StopReason) || got.Stops != 1 {
			t.Errorf("%s: stop %q, want %q", r.File, got.Stop, want.StopReason)
		}
	}
	if streams < 22 {
		t.Errorf("only %d streams", streams)
	}
}

// The recorder sent each answer back in its next request: that is what it
// expected to have heard.
func TestRecordingsSayWhatTheRecorderHeard(t *testing.T) {
	t.Parallel()
	n := 0
	for _, r := range recorded(t) {
		if r.Next == "" {
			continue
		}
		var next struct {
			Messages []struct {
				Role    string           `json:"role"`
				Content []map[string]any `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal([]byte(r.Next), &next); err != nil {
			t.Fatal(err)
		}
		i := len(next.Messages) - 2
		if i < 0 || next.Messages[i].Role != "assistant" {
			continue
		}
		for _, b := range next.Messages[i].Content {
			delete(b, "cache_control")
		}
		got, err := r.decode(strings.NewReader(r.body(t)))
		if err != nil {
			t.Fatal(err)
		}
		n++
		if d := cmp.Diff(next.Messages[i].Content, shape(t, got.Content)); d != "" {
			t.Errorf("%s -recorder +ours:\n%s", r.File, d)
		}
	}
	if n < 10 {
		t.Errorf("only %d answers went back", n)
	}
}

// shape is content as the API takes it back.
func shape(t *testing.T, content []event.Block) []map[string]any {
	t.Helper()
	e := encoder{}
	e.Encode(&event.Message{Role: event.RoleAssistant, Content: content})
	var m struct {
		Content []map[string]any `json:"content"`
	}
	if err := json.Unmarshal(bytes.TrimSuffix(e.dst, []byte(",")), &m); err != nil {
		t.Fatal(err)
	}
	return m.Content
}

func sdkContent(t *testing.T, content []sdk.ContentBlockUnion) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, b := range content {
		m := map[string]any{"type": b.Type}
		switch b.Type {
		case "text":
			m["text"] = b.Text
		case "thinking":
			m["thinking"], m["signature"] = b.Thinking, b.Signature
		case "tool_use":
			var input any
			if err := json.Unmarshal(b.Input, &input); err != nil {
				t.Fatal(err)
			}
			m["id"], m["name"], m["input"] = b.ID, b.Name, input
		}
		out = append(out, m)
	}
	return out
}

func TestRecordingsComeTheSameByTheByte(t *testing.T) {
	t.Parallel()
	for _, r := range recorded(t) {
		body := r.body(t)
		want, err := r.decode(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ways := recordings.Ways(body)
		others := map[string]string{
			"CRLF": strings.ReplaceAll(body, "\n", "\r\n"), "data in two lines": strings.ReplaceAll(body, `,"index":`, ",\ndata: \"index\":"),
		}
		if r.bedrock {
			clear(others)
		}
		for how, other := range others {
			for by, in := range recordings.Ways(other) {
				ways[how+", "+by] = in
			}
		}
		for how, in := range ways {
			got, err := r.decode(in)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s, %s: %v\n%s", r.File, how, err, d)
			}
		}
	}
}

// A recording that is cut anywhere is an error of a kind that is repeated, and
// what had come is a beginning of what would have.
func TestRecordingsCutAnywhereAreNoAnswers(t *testing.T) {
	t.Parallel()
	m, err := New(Default, secret.New("k"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recorded(t) {
		body := r.body(t)
		for _, n := range recordings.Cuts(body) {
			got, err := r.decode(strings.NewReader(body[:n]))
			if err == nil || got.Stops != 0 {
				t.Fatalf("%s cut at %d of %d is an answer", r.File, n, len(body))
			}
			g := idle.New(t.Context(), 0)
			g.Reading(nil)
			if e := m.failure(g, err); !errors.Is(e, event.ErrStreamCut) {
				t.Fatalf("%s cut at %d: %v", r.File, n, e)
			}
			g.End()
		}
	}
}

// What the recorder sent, and the API took, is what is sent here: the messages,
// the tools and the instructions.
func TestRecordedRequestsAreSentLikeThat(t *testing.T) {
	t.Parallel()
	for _, r := range recorded(t) {
		var sent struct {
			Model    string `json:"model"`
			Messages []struct {
				Role    event.Role        `json:"role"`
				Content []json.RawMessage `json:"content"`
			} `json:"messages"`
			System []struct {
				Text string `json:"text"`
			} `json:"system"`
			Tools []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Schema      json.RawMessage `json:"input_schema"`
			} `json:"tools"`
		}
		if err := json.Unmarshal([]byte(r.Request), &sent); err != nil {
			t.Fatal(err)
		}
		req := &model.Request{}
		for _, m := range sent.Messages {
			req.Messages = append(req.Messages, event.Message{Role: m.Role, Content: fromWire(t, m.Content)})
		}
		for _, s := range sent.System {
			req.Instructions += s.Text
		}
		for _, x := range sent.Tools {
			req.Tools = append(req.Tools, model.ToolSpec{Name: x.Name, Description: x.Description, Schema: x.Schema})
		}
		m, err := New(Default, secret.New("k"), Cache(CacheOff))
		if r.bedrock {
			m, err = NewBedrock(modelIn(t, r.URL), aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}, Cache(CacheOff))
		}
		if err != nil {
			t.Fatal(err)
		}
		if !r.bedrock {
			m.name = sent.Model
		}
		a, err := m.request(req, false)
		if err != nil {
			t.Fatal(err)
		}
		body := a.body
		var want, got map[string]any
		if json.Unmarshal([]byte(r.Request), &want) != nil || json.Unmarshal(body, &got) != nil {
			t.Fatalf("%s: no JSON: %s", r.File, body)
		}
		if r.bedrock {
			delete(got, "model") // stands in the path
		}
		for _, k := range []string{"model", "messages", "system", "tools", "anthropic_version"} {
			if d := cmp.Diff(plain(want[k]), plain(got[k])); d != "" {
				t.Errorf("%s, %s -recorded +ours:\n%s", r.File, k, d)
			}
		}
	}
}

// plain is a value without cache points.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for _, x := range v {
			plain(x)
		}
	case []any:
		for _, x := range v {
			plain(x)
		}
	}
	return v
}

func fromWire(t *testing.T, content []json.RawMessage) []event.Block {
	t.Helper()
	var out []event.Block
	for _, raw := range content {
		var b struct {
			Type, Text, Thinking, Signature, ID, Name string
			Input                                     json.RawMessage
			Call                                      string `json:"tool_use_id"`
			Content                                   []json.RawMessage
			IsError                                   bool `json:"is_error"`
			Source                                    struct {
				MIME string `json:"media_type"`
				Data string
			}
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		switch b.Type {
		case "text":
			out = append(out, &event.Text{Text: b.Text})
		case "thinking":
			out = append(out, &event.Thinking{Text: b.Thinking, Signature: b.Signature})
		case "tool_use":
			out = append(out, &event.ToolCall{ID: b.ID, Name: b.Name, Args: b.Input})
		case "tool_result":
			out = append(out, &event.ToolResult{Call: b.Call, IsError: b.IsError, Content: fromWire(t, b.Content)})
		case "image":
			data, err := base64.StdEncoding.DecodeString(b.Source.Data)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, &event.Image{MIME: b.Source.MIME, Data: data})
		default:
			t.Fatalf("a block of %s", b.Type)
		}
	}
	return slices.Clip(out)
}

// modelIn is the model in the path of a request to Bedrock.
func modelIn(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(u.Path, "/")[2]
}
