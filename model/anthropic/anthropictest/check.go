package anthropictest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// largest is the maximum size of a request (api/errors, request size limits).
const largest = 32 << 20

// latest is the version of the API that refuses sampling parameters.
const latest = "2026-10-21"

// check returns the API's reason to refuse a request; status 0 means none.
func (s *Server) check(r *http.Request, body []byte) (status int, kind, message string) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if k := r.Header.Get("X-Api-Key"); k != "" {
		key = k
	}
	version := r.Header.Get("Anthropic-Version")
	counting := r.URL.Path == "/v1/messages/count_tokens"
	switch {
	case key == "":
		return http.StatusUnauthorized, "authentication_error", "x-api-key header is required"
	case key != Key:
		return http.StatusUnauthorized, "authentication_error", "invalid x-api-key"
	case !counting && r.URL.Path != "/v1/messages":
		return http.StatusNotFound, "not_found_error", "Not Found"
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "invalid_request_error", "Method Not Allowed"
	case version == "":
		return http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required"
	case version != latest && version != "2023-06-01":
		return http.StatusBadRequest, "invalid_request_error", "anthropic-version: \"" + version + "\" is not a valid version"
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return http.StatusBadRequest, "invalid_request_error", "content-type must be application/json"
	}
	c := &checker{server: s, version: version, counting: counting, ids: map[string]bool{}, toolsets: map[string]bool{}}
	c.allBetas(r.Header.Values("Anthropic-Beta"))
	c.request(body)
	if c.problem != "" {
		if c.lost {
			return http.StatusNotFound, "not_found_error", c.problem
		}
		if c.problem == unknownModel {
			return http.StatusNotFound, "not_found_error", "model: " + c.model
		}
		return http.StatusBadRequest, "invalid_request_error", c.problem
	}
	window := s.Window
	if window == 0 {
		window = 1_000_000
	}
	if n := (len(body) - c.files) / 4; n > window {
		return http.StatusBadRequest, "invalid_request_error", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, window)
	}
	return 0, "", ""
}

const unknownModel = "unknown model"

// checker checks one request and keeps the first problem.
type checker struct {
	server  *Server
	version string
	model   string
	problem string
	// counting is set for a count of tokens. lost is set if the problem is a missing file. coded is set if the
	// request has the tool that runs code.
	counting, lost, coded bool
	caches                int
	// files counts the bytes of images and documents, which are not tokens.
	files int
	// aside are the long files, which are not parsed again at each level.
	aside [][]byte
	// short is set after a cache point of five minutes.
	short bool
	ids   map[string]bool
	// serverCalls are the ids of calls of tools that the vendor ran.
	serverCalls map[string]bool
	// openCalls are the calls without a result so far, with their tools.
	openCalls map[string]string
	// tools are the declared tools; the value reports whether it is offered.
	tools map[string]bool
	// betas are the request's betas, toolsets the names of the MCP servers with a toolset.
	betas, toolsets map[string]bool
	// effort is the requested effort.
	effort string
	// strict counts the strict tools.
	strict int
	// compacts is set if the request asks the vendor to summarise.
	compacts bool
	most     int64
	forced   bool
	// budget is set if the model thinks by a budget.
	budget bool
	// last describes the last answer.
	last lastAnswer
}

// lastAnswer is what the checks of a request's end need.
type lastAnswer struct {
	// calls is set if the answer called a tool.
	calls bool
	// thought is set if it began with thinking.
	thought bool
	// served is set if it contains a tool that the vendor runs. It may then be the last message, because the vendor
	// continues it (stop reason pause_turn).
	served bool
}

func (c *checker) fail(format string, args ...any) {
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
}

type object = map[string]json.RawMessage

// object parses an object whose members must be in known.
func (c *checker) object(raw []byte, at string, known ...string) object {
	var o object
	if json.Unmarshal(raw, &o) != nil || o == nil {
		c.fail("%s: Input should be a valid dictionary", at)
		return object{}
	}
	for k := range o {
		if !slices.Contains(known, k) {
			c.fail("%s: Extra inputs are not permitted", strings.TrimPrefix(at+"."+k, "."))
		}
	}
	return o
}

func (c *checker) str(o object, at, key string) string {
	var s string
	switch raw, ok := o[key]; {
	case !ok:
		c.fail("%s: Field required", strings.TrimPrefix(at+"."+key, "."))
	case json.Unmarshal(raw, &s) != nil:
		c.fail("%s: Input should be a valid string", strings.TrimPrefix(at+"."+key, "."))
	}
	return s
}

