package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/recordings"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// The recordings are real exchanges with the API. A whole response is also read as a stream with
// one event: the result is the same.

func exchanges(t *testing.T) []recordings.Exchange {
	t.Helper()
	return recordings.Of(t, 50, "TestGoogle*/*/*.yaml", "TestImageUpload*/gemini*.yaml")
}

// streamed returns the answer as a stream, a whole response as one event.
func streamed(t *testing.T, x *recordings.Exchange) string {
	t.Helper()
	if x.Stream {
		return x.Answer
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(x.Answer)); err != nil {
		t.Fatal(err)
	}
	return "data: " + b.String() + "\r\n\r\n"
}

// object returns a value as normalised JSON.
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

// decode reads a stream without a network.
func decode(in io.Reader) (modeltest.Read, error) {
	var chunks []model.Chunk
	s := stream{in: in, end: func() {}}
	s.yield = func(c model.Chunk, _ error) bool { chunks = append(chunks, c); return true }
	err := s.run()
	return modeltest.Put(chunks, err), err
}

// A stream gives the same answer as the whole response to the same request: the same calls, members
// and finish reason.
func TestRecordedStreamsAndTheirTwins(t *testing.T) {
	t.Parallel()
	type shape struct {
		Calls, Members []string
		Stop           event.StopReason
	}
	all := map[string][]shape{}
	for _, x := range exchanges(t) {
		got, err := decode(strings.NewReader(streamed(t, &x)))
		if err != nil {
			t.Fatal(err)
		}
		s := shape{Stop: got.Stop}
		for _, c := range event.CallsOf(got.Content) {
			s.Calls = append(s.Calls, c.Name)
		}
		var members map[string]any
		if json.Unmarshal([]byte(event.TextOf(got.Content)), &members) == nil {
			for _, k := range []string{"title", "author", "genres", "published_year", "name", "age", "city"} {
				if _, ok := members[k]; ok {
					s.Members = append(s.Members, k)
				}
			}
		}
		name := strings.NewReplacer("_streaming", "", "-streaming", "", "-stream", "", "Streaming", "").Replace(x.File)
		if x.Stream {
			name += " stream"
		}
		all[name] = append(all[name], s)
	}
	n := 0
	for name, streams := range all {
		twin, ok := strings.CutSuffix(name, " stream")
		if !ok {
			continue
		}
		n++
		if d := cmp.Diff(all[twin], streams); d != "" {
			t.Errorf("%s -plain +streamed:\n%s", path.Base(twin), d)
		}
	}
	if n < 18 {
		t.Errorf("only %d twins", n)
	}
}

// The recorder sent each answer back in its next request, so that is the expected answer. It
// numbered the calls without an id.
func TestRecordingsSayWhatTheRecorderHeard(t *testing.T) {
	t.Parallel()
	n := 0
	for _, x := range exchanges(t) {
		if x.Next == "" {
			continue
		}
		var next struct {
			Contents []struct {
				Role  string           `json:"role"`
				Parts []map[string]any `json:"parts"`
			} `json:"contents"`
		}
		if err := json.Unmarshal([]byte(x.Next), &next); err != nil {
			t.Fatal(err)
		}
		i := len(next.Contents) - 2
		if i < 0 || next.Contents[i].Role != "model" {
			continue
		}
		got, err := decode(strings.NewReader(streamed(t, &x)))
		if err != nil {
			t.Fatal(err)
		}
		n++
		if d := cmp.Diff(withoutIDs(next.Contents[i].Parts), withoutIDs(shape(t, got.Content))); d != "" {
			t.Errorf("%s -recorder +ours:\n%s", x.File, d)
		}
	}
	if n < 15 {
		t.Errorf("only %d answers went back", n)
	}
}

// withoutIDs removes the ids of calls and results.
func withoutIDs(parts []map[string]any) []map[string]any {
	for _, p := range parts {
		for _, k := range []string{"functionCall", "functionResponse"} {
			if m, ok := p[k].(map[string]any); ok {
				delete(m, "id")
			}
		}
	}
	return parts
}

// shape returns content in the API's form.
func shape(t *testing.T, content []event.Block) []map[string]any {
	t.Helper()
	e := encoder{}
	e.Encode(&event.Message{Role: event.RoleAssistant, Content: content})
	var m struct {
		Parts []map[string]any `json:"parts"`
	}
	if err := json.Unmarshal(bytes.TrimSuffix(e.dst, []byte(",")), &m); err != nil {
		t.Fatal(err)
	}
	return m.Parts
}

func TestRecordingsComeTheSameByTheByte(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges(t) {
		body := streamed(t, &x)
		want, err := decode(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ways := recordings.Ways(body)
		for how, in := range recordings.Ways(strings.ReplaceAll(body, "\r\n", "\n")) {
			ways[how+" with LF"] = in
		}
		for how, in := range recordings.Ways(strings.ReplaceAll(body, `,"usageMetadata":`, ",\r\ndata: \"usageMetadata\":")) {
			ways[how+" in two lines"] = in
		}
		for how, in := range ways {
			got, err := decode(in)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s, %s: %v\n%s", x.File, how, err, d)
			}
		}
	}
}

