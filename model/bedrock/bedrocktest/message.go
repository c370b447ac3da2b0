package bedrocktest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (c *checker) messages(o object) {
	all := c.optional(o, "messages", "messages")
	if len(all) == 0 {
		c.fail("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	var waiting []string // calls without a result
	role := ""
	for i, raw := range all {
		at := fmt.Sprintf("messages.%d", i)
		m := c.object(raw, at, "role", "content")
		before := role
		role = c.str(m, at, "role")
		switch {
		case role != "user" && role != "assistant":
			c.constraint(role, at+".member.role", "Member must satisfy enum value set: [user, assistant]")
		case i == 0 && role != "user":
			c.fail("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
		case role == before:
			c.fail("A conversation must alternate between user and assistant roles. " +
				"Make sure the conversation alternates between user and assistant roles and try again.")
		}
		content := c.list(m["content"], at+".content")
		if len(content) == 0 {
			c.fail("The content field in the Message object at %s is empty. Add a ContentBlock object to the content field and try again.", at)
		}
		if role == "assistant" {
			waiting = c.answer(content, at)
			continue
		}
		c.input(content, at, waiting)
		waiting = nil
	}
	if role == "assistant" {
		c.fail(returned + "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if c.budget && c.calls && !c.thought {
		c.fail(returned + "messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`.")
	}
}

// said are the kinds of blocks.
var said = []string{
	"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "citationsContent", "cachePoint", "guardContent",
}

var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// answer checks a message of the model and returns the ids of its calls.
func (c *checker) answer(content []json.RawMessage, at string) (calls []string) {
	c.calls, c.thought = false, false
	for j, raw := range content {
		at := fmt.Sprintf("%s.content.%d", at, j)
		switch kind, value := c.union(raw, at, said...); kind {
		case "text":
			c.text(value, at, "ContentBlock")
		case "toolUse":
			u := c.object(value, at+".toolUse", "toolUseId", "name", "input", "type")
			if c.tools == nil {
				c.fail("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
			}
			if string(u["type"]) == `"server_tool_use"` {
				if !c.vendor.nova {
					c.fail("This model doesn't support server_tool_use. Remove it and try again.")
				}
				continue
			}
			id := c.str(u, at+".toolUse", "toolUseId")
			switch {
			case !callID.MatchString(id):
				c.constraint(id, at+".toolUse.toolUseId", pattern)
			case c.ids[id]:
				c.fail(returned+"messages: `tool_use` ids must be unique: %s", id)
			}
			c.ids[id] = true
			name := c.str(u, at+".toolUse", "name")
			if !toolName.MatchString(name) || len(name) > 64 || c.vendor.nova && strings.Contains(name, "-") {
				c.constraint(name, at+".toolUse.name", pattern)
			}
			var input object
			if json.Unmarshal(u["input"], &input) != nil || input == nil {
				c.fail("The format of the value at %s.toolUse.input is invalid. Provide a json object for the field and try again.", at)
			}
			calls = append(calls, id)
			c.calls = true
		case "reasoningContent":
			c.reasoning(value, at)
			c.thought = c.thought || j == 0
		case "image", "document", "video":
			c.fail("%s: the %s content block is not supported in assistant messages", at, kind)
		case "toolResult":
			if r := c.object(value, at+".toolResult", "toolUseId", "content", "status", "type"); !c.vendor.nova || string(r["type"]) == "" {
				c.fail("%s: the toolResult content block is not supported in assistant messages", at)
			}
		}
	}
	return calls
}

func (c *checker) reasoning(raw []byte, at string) {
	kind, value := c.union(raw, at+".reasoningContent", "reasoningText", "redactedContent")
	if c.vendor.nova || c.vendor.noTools {
		c.fail("This model doesn't support the reasoningContent field. Remove reasoningContent and try again.")
	}
	if kind == "redactedContent" {
		var data []byte
		if json.Unmarshal(value, &data) != nil || len(data) == 0 {
			c.fail("Unable to parse the request: %s.reasoningContent.redactedContent is no base64", at)
		}
		return
	}
	t := c.object(value, at+".reasoningContent.reasoningText", "text", "signature")
	text, signature := c.str(t, at, "text"), c.str(t, at, "signature")
	switch given, ok := c.server.signed(signature); {
	case !ok:
		c.fail(returned+"%s: Invalid `signature` in `thinking` block", at)
	case given != text:
		c.fail(returned+"%s: `thinking` blocks in the latest assistant message cannot be modified.", at)
	}
}

// input checks a message of the user. waiting are the calls before it.
func (c *checker) input(content []json.RawMessage, at string, waiting []string) {
	results, texts, documents, others := 0, 0, 0, 0
	last, loose := "", false
	answered := map[string]bool{}
	for j, raw := range content {
		at := fmt.Sprintf("%s.content.%d", at, j)
		kind, value := c.union(raw, at, said...)
		switch kind {
		case "text":
			c.text(value, at, "ContentBlock")
			texts++
			others++
		case "guardContent":
			c.guarded(value, at)
			texts++
			others++
		case "toolResult":
			results++
			if c.tools == nil {
				c.fail("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
			}
			id := c.result(value, at)
			switch {
			case !slices.Contains(waiting, id):
				c.fail("The number of toolResult blocks at %s exceeds the number of toolUse blocks of previous turn.", at)
			case answered[id]:
				c.fail("The toolResult blocks at %s contain duplicate Ids: %s", at, id)
			}
			answered[id] = true
			if others > 0 && c.vendor.claude {
				c.fail(returned+"%s: `tool_use` ids were found without `tool_result` blocks immediately after", at)
			}
		case "image":
			c.image(value, at)
			others++
		case "document":
			loose = c.document(value, at)
			documents++
			others++
		case "video":
			others++
		case "cachePoint":
			switch {
			case j == 0:
				c.fail("There is nothing available to cache.")
			case c.vendor.nova && last == "toolResult":
				c.fail(extraneous, at, "cachePoint")
			case last == "document" && loose:
				c.fail("%s: a cache point cannot follow a document that is no PDF", at)
			}
			c.cached(value, at)
		default:
			c.fail("%s: the %s content block is not supported in user messages", at, kind)
		}
		last = kind
	}
	if results > 0 && others > 0 && c.vendor.apart {
		c.fail("Conversation blocks and tool result blocks cannot be provided in the same turn.")
	}
	if documents > 0 && texts == 0 {
		c.fail("%s: a text block is required in a message with documents", at)
	}
	for _, id := range waiting {
		if !answered[id] {
			c.fail("Expected toolResult blocks at %s.content for the following Ids: %s", at, id)
		}
	}
}

func (c *checker) guarded(raw []byte, at string) {
	if kind, value := c.union(raw, at+".guardContent", "text", "image"); kind == "text" {
		t := c.object(value, at+".guardContent.text", "text", "qualifiers")
		c.text(t["text"], at+".guardContent", "GuardrailConverseTextBlock")
	}
}

func (c *checker) result(raw []byte, at string) string {
	r := c.object(raw, at+".toolResult", "toolUseId", "content", "status")
	switch status := string(r["status"]); {
	case status == "":
	case !c.vendor.status:
		c.fail("This model doesn't support the status field. Remove status and try again.")
	case status != `"success"` && status != `"error"`:
		c.fail("Value at '%s.toolResult.status' failed to satisfy constraint: Member must satisfy enum value set: [success, error]", at)
	}
	content := c.list(r["content"], at+".toolResult.content")
	if len(content) == 0 {
		c.fail("The content field in the ToolResultBlock object at %s is empty. "+
			"Add a ToolResultContentBlock object to the content field and try again.", at)
	}
	for k, raw := range content {
		at := fmt.Sprintf("%s.toolResult.content.%d", at, k)
		switch kind, value := c.union(raw, at, "text", "json", "image", "document", "video"); kind {
		case "text":
			c.text(value, at, "ToolResultContentBlock")
		case "json":
			var o object
			if json.Unmarshal(value, &o) != nil || o == nil {
				c.fail("The format of the value at %s.json is invalid. Provide a json object for the field and try again.", at)
			}
		case "image", "document", "video":
			switch {
			case !c.vendor.claude && !c.vendor.nova:
				c.fail("This model doesn't support the %s field in toolResult. Remove it and try again.", kind)
			case string(r["status"]) == `"error"` && c.vendor.claude:
				c.fail(returned+"%s: all content must be type `text` if `is_error` is true", at)
			case kind == "image":
				c.image(value, at)
			case kind == "document":
				c.document(value, at)
			}
		}
	}
	return c.str(r, at+".toolResult", "toolUseId")
}

func (c *checker) image(raw []byte, at string) {
	if c.vendor.noImages {
		c.fail("This model doesn't support the image content block that you provided. Remove the block and try again.")
	}
	i := c.object(raw, at+".image", "format", "source")
	if f := c.str(i, at+".image", "format"); !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, f) {
		c.constraint(f, at+".image.format", "Member must satisfy enum value set: [gif, jpeg, png, webp]")
	}
	const most = 5 << 20 // of base64
	if n := c.source(i["source"], at+".image"); c.vendor.claude && n > most {
		c.fail(returned+"%s.image.source.base64: image exceeds 5 MB maximum: %d bytes > %d bytes", at, n, most)
	}
}

// source returns the length of the data in base64.
func (c *checker) source(raw []byte, at string) int {
	kind, value := c.union(raw, at+".source", "bytes", "s3Location", "text", "content")
	if kind == "s3Location" {
		if u := c.str(c.object(value, at+".source.s3Location", "uri", "bucketOwner"), at, "uri"); !strings.HasPrefix(u, "s3://") || !c.vendor.nova {
			c.fail("%s: this model doesn't support the s3Location field", at)
		}
		return 0
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		c.fail("Unable to parse the request: %s.source", at)
	}
	if n, short := strings.CutPrefix(s, "#"); short {
		size, _ := strconv.Atoi(n) // written by shorten
		return size
	}
	if kind == "bytes" && !decodes(s) {
		c.fail("%s.source.bytes: no data, or no base64", at)
	}
	return len(s)
}

var documentName = regexp.MustCompile(`^[A-Za-z0-9\-()\[\]]+( [A-Za-z0-9\-()\[\]]+)*$`)

func (c *checker) document(raw []byte, at string) (loose bool) {
	if c.vendor.noDocuments {
		c.fail("This model doesn't support documents.")
	}
	d := c.object(raw, at+".document", "format", "name", "source", "context", "citations")
	name := c.str(d, at+".document", "name")
	switch {
	case len(name) > 200 || !documentName.MatchString(name):
		c.fail("The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. " +
			"The name can't contain more than one consecutive whitespace character. " +
			"Check that the file name conforms to these restrictions and retry your request.")
	case c.names[name]:
		c.fail("Duplicate document file names found: %s", name)
	}
	c.names[name] = true
	f := c.str(d, at+".document", "format")
	if !slices.Contains([]string{"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"}, f) {
		c.constraint(f, at+".document.format", "Member must satisfy enum value set")
	}
	c.source(d["source"], at+".document")
	return f != "pdf"
}
