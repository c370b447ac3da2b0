package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
)

// item is an item of the vendor's own, as a chunk that the stand-in streams.
func item(index int, raw string) model.Chunk {
	return model.Chunk{Kind: model.ChunkBlock, Index: index, Block: &event.UnknownBlock{Raw: json.RawMessage(raw)}}
}

// What the vendor's own tools did, in the items of the API (the SDK's responses package).
const (
	searchItem = `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"x","sources":[{"type":"url","url":"https://a.example"}]}}`
	opened     = `{"id":"ws_2","type":"web_search_call","status":"completed","action":{"type":"open_page","url":"https://a.example"}}`
	filesItem  = `{"id":"fs_1","type":"file_search_call","status":"completed","queries":["x"],"results":[{"file_id":"file-1","filename":"a.pdf","score":0.5,"text":"t","attributes":{}}]}`
	codeItem   = `{"id":"ci_1","type":"code_interpreter_call","status":"completed","code":"print(1)","container_id":"cntr_1","outputs":[{"type":"logs","logs":"1\n"}]}`
	toolsItem  = `{"id":"mcpl_1","type":"mcp_list_tools","server_label":"docs","tools":[{"name":"find","input_schema":{"type":"object"},"annotations":null,"description":"d"}],"error":null}`
	mcpItem    = `{"id":"mcp_1","type":"mcp_call","status":"completed","approval_request_id":null,"arguments":"{\"q\":1}","error":null,"name":"find","output":"found","server_label":"docs"}`
	soughtItem = `{"id":"tsc_1","type":"tool_search_call","status":"completed","arguments":{"paths":["a"]},"call_id":null,"execution":"server"}`
	foundItem  = `{"id":"tso_1","type":"tool_search_output","status":"completed","call_id":null,"execution":"server","tools":[{"type":"function","name":"f"}]}`
	compactOne = `{"id":"cmp_1","type":"compaction","encrypted_content":"gAAAcompact","created_by":"x"}`
)