// A recording that is cut anywhere gives a retryable error, and the pieces before it are a prefix
// of the answer. Only the last line end may be missing.
func TestRecordingsCutAnywhereAreNoAnswers(t *testing.T) {
	t.Parallel()
	m, err := New(Default, secret.New("k"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range exchanges(t) {
		body := streamed(t, &x)
		whole, err := decode(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(body) - len("\n") {
			if race.On && n%41 > 0 {
				continue // make test-long cuts at every byte
			}
			got, err := decode(strings.NewReader(body[:n]))
			if err == nil || got.Stops != 0 {
				t.Fatalf("%s cut at %d of %d is an answer", x.File, n, len(body))
			}
			if !strings.HasPrefix(event.TextOf(whole.Content), event.TextOf(got.Content)) {
				t.Fatalf("%s cut at %d: %q", x.File, n, event.TextOf(got.Content))
			}
			g := idle.New(t.Context(), 0)
			g.Reading(nil)
			if e := m.failure(g, &exchange{}, err); !errors.Is(e, event.ErrStreamCut) {
				t.Fatalf("%s cut at %d: %v", x.File, n, e)
			}
			g.End()
		}
	}
}

// Braid sends what the recorder sent and the API accepted: messages, instructions, tools and output
// schema. Only the names of some fields differ.
func TestRecordedRequestsAreSentLikeThat(t *testing.T) {
	t.Parallel()
	schemas := 0
	for _, x := range exchanges(t) {
		req := fromWire(t, x.Request)
		name, _, _ := strings.Cut(path.Base(x.URL), ":")
		m, err := New(name, secret.New("k"))
		if err != nil {
			t.Fatal(err)
		}
		body, _, err := m.body(req)
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if json.Unmarshal([]byte(x.Request), &want) != nil || json.Unmarshal(body, &got) != nil {
			t.Fatalf("%s: no JSON: %s", x.File, body)
		}
		for _, k := range []string{"contents", "systemInstruction", "tools"} {
			if d := cmp.Diff(normal(want[k]), normal(got[k])); d != "" {
				t.Errorf("%s, %s -recorded +ours:\n%s", x.File, k, d)
			}
		}
		if c, ok := want["generationConfig"].(map[string]any); ok && c["responseJsonSchema"] != nil {
			schemas++
			ours, _ := got["generationConfig"].(map[string]any)
			for _, k := range []string{"responseJsonSchema", "responseMimeType", "maxOutputTokens"} {
				if d := cmp.Diff(c[k], ours[k]); d != "" {
					t.Errorf("%s, %s -recorded +ours:\n%s", x.File, k, d)
				}
			}
		}
	}
	if schemas < 10 {
		t.Errorf("only %d schemas of answers", schemas)
	}
}

// normal converts a recorded value to Braid's names.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if p, ok := v["parameters"]; ok {
			v["parametersJsonSchema"] = p
			delete(v, "parameters")
		}
		if r, ok := v["functionResponse"].(map[string]any); ok {
			if out, ok := r["response"].(map[string]any); ok {
				if s, ok := out["result"]; ok {
					r["response"] = map[string]any{"output": s}
				}
			}
		}
		if s, ok := v["type"].(string); ok {
			v["type"] = strings.ToLower(s)
		}
		if _, instructions := v["parts"]; instructions && v["role"] == "user" {
			delete(v, "role")
		}
		for _, x := range v {
			normal(x)
		}
	case []any:
		for _, x := range v {
			normal(x)
		}
	}
	return v
}

// sentPart is a part of a recorded request.
type sentPart struct {
	Text             string
	ThoughtSignature string
	FunctionCall     *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response map[string]any
	}
	InlineData *struct {
		MIMEType string
		Data     []byte
	}
}

// fromWire converts a recorded request to Braid's form.
func fromWire(t *testing.T, body string) *model.Request {
	t.Helper()
	var sent struct {
		Contents []struct {
			Role  string     `json:"role"`
			Parts []sentPart `json:"parts"`
		} `json:"contents"`
		System struct {
			Parts []sentPart `json:"parts"`
		} `json:"systemInstruction"`
		Tools []struct {
			Functions []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			Most   int             `json:"maxOutputTokens"`
			Schema json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatal(err)
	}
	req := &model.Request{}
	req.Options.MaxTokens = sent.Config.Most
	if len(sent.Config.Schema) > 0 {
		req.Output = &model.OutputSchema{Name: "answer", Schema: sent.Config.Schema}
	}
	for _, p := range sent.System.Parts {
		req.Instructions += p.Text
	}
	for _, x := range sent.Tools {
		for _, f := range x.Functions {
			lower := bytes.NewBuffer(nil)
			lower.WriteString(strings.NewReplacer(`"STRING"`, `"string"`, `"OBJECT"`, `"object"`, `"INTEGER"`, `"integer"`).Replace(string(f.Parameters)))
			req.Tools = append(req.Tools, model.ToolSpec{Name: f.Name, Description: f.Description, Schema: lower.Bytes()})
		}
	}
	for _, c := range sent.Contents {
		m := event.Message{Role: event.RoleUser}
		if c.Role == "model" {
			m.Role = event.RoleAssistant
		}
		for _, p := range c.Parts {
			m.Content = append(m.Content, blockOf(t, &p))
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}

func blockOf(t *testing.T, p *sentPart) event.Block {
	t.Helper()
	signature := ""
	if len(p.ThoughtSignature) > 0 {
		signature = own + p.ThoughtSignature
	}
	switch {
	case p.FunctionCall != nil:
		return &event.ToolCall{
			ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: json.RawMessage(object(t, p.FunctionCall.Args)), Signature: signature,
		}
	case p.FunctionResponse != nil:
		text, _ := p.FunctionResponse.Response["result"].(string)
		return &event.ToolResult{Call: p.FunctionResponse.ID, Name: p.FunctionResponse.Name, Content: []event.Block{&event.Text{Text: text}}}
	case p.InlineData != nil:
		return &event.Image{MIME: p.InlineData.MIMEType, Data: p.InlineData.Data}
	default:
		return &event.Text{Text: p.Text, Signature: signature}
	}
}
