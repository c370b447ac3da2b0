package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

const (
	wholeChat = `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Let me see.","refusal":null,` +
		`"reasoning_content":"Hm.","tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":"{\"x\":1}"}},` +
		`{"id":"b","type":"function","function":{"name":"add","arguments":{"x":2}}}]},"finish_reason":"tool_calls","logprobs":null}],` +
		`"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":3}}}`
	wholeResponse = `{"id":"r1","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"m","output":[` +
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAA="},` +
		`{"type":"message","id":"m1","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Let me see.","annotations":[` +
		`{"type":"url_citation","url":"https://example.com","title":"E","start_index":0,"end_index":3}]}]},` +
		`{"type":"web_search_call","id":"ws_1","status":"completed"},` +
		`{"type":"function_call","id":"fc_1","call_id":"a","name":"add","arguments":"{\"x\":1}"}],` +
		`"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":3},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13}}`
)

func asJSON(body string) openaitest.Answer {
	return openaitest.Answer{Body: body, Header: map[string]string{"Content-Type": "application/json"}}
}

// A server that does not stream is read all the same: by whatever type it names, byte by byte,
// and behind a byte order mark.
func TestAnswersThatDoNotStream(t *testing.T) {
	t.Parallel()
	responses := kind{"Responses of another server", "m", openaitest.Responses, false}
	for name, tc := range map[string]struct {
		k     kind
		body  string
		want  []event.Block
		stop  event.StopReason
		usage event.Usage
	}{
		"chat": {local, wholeChat, []event.Block{
			&event.Thinking{Text: "Hm."}, &event.Text{Text: "Let me see."},
			&event.ToolCall{ID: "a", Name: "add", Args: []byte(`{"x":1}`)}, &event.ToolCall{ID: "b", Name: "add", Args: []byte(`{"x":2}`)},
		}, event.StopToolUse, event.Usage{Input: 6, CacheRead: 3, Output: 4, Total: 13}},
		"chat without a reason": {
			local, `{"id":"c","model":"m","choices":[{"message":{"content":"Yes."}}]}`,
			[]event.Block{&event.Text{Text: "Yes."}},
			event.StopEndTurn,
			event.Usage{},
		},
		"chat with an empty piece": {
			local, `{"id":"c","model":"m","choices":[{"index":0,"message":{"content":"Yes."},"delta":{"content":""},"finish_reason":"stop"}]}`,
			[]event.Block{&event.Text{Text: "Yes."}},
			event.StopEndTurn,
			event.Usage{},
		},
		"a refusal": {
			local, `{"id":"c","model":"m","choices":[{"index":0,"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}`,
			[]event.Block{&event.Text{Text: "No."}},
			event.StopRefusal,
			event.Usage{},
		},
		"responses": {responses, wholeResponse, []event.Block{
			&event.Thinking{Text: "Hm.", Signature: "openai.rs_1.gAA="}, &event.Text{Text: "Let me see.", Signature: "openai.phase.commentary"},
			&event.Citation{Title: "E", URL: "https://example.com", End: 3},
			&event.UnknownBlock{Name: "openai.web_search_call", Raw: []byte(`{"id":"ws_1","kind":"openai.web_search_call","status":"completed","type":"web_search_call"}`)},
			&event.ToolCall{ID: "a", Name: "add", Args: []byte(`{"x":1}`)},
		}, event.StopToolUse, event.Usage{Input: 6, CacheRead: 3, Output: 4, Reasoning: 2, Total: 13, WebSearches: 1}},
		"responses that end early": {responses, `{"id":"r","object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"model":"m",` +
			`"output":[{"type":"message","content":[{"type":"output_text","text":"So"}]}]}`, []event.Block{&event.Text{Text: "So"}}, event.StopMaxTokens, event.Usage{}},
		"open reasoning": {
			responses, `{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"x","summary":[],` +
				`"content":[{"type":"reasoning_text","text":"Hm."}]},{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}`,
			[]event.Block{&event.Thinking{Text: "Hm."}, &event.Text{Text: "Yes."}},
			event.StopEndTurn,
			event.Usage{},
		},
	} {
		for _, way := range []openaitest.Answer{
			asJSON(tc.body),
			{Body: " \r\n" + tc.body},
			{Body: "\ufeff" + tc.body, Slow: true},
			{Body: tc.body, Header: map[string]string{"Content-Type": "text/plain"}},
			{Body: tc.body, Header: map[string]string{"Content-Type": ""}, Slow: true},
		} {
			server := openaitest.Start(way)
			server.Compatible = tc.k.compatible
			t.Cleanup(server.Close)
			client := &http.Client{Transport: toServer{server.Host(), server.Client().Transport}}
			key := secret.New(openaitest.Key)
			opts := []openai.Option{openai.Use(openai.API(tc.k.api)), openai.HTTPClient(client)}
			if tc.k.compatible {
				key, opts = secret.Secret{}, append(opts, openai.BaseURL(server.URL))
			}
			m, err := openai.New("gpt-5.4", key, opts...)
			if err != nil {
				t.Fatal(err)
			}
			r := modeltest.Call(t.Context(), m, hello())
			if r.Err != nil || r.Stops != 1 {
				t.Errorf("%s: %v", name, r.Err)
				continue
			}
			if d := cmp.Diff(tc.want, r.Content); d != "" || r.Stop != tc.stop || r.Usage != tc.usage || r.Model != "m" {
				t.Errorf("%s: %s, %+v, %s\n%s", name, r.Stop, r.Usage, r.Model, d)
			}
		}
	}
}

