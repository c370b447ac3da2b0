package event

// This file makes the messages and blocks that programs write themselves. None of these functions copies data.

// UserText returns a user's message of one text.
func UserText(text string) Message { return UserBlocks(&Text{Text: text}) }

// UserBlocks returns a user's message of blocks, such as a text and an image, or the results of tools.
func UserBlocks(blocks ...Block) Message { return Message{Role: RoleUser, Content: blocks} }

// AssistantText returns an agent's message of one text, such as for a history that a run of an agent is given.
func AssistantText(text string) Message { return AssistantBlocks(&Text{Text: text}) }

// AssistantBlocks returns an agent's message of blocks, such as a text and the tool calls after it.
func AssistantBlocks(blocks ...Block) Message { return Message{Role: RoleAssistant, Content: blocks} }

// ImageData returns an image of its bytes: PNG, JPEG, GIF, WebP or what else a provider takes. Providers read the type
// from the bytes; set MIME to say another.
func ImageData(data []byte) *Image { return &Image{Data: data} }

// ImageURL returns an image that the provider fetches.
func ImageURL(url string) *Image { return &Image{URL: url} }

// FileData returns a document of its bytes, such as a PDF. Providers read the type from the bytes and, where those are
// ambiguous, from the extension of the name; set MIME to say another.
func FileData(name string, data []byte) *Document { return &Document{Name: name, Data: data} }

// ResultText returns the result of a tool call: the text that the model reads. It belongs into the user's message after
// the call; see [UserBlocks].
func ResultText(c *ToolCall, text string) *ToolResult {
	return &ToolResult{Call: c.ID, Name: c.Name, Content: []Block{&Text{Text: text}}}
}
