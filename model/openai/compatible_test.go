package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

// said is what a server sends, an event a line.
func said(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		if strings.HasPrefix(e, ":") || strings.HasPrefix(e, "event:") {
			b.WriteString(e + "\n")
			if e[0] == ':' {
				b.WriteByte('\n')
			}
			continue
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

func ask(name, args string) event.Block {
	return &event.ToolCall{ID: "call_1", Name: name, Args: json.RawMessage(args)}
}

// Whole answers of the servers that people run, and of the gateway that they use,
// as their documentation and their issues show them.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	vllm := func(rest string) string {
		return `{"id":"chatcmpl-97112d6f60e4","object":"chat.completion.chunk","created":1784561966,"model":"qwen3-32b",` + rest + `}`
	}
	ollama := func(rest string) string {
		return `{"id":"chatcmpl-317","object":"chat.completion.chunk","created":1784561966,"model":"qwen3:8b","system_fingerprint":"fp_ollama",` + rest + `}`
	}
	studio := func(rest string) string {
		return `{"id":"chatcmpl-b7qk","object":"chat.completion.chunk","created":1784561966,"model":"openai/gpt-oss-20b","system_fingerprint":"openai/gpt-oss-20b",` +
			rest + `}`
	}
	router := func(rest string) string {
		return `{"id":"gen-1784561966-x","provider":"Novita","model":"deepseek/deepseek-v4","object":"chat.completion.chunk","created":1784561966,` + rest + `}`
	}
	choice := func(delta, finish string) string {
		return `"choices":[{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":` + finish + `}]`
	}
	for name, tc := range map[string]struct {
		body  string
		want  []event.Block
		stop  event.StopReason
		usage event.Usage
	}{
		"vLLM": {
			body: said(
				vllm(`"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null`),
				vllm(`"choices":[{"index":0,"delta":{"reasoning":" the"},"logprobs":null,"finish_reason":null,"token_ids":null}],`+
					`"usage":{"prompt_tokens":265,"total_tokens":270,"completion_tokens":5}`),
				vllm(`"choices":[{"index":0,"delta":{"reasoning":" sum","reasoning_content":" sum"},"logprobs":null,"finish_reason":null,"token_ids":null}],`+
					`"usage":{"prompt_tokens":265,"total_tokens":271,"completion_tokens":6}`),
				vllm(choice(`"tool_calls":[{"id":"call_1","type":"function","index":0,"function":{"name":"add","arguments":""}}]`, `null`)),
				vllm(choice(`"tool_calls":[{"index":0,"function":{"arguments":"{\"a\": 1"}}]`, `null`)),
				vllm(choice(`"tool_calls":[{"index":0,"function":{"arguments":"}"}}]`, `null`)),
				vllm(`"choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"tool_calls","stop_reason":151645,"token_ids":null}]`),
				vllm(`"choices":[],"usage":{"prompt_tokens":265,"total_tokens":285,"completion_tokens":20,"prompt_tokens_details":null}`),
				"[DONE]",
			),
			want: []event.Block{&event.Thinking{Text: " the sum"}, ask("add", `{"a": 1}`)},
			stop: event.StopToolUse, usage: event.Usage{Input: 265, Output: 20, Total: 285},
		},
		"vLLM, a call without id": {
			body: said(
				vllm(choice(`"role":"assistant","content":""`, `null`)),
				vllm(choice(`"tool_calls":[{"index":0,"type":"function","function":{"name":"add","arguments":"{}"}}]`, `null`)),
				vllm(choice(``, `"tool_calls"`)), "[DONE]",
			),
			want: []event.Block{&event.ToolCall{Name: "add", Args: json.RawMessage(`{}`)}}, stop: event.StopToolUse,
		},
		"vLLM, given up": {
			body: said(vllm(choice(`"role":"assistant","content":"So"`, `null`)), vllm(choice(``, `"abort"`)), "[DONE]"),
			want: []event.Block{&event.Text{Text: "So"}}, stop: "abort",
		},
		"Ollama, whole calls and no word for them": {
			body: said(
				ollama(choice(`"role":"assistant","content":"","reasoning":"Hm."`, `null`)),
				ollama(choice(`"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]`, `null`)),
				ollama(choice(`"role":"assistant","content":""`, `"stop"`)),
				ollama(`"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":9,"total_tokens":39}`),
				"[DONE]",
			),
			want: []event.Block{&event.Thinking{Text: "Hm.", Signature: "chat.reasoning"}, ask("add", `{"a":1}`)},
			stop: event.StopToolUse, usage: event.Usage{Input: 30, Output: 9, Total: 39},
		},
		"Ollama of last year, which counts nothing": {
			body: said(ollama(choice(`"role":"assistant","content":"Hi"`, `null`)), ollama(choice(`"role":"assistant","content":""`, `"stop"`)), "[DONE]"),
			want: []event.Block{&event.Text{Text: "Hi"}}, stop: event.StopEndTurn,
		},
		"LM Studio": {
			body: said(
				studio(choice(`"role":"assistant","reasoning":"Hm."`, `null`)),
				studio(choice(`"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":""}}]`, `null`)),
				studio(choice(`"tool_calls":[{"index":0,"type":"function","function":{"name":"","arguments":"{\"a\":1}"}}]`, `null`)),
				studio(choice(``, `"tool_calls"`)),
				studio(`"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"completion_tokens_details":{"reasoning_tokens":1}}`),
				"[DONE]",
			),
			want: []event.Block{&event.Thinking{Text: "Hm.", Signature: "chat.reasoning"}, ask("add", `{"a":1}`)},
			stop: event.StopToolUse, usage: event.Usage{Input: 7, Output: 2, Total: 9, Reasoning: 1},
		},
		"OpenRouter": {
			body: said(
				": OPENROUTER PROCESSING", ": OPENROUTER PROCESSING",
				router(`"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm",`+
					`"format":"unknown","index":0}]},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]`),
				": OPENROUTER PROCESSING",
				router(`"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes.","reasoning":null,"reasoning_details":[]},"finish_reason":null}]`),
				router(`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"completed","logprobs":null}]`),
				router(`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null,"native_finish_reason":null}],"usage":{"prompt_tokens":20,`+
					`"completion_tokens":8,"total_tokens":28,"cost":0.0000031,"is_byok":false,"prompt_tokens_details":{"cached_tokens":12,"cache_write_tokens":0,"audio_tokens":0},`+
					`"cost_details":{"upstream_inference_cost":null},"completion_tokens_details":{"reasoning_tokens":3,"image_tokens":0}}`),
				"[DONE]",
			),
			want: []event.Block{&event.Thinking{Text: "Hm"}, &event.Text{Text: "Yes."}},
			stop: event.StopEndTurn, usage: event.Usage{Input: 8, CacheRead: 12, Output: 8, Total: 28, Reasoning: 3},
		},
		"OpenRouter, arguments that are an object": {
			body: said(
				router(choice(`"role":"assistant","content":null,"tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"add","arguments":{"a":1}}}]`, `null`)),
				router(choice(`"role":"assistant","content":""`, `"tool_calls"`)), "[DONE]",
			),
			want: []event.Block{ask("add", `{"a":1}`)}, stop: event.StopToolUse,
		},
		"Mistral, thoughts in a list": {
			body: said(
				router(choice(`"role":"assistant","content":""`, `null`)),
				router(choice(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]`, `null`)),
				router(choice(`"content":[{"type":"text","text":"Yes."}]`, `null`)), router(choice(`"content":""`, `"model_length"`)), "[DONE]",
			),
			want: []event.Block{&event.Thinking{Text: "Hm."}, &event.Text{Text: "Yes."}}, stop: event.StopMaxTokens,
		},
		"text-generation-inference": {
			body: said(vllm(choice(`"role":"assistant","content":"Yes."`, `null`)), vllm(choice(`"content":""`, `"eos_token"`)), "[DONE]"),
			want: []event.Block{&event.Text{Text: "Yes."}}, stop: event.StopEndTurn,
		},
	} {
		for _, slowly := range []bool{false, true} {
			m, server := open(t, local, nil, openaitest.Answer{Body: tc.body, Slow: slowly})
			req := hello()
			req.Tools = []model.ToolSpec{{Name: "add", Schema: json.RawMessage(`{}`)}}
			r := modeltest.Call(t.Context(), m, req)
			if r.Err != nil {
				t.Errorf("%s: %v", name, r.Err)
				continue
			}
			if d := cmp.Diff(tc.want, r.Content); d != "" || r.Stop != tc.stop || r.Usage != tc.usage {
				t.Errorf("%s: %s, %+v\n%s", name, r.Stop, r.Usage, d)
			}
			if n := len(server.Asked()); n != 1 {
				t.Errorf("%s: %d requests", name, n)
			}
		}
	}
}

// Errors that come with a status of success, whole or in a stream.
func TestErrorsOfOtherServersThatLookLikeAnswers(t *testing.T) {
	t.Parallel()
	body := func(s string) openaitest.Answer {
		return openaitest.Answer{Body: s, Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}}
	}
	for name, tc := range map[string]struct {
		answer openaitest.Answer
		want   event.ErrorKind
		says   string
	}{
		"LM Studio, another address": {body(`{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`), event.ErrModel, "does not have this API"},
		"LM Studio, in the stream": {
			openaitest.Answer{Body: said("event: error", `{"error":{"message":"The model has crashed without additional information. (Exit code: null)"}}`)},
			event.ErrModel, "crashed",
		},
		"OpenRouter, whole":    {body(`{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x is temporarily rate-limited upstream"}}}`), event.ErrThrottled, "Provider returned"},
		"OpenRouter, no money": {body(`{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`), event.ErrModel, "credits"},
		"OpenRouter, in the stream": {
			openaitest.Answer{Body: said(": OPENROUTER PROCESSING", `{"id":"gen-1","object":"chat.completion.chunk","model":"m","provider":"p","error":{"code":502,"message":"Provider disconnected"},`+
				`"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":null}]}`)},
			event.ErrUnavailable, "disconnected",
		},
		"vLLM, in the stream": {
			openaitest.Answer{Body: said(`{"error":{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}}`, "[DONE]")},
			event.ErrContextOverflow, "4096",
		},
		"vLLM of last year, in the stream": {
			openaitest.Answer{Body: said(`{"object":"error","message":"list index out of range","type":"InternalServerError","param":null,"code":500}`, "[DONE]")},
			event.ErrUnavailable, "out of range",
		},
		"Ollama, in the stream": {
			openaitest.Answer{Body: said(`{"error":{"message":"an error was encountered while running the model: CUDA error","type":"api_error","param":null,"code":null}}`)},
			event.ErrModel, "CUDA",
		},
		"JSON of somebody else": {body(`{"status":"ok"}`), event.ErrModel, "does not speak"},
	} {
		m, _ := open(t, local, nil, tc.answer)
		r := modeltest.Call(t.Context(), m, hello())
		var e *event.Error
		if !errors.As(r.Err, &e) || e.Kind != tc.want || !strings.Contains(e.Message, tc.says) || e.Hint == "" {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}

type sum struct {
	A int `json:"a"`
}

// Calls that came without ids go back with ids, each result with its own.
func TestCallsWithoutIDsGoBack(t *testing.T) {
	t.Parallel()
	calls := `{"id":"i","model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[` +
		`{"index":0,"function":{"name":"add","arguments":{"a":1}}},{"index":1,"function":{"name":"add","arguments":{"a":2}}}]},"finish_reason":"stop"}]}`
	m, server := open(t, local, nil, openaitest.Answer{Body: said(calls, "[DONE]")}, openaitest.Text(openaitest.Chat, "Done."))
	add := braid.Func("add", "Adds.", func(_ context.Context, in sum) (int, error) { return in.A + 10, nil })
	if _, err := braid.New("a", m, braid.Tools(add)).Run(t.Context(), "Add."); err != nil {
		t.Fatal(err)
	}
	var second struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
			Call    string `json:"tool_call_id"`
			Calls   []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(server.Asked()[1].Body, &second); err != nil {
		t.Fatal(err)
	}
	results := map[string]string{}
	args := map[string]string{}
	for _, m := range second.Messages {
		for _, c := range m.Calls {
			args[c.ID] = c.Function.Arguments
		}
		if m.Role == "tool" {
			results[m.Call] = string(m.Content)
		}
	}
	if len(args) != 2 || len(results) != 2 {
		t.Fatalf("%v, %v", args, results)
	}
	for id, a := range args {
		if want := map[string]string{`{"a":1}`: `"11"`, `{"a":2}`: `"12"`}[a]; results[id] != want {
			t.Errorf("%s has the result %s", a, results[id])
		}
	}
}

// An answer that is held to a schema loses the nulls that only say that something is
// missing, and nothing of what it is told by other servers.
func TestAnswersThatAreHeld(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"string"},"age":{"type":["integer","null"]}},"required":["city"]}`)
	for _, k := range []kind{reasoner, talker, chatting, thinking, local} {
		var opts []openai.Option
		if k.compatible {
			opts = append(opts, openai.Schemas(true))
		}
		m, server := open(t, k, opts, openaitest.Text(k.api, `{"city":"Ky`, `ōto","z`, `ip":nu`, `ll,"age":null}`), openaitest.Text(k.api, `{"city":"Kyōto","zip":null}`))
		req := hello()
		req.Output = &model.OutputSchema{Name: "place", Schema: schema}
		r := modeltest.Call(t.Context(), m, req)
		if got := (event.Message{Content: r.Content}).Text(); r.Err != nil || got != `{"city":"Kyōto","age":null}` {
			t.Errorf("%s: %s, %v", k.name, got, r.Err)
		}
		if !strings.Contains(string(server.Asked()[0].Body), `"strict":true`) {
			t.Errorf("%s: not strict: %s", k.name, server.Asked()[0].Body)
		}
		// Nobody asked for anything: nothing is taken out.
		r = modeltest.Call(t.Context(), m, hello())
		if got := (event.Message{Content: r.Content}).Text(); got != `{"city":"Kyōto","zip":null}` {
			t.Errorf("%s: %s, %v", k.name, got, r.Err)
		}
	}
}

// What the vendor refuses of a schema is refused here before.
func TestTheStandInRefusesSchemas(t *testing.T) {
	t.Parallel()
	server := openaitest.Start()
	t.Cleanup(server.Close)
	for format, want := range map[string]string{
		`{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{},"required":[]}}`:                                                                     "'additionalProperties' is required",
		`{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{"x":{"type":"string"}},"required":[],"additionalProperties":false}}`:                   "Missing 'x'",
		`{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{"x":{}},"required":["x"],"additionalProperties":false}}`:                               "must have a 'type' key",
		`{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{"x":{"type":"string","minLength":1}},"required":["x"],"additionalProperties":false}}`:  "'minLength' is not permitted",
		`{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{"x":{"$ref":"#/$defs/y","title":"t"}},"required":["x"],"additionalProperties":false}}`: "$ref cannot have",
		`{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{"x":{"type":"array"}},"required":["x"],"additionalProperties":false}}`:                 "missing items",
		`{"type":"json_schema","name":"a","strict":true,"schema":{"type":"array","items":{"type":"string"}}}`:                                                                          "schema must be a JSON Schema of 'type",
		`{"type":"json_schema","name":"a","strict":false,"schema":{"type":"array","items":{"type":"string"}}}`:                                                                         "schema must be a JSON Schema of 'type",
		`{"type":"json_schema","name":"a b","strict":false,"schema":{"type":"object"}}`:                                                                                                "does not match pattern",
		`{"type":"xml"}`: "Supported values",
	} {
		body := `{"model":"gpt-4o","input":"q","stream":true,"store":false,"text":{"format":` + format + `}}`
		body = strings.Replace(body, `"input":"q"`, `"input":[{"role":"user","content":"q"}]`, 1)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+openaitest.Key)
		req.Header.Set("Content-Type", "application/json")
		answer, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		asked := server.Asked()
		if got := asked[len(asked)-1].Refused; answer.StatusCode != http.StatusBadRequest || !strings.Contains(got, want) {
			t.Errorf("%s: %d %q", format, answer.StatusCode, got)
		}
	}
}