// What is no answer is told with the address, what came, and the right variable.
func TestWhatDoesNotSpeakTheProtocol(t *testing.T) {
	t.Parallel()
	page := "<!DOCTYPE html>\n<html><head><title>Sign in &amp; go on</title></head><body>" + strings.Repeat("x", 4000) + "</body></html>"
	for name, tc := range map[string]struct {
		answer     openaitest.Answer
		kind       event.ErrorKind
		says, lack string
	}{
		"a page":                  {openaitest.Answer{Body: page, Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}}, event.ErrModel, "it sent text/html: Sign in & go on", "xxx"},
		"a page named a stream":   {openaitest.Answer{Body: page}, event.ErrModel, "Sign in & go on", "xxx"},
		"a text":                  {openaitest.Answer{Body: "Hello there", Header: map[string]string{"Content-Type": "text/plain"}}, event.ErrModel, "it sent text/plain: Hello there", "stream"},
		"JSON of something else":  {asJSON(`{"status":"ok"}`), event.ErrModel, "JSON of another kind", "status"},
		"JSON of Ollama's own":    {asJSON(`{"model":"m","message":{"content":"Yes."},"done":true}`), event.ErrModel, "JSON of another kind", "Yes"},
		"many JSON objects":       {asJSON("{\"model\":\"m\"}\n{\"model\":\"m\"}\n"), event.ErrModel, "JSON of another kind", "model\""},
		"JSON that breaks off":    {asJSON(wholeChat[:200]), event.ErrModel, "JSON of another kind", "Let me"},
		"nothing":                 {asJSON(""), event.ErrModel, "it sent application/json", "stream"},
		"an error in a stream":    {openaitest.Answer{Body: `{"error":{"message":"No slot.","type":"rate_limit_error"}}`}, event.ErrThrottled, "No slot.", "protocol"},
		"an error of a choice":    {asJSON(`{"id":"g","choices":[{"index":0,"message":{"content":""},"error":{"code":502,"message":"Host failed."}}]}`), event.ErrUnavailable, "Host failed.", "protocol"},
		"a redirect":              {openaitest.Answer{Status: 308, Header: map[string]string{"Location": "https://elsewhere.example/v1?key=sk-abcdefgh"}}, event.ErrModel, "redirects to elsewhere.example", "sk-"},
		"a redirect on this host": {openaitest.Answer{Status: 301, Header: map[string]string{"Location": "/v1/x"}}, event.ErrModel, "redirects to another path", "sk-"},
	} {
		m, server := open(t, local, []openai.Option{openai.Sources("MY_KEY", "MY_URL")}, tc.answer)
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		all := fmt.Sprintf("%v %+v %v", e, e, e.Err)
		if e.Kind != tc.kind || !strings.Contains(e.Message, tc.says) || strings.Contains(all, tc.lack) {
			t.Errorf("%s: %v", name, all)
		}
		if e.Kind == event.ErrModel && (!strings.Contains(e.Hint, "MY_URL") || !strings.Contains(e.Message, server.Host()) && !strings.Contains(e.Message, "redirects")) {
			t.Errorf("%s does not say where to look: %v", name, e)
		}
	}
}

