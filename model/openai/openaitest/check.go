package openaitest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// largest is the maximum size of a request (guides/images-vision, file limits).
const largest = 50 << 20

// refusal is the reason to refuse a request.
type refusal struct {
	status        int
	code, message string
}

func (s *Server) check(r *http.Request, body []byte) *refusal {
	key := strings.TrimSpace(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer"))
	no := func(status int, code, message string) *refusal { return &refusal{status, code, message} }
	c := &checker{server: s, host: r.Host}
	switch {
	case s.Compatible && r.URL.Path != "/v1/chat/completions":
		return no(http.StatusNotFound, "", "404 page not found")
	case !s.Compatible && key == "":
		return no(http.StatusUnauthorized, "", "You didn't provide an API key. "+
			"You need to provide your API key in an Authorization header using Bearer auth.")
	case !s.Compatible && key != Key:
		return no(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+key[:min(len(key), 4)]+"****.")
	case strings.HasPrefix(r.URL.Path, "/v1/files"):
		return nil
	case r.Method != http.MethodPost:
		return no(http.StatusMethodNotAllowed, "", "Not allowed to "+r.Method+" on "+r.URL.Path)
	case s.unknownFile(body):
		return no(http.StatusBadRequest, "", "The file named in the request was not found or cannot be accessed.")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return no(http.StatusBadRequest, "", "you must provide a JSON content type")
	case !json.Valid(body):
		return no(http.StatusBadRequest, "", "We could not parse the JSON body of your request.")
	case r.URL.Path == "/v1/chat/completions":
		c.chat(body)
	case r.URL.Path == "/v1/responses":
		c.responses(body)
	case r.URL.Path == "/v1/responses/input_tokens":
		c.count(body)
	default:
		return no(http.StatusNotFound, "", "Invalid URL (POST "+r.URL.Path+")")
	}
	window := s.Window
	if window == 0 {
		window = 1_000_000
	}
	switch n := len(body) / 4; {
	case c.problem == unknownModel:
		return no(http.StatusNotFound, "model_not_found", "The model `"+c.model+"` does not exist or you do not have access to it.")
	case c.problem != "":
		return no(http.StatusBadRequest, c.code, c.problem)
	case n > window && r.URL.Path == "/v1/responses":
		return no(http.StatusBadRequest, "context_length_exceeded", "Your input exceeds the context window of this model. "+
			"Please adjust your input and try again.")
	case n > window:
		return no(http.StatusBadRequest, "context_length_exceeded", fmt.Sprintf("This model's maximum context length is %d tokens. "+
			"However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, n))
	}
	return nil
}

const unknownModel = "unknown model"

// checker checks one request and keeps the first problem.
type checker struct {
	// host is the server that the request was sent to.
	host    string
	server  *Server
	model   string
	thinks  bool
	code    string
	problem string
	tools   []string
	effort  string
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
		c.fail("Invalid type for '%s': expected an object, but got something else instead.", at)
		return object{}
	}
	for k := range o {
		if !slices.Contains(known, k) {
			c.fail("Unknown parameter: '%s'.", strings.TrimPrefix(at+"."+k, "."))
		}
	}
	return o
}

func (c *checker) str(o object, at, key string) string {
	var s *string
	switch raw, ok := o[key]; {
	case !ok:
		c.fail("Missing required parameter: '%s'.", strings.TrimPrefix(at+"."+key, "."))
	case json.Unmarshal(raw, &s) != nil || s == nil:
		c.fail("Invalid type for '%s': expected a string, but got something else instead.", strings.TrimPrefix(at+"."+key, "."))
	default:
		return *s
	}
	return ""
}

func (c *checker) list(raw []byte, at string) []json.RawMessage {
	var l []json.RawMessage
	if raw != nil && json.Unmarshal(raw, &l) != nil {
		c.fail("Invalid type for '%s': expected an array of objects.", at)
	}
	return l
}

func (c *checker) number(o object, key string, least int64) {
	var n int64
	if raw, ok := o[key]; ok && (json.Unmarshal(raw, &n) != nil || n < least) {
		c.fail("Invalid '%s': integer below minimum value. Expected a value >= %d, but got %s instead.", key, least, raw)
	}
}

var (
	known     = regexp.MustCompile(`^(gpt-|o\d|chatgpt-)`)
	reasoning = regexp.MustCompile(`^(o\d|gpt-[5-9])`)
	toolName  = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// common checks the members that both APIs have.
func (c *checker) common(o object) {
	c.model = c.str(o, "", "model")
	c.thinks = reasoning.MatchString(c.model) && !c.server.Compatible
	if c.problem == "" && !c.server.Compatible && !known.MatchString(c.model) {
		c.fail(unknownModel)
	}
	if string(o["stream"]) != "true" {
		c.fail("stream: this server answers streams only")
	}
	for _, k := range []string{"temperature", "top_p"} {
		if raw, ok := o[k]; ok && c.thinks && c.effort != "none" {
			c.code = "unsupported_value"
			c.fail("Unsupported value: '%s' does not support %s with this model. Only the default (1) value is supported.", k, raw)
		}
	}
	c.share(o)
	c.settings(o)
	for _, k := range []string{"tool_choice", "parallel_tool_calls"} {
		if _, ok := o[k]; ok && len(c.tools) == 0 {
			c.fail("Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", k, k)
		}
	}
}

// tool checks a tool with the members o.
func (c *checker) tool(o object, at string) {
	name := c.name(o, at)
	if slices.Contains(c.tools, name) {
		c.fail("Duplicate function name: '%s'.", name)
	}
	c.tools = append(c.tools, name)
	var schema object
	if json.Unmarshal(o["parameters"], &schema) != nil || string(schema["type"]) != `"object"` {
		c.fail("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", name)
	}
	if _, ok := schema["properties"]; !ok {
		c.fail("Invalid schema for function '%s': In context=(), object schema missing properties.", name)
	}
	for _, k := range []string{"oneOf", "allOf", "anyOf", "enum", "const", "not"} {
		if _, ok := schema[k]; ok {
			c.fail("Invalid schema for function '%s': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' "+
				"at the top level.", name)
		}
	}
	c.loose(o["parameters"], name, nil)
}

func (c *checker) name(o object, at string) string {
	name := c.str(o, at, "name")
	switch {
	case !toolName.MatchString(name):
		c.fail("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	case len(name) > 64:
		c.fail("Invalid '%s.name': string too long. Expected a string with maximum length 64, "+
			"but got a string with length %d instead.", at, len(name))
	}
	return name
}

// choice checks the tool choice. inner is the member that contains a name.
func (c *checker) choice(raw json.RawMessage, inner string) {
	if raw == nil {
		return
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if !slices.Contains([]string{"auto", "none", "required"}, word) {
			c.fail("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", word)
		}
		return
	}
	o := c.object(raw, "tool_choice", "type", "function", "name")
	if inner != "" {
		o = c.object(o[inner], "tool_choice."+inner, "name")
	}
	if name := c.str(o, "tool_choice", "name"); !slices.Contains(c.tools, name) {
		c.fail("Tool choice '%s' not found in 'tools' parameter.", name)
	}
}

// callID checks the id of a call.
func (c *checker) callID(id, at string, most int) {
	switch {
	case id == "":
		c.fail("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", at)
	case len(id) > most:
		c.fail("Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, most, len(id))
	}
}

var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// address checks the address of an image or a file.
func (c *checker) address(url, at string, kinds ...string) {
	rest, data := strings.CutPrefix(url, "data:")
	kind, content, ok := strings.Cut(rest, ";base64,")
	switch {
	case !data && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://"):
		c.fail("Invalid '%s'. Expected a valid URL, but got a value with an invalid format.", at)
	case !data:
	case !ok:
		c.fail("Invalid '%s'. Expected a base64-encoded data URL.", at)
	case !slices.Contains(kinds, kind):
		c.fail("Invalid MIME type. You uploaded %s, which is not supported: %s.", kind, strings.Join(kinds, ", "))
	default:
		if _, err := base64.StdEncoding.DecodeString(content); err != nil || content == "" {
			c.fail("Invalid base64 data in '%s'.", at)
		}
	}
}
