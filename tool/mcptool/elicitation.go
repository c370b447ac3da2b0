package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/tool"
)

// ElicitationQuestion is how the names of questions begin with which a server asks the user of a call: see
// [Options.ElicitAsQuestion]. Their payload is an [Elicitation]. The answer is an object with an action, which is accept,
// decline or cancel, and for a form that is accepted its content. The answer null cancels.
const ElicitationQuestion = "mcp_elicitation"

// Elicitation is what a server asks the user of a call.
type Elicitation struct {
	// Server is the name of the server.
	Server string `json:"server"`
	// Mode is form or url.
	Mode string `json:"mode"`
	// Message is the server's text for the user.
	Message string `json:"message"`
	// URL is the address that the user opens if the mode is url. It is the server's, and nothing has opened it.
	URL string `json:"url,omitempty"`
	// Schema describes the content of a form: an object of plain fields.
	Schema json.RawMessage `json:"requested_schema,omitempty"`
}

// IsElicitation reports whether a question is one of a server, and returns its details.
func IsElicitation(q *event.Asked) (e Elicitation, ok bool) {
	if !strings.HasPrefix(q.Name, ElicitationQuestion) || json.Unmarshal(q.Payload, &e) != nil {
		return Elicitation{}, false
	}
	return e, e.Server != ""
}

// These bound what a server may ask.
const (
	// mostQuestions bounds the questions of one call.
	mostQuestions = 10
	longestAsk    = 4 << 10
	longestURL    = 2 << 10
	longestForm   = 64 << 10
)

// The modes and the answers of the protocol.
const (
	modeForm     = "form"
	modeURL      = "url"
	actionAccept = "accept"
	actionCancel = "cancel"
)

// elicited is an answer of a user.
type elicited struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content"`
}

// elicitationOf returns what is shown of a server's request. It refuses requests that cannot be shown or answered.
func (s *server) elicitationOf(p *mcp.ElicitParams) (Elicitation, error) {
	refused := func(text string) (Elicitation, error) {
		return Elicitation{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
	}
	if p == nil {
		return refused("there are no parameters")
	}
	e := Elicitation{
		Server: s.config.Name, Mode: p.Mode, Message: shorten.Text(clean(s.hide(strings.ToValidUTF8(p.Message, ""))), longestAsk, "…"), URL: p.URL,
	}
	if e.Mode == "" {
		e.Mode = modeForm
	}
	switch e.Mode {
	case modeURL:
		u, err := url.Parse(e.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
			len(e.URL) > longestURL || clean(e.URL) != e.URL {
			return refused("the url is no http or https address that can be shown")
		}
		return e, nil
	case modeForm:
		e.URL = ""
		var err error
		if e.Schema, err = formOf(p.RequestedSchema); err != nil {
			return refused("the requested schema cannot be used: " + err.Error())
		}
		return e, nil
	}
	return refused("the mode is neither form nor url")
}

// formOf returns the schema of a form. The protocol allows an object of plain fields.
func formOf(requested any) (json.RawMessage, error) {
	if requested == nil {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	raw, err := json.Marshal(requested)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	var form struct {
		Type       string                                `json:"type"`
		Properties map[string]map[string]json.RawMessage `json:"properties"`
	}
	switch {
	case len(raw) > longestForm:
		return nil, fmt.Errorf("it is larger than %d KiB", longestForm>>10)
	case json.Unmarshal(raw, &object) != nil || json.Unmarshal(raw, &form) != nil || form.Type != "object":
		return nil, errors.New("it describes no object of plain fields")
	}
	for name, field := range form.Properties {
		for _, key := range []string{"$ref", "properties", "additionalProperties"} {
			if _, nested := field[key]; nested {
				return nil, fmt.Errorf("the field %q is not plain", shorten.Text(clean(name), 100, "…"))
			}
		}
	}
	for _, key := range []string{"$schema", "$id", "$defs", "definitions"} {
		delete(object, key)
	}
	if raw, err = json.Marshal(object); err != nil {
		return nil, err
	}
	if strings.Contains(string(raw), `"$ref"`) || strings.Contains(string(raw), `"$dynamicRef"`) {
		return nil, errors.New("it has references")
	}
	_, err = schemacheck.Compile(raw)
	return raw, err
}

// answerSchema is the schema of the answer to an elicitation.
func (e *Elicitation) answerSchema() json.RawMessage {
	refuse := `{"type":"object","properties":{"action":{"enum":["decline","cancel"]}},"required":["action"],"additionalProperties":false}`
	if e.Mode == modeURL {
		return json.RawMessage(strings.Replace(refuse, `["decline"`, `["accept","decline"`, 1))
	}
	return json.RawMessage(`{"anyOf":[{"type":"object","properties":{"action":{"enum":["accept"]},"content":` + string(e.Schema) +
		`},"required":["action","content"],"additionalProperties":false},` + refuse + `]}`)
}

// prompt is the text of the question.
func (e *Elicitation) prompt() string {
	text := fmt.Sprintf("The MCP server %q asks: %s", e.Server, e.Message)
	if e.Mode == modeURL {
		text += " Open " + e.URL
	}
	return text
}

// askUser asks the user of the call of ctx, as question number n of its server, from 1. It returns [tool.ErrWaits] until the
// user has answered.
func (s *server) askUser(ctx context.Context, n int, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	e, err := s.elicitationOf(p)
	if err != nil {
		return nil, err
	}
	if n > mostQuestions {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("a call may ask %d questions", mostQuestions)}
	}
	name := ElicitationQuestion
	if n > 1 {
		name = fmt.Sprintf("%s_%d", name, n)
	}
	passOver(ctx, name)
	answer, err := tool.Ask[*elicited](ctx, e.prompt(), tool.AskName(name), tool.AskPayload(e),
		func(q *event.Asked) error { q.Schema = e.answerSchema(); return nil })
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return &mcp.ElicitResult{Action: actionCancel}, nil
	}
	r := &mcp.ElicitResult{Action: answer.Action}
	if answer.Action == actionAccept && e.Mode == modeForm {
		r.Content = make(map[string]any, len(answer.Content))
		for name, value := range answer.Content {
			r.Content[name] = value
		}
		e.fillIn(r.Content)
	}
	return r, nil
}

// fillIn adds what the form has by default for fields that the user left out.
func (e *Elicitation) fillIn(content map[string]any) {
	var form struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(e.Schema, &form) != nil {
		return
	}
	for name, field := range form.Properties {
		if _, there := content[name]; !there && len(field.Default) > 0 && string(field.Default) != "null" {
			content[name] = field.Default
		}
	}
}

// passOver passes over the answered questions of the call before the one of this name: a call that asked for a sign-in is not
// asked for one again.
func passOver(ctx context.Context, name string) {
	for _, one := range tool.AskedBefore(ctx) {
		if one == name {
			return
		}
		if _, err := tool.Ask[any](ctx, ""); err != nil {
			return
		}
	}
}

// asksUsers reports whether what a server asks is a question of the call of ctx.
func (s *server) asksUsers(ctx context.Context) bool {
	return s.options.ElicitAsQuestion && s.options.Elicit == nil && tool.CallOf(ctx) != nil
}
