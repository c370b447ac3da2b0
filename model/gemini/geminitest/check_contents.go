package geminitest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// turn is a content with what the rules about turns need.
type turn struct {
	role         string
	calls        []call
	answers      []call
	signed       bool // its first call has a signature
	firstAt      int
	other, texts bool
	// invoked are the ids of calls that the vendor ran.
	invoked []string
}

type call struct{ id, name string }

func (c *checker) contents(raw []byte) {
	all := c.list(raw, "contents")
	if len(all) == 0 {
		c.fail("* GenerateContentRequest.contents: contents is not specified\n")
		return
	}
	turns := make([]turn, len(all))
	for i, raw := range all {
		at := fmt.Sprintf("contents[%d]", i)
		o := c.object(raw, at, "role", "parts")
		t := &turns[i]
		switch t.role = c.str(o, at, "role"); t.role {
		case "user", "model":
		default:
			c.fail("Please use a valid role: user, model.")
		}
		parts := c.list(o["parts"], at+".parts")
		if len(parts) == 0 {
			c.fail("* GenerateContentRequest.%s.parts: contents.parts must not be empty.\n", at)
		}
		for j, p := range parts {
			c.part(t, p, fmt.Sprintf("%s.parts[%d]", at, j), j)
		}
		c.order(turns[:i+1])
	}
	last := &turns[len(turns)-1]
	if last.role != "user" {
		c.fail("Please ensure that multiturn requests end with a user role or a function response.")
	}
	c.signatures(turns)
}

