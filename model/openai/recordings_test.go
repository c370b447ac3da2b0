package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/recordings"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

// recording is an exchange with one of OpenAI's two APIs, or with one of four
// other servers.
type recording struct {
	recordings.Exchange

	api     API
	vendors bool
}

func recorded(t *testing.T) []recording {
	t.Helper()
	var out []recording
	for _, x := range recordings.Of(t, 100, "TestOpenAI*/*/*.yaml", "TestImageUpload*/openai*.yaml") {
		r := recording{Exchange: x, api: ChatCompletions, vendors: strings.HasPrefix(x.URL, vendorsAddress)}
		if strings.HasSuffix(x.URL, "/responses") {
			r.api = Responses
		}
		out = append(out, r)
	}
	return out
}

// heard is what there is to be heard in an answer.
type heard struct {
	Text, Thought string
	Calls         []spoken
	Stop          event.StopReason
	Usage         event.Usage
	Model         string
	Sealed        int // items of reasoning with encrypted content
}

type spoken struct{ ID, Name, Args string }

// body is the answer as a stream: its own, or one that says the same.
func (r *recording) body(t *testing.T) string {
	t.Helper()
	if r.Stream {
		return r.Answer
	}
	read := r.atOnce(t)
	h := of(&read)
	var chunks []model.Chunk
	n := 0
	add := func(k model.ChunkKind, id, text string) {
		if text != "" {
			chunks = append(chunks, model.Chunk{Kind: k, Index: n, ID: id, Text: text})
		}
	}
	add(model.ChunkThinking, "", h.Thought)
	if h.Sealed > 0 {
		add(model.ChunkSignature, "", "sealed")
	}
	n++
	add(model.ChunkText, "", h.Text)
	for _, c := range h.Calls {
		n++
		add(model.ChunkCall, c.ID, c.Name)
		add(model.ChunkCallInput, "", c.Args)
	}
	return openaitest.Stream(openaitest.API(r.api), chunks, h.Stop, h.Usage).Body
}

// atOnce reads an answer that does not stream.
func (r *recording) atOnce(t *testing.T) modeltest.Read {
	t.Helper()
	var chunks []model.Chunk
	err := (&Model{api: r.api}).decoder(back{}, func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }).all([]byte(r.Answer))
	read := modeltest.Put(chunks, err)
	if err != nil || read.Stops != 1 {
		t.Fatalf("%s: %v", r.File, err)
	}
	return read
}

// decode reads a stream without a network.
func decode(api API, in io.Reader) (modeltest.Read, error) {
	var chunks []model.Chunk
	yield := func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }
	s := stream{in: in, events: (&Model{api: api}).decoder(back{}, yield)}
	err := s.run()
	return modeltest.Put(chunks, err), err
}

// of is what was heard in an answer that was read.
func of(r *modeltest.Read) heard {
	h := heard{Stop: r.Stop, Usage: r.Usage, Model: r.Model}
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			h.Text += b.Text
		case *event.Thinking:
			h.Thought += b.Text
			if strings.HasPrefix(b.Signature, "openai.") {
				h.Sealed++
			}
		case *event.ToolCall:
			h.Calls = append(h.Calls, spoken{b.ID, b.Name, string(b.Args)})
		}
	}
	return h
}

// An answer that does not stream says the same as a stream of it. What the vendor's SDK makes of
// all these answers is compared in test/vendors/openai.
func TestRecordingsAtOnceAndInPiecesAreTheSame(t *testing.T) {
	t.Parallel()
	n := 0
	for _, r := range recorded(t) {
		if r.Stream {
			continue
		}
		n++
		read := r.atOnce(t)
		want := of(&read)
		streamed, err := decode(r.api, strings.NewReader(r.body(t)))
		if err != nil {
			t.Errorf("%s: %v", r.File, err)
			continue
		}
		got := of(&streamed)
		got.Model = want.Model
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s -at once +in pieces:\n%s", r.File, d)
		}
		if want.Usage.Output == 0 || want.Text == "" && len(want.Calls) == 0 {
			t.Errorf("%s says nothing", r.File)
		}
	}
	if n < 50 {
		t.Errorf("only %d answers", n)
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
		read, err := decode(r.api, strings.NewReader(r.body(t)))
		if err != nil {
			t.Fatal(err)
		}
		got := of(&read)
		want := sentBack(t, r.api, r.Next)
		if len(want.Calls) == 0 {
			continue
		}
		n++
		if d := cmp.Diff(want.Calls, got.Calls); d != "" || strings.TrimSpace(want.Text) != strings.TrimSpace(got.Text) ||
			(want.Thought != "" && want.Thought != got.Thought) {
			t.Errorf("%s -recorder +ours:\n%s%q %q", r.File, d, want.Text, got.Text)
		}
	}
	if n < 35 {
		t.Errorf("only %d answers went back", n)
	}
}

