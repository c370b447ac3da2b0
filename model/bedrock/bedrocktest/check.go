package bedrocktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// check returns the API's reason to refuse a request.
func (s *Server) check(r *http.Request, body []byte) *vendortest.Refusal {
	escaped, ok := strings.CutPrefix(r.URL.EscapedPath(), "/model/")
	id, operation, _ := strings.Cut(escaped, "/")
	id, err := url.PathUnescape(id)
	switch {
	case !ok || err != nil || !slices.Contains([]string{"converse", "converse-stream", "count-tokens"}, operation):
		return refusal(http.StatusNotFound, "UnknownOperationException", "Unknown operation")
	case r.Method != http.MethodPost:
		return refusal(http.StatusMethodNotAllowed, "UnknownOperationException", "Unknown operation")
	case r.Header.Get("Content-Type") != "application/json":
		return invalid("Unable to parse the request: its content type is not application/json")
	}
	v, plain, profile, found := modelOf(id)
	switch {
	case !found:
		return invalid("The provided model identifier is invalid.")
	case operation == "count-tokens" && (profile || !v.claude):
		return invalid("The provided model doesn't support counting tokens.")
	case v.profile && !profile && operation != "count-tokens":
		return invalid("Invocation of model ID " + id + " with on-demand throughput isn’t supported. " +
			"Retry your request with the ID or ARN of an inference profile that contains this model.")
	}
	c := &checker{server: s, vendor: v, model: plain, stream: operation == "converse-stream", ids: map[string]bool{}, names: map[string]bool{}}
	body = shorten(body)
	if operation == "count-tokens" {
		c.count(body)
	} else {
		c.request(body)
	}
	if c.problem != "" {
		return invalid(c.problem)
	}
	window := s.Window
	if window == 0 {
		window = 1_000_000
	}
	if n := len(body) / 4; n > window {
		if v.claude {
			return invalid(fmt.Sprintf("The model returned the following errors: prompt is too long: %d tokens > %d maximum", n, window))
		}
		return invalid("Input is too long for requested model.")
	}
	return nil
}

// shorten replaces each long file by "#" and its length, so that checking a request does not take time in proportion
// to its files. Files also do not count as tokens.
func shorten(body []byte) []byte {
	const long = 4 << 10
	mark := []byte(`"bytes":"`)
	var short []byte
	for {
		i := bytes.Index(body, mark)
		if i < 0 {
			return append(short, body...)
		}
		i += len(mark)
		short = append(short, body[:i]...)
		body = body[i:]
		n := bytes.IndexByte(body, '"')
		if n < long || n%4 != 0 || len(bytes.Trim(body[:n], base64Letters)) > 0 {
			continue
		}
		short = strconv.AppendInt(append(short, '#'), int64(n), 10)
		body = body[n:]
	}
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

func invalid(message string) *vendortest.Refusal {
	return refusal(http.StatusBadRequest, "ValidationException", message)
}

// checker checks one request and keeps the first problem.
type checker struct {
	server  *Server
	vendor  vendor
	model   string
	stream  bool
	problem string

	caches int
	ids    map[string]bool
	names  map[string]bool // of documents
	tools  map[string]bool
	most   int64
	forced bool
	// The sampling parameters; greedy decoding needs topK 1.
	topK, temperature, topP string
	strict                  int
	// budget is set if the model thinks by a budget. calls and thought report whether the last answer called a tool,
	// and whether it began with thinking.
	budget  bool
	calls   bool
	thought bool
}

func (c *checker) fail(format string, args ...any) {
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
}

// constraint fails with the API's error for a value that it validates itself.
func (c *checker) constraint(value, at, rule string) {
	c.fail("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s", value, at, rule)
}

const (
	extraneous = "Malformed input request: #/%s: extraneous key [%s] is not permitted, please reformat your input and try again."

	pattern  = "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
	tooShort = "Member must have length greater than or equal to 1"
)

type object = map[string]json.RawMessage

// object parses an object whose members must be in known.
func (c *checker) object(raw []byte, at string, known ...string) object {
	var o object
	if json.Unmarshal(raw, &o) != nil || o == nil {
		c.fail("Unable to parse the request: %s is no object", at)
		return object{}
	}
	for k := range o {
		if !slices.Contains(known, k) {
			c.fail(extraneous, at, k)
		}
	}
	return o
}

// union parses an object with exactly one member.
func (c *checker) union(raw []byte, at string, known ...string) (kind string, value json.RawMessage) {
	o := c.object(raw, at, known...)
	if len(o) != 1 {
		c.fail("%s must have exactly one member set", at)
	}
	for k, v := range o {
		kind, value = k, v
	}
	return kind, value
}

func (c *checker) str(o object, at, key string) string {
	var s string
	if raw, ok := o[key]; !ok {
		c.constraint("null", at+"."+key, "Member must not be null")
	} else if json.Unmarshal(raw, &s) != nil {
		c.fail("Unable to parse the request: %s.%s is no string", at, key)
	}
	return s
}

func (c *checker) list(raw []byte, at string) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil {
		c.fail("Unable to parse the request: %s is no list", at)
	}
	return l
}

