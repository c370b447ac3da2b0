package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// part returns a block with the vendor's own JSON.
func part(raw string) event.Block { return &event.UnknownBlock{Name: "x", Raw: json.RawMessage(raw)} }

// The vendor searches and runs code while the agent's tools run. Calls and results of both are sent
// back with their ids and signatures, and the stand-in accepts them.
func TestTheVendorsToolsGoBack(t *testing.T) {
	t.Parallel()
	searched := []model.Chunk{
		{Kind: model.ChunkBlock, Block: part(`{"toolCall": {"toolType": "GOOGLE_SEARCH_WEB","args": {"queries": ["a","b","a"]},"id": "s1"},"thoughtSignature": "c2lnMQ=="}`)},
		{Kind: model.ChunkBlock, Index: 1, Block: part(`{"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB","response": {"search_suggestions": "x"},"id": "s1"},"thoughtSignature": "c2lnMg=="}`)},
		{Kind: model.ChunkBlock, Index: 2, Block: &event.Code{Language: "python", Code: "print(1)", ID: "c1", Signature: "c2lnMw=="}},
		{Kind: model.ChunkBlock, Index: 3, Block: &event.CodeResult{Outcome: "ok", Output: "1\n", ID: "c1", Signature: "c2lnNA=="}},
		{Kind: model.ChunkCall, Index: 4, ID: "f1", Text: "add"},
		{Kind: model.ChunkSignature, Index: 4, Text: "c2lnNQ=="},
	}
	m, server := open(t, flash, nil,
		geminitest.Stream(searched, "STOP", event.Usage{Input: 1, Output: 1}), geminitest.Text("3."), geminitest.Text("Bye."), geminitest.Text("Bye."))
	add := braid.Func("add", "Adds.", func(context.Context, struct{}) (int, error) { return 3, nil })
	tools := braid.Options(model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.CodeExecution}}})
	conv := braid.NewConversation()
	result, err := braid.New("a", m, add, tools).Run(t.Context(), "Go.", braid.In(conv))
	if err != nil || result.Text() != "3." || result.Usage.WebSearches != 2 {
		t.Fatalf("%v: %+v", err, result.Usage)
	}
	if _, err := braid.New("a", m, add, tools).Run(t.Context(), "And?", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	// Without the vendor's tools a request has no calls of theirs, but it keeps executed code.
	if _, err := braid.New("a", m, add).Run(t.Context(), "Well?", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	asked := server.Asked()
	if len(asked) != 4 {
		t.Fatalf("%d requests", len(asked))
	}
	code := `{"executableCode":{"id":"c1","language":"PYTHON","code":"print(1)"},"thoughtSignature":"c2lnMw=="},` +
		`{"codeExecutionResult":{"id":"c1","outcome":"OUTCOME_OK","output":"1\n"},"thoughtSignature":"c2lnNA=="}`
	for i, r := range asked[1:] {
		for _, want := range []string{`"id":"s1","toolType"`, `"toolCall":`, `"toolResponse":`, `"thoughtSignature":"c2lnMQ=="`, `"thoughtSignature":"c2lnMg=="`} {
			if want = strings.Replace(want, `"id":"s1","toolType"`, `"s1"`, 1); strings.Contains(string(r.Body), want) != (i < 2) {
				t.Errorf("request %d: %s in %s", i+1, want, r.Body)
			}
		}
		if !strings.Contains(string(r.Body), strings.ReplaceAll(code, "\n", `\n`)) || strings.Contains(string(r.Body), "skip_thought") {
			t.Errorf("request %d has no %s: %s", i+1, code, r.Body)
		}
	}
}

// Programs of another provider are sent as text. Signatures that the API refuses are removed from
// programs too.
func TestProgramsWithoutSignatures(t *testing.T) {
	t.Parallel()
	m, server := open(t, flash, nil, geminitest.Error(400, "INVALID_ARGUMENT", "Thought signature is not valid."), geminitest.Text("Yes."))
	server.Trust("c2ln", "executableCode")
	req := hello()
	req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: []event.Block{
		&event.Code{Language: "python", Code: "1", Signature: "gemini.c2ln"}, &event.CodeResult{Outcome: "ok", Output: "2", ID: "x"},
	}}, hello().Messages[0])
	if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
		t.Fatal(r.Err)
	}
	if body := string(server.Asked()[1].Body); !strings.Contains(body, `{"executableCode":{"language":"PYTHON","code":"1"}},{"text":"[ok] 2"}`) {
		t.Error(body)
	}
}

