package openaitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// responses checks a request of Responses (api-reference/responses/create).
func (c *checker) responses(body []byte) {
	o := c.object(body, "", "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "temperature",
		"max_output_tokens", "reasoning", "include", "store", "stream", "text", "top_p", "metadata", "prompt_cache_key", "truncation",
		"service_tier", "prompt_cache_retention", "prompt_cache_options", "context_management", "max_tool_calls")
	for i, raw := range c.list(o["tools"], "tools") {
		c.anyTool(raw, fmt.Sprintf("tools[%d]", i))
	}
	c.model = c.str(o, "", "model")
	c.thinks = reasoning.MatchString(c.model) && !c.server.Compatible
	if raw, ok := o["reasoning"]; ok {
		r := c.object(raw, "reasoning", "effort", "summary", "context")
		if !c.thinks {
			c.code = "unsupported_parameter"
			c.fail("Unsupported parameter: 'reasoning.effort' is not supported with this model.")
		}
		if _, ok := r["effort"]; ok {
			c.tried(c.str(r, "reasoning", "effort"), false)
		}
		c.oneOf(r, "reasoning", "summary", "auto", "concise", "detailed")
	}
	c.common(o)
	c.choice(o["tool_choice"], "")
	c.number(o, "max_output_tokens", 16)
	for _, raw := range c.list(o["include"], "include") {
		if string(raw) == `"reasoning.encrypted_content"` && !c.thinks {
			c.fail("Encrypted content is not supported with this model.")
		}
		if !slices.Contains(includable, strings.Trim(string(raw), `"`)) {
			c.fail("Invalid value: %s. Supported values are: '%s'.", raw, strings.Join(includable, "', '"))
		}
	}
	c.number(o, "max_tool_calls", 1)
	c.oneOf(o, "", "truncation", "auto", "disabled")
	for i, raw := range c.list(o["context_management"], "context_management") {
		at := fmt.Sprintf("context_management[%d]", i)
		e := c.object(raw, at, "type", "compact_threshold")
		if c.oneOf(e, at, "type", "compaction") == "" {
			c.fail("Missing required parameter: '%s.type'.", at)
		}
		c.number(e, "compact_threshold", 1)
	}
	if string(o["store"]) != "false" {
		c.fail("store: nothing may be kept here")
	}
	if raw, ok := o["text"]; ok {
		text := c.object(raw, "text", "format", "verbosity")
		c.output(text["format"], "text.format")
		c.verbosity(text, "text")
	}
	c.input(c.list(o["input"], "input"))
}

// count checks a request to count tokens (api-reference/responses/input_tokens).
func (c *checker) count(body []byte) {
	o := c.object(body, "", "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text",
		"truncation", "conversation", "previous_response_id", "personality")
	c.model = c.str(o, "", "model")
	c.thinks = reasoning.MatchString(c.model)
	c.input(c.list(o["input"], "input"))
}

// input checks the items. Calls need their results, and reasoning the item that it led to.
func (c *checker) input(all []json.RawMessage) {
	if len(all) == 0 {
		c.fail("One of 'input' or 'previous_response_id' or 'prompt' or 'conversation_id' must be provided.")
	}
	calls := map[string]bool{} // and whether the result has come
	var order []string
	thought := "" // reasoning that waits for the item it led to
	for i, raw := range all {
		at := fmt.Sprintf("input[%d]", i)
		var head struct {
			Type string `json:"type"`
			Role string `json:"role"`
			ID   string `json:"id"`
			Call string `json:"call_id"`
		}
		if json.Unmarshal(raw, &head) != nil {
			c.fail("Invalid type for '%s': expected an object.", at)
			return
		}
		ours := hosted[head.Type] != nil
		leads := head.Type == "function_call" || head.Role == "assistant" || head.Type == "reasoning" || ours && head.Type != "compaction"
		if before, ok := c.server.behind(head.ID); ok && ours && thought != before {
			c.fail("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", head.ID, head.Type, before)
		}
		if thought != "" && !leads && head.Type != "compaction" {
			c.alone(thought)
		}
		if leads {
			thought = ""
		}
		switch head.Type {
		case "", "message":
			c.item(c.object(raw, at, "type", "role", "content", "id", "status", "phase"), at)
		case "reasoning":
			c.reasoning(c.object(raw, at, "type", "id", "summary", "encrypted_content", "content", "status"), at)
			thought = head.ID
		case "function_call":
			f := c.object(raw, at, "type", "id", "call_id", "name", "arguments", "status")
			c.callID(c.str(f, at, "call_id"), at+".call_id", 64)
			c.name(f, at)
			c.str(f, at, "arguments")
			if _, twice := calls[head.Call]; twice {
				c.fail("Duplicate item found with call_id %s. Remove duplicate items from your input and try again.", head.Call)
			}
			calls[head.Call] = false
			order = append(order, head.Call)
		case "function_call_output":
			f := c.object(raw, at, "type", "id", "call_id", "output", "status")
			if answered, ok := calls[head.Call]; !ok || answered {
				c.fail("No tool call found for function call output with call_id %s.", head.Call)
			}
			calls[head.Call] = true
			c.parts(f["output"], at+".output", "input_text", "input_image", "input_file")
		default:
			if !ours {
				c.fail("Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call', "+
					"'function_call_output' and others.", head.Type)
				continue
			}
			c.hosted(raw, head.Type, at)
		}
	}
	if thought != "" {
		c.alone(thought)
	}
	for _, id := range order {
		if !calls[id] {
			c.fail("No tool output found for function call %s.", id)
		}
	}
}

