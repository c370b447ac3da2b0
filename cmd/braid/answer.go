package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/braidrun/braid/internal/answercheck"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// asker asks the user the questions of tools.
type asker struct {
	lines term.LineReader
	// out receives the question.
	out  io.Writer
	look term.Screen
	// signIns ends sign-ins here; nil if a server does.
	signIns *signIns
}

// errNoUser ends a run that asks a question without a user to answer it.
func errNoUser(q *event.Asked) error {
	if q.Name == event.PermissionQuestion {
		return &event.Error{
			Kind:    event.ErrCancelled,
			Message: toolName(q) + " needs permission and nobody can give it, so the run was cancelled",
			Hint:    "--allow " + term.CleanLine(q.Tool) + " lets it run, or answer in braid chat",
		}
	}
	return &event.Error{
		Kind:    event.ErrCancelled,
		Message: toolName(q) + " asks a question and nobody can answer it, so the run was cancelled",
		Hint:    `answer in braid chat, or pipe the answer in: echo yes | braid run "…"`,
	}
}

func toolName(q *event.Asked) string {
	if q.Tool == "" {
		return "the agent"
	}
	return "the tool " + q.Tool
}

// ask prints one question and reads lines until one is a valid answer. It returns io.EOF at the end of the
// input, and ErrAborted after Ctrl-C.
func (a *asker) ask(ctx context.Context, q *event.Asked) (any, error) {
	if err := a.show(q); err != nil {
		return nil, term.OutputError(err)
	}
	signIn, signsIn := mcptool.IsSignIn(q)
	if signsIn && a.signIns != nil {
		return a.askSignIn(ctx, signIn)
	}
	if e, ok := mcptool.IsElicitation(q); ok {
		return a.askElicitation(ctx, q, e)
	}
	prompt := "answer> "
	switch {
	case signsIn:
		prompt = "y/n> "
	case q.Name == event.PermissionQuestion:
		prompt = "y/c/a/n> "
	case q.Ask == event.AskApproval:
		prompt = "y/n> "
	case q.Ask == event.AskCredential:
		prompt = "secret> "
	}
	for {
		line, err := a.lines.Line(ctx, prompt, q.Ask == event.AskCredential && !signsIn)
		if err != nil {
			return nil, err
		}
		value, err := parseAnswer(q, line)
		if err == nil {
			if err = answercheck.CheckValue(q, value); err == nil {
				return value, nil
			}
			message, hint := term.Describe(err)
			err = errors.New(message + ": " + hint)
		}
		if err := a.complain(err); err != nil {
			return nil, err
		}
	}
}

// show prints the question and its sender. An approval shows the call that it is for.
func (a *asker) show(q *event.Asked) error {
	var b []byte
	prompt := strings.TrimSpace(term.Clean(q.Prompt))
	if prompt == "" {
		prompt = "May it go on?"
	}
	asks := "? " + term.CleanLine(toolName(q)) + " asks: "
	if q.Name == event.PermissionQuestion {
		asks = "? " // it is not the tool that asks
	}
	b = a.look.Paint(b, term.Bold, asks)
	b = append(b, strings.ReplaceAll(prompt, "\n", "\n  ")...)
	b = append(b, '\n')
	if q.Ask == event.AskApproval {
		for _, line := range printer.ArgumentLines(&event.ToolCall{Args: q.Args}) {
			b = append(b, "  "+term.Fit(line, max(a.look.Width-2, 10))+"\n"...)
		}
	}
	if q.Name == event.PermissionQuestion {
		b = append(b, "  "+permissionWords+"\n"...)
	}
	if q.Ask == event.AskExternal {
		b = append(b, "  it waits for a result from outside; enter that result\n"...)
	}
	if !q.Expires.IsZero() {
		b = fmt.Appendf(b, "  the question closes at %s\n", q.Expires.Local().Format("15:04:05"))
	}
	_, err := a.out.Write(b)
	return err
}

// parseAnswer reads a line as the type of the question. The error names the expected type.
func parseAnswer(q *event.Asked, line string) (any, error) {
	line = strings.TrimSpace(line)
	if err := checkText("the answer", line); err != nil {
		return nil, errors.New("that is not UTF-8 text")
	}
	if q.Name == event.PermissionQuestion {
		return parsePermission(line)
	}
	if q.Ask == event.AskApproval {
		switch strings.ToLower(line) {
		case "y", "yes", "はい":
			return true, nil
		case "n", "no", "いいえ":
			return false, nil
		}
		return nil, errors.New("please answer y or n")
	}
	kind, nullable := schemaType(q.Schema)
	if nullable && (line == "" || line == "null") {
		return nil, nil //nolint:nilnil // null is an answer
	}
	switch kind {
	case "", "string":
		return line, nil
	case "boolean":
		var b bool
		if conf.ParseSwitch(&b, line) == nil {
			return b, nil
		}
		switch strings.ToLower(line) {
		case "y", "はい":
			return true, nil
		case "n", "いいえ":
			return false, nil
		}
		return nil, errors.New("please answer yes or no")
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil || dec.Decode(new(any)) != io.EOF || !fits(kind, v) {
		return nil, fmt.Errorf("please answer with JSON of type %s", kind)
	}
	return json.RawMessage(line), nil
}

// schemaType returns the type of a JSON schema, and whether null is allowed. It returns "" if the schema
// has no type or several: plain text is the best guess then.
func schemaType(schema json.RawMessage) (kind string, nullable bool) {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	if len(bytes.TrimSpace(schema)) == 0 || json.Unmarshal(schema, &s) != nil {
		return "", false
	}
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return one, false
	}
	var several []string
	if json.Unmarshal(s.Type, &several) != nil {
		return "", false
	}
	others := slices.DeleteFunc(slices.Clone(several), func(t string) bool { return t == "null" })
	if nullable = len(others) < len(several); len(others) == 1 {
		return others[0], nullable
	}
	return "", nullable
}

// fits reports whether a decoded value has a type.
func fits(kind string, v any) bool {
	switch kind {
	case "integer":
		n, ok := v.(json.Number)
		if !ok {
			return false
		}
		_, err := n.Int64()
		return err == nil
	case "number":
		_, ok := v.(json.Number)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "null":
		return v == nil
	}
	return true
}