// Each search counts once, before Gemini 3 once per answer. Each source is cited once.
func TestSearchesAndSources(t *testing.T) {
	t.Parallel()
	grounding := `"groundingMetadata": {"webSearchQueries": ["a","","b"],"groundingChunks": [{"web": {"uri": "https://e.com","title": "E"}},` +
		`{"retrievedContext": {"title": "notes.pdf","text": "what it says"}}]},"urlContextMetadata": {"urlMetadata": [` +
		`{"retrievedUrl": "https://p.com","urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},{"retrievedUrl": "https://q.com","urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR"}]}`
	body := "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Yes.\"}]}," + grounding + "}]}\r\n\r\n"
	for name, want := range map[string]int64{flash: 2, "gemini-2.5-flash": 1} {
		m, _ := open(t, name, nil, geminitest.Answer{Body: body + body + geminitest.End("STOP", event.Usage{Input: 1, Output: 1})})
		req := hello()
		req.Options.ServerTools = []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.WebFetch}}
		r := modeltest.Call(t.Context(), m, req)
		var sources []event.Citation
		for _, b := range r.Content {
			if c, ok := b.(*event.Citation); ok {
				sources = append(sources, *c)
			}
		}
		if r.Err != nil || r.Usage.WebSearches != want || len(sources) != 3 || sources[1].Quote != "what it says" || sources[2].URL != "https://p.com" {
			t.Errorf("%s: %v, %+v, %+v", name, r.Err, r.Usage, sources)
		}
	}
}

// Servers without streaming send one response or an array of them.
func TestUnstreamedAnswers(t *testing.T) {
	t.Parallel()
	begun := `{"candidates": [{"content": {"parts": [{"text": "Hel"}],"role": "model"},"index": 0}]}`
	end := "{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"lo.\"}]}, \"finishReason\": \"STOP\"}],\n  \"usageMetadata\": {\"promptTokenCount\": 3}\n}\n"
	failure := `{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}`
	typed := map[string]string{"Content-Type": "application/json; charset=UTF-8"}
	for name, tc := range map[string]struct {
		body, says string
		want       error
	}{
		"one":                {end, "lo.", nil},
		"several":            {"[" + begun + ",\r\n" + end + "]", "Hello.", nil},
		"a beginning":        {begun, "", event.ErrStreamCut},
		"an error":           {failure, "", event.ErrOverloaded},
		"an error at last":   {"[" + begun + "," + failure + "]", "", event.ErrOverloaded},
		"half of it":         {end[:40], "", event.ErrStreamCut},
		"half of several":    {"[" + begun + ",", "", event.ErrStreamCut},
		"nothing":            {"", "", event.ErrModel},
		"none":               {"[]", "", event.ErrModel},
		"a page":             {"<html>Welcome</html>", "", event.ErrModel},
		"a number":           {"17", "", event.ErrModel},
		"numbers":            {"[1,2]", "", event.ErrModel},
		"something else":     {`{"status":"ok"}`, "", event.ErrModel},
		"too deep":           {`{"candidates":` + strings.Repeat("[", 20000), "", event.ErrStreamCut},
		"no parts, no reply": {`{"candidates":null,"promptFeedback":{}}`, "", event.ErrStreamCut},
	} {
		for _, slow := range []bool{false, true} {
			m, server := open(t, flash, nil, geminitest.Answer{Header: typed, Body: tc.body, Slow: slow && len(tc.body) < 1000})
			r := modeltest.Call(t.Context(), m, hello())
			if tc.want == nil {
				if r.Err != nil || event.TextOf(r.Content) != tc.says || r.Stops != 1 || r.Stop != event.StopEndTurn {
					t.Errorf("%s: %v, %q", name, r.Err, event.TextOf(r.Content))
				}
				continue
			}
			e := failed(t, r)
			if !errors.Is(e, tc.want) || r.Stops != 0 || errors.Is(e, event.ErrModel) && (!strings.Contains(e.Message, server.Host()) || !strings.Contains(e.Hint, gemini.BaseVariable)) {
				t.Errorf("%s: %v", name, e)
			}
		}
	}
}

