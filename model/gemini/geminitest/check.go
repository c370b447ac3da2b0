package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/model/internal/vendortest"
)

var paths = regexp.MustCompile(`^/(?:v1beta|v1beta1/projects/[^/]+/locations/[^/]+/publishers/google)/models/([^/:]+):streamGenerateContent$`)

// check says what the API would refuse a request for; nil is nothing.
func (s *Server) check(r *http.Request, body []byte) *vendortest.Refusal {
	no := func(status int, kind, message string, details ...string) *vendortest.Refusal {
		return &vendortest.Refusal{Why: message, Answer: Error(status, kind, message, details...)}
	}
	bad := func(message string) *vendortest.Refusal {
		return no(http.StatusBadRequest, "INVALID_ARGUMENT", message)
	}
	most := s.Largest
	if most == 0 {
		most = largest
	}
	key, token := r.Header.Get("X-Goog-Api-Key"), r.Header.Get("Authorization")
	path := paths.FindStringSubmatch(r.URL.Path)
	switch {
	case len(body) > most:
		return bad(fmt.Sprintf("Request payload size exceeds the limit: %d bytes.", most))
	case path == nil || r.Method != http.MethodPost:
		return &vendortest.Refusal{Why: "Not Found", Answer: Answer{
			Status: http.StatusNotFound, Header: map[string]string{"Content-Type": "text/html; charset=UTF-8"},
			Body: "<!DOCTYPE html>\n<title>Error 404 (Not Found)!!1</title>\n",
		}}
	case key == "" && token == "":
		return no(http.StatusForbidden, "PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established identity). "+
			"Please use API Key or other form of API consumer identity to call this API.")
	case token != "" && token != "Bearer "+Token:
		return no(http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials. "+
			"Expected OAuth 2 access token, login cookie or other valid authentication credential.", Reason("ACCESS_TOKEN_TYPE_UNSUPPORTED"))
	case token == "" && key != Key:
		return no(http.StatusBadRequest, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", Reason("API_KEY_INVALID"))
	case !strings.HasPrefix(path[1], "gemini-"):
		return no(http.StatusNotFound, "NOT_FOUND", "models/"+path[1]+" is not found for API version v1beta, or is not supported for "+
			"generateContent. Call ListModels to see the list of available models and their supported methods.")
	case r.URL.RawQuery != "alt=sse":
		return bad("this server answers with server-sent events only")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return bad("Invalid JSON payload received. Unexpected token.")
	}
	c := &checker{server: s, vertex: strings.Contains(r.URL.Path, "/projects/"), model: path[1], generation: generationOf(path[1])}
	c.request(body)
	if c.problem != "" {
		return bad(c.problem)
	}
	window := s.Window
	if window == 0 {
		window = 1_048_576
	}
	if n := len(body) / 4; n > window {
		return bad(fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", n, window))
	}
	return nil
}

var number = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?-`)

// generationOf is 205 for gemini-2.5, and the newest for names without a number.
func generationOf(model string) int {
	g := number.FindStringSubmatch(model)
	if g == nil {
		return 9900
	}
	major, _ := strconv.Atoi(g[1]) // digits by the expression
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// checker looks through one request and keeps the first thing that is wrong.
type checker struct {
	server     *Server
	vertex     bool
	model      string
	generation int
	problem    string
	tools      map[string]bool
}

func (c *checker) fail(format string, args ...any) {
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
}

type object = map[string]json.RawMessage

// object reads an object whose members must be among known. The API's names of
// places are in snake case.
func (c *checker) object(raw []byte, at string, known ...string) object {
	var o object
	if json.Unmarshal(raw, &o) != nil || o == nil {
		c.fail("Invalid value at '%s'", at)
		return object{}
	}
	for k := range o {
		if !slices.Contains(known, k) {
			c.fail("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", k, at)
		}
	}
	return o
}

func (c *checker) str(o object, at, key string) string {
	var s string
	if raw, ok := o[key]; ok && json.Unmarshal(raw, &s) != nil {
		c.fail("Invalid value at '%s.%s' (TYPE_STRING), %s", at, key, raw)
	}
	return s
}

func (c *checker) list(raw []byte, at string) []json.RawMessage {
	var l []json.RawMessage
	if raw != nil && json.Unmarshal(raw, &l) != nil {
		c.fail("Invalid value at '%s'", at)
	}
	return l
}

func (c *checker) request(body []byte) {
	if !json.Valid(body) {
		c.fail("Invalid JSON payload received. Unexpected token.")
		return
	}
	o := c.object(body, "request", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent")
	if _, ok := o["cachedContent"]; ok && (o["systemInstruction"] != nil || o["tools"] != nil || o["toolConfig"] != nil) {
		c.fail("CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.\n\n" +
			"Proposed fix: move those values to CachedContent from GenerateContent request.")
	}
	c.system(o["systemInstruction"])
	c.allTools(o["tools"])
	c.choice(o["toolConfig"])
	c.config(o["generationConfig"])
	for i, raw := range c.list(o["safetySettings"], "safety_settings") {
		at := fmt.Sprintf("safety_settings[%d]", i)
		s := c.object(raw, at, "category", "threshold", "method")
		if category := c.str(s, at, "category"); !strings.HasPrefix(category, "HARM_CATEGORY_") {
			c.fail("Invalid value at '%s.category' (type.googleapis.com/google.ai.generativelanguage.v1beta.HarmCategory), %q", at, category)
		}
	}
	c.contents(o["contents"])
}

func (c *checker) system(raw []byte) {
	if raw == nil {
		return
	}
	o := c.object(raw, "system_instruction", "parts", "role")
	parts := c.list(o["parts"], "system_instruction.parts")
	for i, p := range parts {
		at := fmt.Sprintf("system_instruction.parts[%d]", i)
		if c.str(c.object(p, at, "text"), at, "text") == "" {
			c.fail("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", at)
		}
	}
	if len(parts) != 1 {
		c.fail("system_instruction must have exactly one part")
	}
}

var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func (c *checker) allTools(raw []byte) {
	c.tools = map[string]bool{}
	for i, t := range c.list(raw, "tools") {
		at := fmt.Sprintf("tools[%d]", i)
		o := c.object(t, at, "functionDeclarations")
		for j, d := range c.list(o["functionDeclarations"], at+".function_declarations") {
			at := fmt.Sprintf("%s.function_declarations[%d]", at, j)
			f := c.object(d, at, "name", "description", "parameters", "parametersJsonSchema")
			name := c.str(f, at, "name")
			if !functionName.MatchString(name) {
				c.fail("* GenerateContentRequest.%s.name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. "+
					"Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.", at)
			}
			if c.tools[name] {
				c.fail("Duplicate function declaration found: %s", name)
			}
			c.tools[name] = true
			if f["parameters"] != nil && f["parametersJsonSchema"] != nil {
				c.fail("%s: parameters and parameters_json_schema are mutually exclusive", at)
			}
			if p := f["parametersJsonSchema"]; p != nil {
				var top struct {
					Type string `json:"type"`
				}
				if json.Unmarshal(p, &top) != nil || top.Type != "object" {
					c.fail("* GenerateContentRequest.%s.parameters: schema should be of type OBJECT", at)
				}
				c.schema(p, at+".parameters_json_schema", 0)
			}
			if p := f["parameters"]; p != nil {
				c.openAPI(p, at+".parameters")
			}
		}
	}
}

func (c *checker) choice(raw []byte) {
	if raw == nil {
		return
	}
	o := c.object(raw, "tool_config", "functionCallingConfig")
	f := c.object(o["functionCallingConfig"], "tool_config.function_calling_config", "mode", "allowedFunctionNames")
	mode := c.str(f, "tool_config.function_calling_config", "mode")
	if len(c.tools) == 0 {
		c.fail("Function calling config is set without function_declarations.")
	}
	if !slices.Contains([]string{"AUTO", "ANY", "NONE"}, mode) {
		c.fail("Invalid value at 'tool_config.function_calling_config.mode', %q", mode)
	}
	var only []string
	if names := f["allowedFunctionNames"]; names != nil && json.Unmarshal(names, &only) != nil {
		c.fail("Invalid value at 'tool_config.function_calling_config.allowed_function_names'")
	}
	for _, name := range only {
		if mode != "ANY" {
			c.fail("Please set allowed_function_names only when function calling mode is ANY.")
		}
		if !c.tools[name] {
			c.fail("Function %s in allowed_function_names is not declared.", name)
		}
	}
}

func (c *checker) config(raw []byte) {
	if raw == nil {
		return
	}
	o := c.object(raw, "generation_config", "maxOutputTokens", "temperature", "stopSequences", "thinkingConfig", "responseMimeType",
		"responseSchema", "responseJsonSchema", "topP", "topK", "candidateCount", "seed")
	if n := len(c.list(o["stopSequences"], "generation_config.stop_sequences")); n > 5 {
		c.fail("The number of stop sequences must not exceed 5")
	}
	mime := c.str(o, "generation_config", "responseMimeType")
	if (o["responseSchema"] != nil || o["responseJsonSchema"] != nil) && mime != "application/json" {
		c.fail("Forced function calling (function_calling_config.mode = ANY) or response schema requires a response mime type of 'application/json'")
	}
	if mime == "application/json" && len(c.tools) > 0 && c.generation < 300 {
		c.fail("Function calling with a response mime type: 'application/json' is unsupported")
	}
	if s := o["responseJsonSchema"]; s != nil {
		c.schema(s, "generation_config.response_json_schema", 0)
	}
	if s := o["responseSchema"]; s != nil {
		c.openAPI(s, "generation_config.response_schema")
	}
	if raw := o["thinkingConfig"]; raw != nil {
		c.thinking(raw)
	}
}

func (c *checker) thinking(raw []byte) {
	t := c.object(raw, "generation_config.thinking_config", "includeThoughts", "thinkingBudget", "thinkingLevel")
	level := c.str(t, "generation_config.thinking_config", "thinkingLevel")
	var budget *int
	if raw := t["thinkingBudget"]; raw != nil && json.Unmarshal(raw, &budget) != nil {
		c.fail("Invalid value at 'generation_config.thinking_config.thinking_budget' (TYPE_INT32)")
	}
	least, most := 128, 24576
	if strings.Contains(c.model, "lite") {
		least = 512
	}
	if strings.Contains(c.model, "pro") {
		most = 32768
	}
	switch {
	case c.generation < 205:
		c.fail("Thinking is not enabled for models/%s", c.model)
	case level != "" && c.generation < 300:
		c.fail("Thinking level is not supported for this model.")
	case level != "" && budget != nil:
		c.fail("You can only set only one of thinking budget and thinking level.")
	case level != "" && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, level):
		c.fail("Invalid value at 'generation_config.thinking_config.thinking_level', %q", level)
	case budget != nil && *budget > 0 && (*budget < least || *budget > most):
		c.fail("The thinking budget %d is invalid. Please choose a value between %d and %d.", *budget, least, most)
	}
}