// order checks the newest turn against the one before it (docs/function-calling).
func (c *checker) order(turns []turn) {
	t := &turns[len(turns)-1]
	before := &turn{}
	if len(turns) > 1 {
		before = &turns[len(turns)-2]
	}
	switch {
	case len(t.calls) > 0 && before.role != "user":
		c.fail("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	case len(t.answers) > 0 && len(before.calls) == 0:
		c.fail("Please ensure that function response turn comes immediately after a function call turn.")
	case len(t.answers) != len(before.calls):
		c.fail("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
	}
	if c.problem != "" {
		return
	}
	for i, a := range t.answers {
		want := before.calls[i]
		if a.name != want.name || a.id != want.id {
			c.fail("Function response %q (id %q) does not match its function call %q (id %q).", a.name, a.id, want.name, want.id)
		}
	}
}

// signatures checks the calls of the current turn (docs/thought-signatures): the first call of each step must have a
// signature.
func (c *checker) signatures(turns []turn) {
	if c.generation < 300 {
		return
	}
	from := 0
	for i := range turns {
		if turns[i].role == "user" && len(turns[i].answers) == 0 {
			from = i
		}
	}
	for i := from; i < len(turns); i++ {
		if t := &turns[i]; len(t.calls) > 0 && !t.signed {
			c.fail("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and "+
				"missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. "+
				"Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", t.calls[0].name, t.firstAt+1)
		}
	}
}

var dataMembers = []string{
	"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
}

func (c *checker) part(t *turn, raw []byte, at string, n int) {
	p := c.object(raw, at, append([]string{"thought", "thoughtSignature"}, dataMembers...)...)
	kind := ""
	for _, k := range dataMembers {
		if p[k] == nil {
			continue
		}
		if kind != "" {
			c.fail("Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", at, k)
		}
		kind = k
	}
	label := kind
	switch kind {
	case "":
		c.fail("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", at)
	case "text":
		t.texts = true
		if string(p["thought"]) == "true" {
			label = "thought"
		}
		if c.str(p, at, "text") == "" && p["thoughtSignature"] == nil {
			c.fail("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", at)
		}
	case "functionCall":
		f := c.object(p[kind], at+".function_call", "name", "args", "id")
		k := call{c.str(f, at, "id"), c.name(f, at+".function_call")}
		var args object
		if f["args"] != nil && (json.Unmarshal(f["args"], &args) != nil || args == nil) {
			c.fail("Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct)", at)
		}
		if t.role != "model" {
			c.fail("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		if len(t.calls) == 0 {
			t.signed, t.firstAt = p["thoughtSignature"] != nil, n
		}
		if k.id != "" && slices.ContainsFunc(t.calls, func(o call) bool { return o.id == k.id }) {
			c.fail("Duplicate function call id: %s", k.id)
		}
		if c.vertex && k.id != "" {
			c.fail("Invalid JSON payload received. Unknown name \"id\" at '%s.function_call': Cannot find field.", at)
		}
		t.calls = append(t.calls, k)
		label = "call " + k.name
	case "functionResponse":
		c.response(t, p[kind], at+".function_response")
	case "executableCode", "codeExecutionResult":
		c.ran(t, kind, p[kind], at+"."+kind)
	case "toolCall", "toolResponse":
		if !c.mixes {
			c.fail("%s: tool calls of the server are only allowed with include_server_side_tool_invocations.", at)
		}
		o := c.object(p[kind], at+"."+kind, "id", "toolType", "args", "response")
		if id := c.str(o, at, "id"); kind == "toolResponse" && !slices.Contains(t.invoked, id) {
			c.fail("%s: there is no tool call %q.", at, id)
		} else {
			t.invoked = append(t.invoked, id)
		}
	case "inlineData":
		c.blob(
			p[kind], at+".inline_data", "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf",
			"text/", "audio/", "video/",
		)
	case "fileData":
		f := c.object(p[kind], at+".file_data", "fileUri", "mimeType")
		if c.str(f, at, "fileUri") == "" {
			c.fail("* GenerateContentRequest.%s.file_data.file_uri: [REQUIRED_FIELD_MISSING]", at)
		}
	}
	if raw := p["thoughtSignature"]; raw != nil {
		c.signature(c.str(p, at, "thoughtSignature"), label, at)
	}
}

// ran checks a program that the vendor ran and its result.
func (c *checker) ran(t *turn, kind string, raw []byte, at string) {
	if t.role != "model" {
		c.fail("%s is only valid in a model turn.", at)
	}
	if kind == "executableCode" {
		o := c.object(raw, at, "id", "language", "code")
		if c.str(o, at, "code") == "" || c.str(o, at, "language") != "PYTHON" {
			c.fail("Invalid value at '%s'", at)
		}
		return
	}
	o := c.object(raw, at, "id", "outcome", "output")
	if outcome := c.str(o, at, "outcome"); !strings.HasPrefix(outcome, "OUTCOME_") {
		c.fail("Invalid value at '%s.outcome', %q", at, outcome)
	}
}

func (c *checker) name(f object, at string) string {
	name := c.str(f, at, "name")
	if name == "" {
		c.fail("* GenerateContentRequest.%s.name: Name cannot be empty.\n", at)
	} else if !functionName.MatchString(name) {
		c.fail("* GenerateContentRequest.%s.name: [FIELD_INVALID] Invalid function name.", at)
	}
	return name
}

func (c *checker) response(t *turn, raw []byte, at string) {
	f := c.object(raw, at, "name", "response", "id", "parts")
	k := call{c.str(f, at, "id"), c.name(f, at)}
	if t.role != "user" || t.other {
		c.fail("Please ensure that function response turn comes immediately after a function call turn.")
	}
	var response object
	if json.Unmarshal(f["response"], &response) != nil || response == nil {
		c.fail("Invalid value at '%s.response' (type.googleapis.com/google.protobuf.Struct)", at)
	}
	parts := c.list(f["parts"], at+".parts")
	if len(parts) > 0 && c.generation < 300 {
		c.fail("Multimodal function responses are not supported for this model.")
	}
	for i, p := range parts {
		at := fmt.Sprintf("%s.parts[%d]", at, i)
		o := c.object(p, at, "inlineData")
		c.blob(o["inlineData"], at+".inline_data", "image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
	}
	t.answers = append(t.answers, k)
}

func (c *checker) blob(raw []byte, at string, kinds ...string) {
	b := c.object(raw, at, "mimeType", "data")
	mime := c.str(b, at, "mimeType")
	if !slices.ContainsFunc(kinds, func(k string) bool { return k == mime || strings.HasSuffix(k, "/") && strings.HasPrefix(mime, k) }) {
		c.fail("Unsupported MIME type: %s", mime)
	}
	data, err := base64.StdEncoding.DecodeString(c.str(b, at, "data"))
	if err != nil {
		c.fail("Invalid value at '%s.data' (TYPE_BYTES), Base64 decoding failed", at)
	} else if len(data) == 0 {
		c.fail("Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting")
	}
}

// placeholders are accepted as the signature of any call (docs/thought-signatures, FAQ).
var placeholders = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

func (c *checker) signature(s, label, at string) {
	if slices.Contains(placeholders, s) && strings.HasPrefix(label, "call ") {
		return
	}
	part, ok := c.server.known(s)
	if _, err := base64.StdEncoding.DecodeString(s); err != nil && !ok {
		c.fail("Invalid value at '%s.thought_signature' (TYPE_BYTES), Base64 decoding failed for %q", at, s)
	} else if !ok {
		c.fail("Corrupted thought signature.")
	} else if part != label {
		c.fail("Thought signature is not valid: it is of %s, and comes with %s.", part, label)
	}
}
