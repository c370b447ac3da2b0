package live

import "github.com/braidrun/braid/event"

// headerWeight is about what an event takes beside its content.
const headerWeight = 320

// weight is about how many bytes an event takes in memory. It counts what can be
// long, and need not be exact: it bounds what waits for a slow watcher.
func weight(e *event.Event) int {
	n := headerWeight
	switch b := e.Body.(type) {
	case *event.TextDelta:
		n += len(b.Text)
	case *event.ThinkingDelta:
		n += len(b.Text)
	case *event.ToolInputDelta:
		n += len(b.JSON)
	case *event.AnswerReplaced:
		n += len(b.Text)
	case *event.ToolProgress:
		n += len(b.Text) + len(b.Data)
	case *event.AssistantMessage:
		n += blocksWeight(b.Content)
	case *event.UserMessage:
		n += blocksWeight(b.Content)
	case *event.StepEnded:
		if b.Result != nil {
			n += resultWeight(b.Result) + blocksWeight(b.Shown)
		}
	case *event.ScopeOpened:
		n += blocksWeight(b.Input)
	case *event.ScopeClosed:
		n += blocksWeight(b.Output)
	case *event.StateChanged:
		for k, v := range b.Set {
			n += len(k) + len(v)
		}
	case *event.Asked:
		n += len(b.Prompt) + len(b.Payload) + len(b.Schema) + len(b.Args)
	case *event.Answered:
		n += len(b.Value)
	case *event.RunEnded:
		n += len(b.Output) + len(b.Partial)
	case *event.Notice:
		n += len(b.Text) + len(b.Data)
	case *event.Compacted:
		n += blocksWeight(b.Summary)
	case *event.Redacted:
		n += blocksWeight(b.Replacement)
	case *event.Setup:
		n += b.Bytes()
	case *event.Unknown:
		n += len(b.Raw)
	}
	return n
}

func blocksWeight(blocks []event.Block) int {
	n := 0
	for _, b := range blocks {
		n += blockWeight(b)
	}
	return n
}

func blockWeight(b event.Block) int {
	const each = 64
	switch b := b.(type) {
	case *event.Text:
		return each + len(b.Text)
	case *event.Thinking:
		return each + len(b.Text) + len(b.Signature)
	case *event.RedactedThinking:
		return each + len(b.Data)
	case *event.Image:
		return each + len(b.Data) + len(b.URL)
	case *event.Document:
		return each + len(b.Data) + len(b.Text)
	case *event.ToolCall:
		return each + len(b.Args) + len(b.Invalid)
	case *event.ToolResult:
		return each + resultWeight(b)
	case *event.Citation:
		return each + len(b.Quote)
	case *event.Code:
		return each + len(b.Code)
	case *event.CodeResult:
		return each + len(b.Output)
	case *event.UnknownBlock:
		return each + len(b.Raw)
	default:
		return each
	}
}

func resultWeight(r *event.ToolResult) int { return blocksWeight(r.Content) + len(r.Structured) }
