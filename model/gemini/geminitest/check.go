package geminitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/model/internal/vendortest"
)

var paths = regexp.MustCompile(
	`^/(?:v1beta|v1beta1/(?:projects/[^/]+/locations/[^/]+/)?publishers/google)/models/([^/:]+):(streamGenerateContent|countTokens)$`,
)

// check returns the API's reason to refuse a request; nil accepts it.
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
	case path == nil && !isFile(r) || path != nil && r.Method != http.MethodPost:
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
	case path == nil:
		return s.file(r, body)
	case !strings.HasPrefix(path[1], "gemini-"):
		return no(http.StatusNotFound, "NOT_FOUND", "models/"+path[1]+" is not found for API version v1beta, or is not supported for "+
			"generateContent. Call ListModels to see the list of available models and their supported methods.")
	case path[2] == "streamGenerateContent" && r.URL.RawQuery != "alt=sse":
		return bad("this server answers with server-sent events only")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return bad("Invalid JSON payload received. Unexpected token.")
	}
	c := &checker{server: s, vertex: strings.HasPrefix(r.URL.Path, "/v1beta1/"), model: path[1], generation: generationOf(path[1])}
	counts := path[2] == "countTokens"
	if counts && !c.vertex {
		o := c.object(body, "request", "generateContentRequest")
		body = o["generateContentRequest"]
		if c.str(c.object(body, "request", append([]string{"model"}, requestMembers...)...), "request", "model") != "models/"+c.model {
			c.fail("generate_content_request.model must be models/%s", c.model)
		}
	}
	c.counts = counts
	c.shared(r)
	c.request(body)
	if c.problem != "" {
		return bad(c.problem)
	}
	window := s.Window
	if window == 0 {
		window = 1_048_576
	}
	if n := len(body) / 4; counts {
		return taken(fmt.Sprintf("{\n  \"totalTokens\": %d,\n  \"promptTokensDetails\": [{\"modality\": \"TEXT\", \"tokenCount\": %d}]\n}\n", n, n))
	} else if n > window {
		return bad(fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", n, window))
	}
	return nil
}

