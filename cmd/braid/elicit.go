package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/answercheck"
	"github.com/braidrun/braid/tool/mcptool"
)

// elicited is the answer to a question of an MCP server.
type elicited struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// askElicitation asks whether to answer a server, and then for the fields of its form.
func (a *asker) askElicitation(ctx context.Context, q *event.Asked, e mcptool.Elicitation) (any, error) {
	for {
		line, err := a.lines.Line(ctx, "y/n> ", false)
		if err != nil {
			return nil, err
		}
		yes, err := parseAnswer(&event.Asked{Ask: event.AskApproval}, line)
		switch {
		case err != nil:
			if err := a.complain(err); err != nil {
				return nil, err
			}
			continue
		case yes != true:
			return elicited{Action: "decline"}, nil
		case e.Mode == "url":
			return elicited{Action: "accept"}, nil
		}
		content, err := a.askForm(ctx, e.Schema)
		if err != nil {
			return nil, err
		}
		// An empty form is one, too.
		value := map[string]any{"action": "accept", "content": content}
		if err = answercheck.CheckValue(q, value); err == nil {
			return value, nil
		}
		message, hint := term.Describe(err)
		if err := a.complain(errors.New(message + ": " + hint + " Answer the form?")); err != nil {
			return nil, err
		}
	}
}

// askForm asks for the fields of a form, those that are required first. An empty line leaves out one that is not.
func (a *asker) askForm(ctx context.Context, schema json.RawMessage) (map[string]any, error) {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, err
	}
	required := func(name string) bool { return slices.Contains(form.Required, name) }
	names := slices.SortedFunc(maps.Keys(form.Properties), func(x, y string) int {
		if required(x) != required(y) {
			if required(x) {
				return -1
			}
			return 1
		}
		return strings.Compare(x, y)
	})
	content := map[string]any{}
	for _, name := range names {
		field := &event.Asked{Ask: event.AskInput, Schema: form.Properties[name]}
		for {
			line, err := a.lines.Line(ctx, fieldPrompt(name, field.Schema, required(name)), false)
			if err != nil {
				return nil, err
			}
			if strings.TrimSpace(line) == "" && !required(name) {
				break
			}
			if content[name], err = parseAnswer(field, line); err == nil {
				break
			}
			delete(content, name)
			if err := a.complain(err); err != nil {
				return nil, err
			}
		}
	}
	return content, nil
}

// fieldPrompt names a field, and what it takes.
func fieldPrompt(name string, schema json.RawMessage, required bool) string {
	var f struct {
		Title string `json:"title"`
		Enum  []any  `json:"enum"`
	}
	_ = json.Unmarshal(schema, &f) // a form was checked
	text := term.Fit(term.CleanLine(name), 60)
	if f.Title != "" {
		text = term.Fit(term.CleanLine(f.Title), 60)
	}
	if len(f.Enum) > 0 {
		text += term.Fit(term.CleanLine(fmt.Sprint(" ", f.Enum)), 100)
	}
	if !required {
		text += " (optional)"
	}
	return text + "> "
}

// complain shows why an answer is not taken.
func (a *asker) complain(why error) error {
	if _, err := fmt.Fprintf(a.out, "  %s\n", term.Clean(why.Error())); err != nil {
		return term.OutputError(err)
	}
	return nil
}
