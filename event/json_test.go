package event_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/event/eventtest"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	seen := map[event.Kind]int{}
	rapid.Check(t, func(t *rapid.T) {
		e := eventtest.Event().Draw(t, "event")
		seen[e.Body.Kind()]++
		data, err := event.AppendJSON([]byte("before"), &e)
		if err != nil {
			t.Fatal(err)
		}
		data, ok := bytes.CutPrefix(data, []byte("before"))
		if !ok || !json.Valid(data) {
			t.Fatalf("not appended, or no JSON: %s", data)
		}
		back, err := event.Decode(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if !reflect.DeepEqual(e, back) {
			t.Fatalf("not the same (-before +after):\n%s", cmp.Diff(e, back))
		}
		again, err := event.AppendJSON(nil, &back)
		if err != nil || !bytes.Equal(data, again) {
			t.Fatalf("%v\nfirst  %s\nsecond %s", err, data, again)
		}
		// The same by way of encoding/json, which compacts unknown bodies and
		// escapes HTML: no more than the raw bytes of those may differ.
		std, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var viaStd event.Event
		if err := json.Unmarshal(std, &viaStd); err != nil {
			t.Fatalf("%v\n%s", err, std)
		}
		if viaStd.Header != e.Header || viaStd.Body.Kind() != e.Body.Kind() {
			t.Fatalf("by encoding/json: %+v", viaStd)
		}
	})
	for _, b := range eventtest.Bodies() {
		if seen[b.Kind()] == 0 && !testing.Short() {
			t.Logf("%s was not drawn this time", b.Kind())
		}
	}
}

func TestRoundTripOfBlocksAndMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		blocks := eventtest.Blocks().Draw(t, "blocks")
		data, err := event.AppendBlocks(nil, blocks)
		if err != nil {
			t.Fatal(err)
		}
		back, err := event.DecodeBlocks(data)
		if err != nil || !reflect.DeepEqual(blocks, back) {
			t.Fatalf("%v\n%s\n%s", err, data, cmp.Diff(blocks, back))
		}
		for _, b := range blocks {
			data, err := event.AppendBlock(nil, b)
			if err != nil {
				t.Fatal(err)
			}
			back, err := event.DecodeBlock(data)
			if err != nil || !reflect.DeepEqual(b, back) {
				t.Fatalf("%v\n%s\n%s", err, data, cmp.Diff(b, back))
			}
		}
		m := event.Message{Role: event.Role(rapid.String().Draw(t, "role")), Content: blocks}
		data, err = event.AppendMessage(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		var mBack event.Message
		if err := json.Unmarshal(data, &mBack); err != nil || !reflect.DeepEqual(m, mBack) {
			t.Fatalf("%v\n%s\n%s", err, data, cmp.Diff(m, mBack))
		}
	})
}

