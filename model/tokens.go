package model

import (
	"unicode/utf8"

	"github.com/braidrun/braid/event"
)

// Tokens estimates how many tokens the model reads.
func (r *Request) Tokens() int64 {
	n := TextTokens(r.Instructions) + MessagesTokens(r.Messages)
	for i := range r.Tools {
		n += ToolTokens(&r.Tools[i])
	}
	return n
}

// ToolTokens estimates how many tokens a tool adds to the prompt.
func ToolTokens(s *ToolSpec) int64 {
	return TextTokens(s.Description) + int64(len(s.Schema)+len(s.Name))/4
}

// MessagesTokens estimates how many tokens messages have in a prompt.
func MessagesTokens(msgs []event.Message) int64 {
	n := int64(0)
	for i := range msgs {
		n += 4 + BlocksTokens(msgs[i].Content)
	}
	return n
}

// What a picture and a page count for, about, with the providers that say so.
const (
	imageTokens    = 1600
	documentTokens = 3000
)

// BlocksTokens estimates how many tokens the blocks of a message have.
func BlocksTokens(blocks []event.Block) int64 {
	n := int64(0)
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += TextTokens(b.Text)
		case *event.Thinking:
			n += TextTokens(b.Text)
		case *event.ToolCall:
			n += 8 + TextTokens(b.Name) + int64(len(b.Args))/4
		case *event.ToolResult:
			n += 8 + BlocksTokens(b.Content)
		case *event.Image:
			n += imageTokens
		case *event.Document:
			n += TextTokens(b.Text)
			if len(b.Data) > 0 || b.URL != "" {
				n += documentTokens
			}
		case *event.UnknownBlock:
			n += int64(len(b.Raw)) / 4
		default:
			n += 100
		}
	}
	return n
}

// TextTokens estimates how many tokens a text has: four ASCII letters make one, and each
// letter beyond ASCII is one.
func TextTokens(text string) int64 {
	n := utf8.RuneCountInString(text)
	if n == len(text) {
		return int64(n+3) / 4
	}
	ascii := 0
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return int64(ascii/4 + n - ascii)
}
