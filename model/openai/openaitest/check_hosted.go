package openaitest

import (
	"encoding/json"
	"slices"
	"strings"
)

// includable are the values of include (the SDK's responses.ResponseIncludable).
var includable = []string{
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
	"computer_call_output.output.image_url", "code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs",
}

// anyTool checks a tool of Responses: a function, or one that the vendor runs.
func (c *checker) anyTool(raw []byte, at string) {
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &head) != nil {
		c.fail("Invalid type for '%s': expected an object.", at)
		return
	}
	switch head.Type {
	case "function":
		t := c.object(raw, at, "type", "name", "description", "parameters", "strict")
		c.tool(t, at)
		if string(t["strict"]) != "false" {
			// A function is strict by default, and strict functions accept few schemas.
			c.strict(t["parameters"], c.str(t, at, "name"))
		}
		return
	case "web_search":
		t := c.object(raw, at, "type", "filters", "search_context_size", "user_location", "external_web_access")
		if raw, ok := t["filters"]; ok {
			f := c.object(raw, at+".filters", "allowed_domains", "blocked_domains")
			for _, k := range []string{"allowed_domains", "blocked_domains"} {
				c.names(f[k], at+".filters."+k, "://")
			}
		}
	case "file_search":
		t := c.object(raw, at, "type", "vector_store_ids", "max_num_results", "ranking_options", "filters")
		if c.names(t["vector_store_ids"], at+".vector_store_ids", " ") == 0 {
			c.fail("Missing required parameter: '%s.vector_store_ids'.", at)
		}
	case "code_interpreter":
		t := c.object(raw, at, "type", "container")
		if string(t["container"]) != `{"type":"auto"}` {
			c.fail("Missing required parameter: '%s.container'.", at)
		}
	case "mcp":
		t := c.object(raw, at, "type", "server_label", "server_url", "authorization", "allowed_tools", "require_approval", "headers",
			"server_description")
		label := c.str(t, at, "server_label")
		if slices.Contains(c.tools, "mcp "+label) {
			c.fail("Duplicate server_label found: %s. Please provide a unique label for each server.", label)
		}
		c.tools = append(c.tools, "mcp "+label)
		if !strings.HasPrefix(c.str(t, at, "server_url"), "https://") {
			c.fail("Invalid '%s.server_url'. Expected a valid URL.", at)
		}
		c.names(t["allowed_tools"], at+".allowed_tools", " ")
		if string(t["require_approval"]) != `"never"` {
			c.fail("%s.require_approval: nobody is here to approve", at)
		}
		return
	default:
		c.fail("Invalid value: '%s'. Supported values are: 'function', 'web_search', 'file_search', 'code_interpreter', and 'mcp'.", head.Type)
	}
	c.tools = append(c.tools, "its own "+head.Type)
}

// names checks and counts a list of texts. None may contain without.
func (c *checker) names(raw json.RawMessage, at, without string) int {
	if raw == nil {
		return 0
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		c.fail("Invalid type for '%s': expected an array of strings.", at)
	}
	for i, s := range list {
		if s == "" || strings.Contains(s, without) {
			c.fail("Invalid '%s[%d]': '%s'.", at, i, s)
		}
	}
	return len(list)
}

// hosted lists the items of tools that the vendor runs, with their required members and then, after "", the optional
// ones (the SDK's responses.ResponseInputItemUnionParam).
var hosted = map[string][]string{
	"web_search_call":       {"id", "action", "status", ""},
	"file_search_call":      {"id", "queries", "status", "", "results"},
	"code_interpreter_call": {"id", "code", "container_id", "outputs", "status", ""},
	"mcp_call":              {"id", "arguments", "name", "server_label", "", "output", "error", "status", "approval_request_id"},
	"mcp_list_tools":        {"id", "server_label", "tools", "", "error"},
	"compaction":            {"encrypted_content", "", "id", "created_by"},
	"image_generation_call": {"id", "result", "status", ""},
	"tool_search_call":      {"arguments", "", "id", "call_id", "execution", "status", "created_by"},
	"tool_search_output":    {"tools", "", "id", "call_id", "execution", "status", "created_by"},
}

// hosted checks such an item.
func (c *checker) hosted(raw []byte, kind, at string) {
	members := hosted[kind]
	o := c.object(raw, at, append([]string{"type"}, members...)...)
	for _, name := range members {
		if name == "" {
			break
		}
		if _, ok := o[name]; !ok {
			c.fail("Missing required parameter: '%s.%s'.", at, name)
		}
	}
	if kind != "compaction" {
		return
	}
	c.server.Recall()
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if _, ok := c.server.said[c.str(o, at, "encrypted_content")]; !ok {
		c.code = "invalid_encrypted_content"
		c.fail("The encrypted content for item %s could not be verified.", string(o["id"]))
	}
}

// behind returns the reasoning that came before an item.
func (s *Server) behind(id string) (reasoning string, ok bool) {
	s.Recall()
	s.mu.Lock()
	defer s.mu.Unlock()
	reasoning, ok = s.led[id]
	return reasoning, ok
}