// testdata/json/log.jsonl is a log as it stands in stores. A line in it is
// never changed, because somebody's log holds it; new ones are added. Each
// must read, and write back to the same bytes.
func TestStoredLogStillReads(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/json/log.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	seen := map[event.Kind]bool{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		e, err := event.Decode(lines.Bytes())
		if err != nil {
			t.Errorf("line %d: %v", n, err)
			continue
		}
		seen[e.Body.Kind()] = true
		again, err := event.AppendJSON(nil, &e)
		if err != nil || !bytes.Equal(again, lines.Bytes()) {
			t.Errorf("line %d: %v\nstored  %s\nwritten %s", n, err, lines.Bytes(), again)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, b := range append(eventtest.Bodies(), &event.Unknown{Name: "x_later"}) {
		if !seen[b.Kind()] {
			t.Errorf("no line of kind %s", b.Kind())
		}
	}
}

func TestJSONExamples(t *testing.T) {
	t.Parallel()
	cost := int64(1250)
	at := time.Date(2026, 11, 20, 10, 2, 3, 400_000_000, time.FixedZone("JST", 9*3600))
	tests := []struct {
		name string
		in   event.Event
		want string
	}{
		{
			"every header field",
			event.Event{
				Header: event.Header{
					Seq: 1, Conversation: "c", Run: "r", Scope: "s", Cycle: 1, Step: "m1", Attempt: 1, Author: "calc", Branch: "a.b",
					Time: at, Audience: event.Operator, Simulated: true, Epoch: 1, N: 3,
				},
				Body: &event.TextDelta{Text: "hi"},
			},
			`{"seq":1,"conversation":"c","run":"r","scope":"s","cycle":1,"step":"m1","attempt":1,"author":"calc","branch":"a.b",` +
				`"time":"2026-11-20T01:02:03.4Z","audience":"operator","simulated":true,"epoch":1,"n":3,"kind":"text_delta","body":{"text":"hi","block":0}}`,
		},
		{
			"no header", event.Event{Body: &event.Escalated{}}, `{"kind":"escalated","body":{}}`,
		},
		{
			"blocks",
			event.Event{Body: &event.AssistantMessage{
				Content: []event.Block{
					&event.Thinking{Text: "足す", Signature: "s=="},
					&event.ToolCall{ID: "c1", Name: "add", Args: json.RawMessage(` { "a" : 3, "b" : [ 5 ] } `)},
					&event.ToolResult{Call: "c1", Content: []event.Block{&event.Text{Text: "8"}}, IsError: true},
					&event.Image{MIME: "image/png", Data: []byte{1, 2, 3}},
					&event.UnknownBlock{Name: "x_new", Raw: json.RawMessage(`{ "kind": "x_new",  "v": [1, 2] }`)},
				},
				Stop: event.StopToolUse, Usage: event.Usage{Input: 680, Output: 79, Total: 759}, Latency: 1299 * time.Millisecond,
			}},
			`{"kind":"assistant_message","body":{"content":[{"kind":"thinking","text":"足す","signature":"s=="},` +
				`{"kind":"tool_call","id":"c1","name":"add","args":{"a":3,"b":[5]}},` +
				`{"kind":"tool_result","call":"c1","content":[{"kind":"text","text":"8"}],"is_error":true},` +
				`{"kind":"image","mime":"image/png","data":"AQID"},{ "kind": "x_new",  "v": [1, 2] }],` +
				`"stop":"tool_use","usage":{"input":680,"output":79,"total":759},"latency_ns":1299000000}}`,
		},
		{
			"error, cost and output",
			event.Event{Body: &event.RunEnded{
				Status: event.RunFailed, CostNanoUSD: &cost, Output: json.RawMessage(`null`),
				Err: &event.Error{Kind: event.ErrThrottled, Message: "slow down", RetryAfter: time.Second, Err: errors.New("secret cause")},
			}},
			`{"kind":"run_ended","body":{"status":"failed","err":{"kind":"throttled","message":"slow down","retry_after_ns":1000000000},"cost_nano_usd":1250,"output":null}}`,
		},
		{
			"a result that stands alone bears its kind",
			event.Event{Body: &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: "c"}, RetryAt: at}},
			`{"kind":"step_ended","body":{"step_kind":"tool","outcome":"done","result":{"kind":"tool_result","call":"c"},"retry_at":"2026-11-20T01:02:03.4Z"}}`,
		},
		{
			"sorted keys",
			event.Event{Body: &event.StateChanged{Set: map[string]json.RawMessage{"b": json.RawMessage(`1`), "app:a": json.RawMessage(`{ }`), "a": nil}, Delete: []string{"z", "y"}}},
			`{"kind":"state_changed","body":{"set":{"a":null,"app:a":{},"b":1},"delete":["z","y"]}}`,
		},
		{
			"sorted labels",
			event.Event{Body: &event.RunStarted{Metadata: map[string]string{"g": "7", "a": "1", "c": "3", "f": "6", "é": "8", "b": "2", "e": "5", "d": "4"}}},
			`{"kind":"run_started","body":{"metadata":{"a":"1","b":"2","c":"3","d":"4","e":"5","f":"6","g":"7","é":"8"}}}`,
		},
		{
			"only what JSON requires is escaped",
			event.Event{Body: &event.Notice{Code: "<&>\u2028\"\\\n\x01\x7f", Text: "a\xffb", Data: json.RawMessage("\"<&>\u2028\"")}},
			`{"kind":"notice","body":{"code":"<&>` + "\u2028" + `\"\\\n\u0001` + "\x7f" + `","text":"a` + "\ufffd" + `b","data":"<&>` + "\u2028" + `"}}`,
		},
		{
			"a list that is always there", event.Event{Body: &event.UserMessage{}}, `{"kind":"user_message","body":{"content":[]}}`,
		},
		{
			"a message that came during the run",
			event.Event{Body: &event.UserMessage{Content: []event.Block{&event.Text{Text: "hi"}}, Mail: "m1"}},
			`{"kind":"user_message","body":{"content":[{"kind":"text","text":"hi"}],"mail":"m1"}}`,
		},
		{
			"a message of the loop itself",
			event.Event{Body: &event.UserMessage{Content: []event.Block{&event.Text{Text: "hi"}}, Why: event.WhyAnswer}},
			`{"kind":"user_message","body":{"content":[{"kind":"text","text":"hi"}],"why":"answer"}}`,
		},
		{
			"an answer of a hook",
			event.Event{Body: &event.AssistantMessage{Content: []event.Block{&event.Text{Text: "hi"}}, Hook: true}},
			`{"kind":"assistant_message","body":{"content":[{"kind":"text","text":"hi"}],"hook":true}}`,
		},
		{
			"what was taken out before it was written",
			event.Event{Body: &event.Redacted{Target: 2, Reason: "cards", Clean: true}},
			`{"kind":"redacted","body":{"target":2,"reason":"cards","clean":true}}`,
		},
		{
			"no answer is null", event.Event{Body: &event.Answered{Token: "t"}}, `{"kind":"answered","body":{"token":"t","value":null}}`,
		},
		{
			"no error is null", event.Event{Body: &event.Fault{}}, `{"kind":"fault","body":{"err":null}}`,
		},
		{
			"unknown with its white space",
			event.Event{Header: event.Header{Seq: 2}, Body: &event.Unknown{Name: "x_new", Raw: json.RawMessage(`[ 1,  2 ]`)}},
			`{"seq":2,"kind":"x_new","body":[ 1,  2 ]}`,
		},
		{
			"unknown without a body", event.Event{Body: &event.Unknown{Name: "x_new"}}, `{"kind":"x_new"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := event.AppendJSON(nil, &tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			back, err := event.Decode(got)
			if err != nil {
				t.Fatal(err)
			}
			again, err := event.AppendJSON(nil, &back)
			if err != nil || string(again) != tt.want {
				t.Errorf("%v\nagain %s", err, again)
			}
		})
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	t.Parallel()
	deep := json.RawMessage(strings.Repeat("[", 513) + strings.Repeat("]", 513))
	nested := &event.ToolResult{}
	for range 16 {
		nested = &event.ToolResult{Content: []event.Block{nested}}
	}
	cycle := &event.ToolResult{}
	cycle.Content = []event.Block{cycle}
	raw := func(s string) event.Body { return &event.Notice{Code: "x", Data: json.RawMessage(s)} }
	say := func(b event.Block) event.Body { return &event.UserMessage{Content: []event.Block{b}} }
	tests := []struct {
		name string
		in   event.Event
		want string
	}{
		{"no body", event.Event{}, "no body"},
		{"nil pointer as body", event.Event{Body: (*event.TextDelta)(nil)}, "no body"},
		{"nil unknown body", event.Event{Body: (*event.Unknown)(nil)}, "no body"},
		{"nil block", event.Event{Body: say(nil)}, "nil block"},
		{"nil pointer as block", event.Event{Body: say((*event.Text)(nil))}, "nil block"},
		{"nil unknown block", event.Event{Body: say((*event.UnknownBlock)(nil))}, "nil block"},
		{"audience", event.Event{Header: event.Header{Audience: 9}, Body: &event.Escalated{}}, "audience"},
		{"time", event.Event{Header: event.Header{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, Body: &event.Escalated{}}, "years 0 to 9999"},
		{"raw that is no JSON", event.Event{Body: raw(`{"a":}`)}, `raw JSON of "data" cannot be written: '}' where a value should be at byte 5`},
		{"raw with duplicates", event.Event{Body: raw(`{"a":1,"a":2}`)}, `duplicate key "a"`},
		{"raw with invalid UTF-8", event.Event{Body: raw("\"\xff\"")}, "UTF-8"},
		{"raw of two values", event.Event{Body: raw("1 2")}, "trailing data"},
		{"raw of white space", event.Event{Body: raw(" ")}, "ends before"},
		{"raw too deep", event.Event{Body: &event.Notice{Data: deep}}, "deeper than 512"},
		{"raw in a map", event.Event{Body: &event.StateChanged{Set: map[string]json.RawMessage{"k": json.RawMessage(`x`)}}}, `raw JSON of "k"`},
		{"raw in a block", event.Event{Body: say(&event.ToolCall{Args: json.RawMessage(`{`)})}, `raw JSON of "args"`},
		{"unknown without name", event.Event{Body: &event.Unknown{Raw: json.RawMessage(`1`)}}, "must have a name"},
		{"unknown with a known name", event.Event{Body: &event.Unknown{Name: event.KindEscalated, Raw: json.RawMessage(`{}`)}}, "not that of a known kind"},
		{"unknown that is no JSON", event.Event{Body: &event.Unknown{Name: "x", Raw: json.RawMessage(`{`)}}, `raw JSON of "body"`},
		{"unknown block without name", event.Event{Body: say(&event.UnknownBlock{Raw: json.RawMessage(`{}`)})}, "must have a name"},
		{"unknown block with a known name", event.Event{Body: say(&event.UnknownBlock{Name: event.BlockText, Raw: json.RawMessage(`{"kind":"text"}`)})}, "not that of a known kind"},
		{"unknown block of another name", event.Event{Body: say(&event.UnknownBlock{Name: "x", Raw: json.RawMessage(`{"kind":"y"}`)})}, "does not bear its name"},
		{"unknown block without kind", event.Event{Body: say(&event.UnknownBlock{Name: "x", Raw: json.RawMessage(`{}`)})}, "does not bear its name"},
		{"unknown block that is no object", event.Event{Body: say(&event.UnknownBlock{Name: "x", Raw: json.RawMessage(`[]`)})}, "an object is needed"},
		{"results too deep in each other", event.Event{Body: say(nested)}, "nested too deep"},
		{"a result inside itself", event.Event{Body: say(cycle)}, "nested too deep"},
		{"keys that become one", event.Event{Body: &event.RunStarted{Metadata: map[string]string{"\xff": "1", "\xfe": "2"}}}, "two keys"},
		{"state keys that become one", event.Event{Body: &event.StateChanged{Set: map[string]json.RawMessage{"\xff": nil, "\ufffd": nil}}}, "two keys"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dst := []byte("before")
			got, err := event.AppendJSON(dst, &tt.in)
			if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if string(got) != "before" {
				t.Errorf("left behind %q", got)
			}
			if _, err := json.Marshal(tt.in); err == nil {
				t.Error("encoding/json wrote it")
			}
		})
	}
	// One level less is fine, in both directions.
	inner, ok := nested.Content[0].(*event.ToolResult)
	if !ok {
		t.Fatal("no result inside")
	}
	e := event.Event{Body: &event.UserMessage{Content: []event.Block{inner}}}
	last := inner
	for len(last.Content) > 0 {
		if last, ok = last.Content[0].(*event.ToolResult); !ok {
			t.Fatal("no result inside")
		}
	}
	last.Structured = deep[1:1025]
	data, err := event.AppendJSON(nil, &e)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := event.Decode(data); err != nil || !reflect.DeepEqual(back, e) {
		t.Errorf("what was written at the bounds does not read: %v", err)
	}
}

// The bound is on results inside results, not on results.
func TestManyToolResults(t *testing.T) {
	t.Parallel()
	var list []event.Block
	for range 100 {
		list = append(list, &event.ToolResult{Call: "c", Content: []event.Block{&event.ToolResult{}, &event.ToolResult{}}})
	}
	e := event.Event{Body: &event.UserMessage{Content: list}}
	data, err := event.AppendJSON(nil, &e)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := event.Decode(data); err != nil || !reflect.DeepEqual(back, e) {
		t.Errorf("%v", err)
	}
}

func TestKeysWithInvalidUTF8(t *testing.T) {
	t.Parallel()
	e := event.Event{Body: &event.RunStarted{Metadata: map[string]string{"a\xff": "x", "b": "y"}}}
	data, err := event.AppendJSON(nil, &e)
	if want := `{"kind":"run_started","body":{"metadata":{"a` + "\ufffd" + `":"x","b":"y"}}}`; err != nil || string(data) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, data, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	results := func(n int) string {
		return strings.Repeat(`{"kind":"tool_result","content":[`, n) + strings.Repeat(`]}`, n)
	}
	tests := []struct{ name, in, want string }{
		{"nothing", ``, "ends before"},
		{"null", `null`, "an object is needed, not null"},
		{"array", `[]`, "an object is needed, not an array"},
		{"cut", `{"seq":1,"kind":"escalated","body":{`, "ends before"},
		{"trailing", `{"kind":"escalated","body":{}} x`, "trailing data at byte 31"},
		{"two events", `{"kind":"escalated","body":{}}{"kind":"escalated","body":{}}`, "trailing data"},
		{"no kind", `{"seq":1,"body":{}}`, "the event has no kind"},
		{"empty kind", `{"kind":"","body":{}}`, "the event has no kind"},
		{"null kind", `{"kind":null,"body":{}}`, "a string is needed, not null"},
		{"no body", `{"kind":"escalated"}`, "the event has no body"},
		{"null body", `{"kind":"escalated","body":null}`, "an object is needed, not null"},
		{"null body before its kind", `{"body":null,"kind":"escalated"}`, "an object is needed, not null at byte 8"},
		{"unknown header key", `{"kind":"escalated","body":{},"x":1}`, `unknown key "x" at byte 30`},
		{"header key of another case", `{"Seq":1,"kind":"escalated","body":{}}`, `unknown key "Seq"`},
		{"duplicate header key", `{"seq":1,"seq":1,"kind":"escalated","body":{}}`, `duplicate key "seq" at byte 9`},
		{"duplicate kind", `{"kind":"escalated","body":{},"kind":"notice"}`, `duplicate key "kind"`},
		{"duplicate body", `{"kind":"escalated","body":{},"body":{}}`, `duplicate key "body"`},
		{"unknown body key", `{"kind":"text_delta","body":{"text":"x","block":0,"x":1}}`, `unknown key "x"`},
		{"body key of another case", `{"kind":"text_delta","body":{"Text":"x"}}`, `unknown key "Text"`},
		{"duplicate body key", `{"kind":"text_delta","body":{"text":"x","text":"y"}}`, `duplicate key "text"`},
		{"duplicate body key by escape", `{"kind":"text_delta","body":{"text":"x","te\u0078t":"y"}}`, `duplicate key "text"`},
		{"wrong type", `{"kind":"text_delta","body":{"text":1}}`, "a string is needed, not a number"},
		{"null string", `{"kind":"text_delta","body":{"text":null}}`, "a string is needed, not null"},
		{"fraction", `{"kind":"text_delta","body":{"block":1.0}}`, "an integer is needed"},
		{"too large", `{"seq":9223372036854775808,"kind":"escalated","body":{}}`, "too large"},
		{"string seq", `{"seq":"1","kind":"escalated","body":{}}`, "an integer is needed, not a string"},
		{"bool as number", `{"simulated":1,"kind":"escalated","body":{}}`, "true or false is needed"},
		{"bad time", `{"time":"yesterday","kind":"escalated","body":{}}`, "a time such as"},
		{"time without zone", `{"time":"2026-11-20T01:02:03","kind":"escalated","body":{}}`, "a time such as"},
		{"time beyond the year 9999 in UTC", `{"time":"9999-12-31T23:59:59-01:00","kind":"escalated","body":{}}`, "years 0 to 9999"},
		{"unknown audience", `{"audience":"nobody","kind":"escalated","body":{}}`, "audience"},
		{"invalid UTF-8", "{\"kind\":\"text_delta\",\"body\":{\"text\":\"\xff\"}}", "invalid UTF-8 at byte 37"},
		{"lone surrogate", `{"kind":"text_delta","body":{"text":"\ud800"}}`, "half of a surrogate pair at byte 37"},
		{"raw too deep", `{"kind":"notice","body":{"data":` + deep(513) + `}}`, "deeper than 512"},
		{"raw much too deep", `{"kind":"notice","body":{"data":` + deep(10000) + `}}`, "deeper than 512"},
		{"duplicate in raw", `{"kind":"notice","body":{"data":{"a":1,"a":1}}}`, `duplicate key "a"`},
		{"duplicate in an unknown body", `{"kind":"x_new","body":{"a":1,"a":1}}`, `duplicate key "a"`},
		{"unknown body too deep", `{"kind":"x_new","body":` + deep(513) + `}`, "deeper than 512"},
		{"block that is no object", `{"kind":"user_message","body":{"content":["hi"]}}`, "an object is needed, not a string"},
		{"null block", `{"kind":"user_message","body":{"content":[null]}}`, "an object is needed, not null"},
		{"null list", `{"kind":"user_message","body":{"content":null}}`, "an array is needed, not null"},
		{"block without kind", `{"kind":"user_message","body":{"content":[{"text":"hi"}]}}`, "the block has no kind at byte 42"},
		{"block with an empty kind", `{"kind":"user_message","body":{"content":[{"kind":""}]}}`, "the block has no kind"},
		{"unknown block key", `{"kind":"user_message","body":{"content":[{"kind":"text","text":"x","x":1}]}}`, `unknown key "x"`},
		{"duplicate block kind", `{"kind":"user_message","body":{"content":[{"kind":"text","text":"x","kind":"text"}]}}`, `duplicate key "kind"`},
		{"duplicate block kind, late", `{"kind":"user_message","body":{"content":[{"text":"x","kind":"text","kind":"text"}]}}`, `duplicate key "kind"`},
		{"duplicate in an unknown block", `{"kind":"user_message","body":{"content":[{"kind":"x_new","a":1,"a":1}]}}`, `duplicate key "a"`},
		{"bad base64", `{"kind":"user_message","body":{"content":[{"kind":"image","data":"*"}]}}`, "no base64"},
		{"results too deep in each other", `{"kind":"user_message","body":{"content":[` + results(17) + `]}}`, "nested too deep"},
		{"results far too deep, kind last", `{"kind":"user_message","body":{"content":[` +
			strings.Repeat(`{"content":[`, 400) + strings.Repeat(`],"kind":"tool_result"}`, 400) + `]}}`, "deeper than"},
		{"another block as result", `{"kind":"step_ended","body":{"result":{"kind":"text","text":"x"}}}`, "a tool_result is needed"},
		{"an unknown block as result", `{"kind":"step_ended","body":{"result":{"kind":"x"}}}`, "a tool_result is needed"},
		{"unknown error key", `{"kind":"fault","body":{"err":{"kind":"limit","cause":"x"}}}`, `unknown key "cause"`},
		{"unknown usage key", `{"kind":"run_ended","body":{"usage":{"tokens":1}}}`, `unknown key "tokens"`},
		{"duplicate state key", `{"kind":"state_changed","body":{"set":{"a":1,"a":2}}}`, `duplicate key "a"`},
		{"label that is no string", `{"kind":"run_started","body":{"metadata":{"a":1}}}`, "a string is needed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := event.Decode([]byte(tt.in))
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Op != "decode event" {
				t.Fatalf("error %v, want an *Error of kind invalid", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
			var into event.Event
			if json.Unmarshal([]byte(tt.in), &into) == nil && tt.in != `null` {
				t.Error("encoding/json read it")
			}
		})
	}
}

// Every body and block refuses a key that it does not have and a null where
// there is a string, so that no reader was forgotten.
func TestEveryKindIsStrict(t *testing.T) {
	t.Parallel()
	for _, b := range eventtest.Bodies() {
		in := `{"kind":"` + string(b.Kind()) + `","body":{"no_such_key":1}}`
		if _, err := event.Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), `unknown key "no_such_key"`) {
			t.Errorf("%s: %v", b.Kind(), err)
		}
	}
	for _, b := range eventtest.KnownBlocks() {
		for _, in := range []string{
			`{"kind":"` + string(b.BlockKind()) + `","no_such_key":1}`,
			`{"no_such_key":1,"kind":"` + string(b.BlockKind()) + `"}`,
		} {
			if _, err := event.DecodeBlock([]byte(in)); err == nil || !strings.Contains(err.Error(), `unknown key "no_such_key"`) {
				t.Errorf("%s: %v", b.BlockKind(), err)
			}
		}
	}
}

// Whatever the order of the keys, and with white space anywhere, an event
// reads the same.
func TestDecodeAnyOrder(t *testing.T) {
	t.Parallel()
	want, err := event.Decode([]byte(`{"seq":3,"kind":"assistant_message","body":{"content":[{"kind":"tool_call","id":"c","args":{"a":[1]}},{"kind":"x_new","v":1}],"stop":"tool_use"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{
		`{"body":{"stop":"tool_use","content":[{"args":{"a":[1]},"id":"c","kind":"tool_call"},{"kind":"x_new","v":1}]},"kind":"assistant_message","seq":3}`,
		"\n{ \"body\" : { \"content\" : [ { \"id\" : \"c\" ,\t\"kind\" : \"tool_call\" , \"args\" : { \"a\" : [ 1 ] } } , {\"kind\":\"x_new\",\"v\":1} ] , \"stop\" : \"tool_use\" } , \"seq\" : 3 , \"kind\" : \"assistant_message\" } \r\n",
	} {
		got, err := event.Decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	}
	// An unknown body before its kind.
	got, err := event.Decode([]byte(`{"body": [ 1 ] ,"kind":"x_new"}`))
	if err != nil || !reflect.DeepEqual(got.Body, &event.Unknown{Name: "x_new", Raw: json.RawMessage(`[ 1 ]`)}) {
		t.Errorf("%v %+v", err, got.Body)
	}
}

func TestDecodeKeepsNothingOfItsInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := eventtest.Event().Draw(t, "event")
		data, err := event.AppendJSON(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := event.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			data[i] = '#'
		}
		if !reflect.DeepEqual(e, back) {
			t.Fatalf("changed with the input:\n%s", cmp.Diff(e, back))
		}
	})
}

// A Decoder gives what Decode gives, whatever it read before, and does not
// copy header strings that repeat.
func TestDecoder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d event.Decoder
		for range 3 {
			e := eventtest.Event().Draw(t, "event")
			data, err := event.AppendJSON(nil, &e)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := d.Decode(data); err != nil || !reflect.DeepEqual(e, back) {
				t.Fatalf("%v\n%s", err, cmp.Diff(e, back))
			}
			if _, err := d.Decode(data[1:]); err == nil {
				t.Fatal("half an event was read")
			}
		}
	})
}

// The strings of headers are not copied again.
//
//nolint:paralleltest // AllocsPerRun counts for the whole process.
func TestDecoderSharesStrings(t *testing.T) {
	data := []byte(`{"seq":1,"conversation":"a conversation's long name","run":"a run's name","author":"someone","kind":"escalated","body":{}}`)
	var d event.Decoder
	if _, err := d.Decode(data); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(data); err != nil {
			t.Error(err)
		}
	}); n > 1 { // the body
		t.Errorf("%v allocations", n)
	}
}