func (c *checker) list(raw []byte, at string) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil {
		c.fail("%s: Input should be a valid list", at)
	}
	return l
}

// aside begins the replacement of a long file.
const aside = "aside:"

// setAside replaces long files in a body.
func (c *checker) setAside(body []byte) []byte {
	const begin, long = `"data":"`, 64 << 10
	var out []byte
	for {
		i := bytes.Index(body, []byte(begin))
		if i < 0 {
			return append(out, body...)
		}
		i += len(begin)
		n := bytes.IndexByte(body[i:], '"')
		if n < long {
			out = append(out, body[:i]...)
		} else {
			out = strconv.AppendInt(append(append(out, body[:i]...), aside...), int64(len(c.aside)), 10)
			c.aside = append(c.aside, body[i:i+n])
			i += n
		}
		body = body[i:]
	}
}

func (c *checker) request(body []byte) {
	body = c.setAside(body)
	c.serverCalls, c.openCalls = map[string]bool{}, map[string]string{}
	if !json.Valid(body) {
		c.fail("The request body is not valid JSON")
		return
	}
	known := []string{
		"model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking", "stop_sequences", "stream",
		"cache_control", "metadata", "output_config", "service_tier", "context_management", "mcp_servers", "container", "inference_geo", "speed",
	}
	if c.version != latest {
		known = append(known, "temperature", "top_p", "top_k")
	}
	if c.server.bedrock {
		// It has neither the automatic cache point nor the members that are in the path.
		known = slices.DeleteFunc(known, func(k string) bool {
			return slices.Contains([]string{
				"model", "stream", "cache_control", "service_tier",
				"mcp_servers", "container", "inference_geo", "speed",
			}, k)
		})
		known = append(known, "anthropic_version", "anthropic_beta")
	}
	if c.server.vertex {
		known = slices.DeleteFunc(known, func(k string) bool {
			return slices.Contains([]string{"model", "cache_control", "service_tier", "mcp_servers", "container", "inference_geo", "speed"}, k)
		})
		known = append(known, "anthropic_version")
	}
	if c.counting {
		if known = countMembers; c.server.vertex {
			known = append(slices.Clone(known), "anthropic_version")
		}
	}
	o := c.object(body, "", known...)
	c.coded = bytes.Contains(o["tools"], []byte(`"type":"code_execution_`))
	switch {
	case c.server.bedrock || c.server.vertex:
		c.bodyVersion(o)
		if c.server.bedrock {
			c.bodyBetas(o)
		}
		c.counted(o)
	default:
		c.model = c.str(o, "", "model")
	}
	if !c.server.bedrock && !c.counting && string(o["stream"]) != "true" {
		c.fail("stream: this server answers streams only")
	}
	if c.problem == "" && !strings.HasPrefix(c.model, "claude-") {
		c.fail(unknownModel)
	}
	if c.counting {
		c.most = 128_000
	} else if json.Unmarshal(o["max_tokens"], &c.most) != nil || c.most < 1 {
		c.fail("max_tokens: Field required")
	}
	if c.most > 128_000 {
		c.fail("max_tokens: %d > 128000, which is the maximum allowed number of output tokens for %s", c.most, c.model)
	}
	c.sampling(o)
	if tier, ok := o["service_tier"]; ok && string(tier) != `"auto"` && string(tier) != `"standard_only"` {
		c.fail("service_tier: Input should be 'auto' or 'standard_only'")
	}
	c.contextManagement(o)
	c.cached(o, "")
	c.output(o)
	c.allTools(o)
	c.servers(o)
	c.thinking(o)
	c.system(o)
	for i, raw := range c.optional(o, "stop_sequences") {
		var word string
		if json.Unmarshal(raw, &word) != nil || strings.TrimSpace(word) == "" {
			c.fail("stop_sequences.%d: each stop sequence must contain non-whitespace", i)
		}
	}
	c.messages(o)
	if c.caches > 4 {
		c.fail("A maximum of 4 blocks with cache_control may be provided. Found %d.", c.caches)
	}
}

func (c *checker) optional(o object, key string) []json.RawMessage {
	if raw, ok := o[key]; ok {
		return c.list(raw, key)
	}
	return nil
}

