package bedrock

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
)

// The exact bytes of the less obvious requests.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	u := func(b ...event.Block) event.Message { return msg(event.RoleUser, b...) }
	a := func(b ...event.Block) event.Message { return msg(event.RoleAssistant, b...) }
	png := &event.Image{Data: modeltest.Pixel()}
	call := a(&event.ToolCall{ID: "x", Name: "f"})
	failed := &event.ToolResult{Call: "x", IsError: true, Content: []event.Block{&event.Text{Text: "no"}, png}}
	for _, tc := range []struct {
		name, model string
		messages    []event.Message
		want        string
	}{
		{
			"an id that comes again", claude, []event.Message{
				question("q"), call, u(&event.ToolResult{Call: "x"}), call, u(&event.ToolResult{Call: "x"}),
			}, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"x_2","name":"f","input":{}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"x_2","content":[{"text":"[nothing]"}]}}]}]`,
		},
		{
			"a failure with a picture", claude,
			[]event.Message{question("q"), call, u(&event.Text{Text: "so?"}, failed)},
			`{"role":"user","content":[{"toolResult":{"toolUseId":"x","content":[{"text":"no"}],"status":"error"}},` +
				`{"image":{"format":"png","source":{"bytes":"iVBORw0KGgoAAAANSUhEUgAAAAE="}}},{"text":"so?"}]}]`,
		},
		{
			"the same in turns of their own", llama,
			[]event.Message{question("q"), call, u(&event.Text{Text: "so?"}, failed)},
			`{"role":"user","content":[{"toolResult":{"toolUseId":"x","content":[{"text":"no"}]}}]},` +
				`{"role":"assistant","content":[{"text":"I have the results."}]},` +
				`{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"iVBORw0KGgoAAAANSUhEUgAAAAE="}}},{"text":"so?"}]}]`,
		},
		{
			"results and nothing to say", llama,
			[]event.Message{question("q"), call, u(&event.ToolResult{Call: "x"}, &event.Text{Text: " "})},
			`{"role":"user","content":[{"toolResult":{"toolUseId":"x","content":[{"text":"[nothing]"}]}}]}]`,
		},
		{
			"a result for programs", claude,
			[]event.Message{question("q"), call, u(&event.ToolResult{Call: "x", Structured: json.RawMessage(`{ "sum": 3 }`)})},
			`"content":[{"json":{"sum":3}}]`,
		},
		{
			"the same for Nova", novaID,
			[]event.Message{question("q"), call, u(&event.ToolResult{Call: "x", Structured: json.RawMessage(`{"sum":3}`)})},
			`"content":[{"text":"{\"sum\":3}"}]`,
		},
		{
			"a result that is no object", claude,
			[]event.Message{question("q"), call, u(&event.ToolResult{Call: "x", Structured: json.RawMessage(`[3]`)})},
			`"content":[{"text":"[3]"}]`,
		},
		{
			"documents", claude,
			[]event.Message{u(
				&event.Document{Name: "dir/Ré sumé_1..pdf", MIME: "application/pdf", Data: []byte("%PDF")},
				&event.Document{Name: "R sum 1.csv", MIME: "text/csv", Data: []byte("a\xff")}, &event.Document{Text: "t"}, &event.Document{Text: "t"},
			)},
			`{"document":{"format":"pdf","name":"R sum 1","source":{"bytes":"JVBERg=="}}},{"document":{"format":"csv","name":"R sum 1 (2)","source":{"bytes":"Ye+/vQ=="}}},` +
				`{"document":{"format":"txt","name":"document","source":{"bytes":"dA=="}}},{"document":{"format":"txt","name":"document (2)","source":{"bytes":"dA=="}}},` +
				`{"text":"The files are attached."}`,
		},
		{
			"a text for whom reads no documents", "amazon.nova-micro-v1:0",
			[]event.Message{u(&event.Document{MIME: "text/markdown", Data: []byte("# t")})},
			`"content":[{"text":"# t"}`,
		},
		{
			"films", novaID,
			[]event.Message{u(&event.Media{Media: "video", MIME: "video/quicktime", URL: "s3://b/a"}, &event.Text{Text: "q"})},
			`{"video":{"format":"mov","source":{"s3Location":{"uri":"s3://b/a"}}}}`,
		},
		{
			"instructions for whom has no place for them", titan,
			[]event.Message{question("q")},
			`{"messages":[{"role":"user","content":[{"text":"Be brief."},{"text":"q"}]}]}`,
		},
		{
			"calls for whom has no tools", titan,
			[]event.Message{
				question("q"), a(&event.ToolCall{ID: "x", Name: "f", Args: json.RawMessage(`{"a":1}`)}),
				u(&event.ToolResult{Call: "x", Name: "f", Content: []event.Block{&event.Text{Text: "3"}}}),
			},
			`{"role":"assistant","content":[{"text":"[call of f] {\"a\":1}"}]},{"role":"user","content":[{"text":"[result of f] 3"}]}]}`,
		},
		{
			"arguments that are no object", claude,
			[]event.Message{
				question("q"), a(&event.ToolCall{ID: "x", Name: "f", Args: json.RawMessage(` [1, 2] `)},
					&event.ToolCall{ID: "y", Name: "f", Invalid: `{"a`, Fault: "cut"}), u(&event.ToolResult{Call: "x"}, &event.ToolResult{Call: "y"}),
			},
			`"input":{"value":[1,2]}}},{"toolUse":{"toolUseId":"y","name":"f","input":{"unreadable":"{\"a"}}}`,
		},
		{
			"a tool that is gone", claude,
			[]event.Message{question("q"), call, u(&event.ToolResult{Call: "x"})},
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"no_tool_here","description":"There is no tool any more. Do not call this one.",` +
				`"inputSchema":{"json":{"type":"object","properties":{}}}}}]},`,
		},
	} {
		body := ask(t, made(t, tc.model, Cache(CacheOff)), &model.Request{Instructions: "Be brief.", Messages: tc.messages})
		if !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: want\n%s\nin\n%s", tc.name, tc.want, body)
		}
	}
}

func TestOptionsOfACall(t *testing.T) {
	t.Parallel()
	half := 0.5
	tools := func(r *model.Request) { r.Tools = add }
	think := func(n int) func(*model.Request) {
		return func(r *model.Request) { r.Options.Thinking = n }
	}
	for _, tc := range []struct {
		name, model string
		opts        []Option
		change      func(*model.Request)
		want        string // the body after the messages
	}{
		{"nothing", claude, nil, nil, `}`},
		{"all of it", claude, nil, func(r *model.Request) {
			r.Options = model.Options{MaxTokens: 7, Temperature: &half, StopWords: []string{"", " ", "END"}}
		}, `,"inferenceConfig":{"maxTokens":7,"temperature":0.5,"stopSequences":["END"]}}`},
		{"a budget", claude, nil, think(1), `,"inferenceConfig":{"maxTokens":9216},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}}`},
		{"no budget", "us.anthropic.claude-opus-4-6-v1", nil, think(1), `,"additionalModelRequestFields":{"thinking":{"type":"adaptive"}}}`},
		{"none at all", "anthropic.claude-3-haiku-20240307-v1:0", nil, think(1), `}`},
		{"effort", "us.amazon.nova-2-lite-v1:0", nil, think(5000), `,"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}}}`},
		{"much effort", "us.amazon.nova-2-lite-v1:0", nil, func(r *model.Request) {
			r.Options = model.Options{MaxTokens: 7, Thinking: 50000}
		}, `,"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}}`},
		{"effort in a word", "openai.gpt-oss-120b-1:0", nil, think(100), `,"additionalModelRequestFields":{"reasoning_effort":"low"}}`},
		{"no thinking where a tool is forced", claude, nil, func(r *model.Request) {
			r.Tools, r.Options.Thinking, r.ToolChoice.Mode = add, 2000, model.ToolsAny
		}, `}`},
		{"Nova with tools", novaID, nil, tools, `,"inferenceConfig":{"temperature":0},"additionalModelRequestFields":{"inferenceConfig":{"topK":1}}}`},
		{"Nova without", novaID, nil, nil, `}`},
		{
			"fields", claude,
			[]Option{Fields(json.RawMessage(`{"top_k":5,"thinking":{"type":"disabled"}}`))},
			think(5000),
			`,"inferenceConfig":{"maxTokens":13192},"additionalModelRequestFields":{"thinking":{"type":"disabled"},"top_k":5}}`,
		},
		{
			"a guardrail", claude,
			[]Option{Guard(Guardrail{ID: "g", Version: "DRAFT"})},
			nil,
			`,"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"DRAFT","trace":"enabled","streamProcessingMode":"sync"}}`,
		},
		{
			"a guardrail beside", claude,
			[]Option{Guard(Guardrail{ID: "g", Version: "1", Async: true, Trace: "enabled_full"})},
			nil,
			`,"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1","trace":"enabled_full","streamProcessingMode":"async"}}`,
		},
		{
			"a guardrail of a whole answer", claude,
			[]Option{Guard(Guardrail{ID: "g", Version: "1", Trace: "disabled"}), Answers(Whole)},
			nil,
			`,"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1","trace":"disabled"}}`,
		},
		{
			"the rest", claude,
			[]Option{Latency("optimized"), Tier("flex"), Metadata(map[string]string{"team": "a"})},
			nil,
			`,"performanceConfig":{"latency":"optimized"},"requestMetadata":{"team":"a"},"serviceTier":{"type":"flex"}}`,
		},
		{"an answer in a form", claude, nil, func(r *model.Request) {
			r.Output = &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
		}, `,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"n","schema":` +
			`"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"additionalProperties\":false}"}}}}}`},
	} {
		req := &model.Request{Messages: []event.Message{question("q")}}
		if tc.change != nil {
			tc.change(req)
		}
		body := ask(t, made(t, tc.model, append(tc.opts, Cache(CacheOff))...), req)
		if _, tail, _ := strings.Cut(string(body), `[{"text":"q"}]}]`); tail != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, tail, tc.want)
		}
	}
}