func (c *checker) request(body []byte) {
	if !json.Valid(body) {
		c.fail("Unable to parse the request: no JSON")
		return
	}
	o := c.object(body, "", "messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig", "additionalModelRequestFields",
		"additionalModelResponseFieldPaths", "requestMetadata", "performanceConfig", "serviceTier", "outputConfig", "promptVariables")
	c.inference(o)
	c.toolConfig(o)
	c.additional(o)
	c.system(o)
	c.guardrail(o)
	c.output(o)
	c.rest(o)
	c.messages(o)
	if c.caches > 4 {
		c.fail("A maximum of 4 cache points may be provided. Found %d.", c.caches)
	}
	if c.vendor.nova && len(c.tools) > 0 && c.topK != "1" {
		// The API itself accepts it, but then fails to write calls.
		c.fail("The stand-in wants greedy decoding of Nova where there are tools: topK is %q", c.topK)
	}
}

// count checks a request to count tokens.
func (c *checker) count(body []byte) {
	_, in := c.union(c.object(body, "", "input")["input"], "input", "converse", "invokeModel")
	o := c.object(in, "input.converse", "messages", "system", "toolConfig", "additionalModelRequestFields")
	c.toolConfig(o)
	c.additional(o)
	c.system(o)
	c.messages(o)
}