// A whole response that is cut anywhere is a retryable error.
func TestUnstreamedAnswersAreCut(t *testing.T) {
	t.Parallel()
	body := `[{"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]},{"candidates": [{"content": {"parts": [{"text": "lo."}]}, "finishReason": "STOP"}]}]`
	for n := 1; n < len(body); n++ {
		m, _ := open(t, flash, nil, geminitest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: body, Cut: n})
		if r := modeltest.Call(t.Context(), m, hello()); !errors.Is(r.Err, event.ErrStreamCut) || r.Stops != 0 {
			t.Fatalf("cut at %d: %v", n, r.Err)
		}
	}
}

// endless is a body that repeats one piece for ever.
type endless struct {
	piece string
	at    int
	read  int64
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.piece[e.at:])
	e.at = (e.at + n) % len(e.piece)
	e.read += int64(n)
	return n, nil
}

func (e *endless) Close() error { return nil }

// Every read is bounded: an event, a whole response, an error.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		piece, kind string
		status      int
		most        int64
		want        event.ErrorKind
	}{
		"one event":     {"data: aaaaaaaaaaaaaaa", "text/event-stream", 200, 70 << 20, event.ErrStreamCut},
		"at once":       {`{"candidates":[`, "application/json", 200, 70 << 20, event.ErrStreamCut},
		"only comments": {":" + strings.Repeat("-", 1<<16) + "\n", "text/event-stream", 200, 1<<30 + 1<<20, event.ErrStreamCut},
		"an error":      {`{"error":`, "application/json", 500, 1 << 20, event.ErrUnavailable},
		"a page":        {`<html>`, "text/html", 200, 1 << 20, event.ErrModel},
	} {
		if race.On && name == "only comments" {
			continue // a gigabyte is too slow under the race detector; make test reads it without
		}
		body := &endless{piece: strings.Repeat(tc.piece, 64<<10/len(tc.piece)+1)} // large pieces make few reads, because the race detector is slow
		client := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body) // it cannot fail
			return &http.Response{StatusCode: tc.status, Header: http.Header{"Content-Type": {tc.kind}}, Body: body, Request: r}, nil
		})}
		m, err := gemini.New(flash, secret.New("k"), gemini.HTTPClient(client))
		if err != nil {
			t.Fatal(err)
		}
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != tc.want || body.read > tc.most {
			t.Errorf("%s: %d bytes read, %v", name, body.read, e)
		}
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The vendor counts the tokens of the whole request, on both of its APIs.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	count := func(req *model.Request, opts ...gemini.Option) (int64, *geminitest.Server, error) {
		m, server := open(t, flash, opts)
		n, err := model.Count(t.Context(), m, req)
		return n, server, err
	}
	req := hello()
	req.Instructions, req.Tools, req.Options.MaxTokens = "Be brief.", weather, 5
	for _, opts := range [][]gemini.Option{nil, {onVertex}, {gemini.Vertex("", "", nil)}} {
		n, server, err := count(req, opts...)
		if err != nil || n < 20 {
			t.Errorf("%d, %v", n, err)
		}
		if body := string(server.Asked()[0].Body); !strings.Contains(body, "Be brief.") || !strings.Contains(body, "weather") || !json.Valid([]byte(body)) {
			t.Error(body)
		}
	}
	if _, _, err := count(req, onVertex, gemini.CachedContent("cachedContents/a")); !errors.Is(err, event.ErrUnsupported) {
		t.Error(err)
	}
	if _, _, err := count(&model.Request{}); !errors.Is(err, event.ErrInvalid) {
		t.Error(err)
	}
	for body, want := range map[string]event.ErrorKind{
		`{}`: event.ErrModel, `{"totalTokens":-1}`: event.ErrModel, `{"totalTokens":"many"}`: event.ErrModel, `<html>`: event.ErrModel, ``: event.ErrModel,
		strings.Repeat(" ", 2<<20): event.ErrStreamCut,
	} {
		client := &http.Client{Transport: wire(func(*http.Request) io.ReadCloser { return io.NopCloser(strings.NewReader(body)) })}
		m, err := gemini.New(flash, secret.New("k"), gemini.HTTPClient(client))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Count(t.Context(), m, req); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", body, err)
		}
	}
}

