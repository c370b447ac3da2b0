package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai/openaitest"
)

func lines(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// An answer in which the vendor searched the web by itself, cites what it found,
// and refuses to say more (guides/tools-web-search, api-reference/responses-streaming).
var searched = lines(
	`{"type":"response.created","response":{"id":"r","model":"m"}}`,
	`{"type":"response.output_item.added","item":{"id":"ws_1","type":"web_search_call","status":"in_progress"},"output_index":0}`,
	`{"type":"response.web_search_call.searching","item_id":"ws_1","output_index":0}`,
	`{"type":"response.output_item.done","item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}},"output_index":0}`,
	`{"type":"response.output_item.added","item":{"id":"rs_1","type":"reasoning","summary":[]},"output_index":1}`,
	`{"type":"response.reasoning_summary_part.added","output_index":1,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
	`{"type":"response.reasoning_summary_text.delta","output_index":1,"summary_index":0,"delta":"one"}`,
	`{"type":"response.reasoning_summary_part.added","output_index":1,"summary_index":1,"part":{"type":"summary_text","text":""}}`,
	`{"type":"response.reasoning_summary_text.delta","output_index":1,"summary_index":1,"delta":"two"}`,
	`{"type":"response.output_item.done","item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA==","summary":[]},"output_index":1}`,
	`{"type":"response.output_text.delta","output_index":2,"content_index":0,"delta":"It is.","logprobs":[]}`,
	`{"type":"response.output_text.annotation.added","output_index":2,"content_index":0,"annotation_index":0,`+
		`"annotation":{"type":"url_citation","title":"E","url":"https://e.com","start_index":0,"end_index":5}}`,
	`{"type":"response.output_text.delta","output_index":2,"content_index":0,"delta":" half \ud83d"}`,
	`{"type":"response.refusal.delta","output_index":2,"content_index":1,"delta":"No more."}`,
	`{"type":"response.output_item.done","item":{"id":"msg_3","type":"message","role":"assistant","phase":"final_answer","content":[`+
		`{"type":"output_text","text":"whole"}]},"output_index":3}`,
	`{"type":"response.brand_new","x":{"y":[1]}}`,
	`{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","usage":{"input_tokens":9,"output_tokens":4,"total_tokens":13,`+
		`"input_tokens_details":{"cached_tokens":3},"output_tokens_details":{"reasoning_tokens":2}}}}`,
)

func TestWhatTheVendorDoesItself(t *testing.T) {
	t.Parallel()
	got, err := decode(Responses, strings.NewReader(searched))
	if err != nil {
		t.Fatal(err)
	}
	want := []event.Block{
		&event.UnknownBlock{Name: "openai.web_search_call", Raw: json.RawMessage(`{"action":{"type":"search","query":"x"},"id":"ws_1",` +
			`"kind":"openai.web_search_call","status":"completed","type":"web_search_call"}`)},
		&event.Thinking{Text: "one\n\ntwo", Signature: "openai.rs_1.gAAA=="},
		&event.Text{Text: "It is. half \uFFFD"},
		&event.Citation{Title: "E", URL: "https://e.com", End: 5},
		&event.Text{Text: "No more."},
		&event.Text{Text: "whole", Signature: "openai.phase.final_answer"},
	}
	if d := cmp.Diff(want, got.Content); d != "" {
		t.Error(d)
	}
	if got.Stop != event.StopRefusal || got.Usage != (event.Usage{Input: 6, CacheRead: 3, Output: 4, Reasoning: 2, Total: 13, WebSearches: 1}) {
		t.Errorf("%s %+v", got.Stop, got.Usage)
	}
	// It goes back as it came.
	e := encoder{api: Responses, thinks: true}
	e.Encode(&event.Message{Role: event.RoleAssistant, Content: got.Content})
	for _, s := range []string{
		`{"action":{"type":"search","query":"x"},"id":"ws_1","status":"completed","type":"web_search_call"}`,
		`{"role":"assistant","content":[{"type":"output_text","text":"No more."}]},` +
			`{"role":"assistant","content":[{"type":"output_text","text":"whole"}],"phase":"final_answer"},`,
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"one\n\ntwo"}],"encrypted_content":"gAAA=="}`,
	} {
		if !strings.Contains(string(e.dst), s) {
			t.Errorf("%s\nhas no %s", e.dst, s)
		}
	}
}

// What servers other than the vendor's are known to send.
func TestOddAnswersOfOtherServers(t *testing.T) {
	t.Parallel()
	const begin = `{"id":"i","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`
	finish := func(word string) string {
		return `{"id":"i","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + word + `"}]}`
	}
	delta := func(d string) string { return `{"id":"i","model":"m","choices":[{"index":0,"delta":{` + d + `}}]}` }
	call := func(id, name, args string) event.Block {
		return &event.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
	}
	for name, tc := range map[string]struct {
		events []string
		want   []event.Block
		stop   event.StopReason
	}{
		"every call has the number 0": {[]string{
			begin,
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`),
			delta(`"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]`), finish("tool_calls"),
		}, []event.Block{call("a", "f", `{"x":1}`), call("b", "g", `{}`)}, event.StopToolUse},
		"calls without numbers": {[]string{
			begin, delta(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{}"}}]`), finish("stop"),
		}, []event.Block{call("a", "f", `{}`), call("b", "f", `{}`)}, event.StopToolUse},
		"id and name in every piece": {[]string{
			begin, delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]`),
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]`), finish("stop"),
		}, []event.Block{call("a", "f", `{"x":1}`)}, event.StopToolUse},
		"arguments that are an object": {[]string{
			begin, delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]`), finish("tool_calls"),
		}, []event.Block{call("a", "f", `{"x":1}`)}, event.StopToolUse},
		"a call and nothing else to its id": {
			[]string{begin, delta(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]`), finish("stop")},
			[]event.Block{&event.ToolCall{Name: "f"}},
			event.StopToolUse,
		},
		"reasoning under the other name": {
			[]string{begin, delta(`"reasoning":"Hm."`), delta(`"reasoning":"Hm.","reasoning_content":"Hm."`), delta(`"content":"Yes."`), finish("stop")},
			[]event.Block{&event.Thinking{Text: "Hm.Hm."}, &event.Text{Text: "Yes."}},
			event.StopEndTurn,
		},
		"reasoning with an empty text": {
			[]string{begin, delta(`"content":"","reasoning_content":"Hm"`), delta(`"reasoning_content":".","content":""`), delta(`"content":"Yes."`), finish("stop")},
			[]event.Block{&event.Thinking{Text: "Hm."}, &event.Text{Text: "Yes."}},
			event.StopEndTurn,
		},
		"text behind a call": {
			[]string{begin, delta(`"content":"a"`), delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`), delta(`"content":"b"`), finish("tool_calls")},
			[]event.Block{&event.Text{Text: "a"}, call("a", "f", `{}`), &event.Text{Text: "b"}},
			event.StopToolUse,
		},
		"a second choice": {
			[]string{begin, `{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}`, finish("length")},
			[]event.Block{&event.Text{Text: "yes"}},
			event.StopMaxTokens,
		},
		"a word to stop at, as vLLM says it": {
			[]string{begin, `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop","stop_reason":"END"}]}`},
			[]event.Block{&event.Text{Text: "x"}},
			event.StopSequence,
		},
	} {
		got, err := decode(ChatCompletions, strings.NewReader(": comment\n\n"+lines(append(tc.events, "[DONE]")...)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(tc.want, got.Content); d != "" || got.Stop != tc.stop {
			t.Errorf("%s: %s\n%s", name, got.Stop, d)
		}
	}
}

// Perplexity and GPUStack send no [DONE] (recorded by ruby_llm), Snowflake no finish_reason
// (recorded by pydantic-ai). Either of the two ends an answer; the reason does so together with
// the proper end of the body.
func TestWhatEndsAChatStream(t *testing.T) {
	t.Parallel()
	const (
		begin = `{"id":"i","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
		text  = `{"id":"i","model":"m","choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":null}]}`
		call  = `{"id":"i","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}`
		no    = `{"id":"i","model":"m","choices":[{"index":0,"delta":{"refusal":"No."}}]}`
		stop  = `{"id":"i","model":"m","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`
		long  = `{"id":"i","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
		usage = `{"id":"i","model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
		done  = "[DONE]"
	)
	for name, tc := range map[string]struct {
		events []string
		stop   event.StopReason // "" is a stream that was cut
		total  int64
	}{
		"both":                         {[]string{begin, text, stop, usage, done}, event.StopEndTurn, 5},
		"a reason and usage":           {[]string{begin, text, stop, usage}, event.StopEndTurn, 5},
		"a reason alone":               {[]string{begin, text, stop}, event.StopEndTurn, 0},
		"a reason and a call":          {[]string{begin, call, stop}, event.StopToolUse, 0},
		"the reason of a limit":        {[]string{begin, text, long}, event.StopMaxTokens, 0},
		"a mark alone":                 {[]string{begin, text, done}, event.StopEndTurn, 0},
		"a mark behind usage":          {[]string{begin, text, usage, done}, event.StopEndTurn, 5},
		"a mark behind a call":         {[]string{begin, text, call, done}, event.StopToolUse, 0},
		"a mark behind a refusal":      {[]string{begin, no, done}, event.StopRefusal, 0},
		"neither":                      {[]string{begin, text}, "", 0},
		"neither, but usage":           {[]string{begin, text, usage}, "", 5},
		"neither, behind a whole call": {[]string{begin, call}, "", 0},
		"a mark behind nothing":        {[]string{begin, done}, "", 0},
		"nothing but a mark":           {[]string{done}, "", 0},
		"nothing":                      {nil, "", 0},
	} {
		for way, in := range map[string]func(string) io.Reader{
			"a proper end": func(s string) io.Reader { return strings.NewReader(s) },
			"a broken connection": func(s string) io.Reader {
				return io.MultiReader(strings.NewReader(s), iotest.ErrReader(io.ErrUnexpectedEOF))
			},
		} {
			got, err := decode(ChatCompletions, in(lines(tc.events...)))
			whole := tc.stop != "" && (way == "a proper end" || tc.events[len(tc.events)-1] == done)
			if whole != (err == nil) || whole != (got.Stops == 1) || whole && got.Stop != tc.stop || got.Usage.Total != tc.total {
				t.Errorf("%s, %s: %v, %d end signals, %s, %+v", name, way, err, got.Stops, got.Stop, got.Usage)
			}
		}
	}
}

// A message's texts stand once in the answer, wherever their pieces were said to belong: Bedrock's
// gpt-oss sends them at content_index 1 of a message with one text (recorded by ruby_llm).
func TestATextOfResponsesStandsOnce(t *testing.T) {
	t.Parallel()
	piece := func(content int, text string) string {
		return fmt.Sprintf(`{"type":"response.output_text.delta","output_index":0,"content_index":%d,"delta":%q}`, content, text)
	}
	message := func(texts ...string) string {
		parts := make([]string, len(texts))
		for i, s := range texts {
			parts[i] = fmt.Sprintf(`{"type":"output_text","text":%q}`, s)
		}
		return `{"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","phase":"final_answer","content":[` + strings.Join(parts, ",") + `]}}`
	}
	for name, tc := range map[string]struct {
		events, want []string
	}{
		"at its place":                  {[]string{piece(0, "He"), piece(0, "llo."), message("Hello.")}, []string{"Hello."}},
		"at another place":              {[]string{piece(1, "He"), piece(1, "llo."), message("Hello.")}, []string{"Hello."}},
		"at another place, less space":  {[]string{piece(1, "Hello. "), message("Hello.")}, []string{"Hello. "}},
		"two, both at other places":     {[]string{piece(1, "A."), piece(2, "B."), message("A.", "B.")}, []string{"A.", "B."}},
		"two alike":                     {[]string{piece(0, "A."), piece(1, "A."), message("A.", "A.")}, []string{"A.", "A."}},
		"one in pieces, one whole":      {[]string{piece(0, "A."), message("A.", "B.")}, []string{"A.", "B."}},
		"the second in pieces":          {[]string{piece(1, "B."), message("A.", "B.")}, []string{"B.", "A."}},
		"the first at the second place": {[]string{piece(1, "A."), message("A.", "B.")}, []string{"A.", "B."}},
		"whole":                         {[]string{message("A.", "", "B.")}, []string{"A.", "B."}},
		"shortened at the end":          {[]string{piece(0, "A long text."), message("A …")}, []string{"A long text."}},
	} {
		end := `{"type":"response.completed","response":{"id":"r","model":"m"}}`
		got, err := decode(Responses, strings.NewReader(lines(append(tc.events, end)...)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var texts []string
		for _, b := range got.Content {
			text, ok := b.(*event.Text)
			if !ok || text.Signature != "openai.phase.final_answer" {
				t.Errorf("%s: %#v", name, b)
				continue
			}
			texts = append(texts, text.Text)
		}
		if d := cmp.Diff(tc.want, texts); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Items of the vendor's own have members of other types (recorded by pydantic-ai and vercel/ai
// with tool_search). Some servers send arguments as an object. What Braid must understand and
// cannot is no answer.
func TestItemsWithMembersOfOtherTypes(t *testing.T) {
	t.Parallel()
	end := `{"type":"response.completed","response":{"id":"r","model":"m"}}`
	item := func(members string) []string {
		return []string{
			`{"type":"response.output_item.added","output_index":0,"item":{` + members + `}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{` + members + `}}`, end,
		}
	}
	for name, tc := range map[string]struct {
		members string
		want    event.Block
	}{
		"a search for tools": {
			`"arguments":{"query":"x"},"id":"ts_1","type":"tool_search_call"`,
			&event.UnknownBlock{Name: "openai.tool_search_call", Raw: json.RawMessage(`{"arguments":{"query":"x"},"id":"ts_1","kind":"openai.tool_search_call","type":"tool_search_call"}`)},
		},
		"names that are lists": {
			`"id":"x_1","name":["a"],"summary":1,"type":"brand_new"`,
			&event.UnknownBlock{Name: "openai.brand_new", Raw: json.RawMessage(`{"id":"x_1","kind":"openai.brand_new","name":["a"],"summary":1,"type":"brand_new"}`)},
		},
		"a call with an object": {
			`"type":"function_call","call_id":"c","name":"f","arguments":{"a":1}`,
			&event.ToolCall{ID: "c", Name: "f", Args: json.RawMessage(`{"a":1}`)},
		},
		"a call of no name":    {`"type":"function_call","call_id":"c","name":["f"],"arguments":"{}"`, nil},
		"a message of nothing": {`"type":"message","content":"Hello."`, nil},
		"an item of no type":   {`"name":["f"]`, nil},
	} {
		got, err := decode(Responses, strings.NewReader(lines(item(tc.members)...)))
		if tc.want == nil {
			if !errors.Is(err, errUnreadable) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if d := cmp.Diff([]event.Block{tc.want}, got.Content); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

// The short way and the long way say the same of every event.
func FuzzDelta(f *testing.F) {
	for _, body := range []string{searched, chatDeltas(5), responsesDeltas(5)} {
		for line := range strings.Lines(body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				f.Add(strings.TrimSpace(data))
			}
		}
	}
	f.Add(`{"choices":[{"index":0,"delta":{"content":"","reasoning_content":"a"}}]}`)
	f.Add(`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"function":{"arguments":"\u00e9"}}]}}],"usage":null}`)
	f.Add(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}],"content":"x"}}]}`)
	f.Add(`{"type":"response.reasoning_text.delta","output_index":7,"delta":"x"}`)
	f.Fuzz(func(t *testing.T, data string) {
		for _, api := range []API{ChatCompletions, Responses} {
			var short, long []model.Chunk
			to := func(list *[]model.Chunk) func(model.Chunk, error) bool {
				return func(c model.Chunk, _ error) bool { *list = append(*list, c); return true }
			}
			a, b := (&Model{api: api}).decoder(back{}, to(&short)), (&Model{api: api}).decoder(back{}, to(&long))
			took := false
			var err error
			switch a := a.(type) {
			case *chatDecoder:
				d := b.(*chatDecoder)
				for _, d := range []*chatDecoder{a, d} {
					d.begun, d.calls, d.next = true, []chatCall{{wire: 0, index: 0, id: "c"}}, 1
				}
				if took = a.delta([]byte(data)); took {
					err = d.whole([]byte(data))
				}
			case *responsesDecoder:
				if took = a.delta([]byte(data)); took {
					err = b.(*responsesDecoder).whole([]byte(data))
				}
			}
			if d := cmp.Diff(long, short); took && (err != nil || d != "") {
				t.Fatalf("%s: %v\n-long +short:\n%s", api, err, d)
			}
		}
	})
}

// Whatever comes, a stream ends with at most one end signal, and with an error
// where there is none.
func FuzzStream(f *testing.F) {
	f.Add(searched)
	f.Add(chatDeltas(3))
	f.Add(openaitest.Text(openaitest.Responses, "a").Body + openaitest.Failed("server_error", "x"))
	f.Add("data:\n\nid: 1\ndata: {}\n\n: comment\nevent: x\r\ndata: [\r\n\r\n")
	f.Fuzz(func(t *testing.T, body string) {
		for _, api := range []API{ChatCompletions, Responses} {
			got, err := decode(api, strings.NewReader(body))
			if (err == nil) != (got.Stops == 1) || got.Stops > 1 {
				t.Fatalf("%s: %d end signals and %v", api, got.Stops, err)
			}
		}
	})
}

func deltasOf(api openaitest.API, n int) string {
	chunks := make([]model.Chunk, n)
	for i := range chunks {
		chunks[i] = model.Chunk{Kind: model.ChunkText, Text: "a few words "}
	}
	return openaitest.Stream(api, chunks, event.StopEndTurn, event.Usage{Input: 1, Output: 1}).Body
}

func chatDeltas(n int) string      { return deltasOf(openaitest.Chat, n) }
func responsesDeltas(n int) string { return deltasOf(openaitest.Responses, n) }