func (c *checker) inference(o object) {
	raw, ok := o["inferenceConfig"]
	if !ok {
		return
	}
	in := c.object(raw, "inferenceConfig", "maxTokens", "temperature", "topP", "stopSequences")
	if raw, ok := in["maxTokens"]; ok && (json.Unmarshal(raw, &c.most) != nil || c.most < 1) {
		c.constraint(string(raw), "inferenceConfig.maxTokens", "Member must have value greater than or equal to 1")
	}
	if c.most > 128_000 {
		c.fail("The maximum tokens you requested exceeds the model limit of 128000. " +
			"Try again with a maximum tokens value that is lower than 128000.")
	}
	c.temperature, c.topP = string(in["temperature"]), string(in["topP"])
	if p, err := strconv.ParseFloat(c.topP, 64); c.topP != "" && (err != nil || p < 0 || p > 1) {
		c.constraint(c.topP, "inferenceConfig.topP", "Member must have value between 0 and 1")
	}
	switch {
	case c.topP == "" || !c.vendor.claude:
	case claudeOf(c.model) >= 47 && c.topP != "1":
		c.fail(returned + "`top_p` is deprecated for this model.")
	case claudeOf(c.model) >= 41 && c.temperature != "":
		c.fail(returned + "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	}
	for i, raw := range c.optional(in, "stopSequences", "inferenceConfig.stopSequences") {
		var word string
		if json.Unmarshal(raw, &word) != nil || strings.TrimSpace(word) == "" {
			c.fail("The stop sequence at inferenceConfig.stopSequences.%d is blank", i)
		}
	}
}

func (c *checker) optional(o object, key, at string) []json.RawMessage {
	if raw, ok := o[key]; ok {
		return c.list(raw, at)
	}
	return nil
}

// cached counts a cache point.
func (c *checker) cached(raw []byte, at string) {
	c.caches++
	p := c.object(raw, at+".cachePoint", "type", "ttl")
	if c.str(p, at+".cachePoint", "type") != "default" {
		c.constraint("", at+".cachePoint.type", "Member must satisfy enum value set: [default]")
	}
	if string(p["ttl"]) == `"1h"` && c.vendor.caches && !c.vendor.hour {
		c.fail("You invoked a model that does not support a cache point with a ttl of 1h.")
	}
	if ttl := string(p["ttl"]); ttl != "" && ttl != `"1h"` && ttl != `"5m"` {
		c.constraint("", at+".cachePoint.ttl", "Member must satisfy enum value set: [5m, 1h]")
	}
	if !c.vendor.caches {
		c.fail("You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information.")
	}
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (c *checker) toolConfig(o object) {
	raw, ok := o["toolConfig"]
	if !ok {
		return
	}
	switch {
	case c.vendor.noTools:
		c.fail("This model doesn't support tool use.")
	case c.vendor.noToolStream && c.stream:
		c.fail("This model doesn't support tool use in streaming mode.")
	}
	config := c.object(raw, "toolConfig", "tools", "toolChoice")
	c.tools = map[string]bool{}
	served := false
	for i, raw := range c.optional(config, "tools", "toolConfig.tools") {
		at := fmt.Sprintf("toolConfig.tools.%d", i)
		kind, value := c.union(raw, at, "toolSpec", "cachePoint", "systemTool")
		if kind == "cachePoint" {
			if c.vendor.nova {
				c.fail(extraneous, fmt.Sprint("toolConfig/tools/", i), "cachePoint")
			}
			if i == 0 {
				c.fail("There is nothing available to cache.")
			}
			c.cached(value, at)
			continue
		}
		if kind == "systemTool" {
			if name := c.str(c.object(value, at+".systemTool", "name"), at+".systemTool", "name"); !slices.Contains(c.vendor.systemTools, name) {
				c.fail("This model doesn't support the system tool %s.", name)
			}
			served = true
			continue
		}
		c.tool(value, at+".toolSpec")
	}
	if len(c.tools) == 0 && !served {
		c.constraint("[]", "toolConfig.tools", tooShort)
	}
	if raw, ok := config["toolChoice"]; ok {
		c.choice(raw)
	}
}

func (c *checker) tool(raw []byte, at string) {
	t := c.object(raw, at, "name", "description", "inputSchema", "strict")
	name := c.str(t, at, "name")
	switch {
	case !toolName.MatchString(name):
		c.constraint(name, at+".name", pattern)
	case len(name) > 64:
		c.constraint(name, at+".name", "Member must have length less than or equal to 64")
	case c.vendor.nova && strings.Contains(name, "-"):
		c.fail("The model returned the following errors: Malformed input request: a tool's name has a hyphen: %s", name)
	case c.tools[name]:
		c.fail("The tool %s is already defined at toolConfig.tools.", name)
	}
	c.tools[name] = true
	if d, ok := t["description"]; ok && string(d) == `""` {
		c.constraint("", at+".description", tooShort)
	}
	_, value := c.union(t["inputSchema"], at+".inputSchema", "json")
	if string(t["strict"]) == "true" {
		c.strictTool(value)
	}
	var schema object
	if json.Unmarshal(value, &schema) != nil || string(schema["type"]) != `"object"` {
		c.fail("The value at %s.inputSchema.json.type must be one of the following: object.", at)
	}
	for k := range schema {
		switch {
		case c.vendor.nova && !slices.Contains([]string{"type", "properties", "required"}, k):
			c.fail(returned+extraneous, "toolConfig/tools/inputSchema", k)
		case slices.Contains([]string{"oneOf", "allOf", "anyOf"}, k):
			c.fail(returned + "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level")
		}
	}
	if _, ok := schema["properties"]; !ok && c.vendor.nova {
		c.fail(returned + "Malformed input request: #/toolConfig/tools/inputSchema: required key [properties] not found")
	}
	if strings.Contains(string(value), `"$ref":"`) && !c.vendor.claude {
		c.fail("The model returned the following errors: Invalid tool schema: references are not supported")
	}
}

// strictTool checks the schema of a strict tool.
func (c *checker) strictTool(value []byte) {
	const most = 20
	if c.strict++; c.strict > most {
		c.fail(returned+"Too many strict tools (%d). The maximum number of strict tools supported is 20.", c.strict)
	}
	if !c.vendor.schemas {
		c.fail("This model doesn't support the toolConfig.tools.toolSpec.strict field. Remove it and try again.")
	}
	var schema any
	if json.Unmarshal(value, &schema) == nil {
		c.closed(schema)
	}
}

func (c *checker) choice(raw []byte) {
	kind, value := c.union(raw, "toolConfig.toolChoice", "auto", "any", "tool")
	allowed := []string{"auto", "any", "tool"}[:1+c.vendor.choices]
	if !slices.Contains(allowed, kind) {
		c.fail("This model doesn't support the toolConfig.toolChoice.%s field. Remove toolConfig.toolChoice.%s and try again.", kind, kind)
	}
	c.forced = kind != "auto"
	if kind != "tool" {
		c.object(value, "toolConfig.toolChoice."+kind)
		return
	}
	if name := c.str(c.object(value, "toolConfig.toolChoice.tool", "name"), "toolConfig.toolChoice.tool", "name"); !c.tools[name] {
		c.fail("The tool %s at toolConfig.toolChoice is not defined at toolConfig.tools.", name)
	}
}

// additional checks the model's own parameters.
func (c *checker) additional(o object) {
	raw, ok := o["additionalModelRequestFields"]
	if !ok {
		return
	}
	var fields object
	if json.Unmarshal(raw, &fields) != nil {
		c.fail("Unable to parse the request: additionalModelRequestFields is no object")
	}
	switch {
	case c.vendor.nova:
		c.known(fields, "inferenceConfig", "reasoningConfig")
		in := c.object(orEmpty(fields["inferenceConfig"]), "additionalModelRequestFields.inferenceConfig", "topK")
		c.topK = string(in["topK"])
		if r, ok := fields["reasoningConfig"]; ok {
			p := c.object(r, "reasoningConfig", "type", "maxReasoningEffort")
			c.topK = "1" // it decodes in its own way
			if word := c.str(p, "reasoningConfig", "maxReasoningEffort"); !c.vendor.reasons ||
				!slices.Contains([]string{"low", "medium", "high"}, word) {
				c.fail(returned+"Malformed input request: reasoningConfig is not supported as %q", word)
			}
			if string(p["maxReasoningEffort"]) == `"high"` && (c.most > 0 || c.temperature != "" || c.topP != "") {
				c.fail("The model returned the following errors: temperature, topP and maxTokens cannot be used with maxReasoningEffort high")
			}
		}
	case c.vendor.claude:
		c.known(fields, "thinking", "output_config", "top_k", "anthropic_beta")
		c.thinking(fields)
		if raw, ok := fields["output_config"]; ok {
			c.effort(c.object(raw, "output_config", "effort", "format"), "output_config")
		}
	case strings.HasPrefix(c.model, "openai."):
		if e, ok := fields["reasoning_effort"]; ok && !slices.Contains([]string{`"low"`, `"medium"`, `"high"`}, string(e)) {
			c.fail("The model returned the following errors: reasoning_effort: Input should be 'low', 'medium' or 'high'")
		}
	}
}

// known refuses parameters that the model does not have, because some vendors refuse unknown ones.
func (c *checker) known(fields object, names ...string) {
	for name := range fields {
		if !slices.Contains(names, name) {
			c.fail(returned+extraneous, "", name)
		}
	}
}

// effort checks Claude's effort.
func (c *checker) effort(config object, at string) {
	raw, ok := config["effort"]
	if !ok {
		return
	}
	word, _ := strconv.Unquote(string(raw))
	switch {
	case !c.vendor.claude || !slices.Contains(efforts(c.model), word):
		c.fail(returned+"%s.effort: this model does not support the effort level %q", at, word)
	case c.forced && (word == "xhigh" || word == "max"):
		c.fail(returned+"%s.effort: without thinking the effort level is at most high", at)
	}
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}

const returned = "The model returned the following errors: "

func (c *checker) thinking(fields object) {
	raw, ok := fields["thinking"]
	if !ok {
		return
	}
	t := c.object(raw, "thinking", "type", "budget_tokens", "display")
	var budget int64
	switch kind := c.str(t, "thinking", "type"); {
	case kind == "enabled" && !thinksByBudget(c.model):
		c.fail(returned + `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".`)
	case kind == "disabled" || kind == "between_tools":
		if !slices.Contains(offs(c.model), kind) {
			c.fail(returned+`"thinking.type.%s" is not supported for this model.`, kind)
		}
		return
	case kind != "enabled" && kind != "adaptive":
		c.fail(returned + "thinking: Input tag does not match any of the expected tags")
	case kind == "adaptive" && thinksByBudget(c.model):
		c.fail(returned + "adaptive thinking is not supported on this model")
	case kind == "enabled" && (json.Unmarshal(t["budget_tokens"], &budget) != nil || budget < 1024):
		c.fail(returned + "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case kind == "enabled" && c.most > 0 && budget >= c.most:
		c.fail(returned + "`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	c.budget = budget > 0
	if c.forced {
		c.fail(returned + "Thinking may not be enabled when tool_choice forces tool use.")
	}
	if p, err := strconv.ParseFloat(c.topP, 64); err == nil && p < 0.95 {
		c.fail(returned + "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	}
	if c.temperature != "" && c.temperature != "1" {
		c.fail(returned + "`temperature` may only be set to 1 when thinking is enabled.")
	}
}

func (c *checker) system(o object) {
	parts := c.optional(o, "system", "system")
	if len(parts) > 0 && c.vendor.noSystem {
		c.fail("This model doesn't support system messages. " +
			"Try again without a system message or use a model that supports system messages.")
	}
	texts := 0
	for i, raw := range parts {
		at := fmt.Sprintf("system.%d", i)
		switch kind, value := c.union(raw, at, "text", "cachePoint", "guardContent"); kind {
		case "text":
			if texts++; texts > 1 && c.vendor.nova {
				c.fail("Malformed input request: #/system: expected maxItems: 1, actual: 2")
			}
			c.text(value, at, "SystemContentBlock")
		case "cachePoint":
			if i == 0 {
				c.fail("There is nothing available to cache.")
			}
			c.cached(value, at)
		}
	}
}

func (c *checker) text(raw []byte, at, in string) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		c.fail("Unable to parse the request: %s.text is no string", at)
	}
	if strings.TrimSpace(s) == "" {
		c.fail("The text field in the %s object at %s is blank. Add text to the text field, and try again.", in, at)
	}
}

func (c *checker) guardrail(o object) {
	raw, ok := o["guardrailConfig"]
	if !ok {
		return
	}
	known := []string{"guardrailIdentifier", "guardrailVersion", "trace"}
	if c.stream {
		known = append(known, "streamProcessingMode")
	}
	g := c.object(raw, "guardrailConfig", known...)
	if c.str(g, "guardrailConfig", "guardrailIdentifier") == "" || c.str(g, "guardrailConfig", "guardrailVersion") == "" {
		c.fail("The guardrail identifier or version is not valid.")
	}
	if t := string(g["trace"]); t != "" && t != `"enabled"` && t != `"disabled"` && t != `"enabled_full"` {
		c.constraint("", "guardrailConfig.trace", "Member must satisfy enum value set: [enabled, disabled, enabled_full]")
	}
	if t := string(g["streamProcessingMode"]); t != "" && t != `"sync"` && t != `"async"` {
		c.constraint("", "guardrailConfig.streamProcessingMode", "Member must satisfy enum value set: [sync, async]")
	}
}

func (c *checker) output(o object) {
	raw, ok := o["outputConfig"]
	if !ok {
		return
	}
	if !c.vendor.schemas {
		c.fail("This model doesn't support the outputConfig field. Remove outputConfig and try again.")
	}
	config := c.object(raw, "outputConfig", "textFormat", "effort")
	c.effort(config, "outputConfig")
	if _, ok := config["textFormat"]; !ok {
		return
	}
	format := c.object(config["textFormat"], "outputConfig.textFormat", "type", "structure")
	if c.str(format, "outputConfig.textFormat", "type") != "json_schema" {
		c.constraint("", "outputConfig.textFormat.type", "Member must satisfy enum value set: [json_schema]")
	}
	_, structure := c.union(format["structure"], "outputConfig.textFormat.structure", "jsonSchema")
	s := c.object(structure, "outputConfig.textFormat.structure.jsonSchema", "schema", "name", "description")
	var schema any
	if json.Unmarshal([]byte(c.str(s, "jsonSchema", "schema")), &schema) != nil {
		c.fail("The JSON schema in outputConfig is no JSON.")
	}
	c.closed(schema)
}

// closed checks an answer's schema for what the page structured-output does not support.
func (c *checker) closed(v any) {
	switch v := v.(type) {
	case []any:
		for _, in := range v {
			c.closed(in)
		}
	case map[string]any:
		if v["type"] == "object" && v["additionalProperties"] != false {
			c.fail("The JSON schema in outputConfig is not supported: " +
				"For 'object' type, 'additionalProperties' must be explicitly set to false")
		}
		for k, in := range v {
			switch k {
			case "minimum", "maximum", "multipleOf", "minLength", "maxLength", "maxItems", "not", "if", "prefixItems", "patternProperties":
				if _, named := in.(map[string]any); !named || k == "not" || k == "if" || k == "patternProperties" {
					c.fail("The JSON schema in outputConfig is not supported: property '%s' is not supported", k)
				}
			case "properties", "$defs":
				named, _ := in.(map[string]any)
				for _, one := range named {
					c.closed(one)
				}
				continue
			case "enum", "const", "default":
				continue
			}
			c.closed(in)
		}
	}
}

func (c *checker) rest(o object) {
	if raw, ok := o["performanceConfig"]; ok {
		if l := c.str(c.object(raw, "performanceConfig", "latency"), "performanceConfig", "latency"); l != "standard" && l != "optimized" {
			c.constraint("", "performanceConfig.latency", "Member must satisfy enum value set: [standard, optimized]")
		}
	}
	if raw, ok := o["serviceTier"]; ok {
		t := c.str(c.object(raw, "serviceTier", "type"), "serviceTier", "type")
		if !slices.Contains([]string{"priority", "default", "flex", "reserved"}, t) {
			c.constraint("", "serviceTier.type", "Member must satisfy enum value set: [priority, default, flex, reserved]")
		}
	}
	if raw, ok := o["requestMetadata"]; ok {
		var pairs map[string]string
		if json.Unmarshal(raw, &pairs) != nil || len(pairs) > 16 {
			c.constraint("", "requestMetadata", "Member must have length less than or equal to 16")
		}
	}
}
