package models

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// picky is a vendor's server as strict as the vendor: it refuses members that the vendor does
// not know, and forms that it does not take.
type picky struct {
	members []string // beside those that all vendors take
	// choices are the words of tool_choice; named takes an object too.
	choices []string
	named   bool
	files   bool
	// points is how many cache_control there may be.
	points int
	// unstreamed answers in one object, whatever was asked.
	unstreamed bool
	// unmarked leaves the mark [DONE] out.
	unmarked bool

	mu     sync.Mutex
	bodies []string
}

func (v *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if why := v.check(r, body); why != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, why)
		return
	}
	v.bodies = append(v.bodies, string(body))
	if v.unstreamed {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"i","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "data: {\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}],"+
		"\"x_groq\":{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}}\n\n")
	if !v.unmarked {
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

func (v *picky) check(r *http.Request, body []byte) string {
	var req map[string]json.RawMessage
	if err := json.Unmarshal(body, &req); err != nil {
		return err.Error()
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") || r.Header.Get("Authorization") != "Bearer k" {
		return "nobody is here: " + r.URL.Path
	}
	common := []string{"model", "messages", "stream", "tools", "tool_choice", "temperature", "stop"}
	for name := range req {
		if !slices.Contains(common, name) && !slices.Contains(v.members, name) {
			return "property '" + name + "' is unsupported"
		}
	}
	if raw := req["tool_choice"]; raw != nil {
		var word string
		if json.Unmarshal(raw, &word) != nil && !v.named {
			return "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
		}
		if word != "" && !slices.Contains(v.choices, word) {
			return "this tool_choice is not supported: " + word
		}
	}
	if strings.Contains(string(req["messages"]), `"type":"file"`) && !v.files {
		return "Invalid value: 'file'"
	}
	if n := strings.Count(string(body), `"cache_control"`); n > v.points {
		return fmt.Sprintf("A maximum of %d blocks with cache_control may be provided. Found %d.", v.points, n)
	}
	return ""
}

// What each row says, its vendor takes; and what the vendor does not take is an error before
// anything is sent.
func TestRowsAreWhatVendorsTake(t *testing.T) {
	t.Parallel()
	const serial, usage, long = "parallel_tool_calls", "stream_options", "max_tokens"
	usual := []string{"auto", "none", "required"}
	all := []string{serial, usage, long}
	for _, tc := range []struct {
		ref string
		v   *picky
		// some, one and pdf say whether a tool can be forced, one of two can, and a PDF can be sent.
		some, one, pdf bool
		tools          bool
	}{
		{"groq:openai/gpt-oss-120b", &picky{members: all, choices: usual, named: true}, true, true, false, true},
		{"openrouter:anthropic/claude-sonnet-5-5", &picky{members: all, choices: usual, named: true, files: true, points: 4}, true, true, true, true},
		{"openrouter:z-ai/glm-4.7", &picky{members: all, choices: usual, named: true, files: true}, true, true, true, true},
		{"mistral:mistral-large-latest", &picky{members: []string{serial, long}, choices: []string{"auto", "none", "any"}, named: true}, true, true, false, true},
		{"xai:grok-4.3", &picky{members: all, choices: usual, named: true}, true, true, false, true},
		{"deepseek:deepseek-v4-pro", &picky{members: all, choices: []string{"auto", "none"}}, false, false, false, true},
		{"cerebras:gpt-oss-120b", &picky{members: all, choices: usual, named: true}, true, true, false, true},
		{"perplexity:sonar", &picky{members: []string{usage, long}, unmarked: true}, false, false, false, false},
		{"together:Qwen/Qwen3", &picky{members: all, choices: usual, named: true}, true, true, false, true},
		{"fireworks:accounts/fireworks/models/x", &picky{members: all, choices: usual, named: true}, true, true, false, true},
		{"lmstudio:openai/gpt-oss-20b", &picky{members: all, choices: usual}, true, false, false, true},
		{"vllm:Qwen/Qwen3-8B", &picky{members: all, choices: usual, named: true}, true, true, false, true},
		{"llamacpp:qwen3", &picky{members: all, choices: usual, named: true, unstreamed: true}, true, true, false, true},
	} {
		t.Run(tc.ref, func(t *testing.T) {
			t.Parallel()
			v := tc.v
			server := httptest.NewServer(v)
			t.Cleanup(server.Close)
			m, err := openIn(env("K", "k"), tc.ref+"?key=K&base="+server.URL+"/v1")
			if err != nil {
				t.Fatal(err)
			}
			add := model.ToolSpec{Name: "add", Schema: json.RawMessage(`{"type":"object"}`)}
			two := []model.ToolSpec{add, {Name: "sub", Schema: json.RawMessage(`{"type":"object"}`)}}
			pdf := &event.Document{Name: "a.pdf", Data: []byte("%PDF-1.7 x")}
			for name, one := range map[string]struct {
				req   *model.Request
				takes bool
			}{
				"a question":          {&model.Request{Options: model.Options{MaxTokens: 50}}, true},
				"instructions":        {&model.Request{Instructions: "Be brief."}, true},
				"tools":               {&model.Request{Tools: two}, tc.tools},
				"one call at a time":  {&model.Request{Tools: two, ToolChoice: model.ToolChoice{Serial: true}}, tc.tools},
				"no tool":             {&model.Request{Tools: two, ToolChoice: model.ToolChoice{Mode: model.ToolsNone}}, tc.tools},
				"some tool":           {&model.Request{Tools: two, ToolChoice: model.ToolChoice{Mode: model.ToolsAny}}, tc.some},
				"one tool of two":     {&model.Request{Tools: two, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add"}}, tc.one},
				"the only tool":       {&model.Request{Tools: two[:1], ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add"}}, tc.some},
				"a document":          {&model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{pdf}}}}, tc.pdf},
				"a file of elsewhere": {&model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Document{URL: "anthropic-file:f1"}}}}}, false},
			} {
				if one.req.Messages == nil {
					one.req.Messages = hello.Messages
				}
				v.mu.Lock()
				before := len(v.bodies)
				v.mu.Unlock()
				text, total, err := said(t, m, one.req)
				v.mu.Lock()
				sent := len(v.bodies) - before
				v.mu.Unlock()
				e := new(event.Error)
				switch {
				case one.takes && (err != nil || text != "Yes." || total != 5):
					t.Errorf("%s: %q, %d tokens, %v", name, text, total, err)
				case !one.takes && (!errors.As(err, &e) || e.Kind != event.ErrUnsupported && e.Kind != event.ErrInvalid || sent > 0 || strings.Contains(e.Message, "refused")):
					t.Errorf("%s: %v, %d requests", name, err, sent)
				}
			}
			if tc.pdf && !strings.Contains(strings.Join(v.bodies, ""), `"file_data":"data:application/pdf;base64,`+base64.StdEncoding.EncodeToString(pdf.Data)) {
				t.Error("no PDF came")
			}
		})
	}
}