// sentBack is what a request says that the model has said.
func sentBack(t *testing.T, api API, body string) heard {
	t.Helper()
	var req struct {
		Messages []struct {
			Role, Content string
			Thought       string `json:"reasoning_content"`
			Calls         []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Input []struct {
			Type, Role, Name, Arguments string
			Call                        string `json:"call_id"`
			Content                     json.RawMessage
		}
	}
	// Content with parts is no string, and none of the model's.
	if err := json.Unmarshal([]byte(body), &req); err != nil && api == Responses {
		t.Fatal(err)
	}
	var h heard
	for _, m := range req.Messages {
		if m.Role != "assistant" {
			continue
		}
		h.Text += m.Content
		h.Thought += m.Thought
		for _, c := range m.Calls {
			h.Calls = append(h.Calls, spoken{c.ID, c.Function.Name, c.Function.Arguments})
		}
	}
	for _, i := range req.Input {
		switch {
		case i.Type == "function_call":
			h.Calls = append(h.Calls, spoken{i.Call, i.Name, i.Arguments})
		case i.Role == "assistant":
			var parts []struct{ Text string }
			if err := json.Unmarshal(i.Content, &parts); err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				h.Text += p.Text
			}
		}
	}
	return h
}

func TestRecordingsComeTheSameByTheByte(t *testing.T) {
	t.Parallel()
	for _, r := range recorded(t) {
		body := r.body(t)
		want, err := decode(r.api, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ways := recordings.Ways(body)
		for how, other := range map[string]string{
			"CRLF": strings.ReplaceAll(body, "\n", "\r\n"), "without spaces": strings.ReplaceAll(body, "\ndata: ", "\ndata:"),
		} {
			for by, in := range recordings.Ways(other) {
				ways[how+", "+by] = in
			}
		}
		for how, in := range ways {
			got, err := decode(r.api, in)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s, %s: %v\n%s", r.File, how, err, d)
			}
		}
	}
}

// reasoned is a stream in which the reason for the end of an answer has come.
var reasoned = regexp.MustCompile(`"finish_reason": ?"`)