// An answer with every tool that the vendor runs is kept, shown, and sent back exactly as it
// came, with nothing stored at the vendor. The stand-in looks at the members of each item, and
// wants the reasoning in front of what it led to.
func TestItemsOfTheVendorsToolsGoBack(t *testing.T) {
	t.Parallel()
	think := func(index int, sealed string) model.Chunk {
		return model.Chunk{Kind: model.ChunkSignature, Index: index, Text: sealed}
	}
	chunks := []model.Chunk{
		item(0, compactOne), item(1, toolsItem), think(2, "gAAA1"), item(3, searchItem), item(4, opened), item(5, filesItem), item(6, codeItem), item(7, mcpItem),
		item(8, soughtItem), item(9, foundItem),
		{Kind: model.ChunkText, Index: 10, Text: "Done."},
		think(11, "gAAA2"), item(12, searchItemOf("ws_3")),
	}
	m, server := open(t, reasoner, nil,
		openaitest.Stream(openaitest.Responses, chunks, event.StopEndTurn, event.Usage{Input: 1, Output: 1, Total: 2}), openaitest.Text(openaitest.Responses, "Yes."))
	agent := braid.New("a", m, braid.Options(model.Options{ServerTools: []model.ServerTool{
		{Kind: model.WebSearch},
		{Kind: model.FileSearch, Stores: []string{"vs_1"}},
		{Kind: model.CodeExecution},
		{Kind: model.RemoteMCP, Name: "docs", URL: "https://mcp.example"},
	}}))
	conversation := braid.NewConversation()
	if _, err := agent.Run(t.Context(), "Do.", braid.In(conversation)); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(t.Context(), "Sure?", braid.In(conversation)); err != nil {
		t.Fatal(err)
	}
	asked := server.Asked()
	for _, r := range asked {
		if r.Refused != "" {
			t.Errorf("refused: %s", r.Refused)
		}
	}
	var sent struct {
		Input []json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(asked[len(asked)-1].Body, &sent); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, raw := range sent.Input {
		got[canonical(t, raw)] = true
	}
	for _, c := range chunks {
		if u, ok := c.Block.(*event.UnknownBlock); ok && !got[canonical(t, u.Raw)] {
			t.Errorf("%s\nis not in %s", u.Raw, asked[len(asked)-1].Body)
		}
	}
	if n := strings.Count(string(asked[len(asked)-1].Body), "print(1)"); n != 1 {
		t.Errorf("the program goes back %d times: %s", n, asked[len(asked)-1].Body)
	}
}

// Searches are counted, because they are charged one by one. Opening a page is none.
func TestSearchesAreCounted(t *testing.T) {
	t.Parallel()
	m, _ := open(t, talker, nil, openaitest.Stream(openaitest.Responses, []model.Chunk{
		item(0, searchItem), item(1, opened), item(2, searchItemOf("ws_3")), item(3, filesItem), item(4, codeItem),
		item(5, `{"id":"ws_4","type":"web_search_call","status":"completed"}`), item(6, `{"id":"ws_5","type":"web_search_call","action":7}`),
	}, event.StopEndTurn, event.Usage{Input: 3, Output: 2, Total: 5}))
	got := modeltest.Call(t.Context(), m, question(model.Options{}))
	if want := (event.Usage{Input: 3, Output: 2, Total: 5, WebSearches: 4, FileSearches: 1}); got.Err != nil || got.Usage != want {
		t.Errorf("%v, %+v", got.Err, got.Usage)
	}
}

func searchItemOf(id string) string { return strings.Replace(searchItem, "ws_1", id, 1) }

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A model without reasoning, and a key that cannot read it, do without what the vendor's tools
// did: the vendor takes no item without the reasoning in front of it.
func TestItemsGoWithTheirReasoning(t *testing.T) {
	t.Parallel()
	given := openaitest.Stream(openaitest.Responses, []model.Chunk{
		{Kind: model.ChunkSignature, Text: "gAAA1"}, item(1, searchItem), item(2, codeItem), {Kind: model.ChunkText, Index: 3, Text: "Done."},
	}, event.StopEndTurn, event.Usage{})
	answer := openaitest.Text(openaitest.Responses, "a")
	first, _ := open(t, reasoner, nil, given)
	got := modeltest.Call(t.Context(), first, question(model.Options{}))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	req := question(model.Options{})
	req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: got.Content},
		event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "q"}}})
	// The stand-in of another account knows nothing of the reasoning and refuses it once.
	other, account := open(t, reasoner, nil, answer)
	r := modeltest.Call(t.Context(), other, req)
	asked := account.Asked()
	if last := string(asked[len(asked)-1].Body); r.Err != nil || len(asked) != 2 || asked[0].Refused == "" || strings.Contains(last, "ws_1") || !strings.Contains(last, "Done.") {
		t.Errorf("%v, %d requests: %s", r.Err, len(asked), last)
	}
	// One model gave it, another without reasoning goes on, at the same vendor.
	plain, server := open(t, talker, nil, given, answer)
	if r := modeltest.Call(t.Context(), plain, question(model.Options{})); r.Err != nil {
		t.Fatal(r.Err)
	}
	r = modeltest.Call(t.Context(), plain, req)
	last := server.Asked()[1]
	if body := string(last.Body); r.Err != nil || last.Refused != "" || strings.Contains(body, "ws_1") || !strings.Contains(body, "print(1)") || strings.Contains(body, "ci_1") {
		t.Errorf("%v, %s: %s", r.Err, last.Refused, last.Body)
	}
}

// A program that the vendor ran is shown, and another API is told of it in words.
func TestProgramsOfTheVendorAreShown(t *testing.T) {
	t.Parallel()
	failed := strings.Replace(strings.Replace(codeItem, `"status":"completed"`, `"status":"failed"`, 1), `"outputs":[{"type":"logs","logs":"1\n"}]`, `"outputs":null`, 1)
	for raw, want := range map[string][]event.Block{
		codeItem: {&event.Code{Language: "python", Code: "print(1)"}, &event.CodeResult{Outcome: "ok", Output: "1\n"}},
		failed:   {&event.Code{Language: "python", Code: "print(1)"}, &event.CodeResult{Outcome: "failed"}},
		strings.Replace(codeItem, `"print(1)"`, `null`, 1):     nil,
		strings.Replace(codeItem, `"print(1)"`, `{"a":[]}`, 1): nil,
	} {
		m, _ := open(t, talker, nil, openaitest.Stream(openaitest.Responses, []model.Chunk{item(0, raw)}, event.StopEndTurn, event.Usage{}))
		got := modeltest.Call(t.Context(), m, question(model.Options{}))
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if u, ok := got.Content[0].(*event.UnknownBlock); !ok || u.Name != "openai.code_interpreter_call" {
			t.Errorf("%v", got.Content[0])
		}
		if d := cmp.Diff(want, append([]event.Block(nil), got.Content[1:]...)); d != "" {
			t.Error(d)
		}
		chat, server := open(t, chatting, nil, openaitest.Text(openaitest.Chat, "a"))
		req := question(model.Options{})
		req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: got.Content},
			event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "q"}}})
		if r := modeltest.Call(t.Context(), chat, req); r.Err != nil {
			t.Error(r.Err)
		}
		if told := strings.Contains(string(server.Asked()[0].Body), "print(1)"); told != (want != nil) {
			t.Errorf("%s", server.Asked()[0].Body)
		}
	}
}