// said asks a model and gives its text and how many tokens it used.
func said(t *testing.T, m model.Model, req *model.Request) (text string, total int64, err error) {
	t.Helper()
	for c, err := range m.Stream(t.Context(), req) {
		if err != nil {
			return text, total, err
		}
		switch c.Kind {
		case model.ChunkText:
			text += c.Text
		case model.ChunkUsage:
			total = c.Usage.Total
		default:
		}
	}
	return text, total, nil
}

// Each vendor's errors, as it words them, and their kinds. The sources are named where the
// rules are (model/openai, refusal.go).
func TestErrorsOfVendors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ref    string
		status int
		body   string
		want   event.ErrorKind
		says   string
	}{
		{"groq:x", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, event.ErrContextOverflow, "reduce the length"},
		{"groq:x", 413, `{"error":{"message":"Request too large for model x in organization o service tier on_demand on tokens per minute (TPM): Limit 6000, Requested 12328, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens","code":"rate_limit_exceeded"}}`, event.ErrContextOverflow, "12328"},
		{"groq:x", 429, `{"error":{"message":"Rate limit reached for model x on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens","code":"rate_limit_exceeded"}}`, event.ErrThrottled, "4.77s"},
		{"groq:x", 400, `{"error":{"message":"The model x has been decommissioned and is no longer supported.","type":"invalid_request_error","code":"model_decommissioned"}}`, event.ErrModelNotFound, "decommissioned"},
		{"groq:x", 498, `{"error":{"message":"Flex tier capacity exceeded","type":"flex","code":"capacity_exceeded"}}`, event.ErrOverloaded, "Flex"},
		{"groq:x", 401, `{"error":{"message":"Invalid API Key","type":"invalid_request_error","code":"invalid_api_key"}}`, event.ErrModelAuth, "Invalid API Key"},
		{"openrouter:x", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"A maximum of 4 blocks with cache_control may be provided. Found 6.\"}}"}}}`, event.ErrInvalid, "A maximum of 4 blocks"},
		{"openrouter:x", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 202095 tokens > 200000 maximum\"}}"}}}`, event.ErrContextOverflow, "202095"},
		{"openrouter:x", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}`, event.ErrInvalid, "support tool use"},
		{"openrouter:x", 404, `{"error":{"message":"No endpoints found for x/y.","code":404}}`, event.ErrModelNotFound, "No endpoints"},
		{"openrouter:x", 402, `{"error":{"message":"This request requires more credits","code":402}}`, event.ErrModel, "credits"},
		{"mistral:x", 400, `{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","param":null,"code":"3051"}`, event.ErrContextOverflow, "65673"},
		{"mistral:x", 429, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}`, event.ErrOverloaded, "capacity"},
		{"mistral:x", 400, `{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}`, event.ErrModelNotFound, "Invalid model"},
		{"mistral:x", 401, `{"detail":"Unauthorized"}`, event.ErrModelAuth, "Unauthorized"},
		{"xai:x", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}`, event.ErrContextOverflow, "136973"},
		{"xai:x", 400, `{"code":"invalid-argument","error":"Failed to start sampling: [input_too_large] Current message (1149677 tokens) exceeds budget (975424 tokens)"}`, event.ErrContextOverflow, "1149677"},
		{"xai:x", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created teams doesn't have any credits yet."}`, event.ErrModel, "credits"},
		{"xai:x", 404, `{"code":"Some requested entity was not found","error":"The model x does not exist or your team does not have access to it."}`, event.ErrModelNotFound, "does not exist"},
		{"deepseek:x", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, event.ErrModel, "Insufficient Balance"},
		{"deepseek:x", 400, `{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 131134 tokens","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, event.ErrContextOverflow, "131134"},
		{"deepseek:x", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, event.ErrModelNotFound, "Not Exist"},
		{"deepseek:x", 503, `{"error":{"message":"Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.","type":"service_unavailable_error"}}`, event.ErrOverloaded, "too busy"},
		{"cerebras:x", 400, `{"message":"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`, event.ErrContextOverflow, "42328"},
		{"cerebras:x", 401, `{"message":"Wrong API Key","type":"invalid_request_error","param":"api_key","code":"wrong_api_key"}`, event.ErrModelAuth, "Wrong API Key"},
		{"cerebras:x", 429, `{"message":"We're experiencing high traffic right now! Please try again soon.","type":"too_many_requests_error","param":"queue","code":"queue_exceeded"}`, event.ErrOverloaded, "high traffic"},
		{"cerebras:x", 429, `{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}`, event.ErrThrottled, "too many tokens"},
		{"perplexity:x", 400, `{"error":{"message":"Invalid model 'x'. Permitted models can be found in the documentation","type":"invalid_model","code":400}}`, event.ErrModelNotFound, "Permitted models"},
		{"perplexity:x", 401, "<html>\r\n<head><title>401 Authorization Required</title></head>\r\n<body>\r\n<center><h1>401 Authorization Required</h1></center></body></html>", event.ErrModelAuth, "401 Authorization Required"},
		{"together:x", 422, "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`\",\"type\":\"invalid_request_error\"}}", event.ErrContextOverflow, "79993"},
		{"together:x", 400, `{"error":{"message":"Unable to access non-serverless model x. Please visit the models page","type":"invalid_request_error","param":null,"code":"model_not_available"}}`, event.ErrModelNotFound, "non-serverless"},
		{"together:x", 503, `{"error":{"message":"The server is overloaded or not ready yet.","type":"service_unavailable"}}`, event.ErrOverloaded, "not ready"},
		{"fireworks:x", 404, `{"error":{"object":"error","type":"invalid_request_error","code":"NOT_FOUND","message":"Model not found, inaccessible, and/or not deployed"}}`, event.ErrModelNotFound, "not deployed"},
		{"fireworks:x", 412, `{"error":{"object":"error","type":"invalid_request_error","message":"Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices."}}`, event.ErrModel, "suspended"},
		{"lmstudio:x", 400, `{"error":"Trying to keep the first 14538 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough."}`, event.ErrContextOverflow, "14538"},
		{"lmstudio:x", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length"}`, event.ErrContextOverflow, "13055"},
		{"lmstudio:x", 404, `{"error":{"message":"No models loaded. Please load a model in the developer page or use the 'lms load' command.","type":"invalid_request_error"}}`, event.ErrModelNotFound, "No models loaded"},
		{"vllm:x", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}`, event.ErrContextOverflow, "4096"},
		{"vllm:x", 404, `{"error":{"message":"The model 'x' does not exist.","type":"NotFoundError","param":"model","code":404}}`, event.ErrModelNotFound, "does not exist"},
		{"vllm:x", 401, `{"error":"Unauthorized"}`, event.ErrModelAuth, "Unauthorized"},
		{"llamacpp:x", 400, `{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}`, event.ErrContextOverflow, "4390"},
		{"llamacpp:x", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, event.ErrContextOverflow, "exceeded"},
		{"llamacpp:x", 503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, event.ErrUnavailable, "Loading model"},
		{"llamacpp:x", 401, `{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}`, event.ErrModelAuth, "Invalid API Key"},
		{"ollama:x", 400, `{"error":{"message":"prompt too long; exceeded max context length by 39604 tokens","type":"invalid_request_error"}}`, event.ErrContextOverflow, "39604"},
		{"ollama:x", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}`, event.ErrModelNotFound, "try pulling"},
		{"ollama:x", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, event.ErrOverloaded, "busy"},
		{"azure:x", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, event.ErrModelNotFound, "deployment"},
		{"azure:x", 401, `{"statusCode":401,"message":"Unauthorized. Access token is missing, invalid, audience is incorrect."}`, event.ErrModelAuth, "Access token"},
		{"azure:x", 429, `{"statusCode":429,"message":"Rate limit is exceeded. Try again in 5 seconds."}`, event.ErrThrottled, "5 seconds"},
		{"azure:x", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400}}`, event.ErrInvalid, "content management"},
		// What stands in front of vendors.
		{"groq:x", 502, "<!DOCTYPE html><html><head><title>groq.com | 502: Bad gateway</title></head></html>", event.ErrUnavailable, "502: Bad gateway"},
		{"mistral:x", 503, "upstream connect error or disconnect/reset before headers. reset reason: overflow", event.ErrUnavailable, "upstream connect error"},
		{"together:x", 504, "error code: 504", event.ErrUnavailable, "error code: 504"},
		{"xai:x", 429, "error code: 1015", event.ErrThrottled, "1015"},
		{"cerebras:x", 500, "", event.ErrUnavailable, "failed"},
		{"vllm:x", 404, "404 page not found", event.ErrModelNotFound, "page not found"},
		{"openrouter:x", 529, `{"error":{"message":"Overloaded"}}`, event.ErrOverloaded, "Overloaded"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		}))
		m, err := openIn(env("K", "key-0123456789"), tc.ref+"?key=K&base="+server.URL+"/v1")
		if err != nil {
			t.Fatal(err)
		}
		err = ask(t.Context(), m, hello)
		server.Close()
		e := new(event.Error)
		if !errors.As(err, &e) || e.Kind != tc.want || !strings.Contains(e.Message, tc.says) || e.Hint == "" {
			t.Errorf("%s, %d %s: %s: %v", tc.ref, tc.status, tc.body, e.Kind, err)
		}
	}
}

// A file of vendors names the kinds of a server's own errors, and what else its row can say.
func TestARowOfOnesOwn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"Come back later.","code":"no_slot"}}`)
	}))
	t.Cleanup(server.Close)
	vendors, err := ParseVendors([]byte("vendors:\n- {name: acme, address: '" + server.URL + "/v1', named: false, forced: none, strict: true, effort: enable_thinking, seed: random_seed, " +
		"cache: anthropic, errors: {no_slot: overloaded, \"77\": invalid}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := opener(t, Options{Env: env(), Vendors: vendors}).OpenNamed("acme:big")
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), m, hello); !errors.Is(err, event.ErrOverloaded) {
		t.Error(err)
	}
	for file, says := range map[string]string{
		"forced: often":               "forced is required, any or none",
		"effort: hard":                "effort is one of",
		"seed: 'Seed 1'":              "seed is the name",
		"cache: yes":                  "cache is anthropic",
		"errors: {x: run_poisoned}":   "a kind that a model's error cannot have",
		"errors: {'a b': overloaded}": "a code that cannot be one",
	} {
		_, err := ParseVendors([]byte("vendors:\n- {name: x, address: 'https://h/v1', " + file + "}"))
		if e := new(event.Error); !errors.As(err, &e) || e.Kind != event.ErrInvalid || !strings.Contains(e.Message, says) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