// A recording that is cut at the end of any event, or at random bytes, is an
// error of a kind that is repeated.
func TestRecordingsCutAnywhereAreNoAnswers(t *testing.T) {
	t.Parallel()
	m, err := New(Default, secret.New("k"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range recorded(t) {
		body := r.body(t)
		whole := strings.TrimRight(body, "\n")
		places := []int{0, len(whole)}
		for i := range len(whole) - 1 {
			if whole[i] == '\n' && whole[i+1] == '\n' {
				places = append(places, i, i+1, i+2)
			}
		}
		for range 60 {
			places = append(places, random.IntN(len(whole)))
		}
		for i, n := range places {
			if race.On && i%20 > 0 {
				continue // one goroutine reads: make test-long cuts everywhere
			}
			got, err := decode(r.api, strings.NewReader(body[:n]))
			if r.api == ChatCompletions && reasoned.MatchString(body[:n]) {
				// A reason and a proper end of the body are an end, unless the event of the reason is cut.
				if (err == nil) != (got.Stops == 1) {
					t.Fatalf("%s cut at %d of %d: %v, %d end signals", r.File, n, len(body), err, got.Stops)
				}
				broken := io.MultiReader(strings.NewReader(body[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))
				got, err = decode(r.api, broken)
			}
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

// What the recorder sent, and the server took, is what is sent here, but for
// the names of two members and what is the default anyway.
func TestRecordedRequestsAreSentLikeThat(t *testing.T) {
	t.Parallel()
	formats := 0
	for _, r := range recorded(t) {
		var sent struct {
			Model           string
			Messages, Input []json.RawMessage
			Format          struct {
				JSON *struct {
					Name   string
					Schema json.RawMessage
				} `json:"json_schema"`
			} `json:"response_format"`
			Tools []struct {
				Name, Description string
				Parameters        json.RawMessage
				Function          struct {
					Name, Description string
					Parameters        json.RawMessage
				}
			}
		}
		if err := json.Unmarshal([]byte(r.Request), &sent); err != nil {
			t.Fatal(err)
		}
		req := &model.Request{}
		fromWire(t, req, append(sent.Messages, sent.Input...))
		for _, x := range sent.Tools {
			f := x.Function
			if r.api == Responses {
				f.Name, f.Description, f.Parameters = x.Name, x.Description, x.Parameters
			}
			req.Tools = append(req.Tools, model.ToolSpec{Name: f.Name, Description: f.Description, Schema: f.Parameters})
		}
		if f := sent.Format.JSON; f != nil {
			formats++
			req.Output = &model.OutputSchema{Name: f.Name, Schema: f.Schema}
		}
		opts := []Option{Use(r.api)}
		if !r.vendors {
			opts = append(opts, BaseURL("https://example.com/v1"))
		}
		m, err := New(sent.Model, secret.New("k"), opts...)
		if err != nil {
			t.Fatal(err)
		}
		body, _, err := m.body(req)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(plain(t, []byte(r.Request)), plain(t, body)); d != "" {
			t.Errorf("%s -recorded +ours:\n%s", r.File, d)
		}
	}
	if formats < 16 {
		t.Errorf("only %d answers were held to a schema", formats)
	}
}

// plain is what a request says, in one form.
func plain(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	out := map[string]any{"model": all["model"], "messages": all["messages"], "tools": all["tools"]}
	if f, ok := all["response_format"].(map[string]any); ok {
		if inner, ok := f["json_schema"].(map[string]any); ok {
			delete(inner, "description") // the recorder's own words
		}
		out["format"] = f
	}
	if input, ok := all["input"].([]any); ok {
		if s, ok := all["instructions"]; ok {
			input = append([]any{map[string]any{"role": "developer", "content": s}}, input...)
		}
		if first, ok := input[0].(map[string]any); ok && first["role"] == "system" {
			first["role"] = "developer" // the vendor takes both for the same
		}
		out["input"] = input
	}
	tools, _ := all["tools"].([]any)
	for _, x := range tools {
		if tool, ok := x.(map[string]any); ok {
			delete(tool, "strict")
			if f, ok := tool["function"].(map[string]any); ok {
				delete(f, "strict")
			}
		}
	}
	messages, _ := all["messages"].([]any)
	for _, x := range messages {
		// The recorder writes a blank where there is nothing, and reasoning that
		// nobody wants back.
		if m, ok := x.(map[string]any); ok {
			if s, ok := m["content"].(string); ok && strings.TrimSpace(s) == "" || m["content"] == nil {
				delete(m, "content")
			}
		}
	}
	return out
}

// fromWire makes messages of what the recorder sent.
func fromWire(t *testing.T, req *model.Request, wire []json.RawMessage) {
	t.Helper()
	add := func(role event.Role, b event.Block) {
		if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == role {
			req.Messages[n-1].Content = append(req.Messages[n-1].Content, b)
			return
		}
		req.Messages = append(req.Messages, event.Message{Role: role, Content: []event.Block{b}})
	}
	for _, raw := range wire {
		var m struct {
			Role, Type, Name, Arguments, Output string
			Content                             json.RawMessage
			Thought                             string `json:"reasoning_content"`
			ToolCall                            string `json:"tool_call_id"`
			Call                                string `json:"call_id"`
			Calls                               []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		content := contentOf(t, m.Content)
		switch {
		case m.Type == "function_call":
			add(event.RoleAssistant, &event.ToolCall{ID: m.Call, Name: m.Name, Args: json.RawMessage(m.Arguments)})
		case m.Type == "function_call_output":
			add(event.RoleUser, &event.ToolResult{Call: m.Call, Content: []event.Block{&event.Text{Text: m.Output}}})
		case m.Role == "system" || m.Role == "developer":
			text, _ := content[0].(*event.Text)
			req.Instructions = text.Text
		case m.Role == "tool":
			add(event.RoleUser, &event.ToolResult{Call: m.ToolCall, Content: content})
		case m.Role == "user":
			for _, b := range content {
				add(event.RoleUser, b)
			}
		case m.Role == "assistant":
			if m.Thought != "" {
				add(event.RoleAssistant, &event.Thinking{Text: m.Thought})
			}
			for _, b := range content {
				add(event.RoleAssistant, b)
			}
			for _, c := range m.Calls {
				add(event.RoleAssistant, &event.ToolCall{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
			}
		default:
			t.Fatalf("nobody knows %s", raw)
		}
	}
}

func contentOf(t *testing.T, raw json.RawMessage) []event.Block {
	t.Helper()
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		return []event.Block{&event.Text{Text: argumentText(raw)}}
	}
	var parts []struct {
		Type, Text string
		Image      struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		t.Fatal(err)
	}
	var out []event.Block
	for _, p := range parts {
		if p.Image.URL == "" {
			out = append(out, &event.Text{Text: p.Text})
			continue
		}
		data, err := base64.StdEncoding.DecodeString(string(bytes.TrimPrefix([]byte(p.Image.URL), []byte("data:image/png;base64,"))))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &event.Image{MIME: "image/png", Data: data})
	}
	return out
}