// cached counts a cache point.
func (c *checker) cached(o object, at string) {
	raw, ok := o["cache_control"]
	if !ok {
		return
	}
	c.caches++
	p := c.object(raw, at+".cache_control", "type", "ttl")
	if c.str(p, at+".cache_control", "type") != "ephemeral" {
		c.fail("%s.cache_control.type: Input should be 'ephemeral'", at)
	}
	ttl := strings.Trim(string(p["ttl"]), `"`)
	switch {
	case ttl != "" && ttl != "5m" && ttl != "1h":
		c.fail("%s.cache_control.ttl: Input should be '5m' or '1h'", at)
	case ttl == "1h" && c.short:
		c.fail("%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.", at)
	case ttl != "1h" && at != "":
		c.short = true
	}
}

var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (c *checker) allTools(o object) {
	c.tools = map[string]bool{}
	for i, raw := range c.optional(o, "tools") {
		at := fmt.Sprintf("tools.%d.custom", i)
		name := c.tool(raw, at)
		if _, twice := c.tools[name]; twice {
			c.fail("tools: Tool names must be unique.")
		}
		if name != "" {
			c.tools[name] = true
		}
	}
	if c.strict > 20 {
		c.fail("Too many strict tools: %d. Maximum allowed: 20.", c.strict)
	}
	raw, ok := o["tool_choice"]
	if !ok {
		return
	}
	if len(c.tools)+len(c.toolsets) == 0 {
		c.fail("tool_choice may only be specified while providing tools")
	}
	choice := c.object(raw, "tool_choice", "type", "name", "disable_parallel_tool_use")
	switch kind := c.str(choice, "tool_choice", "type"); kind {
	case "auto", "none":
	case "any":
		c.forced = true
	case "tool":
		c.forced = true
		if name := c.str(choice, "tool_choice", "name"); !c.tools[name] && !bytes.Contains(o["messages"], []byte(`"tool_addition"`)) {
			c.fail("Tool '%s' not found in provided tools", name)
		}
	default:
		c.fail("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'", kind)
	}
}

// tool checks the definition of a tool and returns its name.
func (c *checker) tool(raw []byte, at string) string {
	if kind := typeOf(raw); kind != "" && kind != "custom" {
		return c.serverTool(raw, kind, at)
	}
	t := c.object(raw, at, "name", "description", "input_schema", "cache_control", "type", "strict", "defer_loading")
	name := c.str(t, at, "name")
	if !toolName.MatchString(name) {
		c.fail("%s.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", at)
	}
	c.cached(t, at)
	var schema object
	if json.Unmarshal(t["input_schema"], &schema) != nil || string(schema["type"]) != `"object"` {
		c.fail("%s.input_schema.type: Field required", at)
	}
	var properties object
	if json.Unmarshal(schema["properties"], &properties) == nil {
		for k := range properties {
			if !propertyName.MatchString(k) {
				c.fail("%s.input_schema.properties: Property keys should match pattern '%s'", at, propertyName)
			}
		}
	}
	for _, k := range []string{"oneOf", "allOf", "anyOf"} {
		if _, ok := schema[k]; ok {
			c.fail("%s.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", at)
		}
	}
	if string(t["strict"]) == "true" {
		c.strict++
		if late(c.model) < 405 {
			c.fail("%s.strict: '%s' does not support strict tools.", at, c.model)
		}
		c.held(t["input_schema"])
	}
	return name
}