// Items that wait for a result of the client's are kept and never sent back: the vendor
// refuses them without it.
func TestItemsThatWaitForAResult(t *testing.T) {
	t.Parallel()
	m, server := open(t, talker, nil, openaitest.Stream(openaitest.Responses, []model.Chunk{
		item(0, `{"id":"cu_1","type":"computer_call","call_id":"c","status":"completed","action":{"type":"click"},"pending_safety_checks":[]}`),
		item(1, `{"id":"sh_1","type":"shell_call","call_id":"d","action":{"commands":["ls"]}}`),
		item(2, strings.Replace(soughtItem, `"server"`, `"client"`, 1)),
		{Kind: model.ChunkText, Index: 3, Text: "I wait."},
	}, event.StopEndTurn, event.Usage{}), openaitest.Text(openaitest.Responses, "a"))
	got := modeltest.Call(t.Context(), m, question(model.Options{}))
	if got.Err != nil || len(got.Content) != 4 {
		t.Fatalf("%v", got)
	}
	req := question(model.Options{})
	req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: got.Content},
		event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "q"}}})
	if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
		t.Error(r.Err)
	}
	if last := server.Asked()[1]; last.Refused != "" || !strings.Contains(string(last.Body), "I wait.") {
		t.Errorf("%s: %s", last.Refused, last.Body)
	}
}

// A call with free text is a call of a tool that is not there: the model reads so, and no
// text is lost.
func TestCustomCalls(t *testing.T) {
	t.Parallel()
	for name, event1 := range map[string]string{
		"as the vendor sends it":      `{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_9","input":"say \"hi\"","name":"talk"}`,
		"with members of other types": `{"id":7,"type":"custom_tool_call","call_id":"call_9","input":"say \"hi\"","name":"talk","arguments":{"x":[]},"summary":"none"}`,
	} {
		m, server := open(t, talker, nil, openaitest.Stream(openaitest.Responses, []model.Chunk{item(0, event1)}, event.StopToolUse, event.Usage{}),
			openaitest.Text(openaitest.Responses, "a"))
		got, err := braid.New("a", m).Run(t.Context(), "Talk.")
		if err != nil || got.Text() != "a" {
			t.Fatalf("%s: %v", name, err)
		}
		last := server.Asked()[1]
		if last.Refused != "" || !strings.Contains(string(last.Body), `"arguments":"{\"input\":\"say \\\"hi\\\"\"}"`) {
			t.Errorf("%s: %s: %s", name, last.Refused, last.Body)
		}
	}
}

