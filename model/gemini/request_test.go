package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
)

func made(t *testing.T, name string, opts ...Option) *Model {
	t.Helper()
	m, err := New(name, secret.New("k"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func from(role event.Role, b ...event.Block) event.Message {
	return event.Message{Role: role, Content: b}
}

func user(b ...event.Block) event.Message      { return from(event.RoleUser, b...) }
func assistant(b ...event.Block) event.Message { return from(event.RoleAssistant, b...) }
func text(s string) event.Block                { return &event.Text{Text: s} }

// The request without its messages, by model and options.
func TestOptionsOnTheWire(t *testing.T) {
	t.Parallel()
	half, yes, no := 0.5, true, false
	tools := []model.ToolSpec{{Name: "f"}, {Name: "g h"}}
	const f = `{"name":"f","parametersJsonSchema":{"type":"object","properties":{}}}`
	declared := `"tools":[{"functionDeclarations":[` + f + `,{"name":"` + toolNames.Wire("g h") + `","parametersJsonSchema":{"type":"object","properties":{}}}]}],`
	output := &model.OutputSchema{Name: "x", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`)}
	const schema = `"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`
	for _, tc := range []struct {
		m          *Model
		req        model.Request
		head, tail string
	}{
		{made(t, "gemini-3.6-flash"), model.Request{}, ``, `}`},
		{made(t, "gemini-3.6-flash"), model.Request{Instructions: "Be \"brief\"."}, `"systemInstruction":{"parts":[{"text":"Be \"brief\"."}]},`, `}`},
		{made(t, "gemini-3.6-flash"), model.Request{Tools: tools}, declared, `}`},
		{
			made(t, "gemini-3.6-flash"),
			model.Request{Options: model.Options{MaxTokens: 9, Temperature: &half, StopWords: []string{"a", " ", "\""}, Thinking: 9}},
			``, `,"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"stopSequences":["a","\""],"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`,
		},
		{made(t, "gemini-3-pro-preview"), model.Request{Options: model.Options{Thinking: 2048}}, ``, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MEDIUM"}}}`},
		{made(t, "gemini-flash-latest"), model.Request{Options: model.Options{Thinking: 99999}}, ``, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}`},
		{made(t, "gemini-3.6-flash", ThinkingLevel(LevelMinimal)), model.Request{}, ``, `,"generationConfig":{"thinkingConfig":{"thinkingLevel":"MINIMAL"}}}`},
		{made(t, "gemini-3.6-flash", ThinkingLevel(LevelMinimal), IncludeThoughts(no)), model.Request{Options: model.Options{Thinking: 20000}}, ``, `,"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}}`},
		{made(t, "gemini-2.5-pro", IncludeThoughts(yes)), model.Request{}, ``, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`},
		{made(t, "gemini-2.5-pro"), model.Request{Options: model.Options{Thinking: 1}}, ``, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":128}}}`},
		{made(t, "gemini-2.5-flash-lite"), model.Request{Options: model.Options{Thinking: 1}}, ``, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":512}}}`},
		{made(t, "gemini-2.5-flash"), model.Request{Options: model.Options{Thinking: 30000}}, ``, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":24576}}}`},
		{made(t, "gemini-2.0-flash"), model.Request{Options: model.Options{Thinking: 30000}}, ``, `}`},
		{made(t, "gemini-2.5-flash"), model.Request{Output: output}, ``, `,"generationConfig":{` + schema + `}}`},
		{made(t, "gemini-3.6-flash"), model.Request{Output: output, Tools: tools}, declared, `,"generationConfig":{` + schema + `}}`},
		{
			made(t, "gemini-3.6-flash"),
			model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsAny}},
			declared, `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`,
		},
		{
			made(t, "gemini-3.6-flash"),
			model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "g h"}},
			declared, `,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["` + toolNames.Wire("g h") + `"]}}}`,
		},
		{
			made(t, "gemini-3.6-flash"),
			model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsNone, Serial: true}},
			declared, `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`,
		},
		{made(t, "gemini-3.6-flash"), model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolsAny}}, ``, `}`},
		{
			made(t, "gemini-3.6-flash", Safety(SafetySetting{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_ONLY_HIGH"})),
			model.Request{Options: model.Options{MaxTokens: 1}},
			``, `,"generationConfig":{"maxOutputTokens":1},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_ONLY_HIGH"}]}`,
		},
		{
			made(t, "gemini-3.6-flash", CachedContent("cachedContents/abc")),
			model.Request{Instructions: "Be brief.", Tools: tools},
			`"cachedContent":"cachedContents/abc",`, `}`,
		},
	} {
		tc.req.Messages = []event.Message{user(text("q"))}
		body, _, err := tc.m.body(&tc.req)
		if err != nil || !json.Valid(body) {
			t.Fatalf("%v: %s", err, body)
		}
		if want := `{` + tc.head + `"contents":[{"role":"user","parts":[{"text":"q"}]}]` + tc.tail; string(body) != want {
			t.Errorf("%s: %s\nwant %s", tc.m.name, body, want)
		}
	}
}

// What the API's schemas cannot express is added as text: to the tool's description, or to that of
// the answer's schema.
func TestWhatSchemasCannotSay(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","description":"A word.","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}},"required":["a"]}`)
	body, _, err := made(t, Default).body(&model.Request{
		Messages: []event.Message{user(text("q"))}, Tools: []model.ToolSpec{{Name: "f", Description: "Does.", Schema: schema}},
		Output: &model.OutputSchema{Schema: schema},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tools []struct {
			Functions []struct {
				Description string         `json:"description"`
				Schema      map[string]any `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			Schema map[string]any `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	f, answer := got.Tools[0].Functions[0], got.Config.Schema["description"]
	if !strings.HasPrefix(f.Description, "Does.\n\n") || !strings.Contains(f.Description, `"pattern":"^[a-z]+$"`) {
		t.Errorf("the tool is described as %q", f.Description)
	}
	if s, _ := answer.(string); !strings.HasPrefix(s, "A word.\n\n") || !strings.Contains(s, `"pattern":"^[a-z]+$"`) {
		t.Errorf("the answer is described as %q", answer)
	}
	delete(got.Config.Schema, "description")
	delete(f.Schema, "description")
	if d := cmp.Diff(f.Schema, got.Config.Schema); d != "" || got.Config.Schema["required"] == nil {
		t.Error(d)
	}
}

// Unsupported requests are errors before anything is sent, also when an agent is made.
func TestWhatCannotBeAsked(t *testing.T) {
	t.Parallel()
	tools := []model.ToolSpec{{Name: "f"}}
	cached := made(t, "gemini-3.6-flash", CachedContent("cachedContents/abc"))
	for name, tc := range map[string]struct {
		m    *Model
		req  *model.Request
		want event.ErrorKind
	}{
		"nothing":                {made(t, Default), nil, event.ErrInvalid},
		"too many words":         {made(t, Default), &model.Request{Options: model.Options{StopWords: strings.Split("123456", "")}}, event.ErrInvalid},
		"a choice of a cache":    {cached, &model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsAny}}, event.ErrUnsupported},
		"no schema":              {made(t, Default), &model.Request{Tools: []model.ToolSpec{{Name: "f", Schema: json.RawMessage(`{"type":"string"}`)}}}, event.ErrInvalid},
		"half a schema":          {made(t, Default), &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage(`{"type":`)}}, event.ErrInvalid},
		"a schema beside tools":  {made(t, "gemini-2.5-pro"), &model.Request{Tools: tools, Output: &model.OutputSchema{Schema: json.RawMessage(`{}`)}}, event.ErrUnsupported},
		"a tool that is not one": {made(t, Default), &model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "g"}}, event.ErrInvalid},
	} {
		err := tc.m.Check(tc.req)
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != tc.want || e.Hint == "" || e.Message == "" {
			t.Errorf("%s: %v", name, err)
		}
		if tc.req == nil {
			continue
		}
		tc.req.Messages = []event.Message{user(text("q"))}
		if _, _, err := tc.m.body(tc.req); !errors.Is(err, tc.want) {
			t.Errorf("%s, sent: %v", name, err)
		}
	}
	for name, output := range map[string]bool{"gemini-3.6-flash": true, "gemini-2.5-pro": false, "gemini-flash-latest": true} {
		m := made(t, name)
		if i := m.Info(); i.Output != output || i.Name != "gemini:"+name || i.ContextWindow != 1_048_576 {
			t.Errorf("%+v", i)
		}
		if err := m.Check(&model.Request{Tools: tools, Instructions: "Be brief."}); err != nil {
			t.Error(err)
		}
	}
}

// New input that the API does not take is an error. In the history it becomes text.
func TestInputThatIsNotTaken(t *testing.T) {
	t.Parallel()
	m := made(t, Default)
	for _, tc := range []struct {
		in   event.Block
		want event.ErrorKind
		old  string
	}{
		{&event.Image{MIME: "image/gif", Data: []byte("GIF89a")}, event.ErrUnsupported, "[an image that cannot be shown]"},
		{&event.Image{URL: "https://e.com/x.gif"}, event.ErrUnsupported, "[an image that cannot be shown]"},
		{&event.Image{URL: "file:///etc/x.png"}, event.ErrUnsupported, "[an image that cannot be shown]"},
		{&event.Image{}, event.ErrInvalid, "[an image that cannot be shown]"},
		{&event.Document{Name: "a.zip", Data: []byte("PK\x03\x04")}, event.ErrUnsupported, "[a document that cannot be shown a.zip]"},
		{&event.Document{URL: "x.pdf"}, event.ErrUnsupported, "[a document that cannot be shown]"},
		{&event.Media{Media: "audio"}, event.ErrUnsupported, "[audio that cannot be heard or seen]"},
		{&event.Media{Media: "audio", MIME: "text/plain", URL: "https://e.com/a"}, event.ErrUnsupported, "[audio that cannot be heard or seen]"},
		{&event.Media{Media: "video", URL: "data:video/mp4;base64,"}, event.ErrUnsupported, "[video that cannot be heard or seen]"},
	} {
		_, _, err := m.body(&model.Request{Messages: []event.Message{user(tc.in)}})
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != tc.want || e.Hint == "" {
			t.Errorf("%+v: %v", tc.in, err)
		}
		if got, want := sent(t, m, user(tc.in), assistant(text("Well.")), user(text("Go on."))), `{"text":"`+tc.old+`"}`; !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// sent returns the encoded messages without the outer brackets.
func sent(t *testing.T, m *Model, messages ...event.Message) string {
	t.Helper()
	body, _, err := m.body(&model.Request{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	s := strings.TrimSuffix(strings.TrimPrefix(string(body), `{"contents":[`), `]}`)
	if !json.Valid(body) {
		t.Fatalf("no JSON: %s", body)
	}
	return s
}

// The signatures of calls (docs/thought-signatures): the vendor's own are sent back unchanged.
// Models that require one get the placeholder for the first call of each answer without any.
func TestSignaturesOfCalls(t *testing.T) {
	t.Parallel()
	call := func(id, signature string) event.Block {
		return &event.ToolCall{ID: id, Name: "f", Args: json.RawMessage(`{}`), Signature: signature}
	}
	part := func(id, signature string) string {
		p := `{"functionCall":{"id":"` + id + `","name":"f","args":{}}`
		if signature != "" {
			p += `,"thoughtSignature":"` + signature + `"`
		}
		return p + `}`
	}
	results := user(&event.ToolResult{Call: "a", Content: []event.Block{text("1")}}, &event.ToolResult{Call: "b", Content: []event.Block{text("2")}})
	const claude = "EqQBCgIYAhgCIkDfb3JlaWdu"
	for name, tc := range map[string]struct {
		calls   []event.Block
		now, by string // the parts for Gemini 3 and for earlier models
	}{
		"own":             {[]event.Block{call("a", own+"c2ln"), call("b", "")}, part("a", "c2ln") + "," + part("b", ""), part("a", "c2ln") + "," + part("b", "")},
		"own of each":     {[]event.Block{call("a", own+"MQ=="), call("b", own+"Mg==")}, part("a", "MQ==") + "," + part("b", "Mg=="), part("a", "MQ==") + "," + part("b", "Mg==")},
		"none":            {[]event.Block{call("a", ""), call("b", "")}, part("a", placeholder) + "," + part("b", ""), part("a", "") + "," + part("b", "")},
		"Claude's":        {[]event.Block{call("a", claude), call("b", claude)}, part("a", placeholder) + "," + part("b", ""), part("a", "") + "," + part("b", "")},
		"OpenAI's":        {[]event.Block{call("a", "openai.rs_1.gAAA"), call("b", "")}, part("a", placeholder) + "," + part("b", ""), part("a", "") + "," + part("b", "")},
		"of the last one": {[]event.Block{call("a", ""), call("b", own+"Mg==")}, part("a", placeholder) + "," + part("b", "Mg=="), part("a", "") + "," + part("b", "Mg==")},
	} {
		for m, want := range map[string]string{"gemini-3.6-flash": tc.now, "gemini-pro-latest": tc.now, "gemini-2.5-pro": tc.by} {
			got := sent(t, made(t, m), user(text("q")), assistant(tc.calls...), results)
			if want := `{"role":"model","parts":[` + want + `]}`; !strings.Contains(got, want) {
				t.Errorf("%s, %s:\n%s\nwant %s", name, m, got, want)
			}
		}
	}
}

// Each kind of block, from the user, tools and the model.
func TestBlocksOnTheWire(t *testing.T) {
	t.Parallel()
	png := &event.Image{MIME: "image/png", Data: []byte("\x89PNG")}
	pdf := &event.Document{Name: "n", MIME: "application/pdf", Data: []byte("%PDF-")}
	const pngPart, pdfPart = `{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}}`, `{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}}`
	call := &event.ToolCall{ID: "c", Name: "look.up", Args: json.RawMessage(`{"a": 1}`), Signature: own + "c2ln"}
	name := toolNames.Wire("look.up")
	result := func(failed bool, b ...event.Block) event.Block {
		return &event.ToolResult{Call: "c", Name: "look.up", IsError: failed, Content: b}
	}
	response := func(rest string) string {
		return `{"functionResponse":{"id":"c","name":"` + name + `","response":` + rest + `}}`
	}
	now, before := made(t, "gemini-3.6-flash"), made(t, "gemini-2.5-pro")
	for _, tc := range []struct {
		m    *Model
		in   []event.Block
		want string
	}{
		{now, []event.Block{png, pdf}, pngPart + `,` + pdfPart},
		{now, []event.Block{&event.Image{MIME: "image/jpg; x=y", Data: []byte("x")}}, `{"inlineData":{"mimeType":"image/jpeg","data":"eA=="}}`},
		{now, []event.Block{&event.Image{URL: "https://e.com/x.WEBP?y"}}, `{"fileData":{"mimeType":"image/webp","fileUri":"https://e.com/x.WEBP?y"}}`},
		{now, []event.Block{&event.Image{URL: "https://e.com/x"}}, `{"fileData":{"fileUri":"https://e.com/x"}}`},
		{now, []event.Block{&event.Document{URL: "gs://b/f.pdf"}}, `{"fileData":{"mimeType":"application/pdf","fileUri":"gs://b/f.pdf"}}`},
		{now, []event.Block{&event.Document{Name: "n", Text: "t"}, &event.Document{MIME: "text/csv", Data: []byte("a\xff")}}, `{"text":"n:\n\nt"},{"text":"a` + "\uFFFD" + `"}`},
		{now, []event.Block{&event.Media{Media: "audio", URL: "https://e.com/a.mp3"}}, `{"fileData":{"mimeType":"audio/mpeg","fileUri":"https://e.com/a.mp3"}}`},
		{now, []event.Block{&event.Media{Media: "audio", URL: "data:audio/x-wav;base64,eA=="}}, `{"inlineData":{"mimeType":"audio/wav","data":"eA=="}}`},
		{now, []event.Block{&event.Image{URL: "data:image/png;base64,iVBORw=="}}, pngPart},
		{now, []event.Block{&event.Image{URL: "https://e.com/x", MIME: "PNG"}}, `{"fileData":{"mimeType":"image/png","fileUri":"https://e.com/x"}}`},
		{now, []event.Block{&event.Media{Media: "video", MIME: "video/mp4", URL: "https://e.com/a"}}, `{"fileData":{"mimeType":"video/mp4","fileUri":"https://e.com/a"}}`},
		{now, []event.Block{&event.Code{Language: "go", Code: "x"}, &event.CodeResult{Output: "y"}}, "{\"text\":\"```go\\nx\\n```\"},{\"text\":\"y\"}"},
		{now, []event.Block{text(" ")}, `{"text":"[nothing]"}`},

		{now, []event.Block{result(false, text("a"), text("b"))}, response(`{"output":"a\nb"}`)},
		{now, []event.Block{result(true, text("a"))}, response(`{"error":"a"}`)},
		{now, []event.Block{result(false)}, response(`{"output":"[nothing]"}`)},
		{now, []event.Block{&event.ToolResult{Call: "c", Structured: json.RawMessage(`{ "sum": 3 }`)}}, response(`{"output":{"sum":3}}`)},
		{now, []event.Block{result(false, text("a"), png, pdf), text("So?")}, `{"functionResponse":{"id":"c","name":"` + name + `","response":{"output":"a"},"parts":[` + pngPart + `,` + pdfPart + `]}},{"text":"So?"}`},
		{now, []event.Block{text("So?"), result(false, &event.Image{MIME: "image/heic", Data: []byte("x")})}, response(`{"output":"[shown apart]"}`) + `,{"inlineData":{"mimeType":"image/heic","data":"eA=="}},{"text":"So?"}`},
		{before, []event.Block{result(true, text("a"), png), text("So?")}, response(`{"error":"a"}`) + `,` + pngPart + `,{"text":"So?"}`},
	} {
		messages := []event.Message{user(tc.in...)}
		if slices.ContainsFunc(tc.in, func(b event.Block) bool { _, ok := b.(*event.ToolResult); return ok }) {
			messages = []event.Message{user(text("q")), assistant(call), messages[0]}
		}
		if got, want := sent(t, tc.m, messages...), `{"role":"user","parts":[`+tc.want+`]}`; !strings.HasSuffix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	for _, tc := range []struct {
		in   event.Block
		want string
	}{
		{call, `{"functionCall":{"id":"c","name":"` + name + `","args":{"a":1}},"thoughtSignature":"c2ln"}`},
		{&event.ToolCall{ID: "x y", Name: "f", Invalid: `{"a`, Fault: "cut"}, `{"functionCall":{"id":"x_y","name":"f","args":{"unreadable":"{\"a"}},"thoughtSignature":"` + placeholder + `"}`},
		{&event.ToolCall{Name: "f", Args: json.RawMessage(`[1]`)}, `{"functionCall":{"id":"call","name":"f","args":{"value":[1]}},"thoughtSignature":"` + placeholder + `"}`},
		{&event.Text{Text: "t", Signature: own + "c2ln"}, `{"text":"t","thoughtSignature":"c2ln"}`},
		{&event.Text{Text: "t", Signature: "openai.phase.final"}, `{"text":"t"}`},
		{&event.Thinking{Text: "t", Signature: own + "c2ln"}, `{"thought":true,"text":"t","thoughtSignature":"c2ln"}`},
		{&event.Thinking{Text: "t", Signature: "c2ln"}, `{"text":"[nothing]"}`},
		{&event.Thinking{Text: "t"}, `{"text":"[nothing]"}`},
		{&event.RedactedThinking{Data: "x"}, `{"text":"[nothing]"}`},
		{&event.CodeResult{Outcome: "ok", Output: "3"}, `{"text":"[ok] 3"}`},
		{png, pngPart},
		{pdf, `{"text":"[document]"}`},
		{&event.UnknownBlock{Name: "gemini.x", Raw: json.RawMessage(`{"kind":"gemini.x","x":{"y":1}}`)}, `{"x":{"y":1}}`},
		{&event.UnknownBlock{Name: "anthropic.x", Raw: json.RawMessage(`{"kind":"anthropic.x","x":1}`)}, `{"text":"[nothing]"}`},
	} {
		messages := []event.Message{user(text("q")), assistant(tc.in)}
		if c, ok := tc.in.(*event.ToolCall); ok {
			messages = append(messages, user(&event.ToolResult{Call: c.ID, Name: c.Name, Content: []event.Block{text("r")}}))
		} else {
			messages = append(messages, user(text("Go on.")))
		}
		if got, want := sent(t, now, messages...), `{"role":"model","parts":[`+tc.want+`]}`; !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A model that remembers a conversation sends the same bytes as a new one, whatever changed. Each
// request begins with the bytes of the one before it.
func TestWarmIsAsCold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"gemini-3.6-flash", "gemini-2.5-pro"}).Draw(rt, "model")
		kept := &Model{name: name, generation: generation(name)}
		messages := []event.Message{question("Go.")}
		tools := add
		for i := range rapid.IntRange(1, 20).Draw(rt, "turns") {
			switch rapid.SampledFrom([]string{"turn", "turn", "turn", "say", "compact", "rewind", "tools"}).Draw(rt, "what") {
			case "turn":
				messages = append(slices.Clip(messages), turn(rapid.SampledFrom([]string{"a", "b", "", fmt.Sprint(i)}).Draw(rt, "id"))...)
			case "say":
				messages = append(slices.Clip(messages), assistant(text("Yes."), &event.Thinking{Text: "x"}), question(fmt.Sprint("And ", i)))
			case "compact":
				messages = append([]event.Message{question("So far.")}, messages[max(1, len(messages)-2):]...)
			case "rewind":
				messages = messages[:1]
			case "tools":
				tools = append(slices.Clip(tools), model.ToolSpec{Name: fmt.Sprint("tool", i)})
			}
			req := &model.Request{Instructions: "Be brief.", Tools: tools, Messages: messages}
			warm, _, err := kept.body(req)
			if err != nil {
				rt.Fatal(err)
			}
			cold, _, err := (&Model{name: name, generation: generation(name)}).body(req)
			if err != nil || string(warm) != string(cold) {
				rt.Fatalf("%v\nwarm %s\ncold %s", err, warm, cold)
			}
			next, _, err := kept.body(&model.Request{
				Instructions: "Be brief.", Tools: tools, Messages: append(slices.Clip(messages), turn("next")...),
				ToolChoice: model.ToolChoice{Mode: model.ToolsAny}, Options: model.Options{MaxTokens: i + 1},
			})
			if until := strings.TrimSuffix(string(warm), `]}`); err != nil || !strings.HasPrefix(string(next), until) {
				rt.Fatalf("%v\n%s\nis no beginning of\n%s", err, until, next)
			}
		}
	})
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ generation, window int }{
		"gemini-2.5-flash": {205, 1_048_576}, "gemini-3-pro-preview": {300, 1_048_576}, "gemini-3.6-flash": {306, 1_048_576},
		"models/gemini-2.0-flash-001": {200, 1_048_576}, "gemini-4-argon": {400, 1_048_576}, "gemini-flash-latest": {newest, 1_048_576},
		"gemini-1.5-pro": {105, 0}, "gemini-3-pro-image": {300, 0}, "gemma-4-31b-it": {0, 0}, "tunedModels/x": {0, 0}, "gemini-2.5-flash-preview-tts": {205, 0},
	} {
		if g, w := generation(name), window(name); g != want.generation || w != want.window {
			t.Errorf("%s: generation %d, window %d", name, g, w)
		}
	}
}
