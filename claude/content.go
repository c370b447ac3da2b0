package claude

import (
	"encoding/json"
	"errors"
	"strings"
)

// Content is the content of a message. The program writes a lone text as a string; it is one text block here.
type Content []Block

// Block is a content block: the fields of all kinds. Kinds that are not named here have their fields in Raw alone.
type Block struct {
	// Type is text, thinking, redacted_thinking, tool_use, tool_result, image, document, server_tool_use or another.
	Type string `json:"type"`
	// Text is the text of a text block.
	Text string `json:"text,omitempty"`
	// Thinking and Signature are those of a thinking block; Data is that of a redacted one.
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
	// ID, Name and Input are those of a tool_use block.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// ToolUseID, Content and IsError are those of a tool_result block.
	ToolUseID string  `json:"tool_use_id,omitempty"`
	Content   Content `json:"content,omitempty"`
	IsError   bool    `json:"is_error,omitempty"`
	// Source is that of an image or a document.
	Source json.RawMessage `json:"source,omitempty"`
}

// Text returns the text of the text blocks.
func (c Content) Text() string {
	if len(c) == 1 && c[0].Type == "text" {
		return c[0].Text
	}
	var b strings.Builder
	for i := range c {
		if c[i].Type == "text" {
			b.WriteString(c[i].Text)
		}
	}
	return b.String()
}

// UnmarshalJSON implements [json.Unmarshaler]. A string is one text block; anything but a list is no content.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = nil
	switch {
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = Content{{Type: "text", Text: text}}
	case len(data) > 0 && data[0] == '[':
		return lenient(json.Unmarshal(data, (*[]Block)(c)))
	}
	return nil
}

// lenient drops the error of a field whose type is not the expected one. The decoder has filled the others.
func lenient(err error) error {
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
		return nil
	}
	return err
}