// endless gives the same for ever, and counts what is read of it.
type endless struct {
	piece string
	read  int64
	off   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.piece[e.off:])
	e.off = (e.off + n) % len(e.piece)
	e.read += int64(n)
	return n, nil
}

func (*endless) Close() error { return nil }

type giving struct {
	kind string
	body *endless
}

func (g giving) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {g.kind}}, Body: g.body, Request: r}, nil
}

// A body without end is not read to the end, whatever it holds.
func TestBodiesWithoutEnd(t *testing.T) { //nolint:paralleltest // it measures memory
	const most = 100 << 20
	for name, g := range map[string]giving{
		"blanks":        {"application/json", &endless{piece: strings.Repeat(" ", 1000)}},
		"one object":    {"application/json", &endless{piece: `{"choices":[`}},
		"one event":     {"text/event-stream", &endless{piece: "data: x"}},
		"one line":      {"text/event-stream", &endless{piece: "xxxxxxxxxxxxxx"}},
		"lines of one":  {"text/event-stream", &endless{piece: "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"}},
		"a page":        {"text/html", &endless{piece: "<html>"}},
		"a text":        {"", &endless{piece: "Hello. "}},
		"a named event": {"text/plain", &endless{piece: "event: message "}},
	} {
		g.body.piece = strings.Repeat(g.body.piece, 64<<10/len(g.body.piece)+1) // few reads: the race detector is slow
		m, err := openai.New("x", secret.Secret{}, openai.BaseURL("http://127.0.0.1:1/v1"), openai.HTTPClient(&http.Client{Transport: g}))
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; g.body.read > most || used > 4*most || e.Kind != event.ErrModel {
			t.Errorf("%s: %d bytes read, %d allocated: %v", name, g.body.read, used, e)
		}
	}
}

// Whole answers that are cut anywhere are no answers.
func TestWholeAnswersCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, body := range []string{wholeChat, wholeResponse} {
		api := openai.ChatCompletions
		if body == wholeResponse {
			api = openai.Responses
		}
		at := 0
		m, err := openai.New("gpt-5.4", secret.Secret{}, openai.Use(api), openai.BaseURL("http://127.0.0.1:1/v1"),
			openai.HTTPClient(&http.Client{Transport: cutting(func() string { return body[:at] })}))
		if err != nil {
			t.Fatal(err)
		}
		for at = range body {
			r := modeltest.Call(t.Context(), m, hello())
			var e *event.Error
			if !errors.As(r.Err, &e) || r.Stops != 0 || len(r.Content) != 0 {
				t.Fatalf("%s cut at %d: %v", api, at, r.Err)
			}
		}
	}
}

type cutting func() string

func (c cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(c())), Request: r,
	}, nil
}

// Cancelling ends a call in each of its phases, and closes the body.
func TestCancellingInEachPhase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, answer := range map[string]openaitest.Answer{
			"before the header":     {Silent: true},
			"before the first byte": {Stall: true},
			"in an object":          {Body: wholeChat[:100], Stall: true, Header: map[string]string{"Content-Type": "application/json"}},
			"in a stream":           {Body: openaitest.Begun(openaitest.Chat, []model.Chunk{{Kind: model.ChunkText, Text: "So"}}, event.StopEndTurn), Stall: true},
			"in an error":           {Status: 500, Body: `{"error":`, Stall: true},
		} {
			m, server := open(t, local, nil, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			r := modeltest.Call(ctx, m, hello())
			if e := failed(t, r); e.Kind != event.ErrTimeout {
				t.Errorf("%s: %v", name, e)
			}
			cancel()
			if !server.Left(10 * time.Second) {
				t.Errorf("%s: the connection stays", name)
			}
		}
	})
}