var number = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?-`)

// generationOf returns 205 for gemini-2.5, and the newest generation for names without a number.
func generationOf(model string) int {
	g := number.FindStringSubmatch(model)
	if g == nil {
		return 9900
	}
	major, _ := strconv.Atoi(g[1]) // the expression matches digits only
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// checker checks one request and keeps the first problem.
type checker struct {
	server     *Server
	vertex     bool
	model      string
	generation int
	problem    string
	tools      map[string]bool
	// servers are the requested tools of the vendor, by their members' names.
	servers map[string]bool
	// counts is set for countTokens. mixes is set if the vendor's tools and functions may be combined.
	counts, mixes bool
}

// taken returns the answer to a request that does not call a model.
func taken(body string) *vendortest.Refusal {
	return &vendortest.Refusal{Answer: Answer{Header: map[string]string{"Content-Type": "application/json; charset=UTF-8"}, Body: body}}
}

// shared checks the header that requests a service tier from Vertex AI.
func (c *checker) shared(r *http.Request) {
	tier := r.Header.Get("X-Vertex-Ai-Llm-Shared-Request-Type")
	switch {
	case tier == "":
	case !c.vertex || !strings.Contains(r.URL.Path, "/locations/global/"):
		c.fail("%s PayGo is only supported on the global endpoint.", tier)
	case tier != "flex" && tier != "priority":
		c.fail("Invalid value of X-Vertex-AI-LLM-Shared-Request-Type: %q", tier)
	}
}

func (c *checker) fail(format string, args ...any) {
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
}

type object = map[string]json.RawMessage

// object parses an object whose members must be in known. The API's names of places are in snake case.
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

var requestMembers = []string{
	"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent", "serviceTier", "labels",
}

func (c *checker) request(body []byte) {
	if !json.Valid(body) {
		c.fail("Invalid JSON payload received. Unexpected token.")
		return
	}
	known := requestMembers
	if c.counts && c.vertex {
		known = []string{"contents", "systemInstruction", "tools", "generationConfig"}
	} else if c.counts {
		known = append([]string{"model"}, known...)
	}
	o := c.object(body, "request", known...)
	switch tier := c.str(o, "request", "serviceTier"); {
	case tier == "":
	case c.vertex:
		c.fail("Invalid JSON payload received. Unknown name \"serviceTier\": Cannot find field.")
	case !slices.Contains([]string{"standard", "flex", "priority"}, tier):
		c.fail("Invalid value at 'service_tier', %q", tier)
	}
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

// serverTools are the members of the tools that the vendor runs, and the members that each may have.
var serverTools = map[string][]string{
	"googleSearch": {"timeRangeFilter", "searchTypes"}, "urlContext": {}, "codeExecution": {},
	"fileSearch": {"fileSearchStoreNames", "topK", "metadataFilter"}, "mcpServers": nil,
}

func (c *checker) allTools(raw []byte) {
	c.tools, c.servers = map[string]bool{}, map[string]bool{}
	for i, t := range c.list(raw, "tools") {
		at := fmt.Sprintf("tools[%d]", i)
		o := c.object(t, at, append([]string{"functionDeclarations"}, slices.Sorted(maps.Keys(serverTools))...)...)
		for j, d := range c.list(o["functionDeclarations"], at+".function_declarations") {
			c.function(d, fmt.Sprintf("%s.function_declarations[%d]", at, j))
		}
		for name, known := range serverTools {
			if o[name] != nil {
				c.serverTool(name, o[name], at+"."+name, known)
			}
		}
	}
}

func (c *checker) function(d []byte, at string) {
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
		c.fail("* GenerateContentRequest.%s: parameters and parameters_json_schema are mutually exclusive", at)
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

// serverTool checks a tool of the vendor.
func (c *checker) serverTool(name string, raw []byte, at string, known []string) {
	if c.servers[name] {
		c.fail("Duplicate tool: %s", name)
	}
	c.servers[name] = true
	first := map[string]int{"googleSearch": 200, "codeExecution": 200}[name]
	if first == 0 {
		first = 205
	}
	if c.generation < first {
		c.fail("Tool %s is not supported for models/%s", name, c.model)
	}
	switch name {
	case "mcpServers":
		for i, s := range c.list(raw, at) {
			at := fmt.Sprintf("%s[%d]", at, i)
			o := c.object(s, at, "name", "streamableHttpTransport")
			transport := c.object(o["streamableHttpTransport"], at, "url", "headers", "timeout", "sseReadTimeout", "terminateOnClose")
			if c.str(transport, at, "url") == "" {
				c.fail("* GenerateContentRequest.%s.url: [REQUIRED_FIELD_MISSING]", at)
			}
		}
	case "fileSearch":
		o := c.object(raw, at, known...)
		names := c.list(o["fileSearchStoreNames"], at)
		for _, n := range names {
			if !strings.HasPrefix(string(n), `"fileSearchStores/`) {
				c.fail("* GenerateContentRequest.%s: invalid file_search_store name %s", at, n)
			}
		}
		if len(names) == 0 {
			c.fail("* GenerateContentRequest.%s.file_search_store_names: [REQUIRED_FIELD_MISSING]", at)
		}
	case "googleSearch":
		if c.vertex {
			known = []string{"excludeDomains", "blockingConfidence", "searchTypes"}
		}
		c.object(raw, at, known...)
	default:
		c.object(raw, at, known...)
	}
	if c.vertex && (name == "fileSearch" || name == "mcpServers") {
		c.fail("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", name, at)
	}
}

