package service

import "github.com/braidrun/braid/event"

// sizeOf returns the approximate size of an event's texts.
func sizeOf(e *event.Event) int64 {
	switch b := e.Body.(type) {
	case *event.UserMessage:
		return sizeOfBlocks(b.Content)
	case *event.AssistantMessage:
		return sizeOfBlocks(b.Content)
	case *event.StepEnded:
		if b.Result != nil {
			return sizeOfBlocks(b.Result.Content) + int64(len(b.Result.Structured))
		}
	case *event.StateChanged:
		var n int64
		for _, value := range b.Set {
			n += int64(len(value))
		}
		return n
	}
	return 0
}

// sizeOfBlocks returns the approximate size of blocks with their files.
func sizeOfBlocks(blocks []event.Block) int64 {
	n := 0
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += len(b.Text) + len(b.Signature)
		case *event.Thinking:
			n += len(b.Text) + len(b.Signature)
		case *event.RedactedThinking:
			n += len(b.Data)
		case *event.Image:
			n += len(b.Data)
		case *event.Document:
			n += len(b.Data) + len(b.Text)
		case *event.ToolCall:
			n += len(b.Args) + len(b.Invalid)
		case *event.ToolResult:
			n += int(sizeOfBlocks(b.Content)) + len(b.Structured)
		case *event.Citation:
			n += len(b.Quote)
		case *event.Code:
			n += len(b.Code)
		case *event.CodeResult:
			n += len(b.Output)
		case *event.UnknownBlock:
			n += len(b.Raw)
		}
		n += 64
	}
	return int64(n)
}