// Calls of tools that were not offered, ids that come twice, and arguments that are an object:
// the loop answers each, and the vendor takes the conversation.
func TestCallsThatNobodyExpected(t *testing.T) {
	t.Parallel()
	chat := func(calls string) openaitest.Answer {
		return openaitest.Answer{Body: said(`{"id":"i","model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[`+calls+`]}}]}`,
			`{"id":"i","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")}
	}
	responses := func(args ...string) openaitest.Answer {
		events := []string{`{"type":"response.created","response":{"id":"r","model":"m"}}`}
		for i, a := range args {
			events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, a))
		}
		return openaitest.Answer{Body: said(append(events, `{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","usage":null}}`)...)}
	}
	for name, tc := range map[string]struct {
		k      kind
		answer openaitest.Answer
		want   []string
	}{
		"chat": {
			chatting, chat(`{"index":0,"id":"c","type":"function","function":{"name":"nobody","arguments":{"x":1}}},` +
				`{"index":1,"id":"c","type":"function","function":{"name":"add","arguments":{"a":1}}},{"index":2,"id":"c","type":"function","function":{"name":"add","arguments":"[1]"}}`),
			[]string{`{\"x\":1}`, `{\"a\":1}`},
		},
		"chat of another server": {local, chat(`{"index":0,"id":"c","type":"function","function":{"name":"nobody","arguments":{"x":1}}},` +
			`{"index":1,"id":"c","type":"function","function":{"name":"add","arguments":{"a":1}}}`), []string{`{\"x\":1}`, `{\"a\":1}`}},
		"Responses": {talker, responses(`{"type":"function_call","id":"fc_1","call_id":"c","name":"nobody","arguments":{"x":1}}`,
			`{"type":"function_call","id":"fc_2","call_id":"c","name":"add","arguments":{"a":1}}`,
			`{"type":"function_call","id":"fc_3","call_id":"c","name":"add","arguments":null}`), []string{`{\"x\":1}`, `{\"a\":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := openaitest.Chat
			if tc.k.api == openaitest.Responses {
				api = openaitest.Responses
			}
			m, server := open(t, tc.k, nil, tc.answer, openaitest.Text(api, "a"))
			ran := 0
			add := braid.Func("add", "Adds.", func(context.Context, struct {
				A int `json:"a"`
			},
			) (string, error) {
				ran++
				return "ok", nil
			})
			got, err := braid.New("a", m, braid.Tools(add)).Run(t.Context(), "Add.")
			if err != nil || got.Text() != "a" {
				t.Fatal(err)
			}
			last := server.Asked()[1]
			if last.Refused != "" || ran == 0 {
				t.Errorf("%d, %s: %s", ran, last.Refused, last.Body)
			}
			for _, s := range tc.want {
				if !strings.Contains(string(last.Body), s) {
					t.Errorf("%s\nhas no %s", last.Body, s)
				}
			}
		})
	}
}

// A strict tool is one whose arguments the vendor holds to its schema: what may be missing is
// null there, and missing in the call.
func TestStrictTools(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}`
	const open1 = `{"type":"object","additionalProperties":{"type":"integer"}}`
	tool := func(schema string, strict bool) model.ToolSpec {
		return model.ToolSpec{Name: "total", Schema: json.RawMessage(schema), Strict: strict}
	}
	call := func(api openaitest.API) openaitest.Answer {
		return openaitest.Stream(api, []model.Chunk{
			{Kind: model.ChunkCall, ID: "c", Text: "total"},
			{Kind: model.ChunkCallInput, Text: `{"a":1,`},
			{Kind: model.ChunkCallInput, Text: `"b":nu`},
			{Kind: model.ChunkCallInput, Text: `ll}`},
		}, event.StopToolUse, event.Usage{})
	}
	for _, k := range []kind{reasoner, talker, chatting} {
		m, server := open(t, k, nil, call(k.api))
		req := question(model.Options{})
		req.Tools = []model.ToolSpec{tool(schema, true)}
		if err := m.Check(req); err != nil {
			t.Error(err)
		}
		got := modeltest.Call(t.Context(), m, req)
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		want := []event.Block{&event.ToolCall{ID: "c", Name: "total", Args: json.RawMessage(`{"a":1}`)}}
		if d := cmp.Diff(want, got.Content); d != "" {
			t.Error(d)
		}
		if r := server.Asked()[0]; r.Refused != "" || !strings.Contains(string(r.Body), `"strict":true`) {
			t.Errorf("%s: %s", r.Refused, r.Body)
		}
		// The same tool without it, in the same conversation.
		server.Add(call(k.api))
		req.Tools = []model.ToolSpec{tool(schema, false)}
		got = modeltest.Call(t.Context(), m, req)
		if c, ok := got.Content[0].(*event.ToolCall); got.Err != nil || !ok || string(c.Args) != `{"a":1,"b":null}` {
			t.Errorf("%v", got)
		}
	}
	for name, tc := range map[string]struct {
		k    kind
		opts []openai.Option
		tool model.ToolSpec
		want string // "" is refused
	}{
		"a schema without a strict form":        {reasoner, nil, tool(open1, true), ""},
		"a server that has no strict tools":     {local, nil, tool(schema, true), ""},
		"a server that has":                     {local, []openai.Option{openai.Speaks(openai.Dialect{Strict: true})}, tool(schema, true), `"strict":true`},
		"an old model":                          {kind{model: "gpt-4-turbo", api: openaitest.Chat}, nil, tool(schema, true), ""},
		"all tools":                             {reasoner, []openai.Option{openai.StrictTools(true)}, tool(schema, false), `"strict":true`},
		"all tools that can be":                 {reasoner, []openai.Option{openai.StrictTools(true)}, tool(open1, false), `"strict":false`},
		"all tools of a server that is said to": {local, []openai.Option{openai.StrictTools(true)}, tool(schema, false), `"strict":true`},
	} {
		api := tc.k.api
		if tc.k.compatible {
			api = openaitest.Chat
		}
		m, server := open(t, tc.k, tc.opts)
		req := question(model.Options{})
		req.Tools = []model.ToolSpec{tc.tool}
		if tc.want == "" {
			if err := m.Check(req); err == nil || !strings.Contains(err.Error(), "cannot be held") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := body(t, m, server, api, req); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
