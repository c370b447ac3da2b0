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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/internal/awsframe"
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

// message is an answer that came at once.
type message struct {
	ID      string           `json:"id"`
	Model   string           `json:"model"`
	Content []map[string]any `json:"content"`
	Stop    string           `json:"stop_reason"`
	Usage   struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

// heard is the answer, put together in the simplest way. Module test/vendors compares with
// what the vendor's SDK makes of it.
func (r *recording) heard(t *testing.T) (m message) {
	t.Helper()
	read := func(data []byte, to any) {
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatalf("%s: %v", r.File, err)
		}
	}
	if !r.Stream {
		read([]byte(r.Answer), &m)
		return m
	}
	inputs := map[int]string{}
	for _, data := range r.events(t) {
		var e struct {
			Type    string
			Index   int
			Message json.RawMessage
			Block   map[string]any  `json:"content_block"`
			Delta   map[string]any  `json:"delta"`
			Usage   json.RawMessage `json:"usage"`
		}
		read(data, &e)
		switch e.Type {
		case "message_start":
			read(e.Message, &m)
		case "content_block_start":
			m.Content = append(m.Content, e.Block)
		case "content_block_delta":
			for k, v := range e.Delta {
				text, _ := v.(string)
				switch k {
				case "partial_json":
					inputs[e.Index] += text
				case "text", "thinking", "signature":
					before, _ := m.Content[e.Index][k].(string)
					m.Content[e.Index][k] = before + text
				}
			}
		case "message_delta":
			m.Stop, _ = e.Delta["stop_reason"].(string)
			read(e.Usage, &m.Usage)
		}
	}
	for i, input := range inputs {
		if input == "" {
			input = "{}"
		}
		var v any
		read([]byte(input), &v)
		m.Content[i]["input"] = v
	}
	return m
}

// events are those of a stream.
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
	for in := awsframe.NewReader(strings.NewReader(r.Answer)); ; {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		if err := json.Unmarshal(f.Payload, &chunk); err != nil {
			t.Fatal(err)
		}
		out = append(out, chunk.Bytes)
	}
}

// body is the answer as a stream: its own, or one that says the same.
func (r *recording) body(t *testing.T) string {
	t.Helper()
	if r.Stream {
		return r.Answer
	}
	m := r.heard(t)
	var chunks []model.Chunk
	for i, b := range m.Content {
		part := func(member string) string {
			text, _ := b[member].(string)
			return text
		}
		add := func(k model.ChunkKind, id, text string) {
			chunks = append(chunks, model.Chunk{Kind: k, Index: i, ID: id, Text: text})
		}
		switch part("type") {
		case "text":
			add(model.ChunkText, "", part("text"))
		case "thinking":
			add(model.ChunkThinking, "", part("thinking"))
			add(model.ChunkSignature, "", part("signature"))
		case "tool_use":
			input, err := json.Marshal(b["input"])
			if err != nil {
				t.Fatal(err)
			}
			add(model.ChunkCall, part("id"), part("name"))
			add(model.ChunkCallInput, "", string(input))
		default:
			t.Fatalf("%s: a block of %s", r.File, part("type"))
		}
	}
	u := event.Usage{Input: m.Usage.Input, Output: m.Usage.Output, CacheRead: m.Usage.CacheRead, CacheWrite: m.Usage.CacheWrite}
	if r.bedrock {
		return anthropictest.BedrockStream(chunks, m.Stop, u).Body
	}
	return anthropictest.Stream(chunks, m.Stop, u).Body
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

func TestRecordingsDecodeToWhatTheySay(t *testing.T) {
	t.Parallel()
	streams := 0
	for _, r := range recorded(t) {
		want := r.heard(t)
		forms := map[string]func() (modeltest.Read, error){"a stream": func() (modeltest.Read, error) { return r.decode(strings.NewReader(r.body(t))) }}
		if r.Stream {
			streams++
		} else {
			// As it was recorded: at once.
			forms["at once"] = func() (modeltest.Read, error) {
				from, err := readWhole(strings.NewReader(r.Answer))
				if err != nil {
					return modeltest.Read{}, err
				}
				return decode(from)
			}
		}
		for form, read := range forms {
			got, err := read()
			if err != nil {
				t.Errorf("%s, %s: %v", r.File, form, err)
				continue
			}
			if (r.Stream || form == "at once") && (got.ID != want.ID || got.Model != want.Model) {
				t.Errorf("%s: answer %s of %s", r.File, got.ID, got.Model)
			}
			if d := cmp.Diff(plainContent(want.Content), shape(t, got.Content)); d != "" {
				t.Errorf("%s, %s -recorded +ours:\n%s", r.File, form, d)
			}
			w := want.Usage
			u := event.Usage{
				Input: w.Input, Output: w.Output, Total: w.Input + w.Output + w.CacheWrite + w.CacheRead, CacheRead: w.CacheRead, CacheWrite: w.CacheWrite,
			}
			if got.Usage != u || u.Output == 0 {
				t.Errorf("%s, %s: usage %+v, want %+v", r.File, form, got.Usage, u)
			}
			if string(got.Stop) != want.Stop || got.Stops != 1 {
				t.Errorf("%s, %s: stop %q, want %q", r.File, form, got.Stop, want.Stop)
			}
		}
	}
	if streams < 22 {
		t.Errorf("only %d streams", streams)
	}
}

// plainContent is content without the members that are not sent back.
func plainContent(content []map[string]any) []map[string]any {
	var out []map[string]any
	for _, b := range content {
		m := map[string]any{}
		for _, k := range []string{"type", "text", "thinking", "signature", "id", "name", "input"} {
			if v, ok := b[k]; ok {
				m[k] = v
			}
		}
		out = append(out, m)
	}
	return out
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

func TestRecordingsComeTheSameByTheByte(t *testing.T) {
	t.Parallel()
	for i, r := range recorded(t) {
		if race.On && i%8 > 0 {
			continue // one goroutine reads: make test-long reads them all
		}
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
		for i, n := range recordings.Cuts(body) {
			if race.On && i%40 > 0 {
				continue // one goroutine reads: make test-long cuts everywhere
			}
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