func (c *checker) alone(id string) {
	c.fail("Item '%s' of type 'reasoning' was provided without its required following item.", id)
}

func (c *checker) item(m object, at string) {
	switch role := c.str(m, at, "role"); role {
	case "user", "system", "developer":
		c.parts(m["content"], at+".content", "input_text", "input_image", "input_file")
	case "assistant":
		c.parts(m["content"], at+".content", "output_text", "refusal")
	default:
		c.fail("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role)
	}
}

// reasoning checks that reasoning is the model's own (guides/reasoning).
func (c *checker) reasoning(m object, at string) {
	id, sealed := c.str(m, at, "id"), c.str(m, at, "encrypted_content")
	if _, ok := m["summary"]; !ok {
		c.fail("Missing required parameter: '%s.summary'.", at)
	}
	for j, raw := range c.list(m["summary"], at+".summary") {
		s := c.object(raw, fmt.Sprintf("%s.summary[%d]", at, j), "type", "text")
		if c.str(s, at, "type") != "summary_text" {
			c.fail("Invalid value for '%s.summary[%d].type'.", at, j)
		}
	}
	c.server.Recall()
	c.server.mu.Lock()
	given, ok := c.server.said[sealed]
	c.server.mu.Unlock()
	switch {
	case !strings.HasPrefix(id, "rs_"):
		c.fail("Invalid '%s.id': '%s'. Expected an ID that begins with 'rs'.", at, id)
	case !c.thinks:
		c.fail("Reasoning input items can only be provided to a reasoning or computer use model.")
	case !ok || given != id:
		c.code = "invalid_encrypted_content"
		c.fail("The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", id)
	}
}

// parts checks content: a text, or parts of these kinds.
func (c *checker) parts(raw json.RawMessage, at string, kinds ...string) {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return
	}
	parts := c.list(raw, at)
	if len(parts) == 0 {
		c.fail("Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	for i, raw := range parts {
		at := fmt.Sprintf("%s[%d]", at, i)
		p := c.object(raw, at, "type", "text", "refusal", "image_url", "detail", "filename", "file_data", "file_url", "file_id", "annotations")
		kind := c.str(p, at, "type")
		if !slices.Contains(kinds, kind) {
			c.fail("Invalid value: '%s'. Supported values are: '%s'.", kind, strings.Join(kinds, "', '"))
			return
		}
		switch kind {
		case "input_text", "output_text":
			c.str(p, at, "text")
		case "input_image":
			if _, ok := p["file_id"]; ok {
				c.str(p, at, "file_id")
				continue
			}
			c.address(c.str(p, at, "image_url"), at+".image_url", pictures...)
		case "input_file":
			if _, ok := p["file_url"]; ok {
				c.address(c.str(p, at, "file_url"), at+".file_url")
				continue
			}
			if _, ok := p["file_id"]; ok {
				if _, data := p["file_data"]; data {
					c.fail("Mutually exclusive parameters: '%s'. Ensure you are only providing one of: 'file_id', 'file_data' or 'file_url'.", at)
				}
				c.str(p, at, "file_id")
				continue
			}
			c.str(p, at, "filename")
			c.address(c.str(p, at, "file_data"), at+".file_data", append(documents, "application/pdf")...)
		}
	}
}

// documents are the files other than PDF that Responses reads (guides/file-inputs).
var documents = []string{
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/vnd.oasis.opendocument.text",
	"application/rtf", "text/csv", "text/plain",
}