// sampling checks the sampling parameters.
func (c *checker) sampling(o object) {
	_, temperature := o["temperature"]
	raw, topP := o["top_p"]
	var p float64
	switch {
	case temperature && late(c.model) >= 407:
		c.fail("`temperature` is deprecated for this model.")
	case topP && late(c.model) >= 407:
		c.fail("`top_p` is deprecated for this model.")
	case temperature && topP && late(c.model) >= 401:
		c.fail("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	case topP && (json.Unmarshal(raw, &p) != nil || p <= 0 || p > 1):
		c.fail("top_p: Input should be less than or equal to 1")
	case topP && p < 0.95 && (bytes.Contains(o["thinking"], []byte("enabled")) || bytes.Contains(o["thinking"], []byte("adaptive"))):
		c.fail("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	}
}

// old matches the models that think by a budget.
var old = regexp.MustCompile(`^claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$)`)

func (c *checker) thinking(o object) {
	raw, ok := o["thinking"]
	if !ok {
		return
	}
	t := c.object(raw, "thinking", "type", "budget_tokens", "display")
	var budget int64
	switch kind := c.str(t, "thinking", "type"); {
	case kind == "enabled" && !old.MatchString(c.model):
		c.fail(`"thinking.type.enabled" is not supported for this model. ` +
			`Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`)
	case kind == "adaptive" && old.MatchString(c.model):
		c.fail("adaptive thinking is not supported on this model")
	case kind == "enabled" && (json.Unmarshal(t["budget_tokens"], &budget) != nil || budget < 1024):
		c.fail("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case kind == "enabled" && budget >= c.most:
		c.fail("`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	c.budget = budget > 0
	c.notThinking(t, string(bytes.Trim(t["type"], `"`)))
	if c.forced && typeOf(raw) != "disabled" {
		c.fail("Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// notThinking checks how thinking is turned off (build-with-claude/thinking-troubleshooting#supported-models).
func (c *checker) notThinking(t object, kind string) {
	g := late(c.model)
	family := func(name string) bool { return strings.Contains(c.model, "-"+name) }
	always := family("fable") || family("mythos") || family("opus") && g >= 505
	between := family("sonnet") && g >= 505
	switch {
	case kind == "disabled" && always, kind == "between_tools" && !between:
		c.fail(`"thinking.type.%s" is not supported for this model. `+
			`Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, kind)
	case kind == "disabled" && between:
		c.fail(`To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of {"type": "disabled"}.`)
	case (kind == "disabled" || kind == "between_tools") && len(t) > 1:
		c.fail("thinking.%s: Extra inputs are not permitted", kind)
	case (kind == "disabled" || kind == "between_tools") && g >= 500 && (c.effort == "xhigh" || c.effort == "max"):
		c.fail("thinking.%s is not supported at effort %s", kind, c.effort)
	case kind != "disabled" && kind != "between_tools" && kind != "adaptive" && kind != "enabled":
		c.fail("thinking: Input tag '%s' found using 'type' does not match any of the expected tags", kind)
	}
}

func (c *checker) system(o object) {
	for i, raw := range c.optional(o, "system") {
		at := fmt.Sprintf("system.%d", i)
		b := c.object(raw, at, "type", "text", "cache_control")
		if strings.TrimSpace(c.str(b, at, "text")) == "" {
			c.fail("system: text content blocks must be non-empty")
		}
		c.cached(b, at)
	}
}

func (c *checker) messages(o object) {
	all := c.optional(o, "messages")
	if len(all) == 0 {
		c.fail("messages: at least one message is required")
	}
	var waiting []string // calls without a result
	role := ""
	for i, raw := range all {
		at := fmt.Sprintf("messages.%d", i)
		if roleOf(raw) == "system" {
			next := ""
			if i+1 < len(all) {
				next = roleOf(all[i+1])
			}
			if len(waiting) > 0 {
				c.unanswered(i-1, waiting)
			}
			c.change(raw, at, role, next)
			continue
		}
		m := c.object(raw, at, "role", "content")
		before := role
		role = c.str(m, at, "role")
		switch {
		case role != "user" && role != "assistant":
			c.fail("%s: Unexpected role %q", at, role)
		case i == 0 && role != "user" && !bytes.Contains(raw, []byte(`"type":"compaction"`)):
			c.fail("messages: first message must use the \"user\" role")
		case role == before:
			c.fail("messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", role)
		}
		content := c.list(m["content"], at+".content")
		if len(content) == 0 {
			c.fail("%s: all messages must have non-empty content except for the optional final assistant message", at)
		}
		if role == "assistant" {
			open := maps.Clone(c.openCalls)
			waiting = c.answer(content, at)
			for id, name := range open {
				if c.openCalls[id] != "" {
					c.unresolved(name, id)
				}
			}
		} else {
			if slices.ContainsFunc(content, func(raw json.RawMessage) bool { return typeOf(raw) != "tool_result" }) {
				for id, name := range c.openCalls {
					c.unresolved(name, id)
				}
			}
			c.input(content, at, waiting)
			waiting = nil
		}
	}
	if len(waiting) > 0 {
		c.unanswered(len(all)-1, waiting)
	}
	if c.budget && c.last.calls && !c.last.thought && role == "user" {
		c.fail("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, "+
			"a final `assistant` message must start with a thinking block", len(all)-2)
	}
	if role == "assistant" && !old.MatchString(c.model) && !c.last.served {
		c.fail("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
}

func (c *checker) unanswered(message int, ids []string) {
	c.fail("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message, strings.Join(ids, ", "))
}

func (c *checker) unresolved(name, id string) {
	c.fail("`%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", name, id, name)
}

func roleOf(raw []byte) string {
	var m struct {
		Role string `json:"role"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return m.Role
}

// typeOf returns a block's type. Callers report an empty one.
func typeOf(raw []byte) string {
	var b struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return ""
	}
	return b.Type
}

var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// answer checks a message of the model and returns its calls.
func (c *checker) answer(content []json.RawMessage, message string) (calls []string) {
	c.last.served = false
	for i, raw := range content {
		at := fmt.Sprintf("%s.content.%d", message, i)
		kind := typeOf(raw)
		if i == 0 {
			c.last.thought = kind == "thinking" || kind == "redacted_thinking"
		}
		switch kind {
		case "text":
			b := c.object(raw, at, "type", "text", "cache_control", "citations")
			c.text(b, at)
			for j, cite := range c.optional(b, "citations") {
				at := fmt.Sprintf("%s.citations.%d", at, j)
				v := c.object(cite, at, "type", "cited_text", "encrypted_index", "title", "url")
				if c.str(v, at, "type") != "web_search_result_location" || c.str(v, at, "encrypted_index") == "" {
					c.fail("%s: Input should be a citation of a search", at)
				}
			}
		case "thinking":
			b := c.object(raw, at, "type", "thinking", "signature")
			text, sig := c.str(b, at+".thinking", "thinking"), c.str(b, at+".thinking", "signature")
			c.server.Recall()
			c.server.mu.Lock()
			given, ok := c.server.said[sig]
			c.server.mu.Unlock()
			switch {
			case !ok:
				c.fail("%s: Invalid `signature` in `thinking` block", at)
			case given != text:
				c.fail("%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "+
					"These blocks must remain as they were in the original response.", at)
			}
		case "redacted_thinking":
			b := c.object(raw, at, "type", "data")
			if c.str(b, at, "data") == "" {
				c.fail("%s: Invalid `data` in `redacted_thinking` block", at)
			}
		case "tool_use":
			b := c.object(raw, at, "type", "id", "name", "input", "cache_control", "caller")
			id := c.str(b, at+".tool_use", "id")
			if !callID.MatchString(id) {
				c.fail("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
			}
			if c.ids[id] {
				c.fail("%s: `tool_use` ids must be unique", at)
			}
			c.ids[id] = true
			calls = append(calls, id)
			if !toolName.MatchString(c.str(b, at+".tool_use", "name")) {
				c.fail("%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", at)
			}
			var input object
			if json.Unmarshal(b["input"], &input) != nil || input == nil {
				c.fail("%s.tool_use.input: Input should be a valid dictionary", at)
			}
			c.cached(b, at)
		case "image", "document", "tool_result":
			c.fail("%s: %s blocks are not permitted in assistant messages", at, kind)
		case "server_tool_use", "mcp_tool_use":
			c.last.served = true
			b := c.object(raw, at, "type", "id", "name", "input", "server_name", "caller", "cache_control")
			id := c.str(b, at, "id")
			c.serverCalls[id], c.openCalls[id] = true, c.str(b, at, "name")
		case "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
			"text_editor_code_execution_tool_result", "mcp_tool_result":
			c.last.served = true
			b := c.object(raw, at, "type", "tool_use_id", "content", "is_error", "caller", "cache_control")
			id := c.str(b, at, "tool_use_id")
			delete(c.openCalls, id)
			if !c.serverCalls[id] {
				c.fail("%s: unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `server_tool_use` "+
					"block before it.", at, kind, id, kind)
			}
		case "mcp_tool_listing":
			c.object(raw, at, "type", "mcp_server_name", "tools")
			if !c.betas[betaMCP] {
				c.fail("%s: Input tag 'mcp_tool_listing' found using 'type' does not match any of the expected tags", at)
			}
		case "compaction":
			c.object(raw, at, "type", "content", "encrypted_content", "signature", "tool_changes", "cache_control")
			if !c.compacts {
				c.fail("%s: compaction blocks require the compact_20260112 strategy in context_management.edits", at)
			}
		default:
			c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
		}
	}
	c.last.calls = len(calls) > 0
	return calls
}

// input checks a message of the user. It must begin with the results of all waiting calls.
func (c *checker) input(content []json.RawMessage, message string, waiting []string) {
	open := slices.Clone(waiting)
	results := true
	for i, raw := range content {
		at := fmt.Sprintf("%s.content.%d", message, i)
		kind := typeOf(raw)
		if kind != "tool_result" {
			if results && len(open) > 0 {
				c.fail("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s", message, strings.Join(open, ", "))
			}
			results = false
			c.content(raw, at, kind)
			continue
		}
		b := c.object(raw, at, "type", "tool_use_id", "content", "is_error", "cache_control")
		id := c.str(b, at+".tool_result", "tool_use_id")
		switch k := slices.Index(open, id); {
		case k >= 0:
			open = slices.Delete(open, k, k+1)
		case slices.Contains(waiting, id):
			c.fail("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", at, id)
		default:
			c.fail("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
				"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", at, id)
		}
		c.cached(b, at)
		for j, part := range c.optional(b, "content") {
			inner := fmt.Sprintf("%s.tool_result.content.%d", at, j)
			kind := typeOf(part)
			if string(b["is_error"]) == "true" && kind != "text" {
				c.fail("%s.tool_result: all content must be type \"text\" if \"is_error\" is true", at)
			}
			c.content(part, inner, kind)
		}
	}
	if len(open) > 0 {
		c.fail("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message, strings.Join(open, ", "))
	}
}

func (c *checker) text(b object, at string) {
	text := c.str(b, at+".text", "text")
	switch {
	case text == "":
		c.fail("messages: text content blocks must be non-empty")
	case strings.TrimSpace(text) == "":
		c.fail("messages: text content blocks must contain non-whitespace text")
	}
	c.cached(b, at)
}

func (c *checker) content(raw []byte, at, kind string) {
	switch kind {
	case "text":
		c.text(c.object(raw, at, "type", "text", "cache_control"), at)
	case "image":
		b := c.object(raw, at, "type", "source", "cache_control")
		c.source(b["source"], at+".image.source", "image/jpeg", "image/png", "image/gif", "image/webp")
		c.cached(b, at)
	case "document":
		b := c.object(raw, at, "type", "source", "title", "context", "citations", "cache_control")
		c.source(b["source"], at+".document.source", "application/pdf")
		c.cached(b, at)
	case "container_upload":
		b := c.object(raw, at, "type", "file_id", "cache_control")
		if !c.coded {
			c.fail("%s: container_upload blocks require the code execution tool", at)
		}
		c.file(b, at)
		c.cached(b, at)
	case "thinking", "redacted_thinking", "tool_use":
		c.fail("%s: %s blocks are not permitted in user messages", at, kind)
	default:
		c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
	}
}

func (c *checker) source(raw []byte, at string, kinds ...string) {
	s := c.object(raw, at, "type", "media_type", "data", "url", "file_id")
	switch kind := c.str(s, at, "type"); kind {
	case "base64":
		if m := c.str(s, at+".base64", "media_type"); !slices.Contains(kinds, m) {
			c.fail("%s.base64.media_type: Input should be %s", at, strings.Join(kinds, ", "))
		}
		data := c.str(s, at+".base64", "data")
		size := len(data)
		if n, err := strconv.Atoi(strings.TrimPrefix(data, aside)); err == nil && n < len(c.aside) {
			size = len(c.aside[n])
			if _, err := base64.StdEncoding.Decode(make([]byte, size), c.aside[n]); err != nil {
				c.fail("%s.base64.data: invalid base64 data", at)
			}
		} else if d, err := base64.StdEncoding.DecodeString(data); err != nil || len(d) == 0 {
			c.fail("%s.base64.data: invalid base64 data", at)
		}
		c.files += size
		most := 10
		if c.server.bedrock || c.server.vertex {
			most = 5
		}
		if size > most<<20 && slices.Contains(kinds, "image/png") {
			c.fail("%s.base64: image exceeds %d MB maximum: %d bytes > %d bytes", at, most, size, most<<20)
		}
	case "file":
		if c.server.bedrock || c.server.vertex {
			c.fail("%s: Input tag 'file' found using 'type' does not match any of the expected tags: 'base64'", at)
			return
		}
		if f := c.file(s, at); c.problem == "" && !kept(kinds, f.MIME) {
			c.fail("%s: File type %q is not supported here. Supported types: %s", at, f.MIME, strings.Join(kinds, ", "))
		}
	case "url":
		if c.server.bedrock || c.server.vertex {
			c.fail("%s: Input tag 'url' found using 'type' does not match any of the expected tags: 'base64'", at)
		}
		if u := c.str(s, at, "url"); !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
			c.fail("%s.url: Only HTTPS URLs are supported.", at)
		}
	case "text":
		if c.str(s, at, "media_type") != "text/plain" || c.str(s, at, "data") == "" {
			c.fail("%s.text.data: text sources must be plain and not empty", at)
		}
	default:
		c.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, kind)
	}
}
