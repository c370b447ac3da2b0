package agentcore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/wire/agentcore"
)

// The frames of seed 1, as they stand there.
const (
	seedInit      = `data: {"init_event_loop": true}`
	seedStart     = `data: {"start": true}`
	seedStartLoop = `data: {"start_event_loop": true}`
	seedMessage   = `data: {"event": {"messageStart": {"role": "assistant"}}}`
	seedDelta     = `data: {"event": {"contentBlockDelta": {"delta": {"text": "Bedrock Agent"}, "contentBlockIndex": 0}}}`
	seedRepr      = `data: "{'data': 'Bedrock Agent', 'delta': {'text': 'Bedrock Agent'}, 'agent': <strands.agent.agent.Agent object at 0xffff8a4eb230>, 'event_loop_cycle_id': UUID('ffe68ef9-dc65-4d6d-90f1-303202bd0c99'), 'request_state': {}, 'event_loop_cycle_trace': <strands.telemetry.metrics.Trace object at 0xffff88b51160>, 'event_loop_cycle_span': _Span(name=\"execute_event_loop_cycle\", context=SpanContext(trace_id=0x687b4c40a83ec90e8ca9d690ba5d5c72, span_id=0x869003b7115ed777, trace_flags=0x01, trace_state=[], is_remote=False))}"`
	seedStop      = `data: {"event": {"messageStop": {"stopReason": "tool_use"}}}`
	seedMetadata  = `data: {"event": {"metadata": {"usage": {"inputTokens": 1643, "outputTokens": 117, "totalTokens": 1760}, "metrics": {"latencyMs": 2617}}}}`
	seedToolUse   = `data: {"tool_name": "AWS Documentation Search", "type": "tool_use", "debug_data": {"message": {"role": "assistant", "content": [{"text": "Bedrock Agent"}, {"toolUse": {"toolUseId": "tooluse_NHP8c04pTzWPVL0iGUHDhA", "name": "aws___search_documentation", "input": {"search_phrase": "Bedrock AgentCore", "limit": 10}}}]}}}`
	seedWhole     = `data: {"message": {"role": "assistant", "content": [{"text": "Bedrock Agent"}, {"toolUse": {"toolUseId": "tooluse_NHP8c04pTzWPVL0iGUHDhA", "name": "aws___search_documentation", "input": {"search_phrase": "Bedrock AgentCore", "limit": 10}}}]}}`
	theResult     = `data: {"result": {"type": "agent_result", "message": {"role": "assistant", "content": [{"text": "Bedrock Agent"}]}, "stop_reason": "end_turn"}}`
)

func seedTurn() []string {
	return []string{seedInit, seedStart, seedStartLoop, seedMessage, seedDelta, seedRepr, seedStop, seedMetadata, seedToolUse, seedWhole}
}

// show is an item in a line.
func show(it *agentcore.Item) string {
	s := string(it.Kind)
	add := func(name, value string) {
		if value != "" {
			s += " " + name + "=" + value
		}
	}
	add("text", string(it.Text))
	if it.Repeats {
		s += " again"
	}
	if it.Block > 0 {
		add("block", fmt.Sprint(it.Block))
	}
	add("role", it.Role)
	add("stop", it.Stop)
	for _, u := range it.Tools {
		add("tool", fmt.Sprintf("%d:%s:%s:%s", u.Index, u.ID, u.Name, u.Input))
	}
	if it.Kind == agentcore.KindMetadata {
		add("tokens", fmt.Sprintf("%d/%d/%d/%d/%d in %v, %v", it.Usage.Input, it.Usage.Output, it.Usage.Total, it.Usage.CacheRead, it.Usage.CacheWrite, it.Latency, it.FirstByte))
	}
	if it.Delay > 0 {
		add("delay", it.Delay.String())
	}
	add("class", it.ErrorType)
	add("code", it.Code)
	add("data", string(it.Data))
	add("anomaly", string(it.Anomaly))
	return s
}

func readAll(t *testing.T, from io.Reader) []string {
	t.Helper()
	r := agentcore.NewReader(from, 0)
	var all []string
	for {
		it, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, show(it))
	}
}

const call = `0:tooluse_NHP8c04pTzWPVL0iGUHDhA:aws___search_documentation:{"search_phrase":"Bedrock AgentCore","limit":10}`

func seedItems() []string {
	return []string{
		"init", "start", "start_event_loop", "message_start role=assistant", "text text=Bedrock Agent", "repr",
		"message_stop stop=tool_use", "metadata tokens=1643/117/1760/0/0 in 2.617s, 0s",
		"tool_use role=assistant tool=" + call, "message again role=assistant tool=" + call, "anomaly anomaly=truncated",
	}
}