// together checks how the vendor's tools are combined with each other and with functions (docs/tool-combination).
func (c *checker) together(mode string, invocations bool) {
	switch {
	case len(c.servers) == 0:
		if invocations {
			c.fail("include_server_side_tool_invocations is set without built-in tools.")
		}
		return
	case invocations && c.vertex:
		c.fail("Invalid JSON payload received. Unknown name \"includeServerSideToolInvocations\" at 'tool_config': Cannot find field.")
	case invocations && c.generation < 300:
		c.fail("Tool call context circulation is not enabled for models/%s", c.model)
	case c.vertex && c.generation < 300 && (len(c.tools) > 0 || c.servers["codeExecution"] && len(c.servers) > 1):
		c.fail("Multiple tools are supported only when they are all search tools.")
	case len(c.tools) > 0 && c.generation < 300:
		c.fail("Built-in tools ({google_search}) and Function Calling cannot be combined in the same request.")
	case c.servers["fileSearch"] && len(c.servers) > 1 && c.generation < 300:
		c.fail("File search cannot be combined with other tools.")
	case len(c.tools) > 0 && !invocations && !c.vertex:
		c.fail("Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.")
	case len(c.tools) > 0 && mode == "AUTO":
		c.fail("Function calling mode AUTO is not supported with built-in tools.")
	}
	c.mixes = invocations
}

func (c *checker) choice(raw []byte) {
	if raw == nil {
		c.together("", false)
		return
	}
	o := c.object(raw, "tool_config", "functionCallingConfig", "includeServerSideToolInvocations", "retrievalConfig")
	invocations := string(o["includeServerSideToolInvocations"]) == "true"
	if o["functionCallingConfig"] == nil {
		c.together("", invocations)
		return
	}
	f := c.object(o["functionCallingConfig"], "tool_config.function_calling_config", "mode", "allowedFunctionNames")
	mode := c.str(f, "tool_config.function_calling_config", "mode")
	if len(c.tools) == 0 {
		c.fail("Function calling config is set without function_declarations.")
	}
	if !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, mode) {
		c.fail("Invalid value at 'tool_config.function_calling_config.mode', %q", mode)
	}
	if mode == "VALIDATED" && c.generation < 205 {
		c.fail("Function calling mode VALIDATED is not supported for models/%s", c.model)
	}
	c.together(mode, invocations)
	var only []string
	if names := f["allowedFunctionNames"]; names != nil && json.Unmarshal(names, &only) != nil {
		c.fail("Invalid value at 'tool_config.function_calling_config.allowed_function_names'")
	}
	for _, name := range only {
		if mode != "ANY" && mode != "VALIDATED" {
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
	if mime == "application/json" && len(c.servers) > 0 && c.generation < 300 {
		c.fail("Tool use with a response mime type: 'application/json' is unsupported")
	}
	c.sampling(o)
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

// sampling checks topP and seed.
func (c *checker) sampling(o object) {
	var share *float64
	if raw := o["topP"]; raw != nil && (json.Unmarshal(raw, &share) != nil || *share <= 0 || *share > 1) {
		c.fail("* GenerateContentRequest.generation_config.top_p: top_p must be in the range (0.0, 1.0]")
	}
	var seed int32
	if raw := o["seed"]; raw != nil && json.Unmarshal(raw, &seed) != nil {
		c.fail("Invalid value at 'generation_config.seed' (TYPE_INT32), %s", raw)
	}
}

// lightest reports whether a model of Gemini 3 has the level MINIMAL (docs/thinking).
func (c *checker) lightest() bool {
	return strings.Contains(c.model, "lite") || strings.Contains(c.model, "flash") && c.generation <= 306
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
	case level == "MINIMAL" && !c.lightest():
		c.fail("'minimal' is not a supported thinking level for this model. Allowed values are: medium, low, high.")
	case budget != nil && *budget == 0 && strings.Contains(c.model, "pro"):
		c.fail("Budget 0 is invalid. This model only works in thinking mode.")
	case budget != nil && *budget == 0 && string(t["includeThoughts"]) == "true":
		c.fail("Unable to submit request because thinking_config.include_thoughts is only enabled when thinking is enabled.")
	case budget != nil && *budget > 0 && (*budget < least || *budget > most):
		c.fail("The thinking budget %d is invalid. Please choose a value between %d and %d.", *budget, least, most)
	}
}