func TestNumbersAtTheirBounds(t *testing.T) {
	t.Parallel()
	e := event.Event{
		Header: event.Header{Seq: math.MaxInt64, Epoch: math.MinInt64, Cycle: math.MaxInt, Attempt: math.MinInt},
		Body:   &event.StepEnded{Duration: math.MinInt64},
	}
	data, err := event.AppendJSON(nil, &e)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := event.Decode(data); err != nil || !reflect.DeepEqual(e, back) {
		t.Errorf("%v %+v", err, back)
	}
}

// Blocks keep their kind also where the standard library meets them.
func TestMarshalOfParts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   any
		want string
	}{
		{event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "hi"}}}, `{"role":"user","content":[{"kind":"text","text":"hi"}]}`},
		{[]event.Block{&event.Code{Code: "1"}, &event.UnknownBlock{Name: "x", Raw: json.RawMessage(`{"kind":"x"}`)}}, `[{"kind":"code","code":"1"},{"kind":"x"}]`},
		{&event.UserMessage{Content: []event.Block{&event.Text{Text: "hi"}}}, `{"content":[{"kind":"text","text":"hi"}]}`},
		{&event.Unknown{Name: "x", Raw: json.RawMessage(`[1]`)}, `[1]`},
		{struct{ E event.Event }{event.Event{Body: &event.Transferred{To: "b"}}}, `{"E":{"kind":"transferred","body":{"to":"b"}}}`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.in)
		if err != nil || string(got) != tt.want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, tt.want)
		}
	}
	for _, b := range eventtest.KnownBlocks() {
		got, err := json.Marshal(b)
		if err != nil || !strings.HasPrefix(string(got), `{"kind":"`+string(b.BlockKind())+`"`) {
			t.Errorf("%s: %v %s", b.BlockKind(), err, got)
		}
	}
	var m event.Message
	for _, in := range []string{`{"role":"user","text":"x"}`, `{"role":1}`, `{"role":"user","role":"user"}`, `[]`} {
		if err := json.Unmarshal([]byte(in), &m); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("message %s: %v", in, err)
		}
	}
	for _, in := range []string{`{}`, `[{"kind":"text"},1]`, `[]]`, ``} {
		if _, err := event.DecodeBlocks([]byte(in)); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("blocks %s: %v", in, err)
		}
	}
	if _, err := event.AppendBlocks(nil, []event.Block{nil}); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a nil block: %v", err)
	}
	if _, err := event.AppendMessage(nil, event.Message{Content: []event.Block{nil}}); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a message with a nil block: %v", err)
	}
}