// The seed's turn in every form in which a stream is kept or sent.
func TestForms(t *testing.T) {
	t.Parallel()
	var values, quoted []string
	for _, line := range seedTurn() {
		value := strings.TrimPrefix(line, "data: ")
		values = append(values, value)
		q, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		quoted = append(quoted, string(q))
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte("["+strings.Join(values, ",")+"]"), "", "  "); err != nil {
		t.Fatal(err)
	}
	for name, stream := range map[string]string{
		"events":               strings.Join(seedTurn(), "\n\n") + "\n\n",
		"no last blank line":   strings.Join(seedTurn(), "\n\n") + "\n",
		"no last line end":     strings.Join(seedTurn(), "\n\n"),
		"no blank lines":       strings.Join(seedTurn(), "\n"),
		"CRLF":                 strings.Join(seedTurn(), "\r\n\r\n") + "\r\n\r\n",
		"no space":             strings.ReplaceAll(strings.Join(seedTurn(), "\n\n"), "data: ", "data:"),
		"ids, names, comments": ": hi\n\nid: 1\nevent: message\nretry: 5\n" + strings.Join(seedTurn(), "\n\n: beat\n\nid: 7\n") + "\n\n",
		"byte order mark":      "\uFEFF" + strings.Join(seedTurn(), "\n\n"),
		"JSON lines":           strings.Join(values, "\n"),
		"JSON lines, CRLF":     strings.Join(values, "\r\n"),
		"array":                "[" + strings.Join(values, ", ") + "]",
		"array of lines":       "[" + strings.Join(quoted, ", ") + "]",
		"pretty array":         " \n" + pretty.String() + "\n",
		"open array":           "[" + strings.Join(values, ",\n") + ",",
		"several data lines":   strings.ReplaceAll(strings.Join(seedTurn(), "\n\n"), `{"`, "{\ndata: \""),
	} {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader,
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				got := readAll(t, wrap(strings.NewReader(stream)))
				if diff := cmp.Diff(seedItems(), got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"escapes", `{"event": {"contentBlockDelta": {"delta": {"text": "\u8a08\u7b97 \ud83d\udd0d\n"}, "contentBlockIndex": 2}}}`, []string{"text text=計算 🔍\n block=2"}},
		{"raw", `{"event": {"contentBlockDelta": {"delta": {"text": "計算 🔍"}, "contentBlockIndex": 0}}}`, []string{"text text=計算 🔍"}},
		{"half a pair", `{"event": {"contentBlockDelta": {"delta": {"text": "a\ud83d b\udd0d \ud83dA"}}}}`, []string{"text text=a\uFFFD b\uFFFD \uFFFDA"}},
		{"bad UTF-8", "{\"data\": \"a\xffb\"}", []string{"text text=a\uFFFDb"}},
		{"derived", seedMessage + "\n\n" + seedDelta + "\n\n" + `data: {"data": "Bedrock Agent", "delta": {"text": "Bedrock Agent"}}`, []string{"message_start role=assistant", "text text=Bedrock Agent", "text text=Bedrock Agent again"}},
		{"derived alone", `data: {"data": "hi", "delta": {"text": "hi"}}`, []string{"text text=hi"}},
		{"bare strings", "data: \"hi \"\n\ndata: \"you\"\n\n", []string{"text text=hi ", "text text=you"}},
		{"unquoted strings", "data: hi\ndata: you\n\ndata: 3 apples\n\n", []string{"text text=hi\nyou", "text text=3 apples"}},
		{"thinking", `{"event": {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "hm"}}, "contentBlockIndex": 0}}}` + "\n" + `{"reasoningText": "hm", "delta": {"reasoningContent": {"text": "hm"}}, "reasoning": true}`, []string{"thinking text=hm", "thinking text=hm again"}},
		{
			"input in pieces", `{"event": {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t1", "name": "add"}}, "contentBlockIndex": 1}}}
{"event": {"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"a\": 3"}}, "contentBlockIndex": 1}}}
{"type": "tool_use_stream", "delta": {"toolUse": {"input": "{\"a\": 3"}}, "current_tool_use": {"toolUseId": "t1", "name": "add", "input": "{\"a\": 3"}}
{"event": {"contentBlockDelta": {"delta": {"toolUse": {"input": ", \"b\": 5}"}}, "contentBlockIndex": 1}}}
{"event": {"contentBlockStop": {"contentBlockIndex": 1}}}`,
			[]string{
				"block_start block=1 tool=0:t1:add:", `tool_input text={"a": 3 block=1 tool=0:t1:add:`, "tool_input again tool=0:t1:add:",
				`tool_input text=, "b": 5} block=1 tool=0:t1:add:`, `block_stop block=1 tool=0:t1:add:{"a":3,"b":5}`,
			},
		},
		{"not finite", `{"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "n", "input": {"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \ud800"}}}]}}`, []string{"message role=assistant tool=0:t:n:{\"a\":null,\"b\":[null,null],\"c\":\"NaN \uFFFD\"} anomaly=not_finite"}},
		{"results", `{"message": {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "status": "error", "content": [{"text": "no"}, {"json": {"code": 1}}]}}]}}`, []string{"message role=user"}},
		{"tool stream", `{"type": "tool_stream", "tool_stream_event": {"tool_use": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}, "data": {"half": 1}}}`, []string{`tool_stream tool=0:t1:add:{"a":1} data={"half":1}`}},
		{"tool cancelled", `{"tool_cancel_event": {"tool_use": {"toolUseId": "t1", "name": "add", "input": {}}, "message": "no"}}`, []string{`tool_cancel text=no tool=0:t1:add:{} data="no"`}},
		{"interrupt", `{"tool_interrupt_event": {"tool_use": {"toolUseId": "t1", "name": "add", "input": {}}, "interrupts": [{"id": "q", "name": "ok", "reason": null, "response": null}]}}`, []string{`interrupt tool=0:t1:add:{} data=[{"id":"q","name":"ok","reason":null,"response":null}]`}},
		{"structured", `{"structured_output": {"n": 8}}`, []string{`structured_output data={"n":8}`}},
		{"throttled", `{"event_loop_throttled_delay": 4}`, []string{"throttled delay=4s"}},
		{"notice", `{"notice": {"code": "QUEUED", "message": "it waits", "new": {}}}`, []string{"notice text=it waits code=QUEUED"}},
		{"notice that is none", `{"notice": "it waits"}`, []string{"other"}},
		{"redacted", `{"event": {"redactContent": {"redactAssistantContentMessage": "no"}}}`, []string{"replaced text=no"}},
		{"usage", `{"event": {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 4, "new": 1}, "metrics": {"latencyMs": 9.5, "timeToFirstByteMs": 4}, "trace": {}}}}`, []string{"metadata tokens=5/2/7/3/4 in 9.5ms, 4ms"}},
		{"error", `data: {"error": "Read timed out", "error_type": "ReadTimeoutError", "message": "An error occurred during streaming"}`, []string{"error text=Read timed out class=ReadTimeoutError"}},
		{"named error", "event: error\ndata: {\"error\":\"no\"}\n\n", []string{"error text=no"}},
		{
			"one message, told twice", strings.Repeat(`data: {"type":"x","message":{"role":"assistant","content":[{"text":"hi"}],"trackingId":"a"}}`+"\n\n", 2) +
				`data: {"message":{"role":"assistant","content":[{"text":"hi"}],"trackingId":"b"}}`,
			[]string{"message role=assistant", "message again role=assistant", "message role=assistant"},
		},
		{"texts in objects", "event: message\ndata: {\"text\":\"hi \"}\n\nevent: message\ndata: {\"text\":\"you\"}\n\n", []string{"text text=hi ", "text text=you"}},
		{"named error, bare", "event: error\ndata: no\n\n", []string{"error text=no"}},
		{"named error, message", "event: error\ndata: {\"message\":\"no\"}\n\n", []string{"error text=no"}},
		{"forced stop", `{"force_stop": true, "force_stop_reason": "no"}`, []string{"force_stop text=no"}},
		{"result", theResult, []string{"result text=Bedrock Agent role=assistant stop=end_turn"}},
		{"result of a program", `{"result": "hello"}`, []string{"result text=hello"}},
		{"result as a message", `{"result": {"role": "assistant", "content": [{"text": "hello"}]}}`, []string{"result text=hello role=assistant"}},
		{"printed result", `data: "{'result': AgentResult(stop_reason='end_turn')}"`, []string{"repr"}},
		{"MCPAgentTool in a string", `data: "Object of type: 'MCPAgentTool' object is not JSON serializable"`, []string{"anomaly anomaly=mcp_agent_tool"}},
		{"MCPAgentTool as a dict", `data: "{'MCPAgentTool' object has no attribute}"`, []string{"anomaly anomaly=mcp_agent_tool"}},
		{"MCPAgentTool in an error", `data: {"error": "'MCPAgentTool' object has no attribute 'x'"}`, []string{"anomaly text='MCPAgentTool' object has no attribute 'x' anomaly=mcp_agent_tool"}},
		{"MCPAgentTool bare", "'MCPAgentTool' object\n", []string{"anomaly anomaly=mcp_agent_tool"}},
		{"HTML", seedStart + "\n\n<html>\n<body class=\"a: b\">\nno\n</html>\n\n" + seedStartLoop, []string{"start", "anomaly anomaly=html", "start_event_loop"}},
		{"HTML as data", seedStart + "\n\ndata: <html>\ndata: </html>\n\n" + seedStartLoop, []string{"start", "anomaly anomaly=html", "start_event_loop"}},
		{"broken", "data: {\"event\": {\"mess\n\n" + seedStart, []string{"anomaly anomaly=not_json", "start"}},
		{"broken line", "{\"event\": {\"mess\n{\"start\": true}", []string{"anomaly anomaly=not_json", "start"}},
		{"broken before whole", "data: {\"event\": {\"mess\ndata: {\"start\": true}\n\n", []string{"anomaly anomaly=not_json", "start"}},
		{"unknown keys", `{"new": {"x": ["}", {}]}, "start": true, "newer": "\""}`, []string{"start"}},
		{"others", "data: {}\n\ndata: 3\n\ndata: null\n\ndata: [1]\n\ndata: [DONE]\n\n" + `data: {"event": {"new": {}}}`, []string{"other", "other", "other", "other", "other", "other"}},
		{"shapes that are wrong", `{"message": {"role": 3, "content": {"text": 1}}, "x": 1}
{"event": 3}
{"event": {"contentBlockDelta": 3}}
{"event": {"contentBlockDelta": {"delta": null}}}
{"event": {"metadata": {"usage": [], "metrics": {"latencyMs": "x"}}}}
{"tool_name": 3, "type": "tool_use"}`, []string{"message role=", "other", "other", "other", "metadata tokens=0/0/0/0/0 in 0s, 0s", "other"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := readAll(t, strings.NewReader(c.stream))
			if n := len(got); n > 0 && got[n-1] == "anomaly anomaly=truncated" {
				got = got[:n-1]
			}
			for i := range c.want {
				c.want[i] = strings.TrimSuffix(c.want[i], " role=")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	end := strings.Replace(seedStop, "tool_use", "end_turn", 1)
	for _, c := range []struct {
		name, stream string
		cut          bool
	}{
		{"nothing", "", true},
		{"in an answer", seedMessage + "\n\n" + seedDelta, true},
		{"before the tools", strings.Join(seedTurn(), "\n\n"), true},
		{"in the next answer", end + "\n\n" + seedMessage + "\n\n", true},
		{"after the answer", seedMessage + "\n\n" + end, false},
		{"result", theResult, false},
		{"printed result", `data: "{'result': AgentResult()}"`, false},
		{"error", `data: {"error": "no"}`, false},
		{"forced stop", `data: {"force_stop": true}`, false},
		{"texts alone", "data: \"hi\"\n\ndata: you\n\n" + `data: {"text": "!"}`, false},
		{"texts and a loop", "data: \"hi\"\n\n" + seedMessage, true},
	} {
		s, err := agentcore.Summarize(strings.NewReader(c.stream))
		if err != nil {
			t.Fatal(err)
		}
		told := len(s.Anomalies) == 1 && s.Anomalies[0].Anomaly == agentcore.Truncated
		if told != c.cut || s.Complete == c.cut {
			t.Errorf("%s: told %v, complete %v", c.name, told, s.Complete)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, stream := range map[string]string{
		"line":       seedStart + "\n\ndata: \"" + long + "\"\n\n" + seedStartLoop + "\n\n",
		"lines":      seedStart + "\n\n" + strings.Repeat("data: xxxxxxxx\n", 200) + "\n" + seedStartLoop + "\n\n",
		"last line":  seedStart + "\n\n" + seedStartLoop + "\n\ndata: " + long,
		"array":      `[{"start": true}, {"start_event_loop": true}, {"x": "` + long + `"}]`,
		"whole line": `{"start": true}` + "\n" + `{"start_event_loop": true}` + "\n" + `{"x": "` + long + `"}`,
	} {
		r := agentcore.NewReader(strings.NewReader(stream), 1000)
		kinds := map[agentcore.Kind]int{}
		large := 0
		for {
			it, err := r.Next()
			if err != nil {
				break
			}
			kinds[it.Kind]++
			if it.Anomaly == agentcore.TooLarge {
				large++
			}
		}
		if kinds[agentcore.KindStart] != 1 || kinds[agentcore.KindStartLoop] != 1 || large != 1 {
			t.Errorf("%s: %v, %d too large", name, kinds, large)
		}
	}
}

// What ends the reader below is passed on, after what it gave.
func TestReaderBelowFails(t *testing.T) {
	t.Parallel()
	bad := errors.New("cut")
	s, err := agentcore.Summarize(io.MultiReader(strings.NewReader(seedMessage+"\n\n"+seedDelta+"\n\n"), iotest.ErrReader(bad)))
	if !errors.Is(err, bad) || s.Text() != "Bedrock Agent" || s.Complete {
		t.Errorf("%v %q %v", err, s.Text(), s.Complete)
	}
}