// A file is sent in pieces, named in requests, and deleted.
func TestFiles(t *testing.T) {
	t.Parallel()
	m, server := open(t, flash, nil, geminitest.Text("Yes."))
	store := model.Files(m)
	content := strings.Repeat("0123456789abcdef", 1<<20) // large enough for two pieces
	for _, size := range []int{0, 1, 8 << 20, 8<<20 + 1, len(content)} {
		address, err := store.Upload(t.Context(), model.File{Name: "ä.pdf", Content: io.MultiReader(strings.NewReader(content[:size/2]), strings.NewReader(content[size/2:size]))})
		if err != nil {
			t.Fatal(size, err)
		}
		if kept, kind, ok := server.File(address); !ok || string(kept) != content[:size] || kind != "application/pdf" {
			t.Fatalf("%d bytes are %d of %s", size, len(kept), kind)
		}
		if size == 1 {
			req := hello()
			req.Messages[0].Content = append(req.Messages[0].Content, &event.Document{URL: address, MIME: "application/pdf"})
			if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
				t.Fatal(r.Err)
			}
			asked := server.Asked()
			if body := string(asked[len(asked)-1].Body); !strings.Contains(body, `{"fileData":{"mimeType":"application/pdf","fileUri":"`+address+`"}}`) {
				t.Error(body)
			}
		}
		for range 2 { // deleting it twice is no error
			if err := store.Delete(t.Context(), address); err != nil {
				t.Error(err)
			}
		}
		if _, _, ok := server.File(address); ok {
			t.Error("it is still there")
		}
	}
	for _, r := range server.Asked() {
		if r.Header.Get("X-Goog-Api-Key") != geminitest.Key {
			t.Errorf("%s has no key", r.Path)
		}
	}
	for name, f := range map[string]model.File{
		"no kind": {Name: "x", Content: strings.NewReader("")}, "no content": {MIME: "text/plain"}, "a wrong kind": {MIME: "text", Content: strings.NewReader("")},
		"a long name":             {Name: strings.Repeat("x", 600), MIME: "text/plain", Content: strings.NewReader("")},
		"a content that breaks":   {MIME: "text/plain", Content: io.MultiReader(strings.NewReader("x"), broken{})},
		"one that breaks at once": {MIME: "text/plain", Content: broken{}},
	} {
		if _, err := store.Upload(t.Context(), f); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, address := range []string{"", "files/x", "https://e.com/v1beta/files/x", server.URL + "/v1beta/files/../x", server.URL + "/v1beta/models/x"} {
		if err := store.Delete(t.Context(), address); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", address, err)
		}
	}
	vertex, _ := open(t, flash, []gemini.Option{onVertex})
	_, err := vertex.Upload(t.Context(), model.File{MIME: "text/plain", Content: strings.NewReader("")})
	if !errors.Is(err, event.ErrUnsupported) || !errors.Is(vertex.Delete(t.Context(), "x"), event.ErrUnsupported) {
		t.Error(err)
	}
	server.Broken = "The file is corrupt."
	if _, err := store.Upload(t.Context(), model.File{MIME: "text/plain", Content: strings.NewReader("x")}); !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "corrupt") {
		t.Error(err)
	}
	wrong, err := gemini.New(flash, secret.New("AIzaWrong-000000000000"), gemini.BaseURL(server.URL), gemini.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Upload(t.Context(), model.File{MIME: "text/plain", Content: strings.NewReader("x")}); !errors.Is(err, event.ErrModelAuth) {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("no disk") }

// The upload waits until the file is ready, but not for ever, and not after the caller has
// cancelled.
func TestFilesThatTakeLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks, ready := 0, 5
		client := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
			if r.Body != nil {
				_, _ = io.Copy(io.Discard, r.Body) // it cannot fail
			}
			h, state := http.Header{}, "PROCESSING"
			if r.Method == http.MethodGet {
				if looks++; looks >= ready {
					state = "ACTIVE"
				}
			}
			h.Set("X-Goog-Upload-Url", "https://elsewhere.example.com/upload/v1beta/files?upload_id=1")
			file := `{"name":"files/a","uri":"https://generativelanguage.googleapis.com/v1beta/files/a","state":"` + state + `"}`
			if r.Method == http.MethodPost {
				file = `{"file":` + file + `}`
			}
			if r.URL.Host != "generativelanguage.googleapis.com" {
				t.Errorf("the key goes to %s", r.URL.Host)
			}
			return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(strings.NewReader(file)), Request: r}, nil
		})}
		m, err := gemini.New(flash, secret.New("k"), gemini.HTTPClient(client))
		if err != nil {
			t.Fatal(err)
		}
		upload := func(ctx context.Context) error {
			_, err := m.Upload(ctx, model.File{MIME: "video/mp4", Content: strings.NewReader("x")})
			return err
		}
		if err := upload(t.Context()); err != nil || looks != 5 {
			t.Errorf("%v after %d looks", err, looks)
		}
		looks, ready = 0, 1<<20
		if err := upload(t.Context()); !errors.Is(err, event.ErrUnavailable) || looks < 50 || looks > 80 {
			t.Errorf("%v after %d looks", err, looks)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- upload(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, event.ErrCancelled) {
			t.Error(err)
		}
	})
}

