package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Handover is how a scope came to the agent that has it now.
type Handover struct {
	// Last is the newest transfer that holds, and Count the number of transfers that agents asked for in this run.
	Last  *event.Transferred
	Count int
	// At is the number of messages in the transcript when it began to hold.
	At int
	// spans says who wrote the messages of this run: from which message on, and which agent.
	spans []span
	// next is a transfer that waits for the results of open calls.
	next *event.Transferred
}

type span struct {
	from  int
	agent string
}

// author returns who wrote a message of this run; empty for an earlier run.
func (h *Handover) author(i int) string {
	for _, one := range slices.Backward(h.spans) {
		if i >= one.from {
			return one.agent
		}
	}
	return ""
}

// reframed returns the messages with those of other agents as context, as ADK shows them.
func (h *Handover) reframed(messages []event.Message, agent string) []event.Message {
	list := make([]event.Message, 0, len(messages))
	by := "" // who made the calls whose results follow
	for i, m := range messages {
		if i >= h.At {
			list = append(list, m)
			continue
		}
		if m.Role == event.RoleAssistant {
			by = h.author(i)
		}
		if by == "" || by == agent {
			list = append(list, m)
			continue
		}
		content := contextOfResults
		if m.Role == event.RoleAssistant {
			content = context
		}
		list = append(list, event.Message{Role: event.RoleUser, Content: content(by, m.Content)})
	}
	return Alternate(list)
}

// context returns what an agent said as context for another one.
func context(agent string, content []event.Block) []event.Block {
	blocks := []event.Block{&event.Text{Text: "For context:"}}
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			if b.Text != "" {
				blocks = append(blocks, &event.Text{Text: "[" + agent + "] said: " + b.Text})
			}
		case *event.ToolCall:
			blocks = append(blocks, &event.Text{Text: "[" + agent + "] called tool `" + b.Name + "` with parameters: " + string(b.Args)})
		case *event.Image, *event.Document, *event.Media:
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 1 {
		return nil
	}
	return blocks
}

// contextOfResults is context for the results of an agent's calls. What a user said stays.
func contextOfResults(agent string, content []event.Block) (blocks []event.Block) {
	first := true
	for _, b := range content {
		r, ok := b.(*event.ToolResult)
		if !ok {
			blocks = append(blocks, b)
			continue
		}
		if first {
			blocks, first = append(blocks, &event.Text{Text: "For context:"}), false
		}
		text := event.TextOf(r.Content)
		if text == "" {
			text = string(r.Structured)
		}
		blocks = append(blocks, &event.Text{Text: "[" + agent + "] `" + r.Name + "` tool returned result: " + text})
	}
	return blocks
}
