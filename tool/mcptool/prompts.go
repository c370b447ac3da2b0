package mcptool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// promptList is a list of prompts as text, with their arguments.
func promptList(raw json.RawMessage, limit int) (tool.Output, error) {
	var w wireList
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Output{}, err
	}
	lines := make([]string, 0, len(w.Prompts))
	for _, one := range w.Prompts {
		var p struct {
			Name        string `json:"name"`
			Title       string `json:"title"`
			Description string `json:"description"`
			Arguments   []struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				Required    bool   `json:"required"`
			} `json:"arguments"`
		}
		if err := json.Unmarshal(one, &p); err != nil {
			return tool.Output{}, err
		}
		parts := []string{p.Name, p.Title, p.Description}
		for _, a := range p.Arguments {
			text := a.Name
			if a.Required {
				text += " (required)"
			}
			if a.Description != "" {
				text += ": " + a.Description
			}
			parts = append(parts, text)
		}
		lines = append(lines, line("prompt", parts...))
	}
	return listed(lines, "prompts", w.Next, limit), nil
}

// promptOutput turns the messages of a prompt into blocks. A line before each says whose message it is meant to be: the model
// reads them as the result of a tool, and not as messages of its user.
func promptOutput(raw json.RawMessage, limit int) (tool.Output, error) {
	var w struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Output{}, err
	}
	var out tool.Output
	left := limit
	rest := len(w.Messages) - maxBlocks/2
	if rest > 0 {
		w.Messages = w.Messages[:maxBlocks/2]
	}
	for _, m := range w.Messages {
		role := "user"
		if strings.TrimSpace(m.Role) == "assistant" {
			role = "assistant"
		}
		out.Content = append(out.Content, &event.Text{Text: "[message of the " + role + "]"}, block(m.Content, &left))
	}
	switch {
	case rest > 0:
		out.Content = append(out.Content, &event.Text{Text: fmt.Sprintf("[cut: %d more messages are left out]", rest)})
	case len(out.Content) == 0:
		return tool.Text("The prompt is empty."), nil
	}
	return out, nil
}