// A turn that began without thinking continues without it.
func TestThinkingBeginsWithATurn(t *testing.T) {
	t.Parallel()
	req := &model.Request{Tools: add, Options: model.Options{Thinking: 2000}}
	for want, first := range map[bool][]event.Block{
		false: {&event.Thinking{Text: "hm", Signature: "openai.x"}}, true: {&event.Thinking{Text: "hm", Signature: "c2ln"}},
	} {
		answer := turn("t", 1)
		answer[0].Content = append(first, answer[0].Content...)
		req.Messages = append([]event.Message{question("q")}, answer...)
		if got := bytes.Contains(ask(t, made(t, claude), req), []byte("budget_tokens")); got != want {
			t.Errorf("%v: %v", first, got)
		}
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	two := append(add[:1:1], model.ToolSpec{Name: "b-c"})
	for _, tc := range []struct {
		model  string
		choice model.ToolChoice
		want   string
	}{
		{claude, model.ToolChoice{}, `]},"messages"`},
		{claude, model.ToolChoice{Mode: model.ToolsAny}, `],"toolChoice":{"any":{}}},"messages"`},
		{claude, model.ToolChoice{Mode: model.ToolsOne, Tool: "b-c"}, `],"toolChoice":{"tool":{"name":"b-c"}}},"messages"`},
		{novaID, model.ToolChoice{Mode: model.ToolsOne, Tool: "b-c"}, `],"toolChoice":{"tool":{"name":"b_c_`},
		{claude, model.ToolChoice{Mode: model.ToolsNone}, `{"messages"`},
		{
			"mistral.mistral-large-2402-v1:0",
			model.ToolChoice{Mode: model.ToolsOne, Tool: "b-c"},
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"b-c","inputSchema":{"json":{"type":"object","properties":{}}}}}],"toolChoice":{"any":{}}},`,
		},
	} {
		body := ask(t, made(t, tc.model, Cache(CacheOff)), &model.Request{Tools: two, ToolChoice: tc.choice, Messages: []event.Message{question("q")}})
		if !bytes.Contains(body, []byte(tc.want)) {
			t.Errorf("%s %+v: %s", tc.model, tc.choice, body)
		}
	}
	req := &model.Request{Tools: add, Messages: []event.Message{question("q")}}
	refused := func(name string, want event.ErrorKind) {
		t.Helper()
		m := made(t, name)
		_, err := m.request(req, false)
		for _, err := range []error{err, m.Check(req)} {
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != want || e.Hint == "" {
				t.Errorf("%s %+v: %v", name, req.ToolChoice, err)
			}
		}
	}
	refused(titan, event.ErrUnsupported)
	req.ToolChoice.Mode = model.ToolsAny
	refused(llama, event.ErrUnsupported)
	req.ToolChoice = model.ToolChoice{Mode: model.ToolsOne, Tool: "sub"}
	refused(claude, event.ErrInvalid)
	req.ToolChoice = model.ToolChoice{}
	req.Output = &model.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
	refused(novaID, event.ErrUnsupported)
	req.Output = nil
	req.Tools = []model.ToolSpec{{Name: "f", Schema: json.RawMessage(`{"type":"string"}`)}}
	refused(claude, event.ErrInvalid)
	req.Tools, req.Options = nil, model.Options{Thinking: 4000, MaxTokens: 4000}
	refused(claude, event.ErrInvalid)
	if err := made(t, claude).Check(nil); !errors.Is(err, event.ErrInvalid) {
		t.Error(err)
	}
}

// If configured, the guardrail gets only the newest question, also while tools run.
func TestTheNewestQuestionIsGuarded(t *testing.T) {
	t.Parallel()
	m := made(t, claude, Guard(Guardrail{ID: "g", Version: "1", Latest: true}), Cache(CacheOff))
	messages := append([]event.Message{question("old"), msg(event.RoleAssistant, &event.Text{Text: "ok"}), question("new")}, turn("t", 1)...)
	body := string(ask(t, m, &model.Request{Tools: add, Messages: messages}))
	if !strings.Contains(body, `{"role":"user","content":[{"guardContent":{"text":{"text":"new"}}}]}`) || strings.Count(body, "guardContent") != 1 {
		t.Error(body)
	}
}

// New input that Converse cannot take is an error before a request is sent.
func TestInputThatCannotBeRead(t *testing.T) {
	t.Parallel()
	pdf := []byte("%PDF-1.4")
	for _, tc := range []struct {
		model string
		block event.Block
		want  event.ErrorKind
	}{
		{claude, &event.Image{}, event.ErrInvalid},
		{claude, &event.Image{MIME: "image/tiff", Data: []byte("II*")}, event.ErrUnsupported},
		{claude, &event.Image{URL: "https://e.com/a.png"}, event.ErrUnsupported},
		{claude, &event.Image{URL: "s3://b/a.png"}, event.ErrUnsupported},
		{"amazon.nova-micro-v1:0", &event.Image{Data: modeltest.Pixel()}, event.ErrUnsupported},
		{claude, &event.Image{MIME: "image/png", Data: make([]byte, usualLargest+1)}, event.ErrTooLarge},
		{claude, &event.Document{MIME: "application/zip", Data: []byte("PK")}, event.ErrUnsupported},
		{claude, &event.Document{URL: "https://e.com/a.pdf"}, event.ErrUnsupported},
		{claude, &event.Document{MIME: "application/pdf", Data: make([]byte, largestDocument+1)}, event.ErrTooLarge},
		{"amazon.nova-micro-v1:0", &event.Document{MIME: "application/pdf", Data: pdf}, event.ErrUnsupported},
		{claude, &event.Media{Media: "video", URL: "s3://b/a.mp4"}, event.ErrUnsupported},
		{novaID, &event.Media{Media: "audio", URL: "s3://b/a.mp3"}, event.ErrUnsupported},
		{novaID, &event.Media{Media: "video", URL: "https://e.com/a.mp4"}, event.ErrUnsupported},
		{novaID, &event.Image{URL: "s3://b/a"}, event.ErrUnsupported},
		{claude, &event.Image{MIME: "image/JPG; q=1", Data: modeltest.Pixel()}, ""},
		{claude, &event.Image{URL: "data:image/png;base64,iVBORw0KGgo="}, ""},
		{novaID, &event.Image{URL: "s3://b/a.png"}, ""},
		{novaID, &event.Document{URL: "s3://b/a.pdf"}, ""},
		{claude, &event.Document{Data: pdf}, ""},
		{claude, &event.Document{Name: "a.DOCX", Data: []byte("PK")}, ""},
	} {
		_, err := made(t, tc.model).request(&model.Request{Messages: []event.Message{msg(event.RoleUser, tc.block)}}, false)
		var e *event.Error
		if event.KindOf(err) != tc.want || errors.As(err, &e) && e.Hint == "" {
			t.Errorf("%s %T: %v", tc.model, tc.block, err)
		}
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]func(f family) bool{
		"anthropic.claude-3-5-sonnet-20241022-v2:0": func(f family) bool {
			return f.claude && f.thinks == unasked && f.cache == noCache && f.window == 200_000
		},
		"us.anthropic.claude-3-5-haiku-20241022-v1:0":                                          func(f family) bool { return f.claude && f.cache == wholeCache },
		"eu.anthropic.claude-3-7-sonnet-20250219-v1:0":                                         func(f family) bool { return f.thinks == claudeBudget && !f.output },
		"apac.anthropic.claude-sonnet-4-20250514-v1:0":                                         func(f family) bool { return f.thinks == claudeBudget && !f.output },
		"global.anthropic.claude-sonnet-4-6":                                                   func(f family) bool { return f.thinks == claudeDecides && f.output && f.window == 1_000_000 },
		"anthropic.claude-sonnet-5-5":                                                          func(f family) bool { return f.thinks == claudeDecides && f.window == 1_000_000 },
		"anthropic.claude-v2:1":                                                                func(f family) bool { return f.noTools && !f.claude },
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-premier-v1:0": func(f family) bool { return f.nova && f.video && f.window == 1_000_000 },
		"arn:aws:bedrock:us-east-1::foundation-model/mistral.mistral-large-2402-v1:0":          func(f family) bool { return f.noToolStream && f.choice == someChoice },
		"us.amazon.nova-2-lite-v1:0":                                                           func(f family) bool { return f.nova && f.thinks == novaEffort },
		"us.meta.llama3-2-3b-instruct-v1:0":                                                    func(f family) bool { return f.noTools },
		"us.meta.llama3-2-90b-instruct-v1:0":                                                   func(f family) bool { return f.noToolStream && !f.noImages },
		"us.deepseek.r1-v1:0":                                                                  func(f family) bool { return f.noTools },
		"deepseek.v3-v1:0":                                                                     func(f family) bool { return !f.noTools && f.split },
		"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123":          func(f family) bool { return !f.claude && !f.nova && !f.noTools && f.cache == noCache },
		"moonshotai.kimi-k2.5":                                                                 func(f family) bool { return f.split && f.output },
	} {
		if !want(familyOf(id)) {
			t.Errorf("%s: %+v", id, familyOf(id))
		}
	}
	m := made(t, "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123", As("amazon.nova-pro-v1:0"))
	if !m.family.nova || !strings.HasSuffix(m.Info().Name, "abc123") {
		t.Errorf("%+v", m.family)
	}
}

// Document names are valid for the API and unique.
func TestDocumentNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var e encoder
		seen := map[string]bool{}
		for _, name := range rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a.pdf", "a", "document", "a (2)"}))).Draw(t, "names") {
			got := e.documentName(name)
			ok := got != "" && len(got) <= 200 && !seen[got] && !strings.Contains(got, "  ") && strings.TrimSpace(got) == got
			for _, r := range got {
				ok = ok && strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -()[]", r)
			}
			if !ok {
				t.Fatalf("%q became %q", name, got)
			}
			seen[got] = true
		}
	})
}
