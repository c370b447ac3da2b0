package openaitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// chat checks a request of Chat Completions (api-reference/chat/create).
func (c *checker) chat(body []byte) {
	o := c.object(body, "", "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "temperature", "stop", "max_tokens",
		"max_completion_tokens", "reasoning_effort", "stream", "stream_options", "response_format", "top_p", "seed", "store", "metadata",
		"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "service_tier", "verbosity", "web_search_options",
		"reasoning", "thinking", "chat_template_kwargs", "random_seed")
	for _, k := range []string{"reasoning", "thinking", "chat_template_kwargs", "random_seed"} {
		if _, ok := o[k]; ok && !c.server.Compatible {
			c.fail("Unknown parameter: '%s'.", k)
		}
	}
	for i, raw := range c.list(o["tools"], "tools") {
		at := fmt.Sprintf("tools[%d]", i)
		t := c.object(raw, at, "type", "function")
		if c.str(t, at, "type") != "function" {
			c.fail("Invalid value for '%s.type'. Supported values are: 'function' and 'custom'.", at)
		}
		f := c.object(t["function"], at+".function", "name", "description", "parameters", "strict")
		c.tool(f, at+".function")
		if string(f["strict"]) == "true" {
			c.strict(f["parameters"], c.str(f, at+".function", "name"))
		}
	}
	if _, ok := o["tools"]; ok && len(c.tools) == 0 {
		c.fail("Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	c.model = c.str(o, "", "model")
	c.thinks = reasoning.MatchString(c.model) && !c.server.Compatible
	if _, ok := o["reasoning_effort"]; ok {
		if word := c.str(o, "", "reasoning_effort"); !c.thinks && !c.server.Compatible {
			c.fail("Unrecognized request argument supplied: reasoning_effort")
		} else {
			c.tried(word, true)
		}
	}
	c.common(o)
	c.verbosity(o, "")
	switch effort := c.effort; {
	case len(c.tools) == 0 || c.server.Compatible:
	case strings.HasPrefix(c.model, "gpt-6-astra"), c.after("5.4") && effort != "" && effort != "none":
		c.fail("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. Please use /v1/responses instead.", c.model)
	}
	if _, ok := o["web_search_options"]; ok && !strings.Contains(c.model, "-search") {
		c.fail("Web search options not supported with this model.")
	}
	c.choice(o["tool_choice"], "function")
	c.number(o, "max_tokens", 1)
	c.number(o, "max_completion_tokens", 1)
	if _, ok := o["max_tokens"]; ok && c.thinks {
		c.code = "unsupported_parameter"
		c.fail("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	stops := c.list(o["stop"], "stop")
	switch {
	case len(stops) > 0 && c.thinks:
		c.fail("Unsupported parameter: 'stop' is not supported with this model.")
	case len(stops) > 4 && !c.server.Compatible:
		c.fail("Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length %d instead.", len(stops))
	}
	c.output(o["response_format"], "response_format")
	c.chatMessages(c.list(o["messages"], "messages"))
}

func (c *checker) chatMessages(all []json.RawMessage) {
	if len(all) == 0 {
		c.fail("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	var waiting []string
	systems := 0
	for i, raw := range all {
		at := fmt.Sprintf("messages[%d]", i)
		members := []string{"role", "content", "name", "tool_calls", "tool_call_id", "refusal"}
		if c.server.Compatible {
			members = append(members, "reasoning_content")
		}
		m := c.object(raw, at, members...)
		role := c.str(m, at, "role")
		if role != "tool" && len(waiting) > 0 {
			c.unanswered(waiting)
		}
		_, calls := m["tool_calls"]
		if calls && role != "assistant" {
			c.fail("Unknown parameter: '%s.tool_calls'.", at)
		}
		switch role {
		case "system", "developer":
			if systems++; systems > 1 || i > 0 {
				c.fail("%s: there is one system message here, and it comes first", at)
			}
			c.chatContent(m["content"], at+".content", "text")
		case "user":
			if c.server.Compatible {
				c.chatContent(m["content"], at+".content", "text", "image_url")
			} else {
				c.chatContent(m["content"], at+".content", "text", "image_url", "file", "input_audio")
			}
		case "assistant":
			waiting = c.chatAnswer(m, at)
		case "tool":
			c.chatContent(m["content"], at+".content", "text")
			id := c.str(m, at, "tool_call_id")
			k := slices.Index(waiting, id)
			if k < 0 {
				c.fail("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
				continue
			}
			waiting = slices.Delete(waiting, k, k+1)
		default:
			c.fail("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
		}
	}
	if len(waiting) > 0 {
		c.unanswered(waiting)
	}
}

func (c *checker) unanswered(ids []string) {
	c.fail("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
		"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

// chatAnswer checks a message of the model and returns its calls.
func (c *checker) chatAnswer(m object, at string) []string {
	raw, has := m["tool_calls"]
	if string(m["content"]) != "null" {
		c.chatContent(m["content"], at+".content", "text", "refusal")
	} else if !has {
		c.fail("Invalid value for 'content': expected a string, got null.")
	}
	if !has {
		return nil
	}
	var ids []string
	all := c.list(raw, at+".tool_calls")
	if len(all) == 0 {
		c.fail("Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	for i, raw := range all {
		at := fmt.Sprintf("%s.tool_calls[%d]", at, i)
		t := c.object(raw, at, "id", "type", "function")
		id := c.str(t, at, "id")
		c.callID(id, at+".id", 40)
		if slices.Contains(ids, id) {
			c.fail("Duplicate value for 'tool_call_id' of '%s' in message.", id)
		}
		ids = append(ids, id)
		if c.str(t, at, "type") != "function" {
			c.fail("Invalid value for '%s.type'.", at)
		}
		f := c.object(t["function"], at+".function", "name", "arguments")
		c.name(f, at+".function")
		arguments := c.str(f, at+".function", "arguments")
		// The vendor accepts any string here, but servers with chat templates parse it.
		var args object
		if c.server.Compatible && (json.Unmarshal([]byte(arguments), &args) != nil || args == nil) {
			c.fail("Can only get item pairs from a mapping.")
		}
	}
	return ids
}

// chatContent checks content: a text, or parts of these kinds.
func (c *checker) chatContent(raw json.RawMessage, at string, kinds ...string) {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return
	}
	parts := c.list(raw, at)
	if len(parts) == 0 {
		c.fail("Invalid value for 'content': expected a string, got null.")
	}
	for i, raw := range parts {
		at := fmt.Sprintf("%s[%d]", at, i)
		p := c.object(raw, at, "type", "text", "image_url", "file", "refusal")
		kind := c.str(p, at, "type")
		if !slices.Contains(kinds, kind) {
			c.fail("Invalid value: '%s'. Supported values are: '%s'.", kind, strings.Join(kinds, "', '"))
			return
		}
		switch kind {
		case "text":
			c.str(p, at, "text")
		case "image_url":
			u := c.object(p["image_url"], at+".image_url", "url", "detail")
			c.address(c.str(u, at+".image_url", "url"), at+".image_url.url", pictures...)
		case "file":
			f := c.object(p["file"], at+".file", "filename", "file_data", "file_id")
			if _, ok := f["file_id"]; ok {
				c.str(f, at+".file", "file_id")
				continue
			}
			c.str(f, at+".file", "filename")
			c.address(c.str(f, at+".file", "file_data"), at+".file.file_data", "application/pdf")
		}
	}
}
