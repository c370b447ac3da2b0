package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// wire is what a request was.
type wire struct {
	path   string
	header http.Header
	body   []byte
}

// capture keeps the last request, and answers all.
func capture(t *testing.T) (*httptest.Server, *wire) {
	t.Helper()
	last := &wire{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.path, last.header = r.URL.EscapedPath(), r.Header.Clone()
		last.body, _ = io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "count_tokens") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"input_tokens":1}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, anthropictest.Text("a").Body)
	}))
	t.Cleanup(s.Close)
	return s, last
}

// values are a body's members without some.
func values(t *testing.T, body []byte, without ...string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, k := range without {
		delete(m, k)
	}
	return m
}

type params interface {
	json.Marshaler
	json.Unmarshaler
}

// again is a body as the SDK writes it that has read it.
func again(t *testing.T, p params, body []byte) []byte {
	t.Helper()
	if err := p.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	out, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func request(messages []event.Message) *model.Request {
	return &model.Request{
		Instructions: "Be brief.", Messages: messages,
		Tools: []model.ToolSpec{
			{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}, {Name: "x.y"},
		},
		Options: model.Options{MaxTokens: 9000, Thinking: 2000, StopWords: []string{"END"}}, ToolChoice: model.ToolChoice{Serial: true},
	}
}

// The SDK's types read what the provider sends and write the same again: nothing in it is
// unknown to the API's description.
func TestTheSDKWouldSendTheSame(t *testing.T) {
	t.Parallel()
	s, last := capture(t)
	for _, name := range []string{"claude-sonnet-5-5", "claude-haiku-4-5"} {
		for _, points := range []anthropic.CachePoints{anthropic.CacheAuto, anthropic.CacheExplicit} {
			m, err := anthropic.New(name, secret.New("k"), anthropic.BaseURL(s.URL), anthropic.HTTPClient(s.Client()), anthropic.Cache(points))
			if err != nil {
				t.Fatal(err)
			}
			for history, messages := range modeltest.Histories() {
				if r := modeltest.Call(t.Context(), m, request(messages)); r.Err != nil {
					t.Fatalf("%s: %v", history, r.Err)
				}
				// A method of the SDK adds the stream.
				if d := cmp.Diff(values(t, last.body, "stream"), values(t, again(t, &sdk.MessageNewParams{}, last.body))); d != "" {
					t.Errorf("%s, %s -ours +SDK:\n%s", name, history, d)
				}
				if _, err := m.CountTokens(t.Context(), request(messages)); err != nil {
					t.Fatalf("%s: %v", history, err)
				}
				if d := cmp.Diff(values(t, last.body), values(t, again(t, &sdk.MessageCountTokensParams{}, last.body))); d != "" {
					t.Errorf("count, %s, %s -ours +SDK:\n%s", name, history, d)
				}
			}
		}
	}
}

// Uploaded files are named as the SDK names them.
func TestTheSDKKnowsFiles(t *testing.T) {
	t.Parallel()
	s, last := capture(t)
	m, err := anthropic.New("claude-sonnet-5-5", secret.New("k"), anthropic.BaseURL(s.URL), anthropic.HTTPClient(s.Client()), anthropic.Cache(anthropic.CacheOff))
	if err != nil {
		t.Fatal(err)
	}
	req := &model.Request{
		Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{
			&event.Document{URL: "anthropic-file:file_1", MIME: "application/pdf", Name: "a"}, &event.Image{URL: "anthropic-file:file_2"},
			&event.Document{URL: "anthropic-file:file_3", Name: "a.xlsx"},
		}}},
		Options: model.Options{ServerTools: []model.ServerTool{{Kind: model.CodeExecution}}},
	}
	if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
		t.Fatal(r.Err)
	}
	document := sdk.NewDocumentBlock(sdk.FileDocumentSourceParam{FileID: "file_1"})
	document.OfDocument.Title = sdk.String("a")
	want := sdk.NewUserMessage(document, sdk.NewImageBlock(sdk.FileImageSourceParam{FileID: "file_2"}), sdk.NewContainerUploadBlock("file_3"))
	raw, err := json.Marshal([]sdk.MessageParam{want})
	if err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(last.body, &sent); err != nil {
		t.Fatal(err)
	}
	var ours, theirs any
	if json.Unmarshal(sent.Messages, &ours) != nil || json.Unmarshal(raw, &theirs) != nil {
		t.Fatalf("%s\n%s", sent.Messages, raw)
	}
	if d := cmp.Diff(theirs, ours); d != "" {
		t.Errorf("-SDK +ours:\n%s", d)
	}
}

// The header, the address and the body are the SDK's, but for what names the SDK.
func TestTheSDKAsksTheSameWay(t *testing.T) {
	t.Parallel()
	s, last := capture(t)
	m, err := anthropic.New("claude-sonnet-5-5", secret.New("k"), anthropic.BaseURL(s.URL), anthropic.HTTPClient(s.Client()), anthropic.Cache(anthropic.CacheOff))
	if err != nil {
		t.Fatal(err)
	}
	hello := []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hello."}}}}
	if r := modeltest.Call(t.Context(), m, &model.Request{Messages: hello, Options: model.Options{MaxTokens: 100}}); r.Err != nil {
		t.Fatal(r.Err)
	}
	ours := *last
	c := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithBaseURL(s.URL), option.WithMaxRetries(0))
	stream := c.Messages.NewStreaming(t.Context(), question("claude-sonnet-5-5"))
	for stream.Next() { //nolint:revive // the end counts
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	for name := range last.header {
		if strings.HasPrefix(name, "X-Stainless-") || name == "User-Agent" || name == "Accept" || name == "Traceparent" {
			continue
		}
		if name != "Content-Length" && ours.header.Get(name) != last.header.Get(name) {
			t.Errorf("%s: %q, the SDK says %q", name, ours.header.Get(name), last.header.Get(name))
		}
	}
	if ours.path != last.path {
		t.Errorf("%s, the SDK asks %s", ours.path, last.path)
	}
	if d := cmp.Diff(values(t, last.body), values(t, ours.body)); d != "" {
		t.Errorf("-SDK +ours:\n%s", d)
	}
}

// What the SDK calls the members of usage has not changed.
func TestKindsOfUsage(t *testing.T) {
	t.Parallel()
	for _, s := range []any{sdk.Usage{}, sdk.MessageDeltaUsage{}} {
		var all []string
		for i := range reflect.TypeOf(s).NumField() {
			all = append(all, reflect.TypeOf(s).Field(i).Tag.Get("json"))
		}
		for _, w := range []string{
			"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens_details",
		} {
			if !strings.Contains(strings.Join(all, " "), w) {
				t.Errorf("%T has no %s", s, w)
			}
		}
	}
}