// The request is what it was with the vendor's SDK: its address, its method and its headers.
func TestAddressesAndHeaders(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, openaitest.Text(openaitest.Chat, "Yes.").Body)
	}))
	t.Cleanup(server.Close)
	for name, tc := range map[string]struct {
		opts              []openai.Option
		path, auth, azure string
	}{
		"a base":             {[]openai.Option{openai.BaseURL(server.URL + "/v1")}, "/v1/chat/completions", "Bearer some-key", ""},
		"a base with a path": {[]openai.Option{openai.BaseURL(server.URL + "/a/b%20c/v1//")}, "/a/b%20c/v1/chat/completions", "Bearer some-key", ""},
		"Azure, classic":     {[]openai.Option{openai.BaseURL(server.URL + "/openai/deployments/mine"), openai.Azure("2024-10-21")}, "/openai/deployments/mine/chat/completions?api-version=2024-10-21", "", "some-key"},
		"Azure, v1":          {[]openai.Option{openai.BaseURL(server.URL + "/openai/v1"), openai.Azure(""), openai.Use(openai.ChatCompletions)}, "/openai/v1/chat/completions", "", "some-key"},
	} {
		m, err := openai.New("x", secret.New("some-key"), tc.opts...)
		if err != nil {
			t.Fatal(err)
		}
		req := hello()
		req.Options.Headers = map[string]string{"OpenAI-Project": "proj_1"}
		if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
			t.Fatal(name, r.Err)
		}
		h := got.Header
		if got.Method != http.MethodPost || got.RequestURI != tc.path || h.Get("Authorization") != tc.auth || h.Get("Api-Key") != tc.azure ||
			h.Get("Content-Type") != "application/json" || !strings.Contains(h.Get("Accept"), "text/event-stream") || h.Get("User-Agent") != "braid" ||
			h.Get("OpenAI-Project") != "proj_1" {
			t.Errorf("%s: %s %v", name, got.RequestURI, h)
		}
		req.Options.Headers = map[string]string{"authorization": "Bearer other"}
		if e := failed(t, modeltest.Call(t.Context(), m, req)); e.Kind != event.ErrInvalid || strings.Contains(fmt.Sprint(e), "other") {
			t.Errorf("%s: %v", name, e)
		}
		if err := m.Check(req); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: the check says %v", name, err)
		}
	}
}

// A connection is used again after an answer that does not stream, and after an error.
func TestAConnectionIsUsedAgainWithoutAStream(t *testing.T) {
	t.Parallel()
	m, _ := open(t, local, nil, asJSON(wholeChat), openaitest.Error(http.StatusServiceUnavailable, "x", "", "Slow down"), asJSON(wholeChat))
	reused := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if i.Reused {
			reused++
		}
	}})
	for range 3 {
		_ = modeltest.Call(ctx, m, hello())
	}
	if reused != 2 {
		t.Errorf("%d of 2 connections were used again", reused)
	}
}

// A server that repeats the whole answer so far beside each piece is read once.
func TestAnAnswerThatIsRepeatedBesideItsPieces(t *testing.T) {
	t.Parallel()
	server := openaitest.Start(openaitest.Answer{Body: `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"1"},"message":{"content":"1"}}]}

data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":" 2"},"message":{"content":"1 2"},"finish_reason":"stop"}]}

`})
	server.Compatible = true
	t.Cleanup(server.Close)
	m, err := openai.New("m", secret.Secret{}, openai.BaseURL(server.URL), openai.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	r := modeltest.Call(t.Context(), m, hello())
	if want := []event.Block{&event.Text{Text: "1 2"}}; r.Err != nil || cmp.Diff(want, r.Content) != "" {
		t.Errorf("%v, %s", r.Err, cmp.Diff(want, r.Content))
	}
}