// Over 40 turns with tools, each prompt begins with the bytes of the one before it, up to the end
// of its messages: the vendor caches prompts by prefix.
func TestPromptsKeepTheirBeginning(t *testing.T) {
	t.Parallel()
	for _, opts := range []model.Options{
		{}, {Effort: model.EffortHigh, ShowThinking: true, ServerTools: []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.CodeExecution}}},
	} {
		var answers []geminitest.Answer
		for i := range 40 {
			id := string(rune('a'+i%26)) + string(rune('a'+i/26))
			answers = append(answers, geminitest.Stream([]model.Chunk{
				{Kind: model.ChunkThinking, Text: "Hm."},
				{Kind: model.ChunkText, Index: 1, Text: "I add."},
				{Kind: model.ChunkCall, Index: 2, ID: id, Text: "add"},
				{Kind: model.ChunkSignature, Index: 2, Text: "c2ln" + id + "=="},
			}, "STOP", event.Usage{Input: 1, Output: 1}), geminitest.Text("Turn."))
		}
		m, server := open(t, flash, nil, answers...)
		agent := braid.New("a", m, braid.Instructions("Be brief."), braid.Options(opts),
			braid.Func("add", "Adds.", func(context.Context, struct{}) (int, error) { return 3, nil }))
		conv := braid.NewConversation()
		for range 40 {
			if _, err := agent.Run(t.Context(), "Go on.", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
		}
		asked := server.Asked()
		if len(asked) != 80 {
			t.Fatalf("%d requests", len(asked))
		}
		for i := 1; i < len(asked); i++ {
			before, now := string(asked[i-1].Body), string(asked[i].Body)
			end := strings.LastIndex(before, `]}`)
			for _, behind := range []string{`],"toolConfig":`, `],"generationConfig":`} {
				if at := strings.LastIndex(before, behind); at >= 0 {
					end = min(end, at)
				}
			}
			if end < len(before)/2 || !strings.HasPrefix(now, before[:end]) {
				t.Fatalf("request %d does not begin as the one before it:\n%s\n%s", i, before, now)
			}
		}
	}
}
