package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
)

// counted are the request members that messages/count_tokens takes
// (api/messages-count-tokens), in the order of a request.
var counted = []string{
	"model", "tools", "mcp_servers", "system", "messages", "thinking", "tool_choice", "output_config", "context_management",
	"cache_control", "anthropic_version",
}

// CountTokens implements [model.Counter]. It calls count_tokens of Anthropic's API or of
// Vertex AI (partner-models/claude/count-tokens), or CountTokens of Amazon Bedrock; these
// calls are free. Bedrock counts only for some models; for others the error is of kind
// [event.ErrUnsupported].
func (m *Model) CountTokens(ctx context.Context, req *model.Request) (int64, error) {
	a, err := m.request(req, false)
	if err != nil {
		return 0, err
	}
	body, err := m.countBody(a.body)
	if err != nil {
		return 0, err
	}
	address := m.route("messages/count_tokens")
	base := strings.TrimRight(m.base, "/")
	switch {
	case m.aws != nil:
		address = m.aws.address(base, foundation(m.name), "count-tokens")
	case m.google != nil:
		address = m.google.address(base, "count-tokens", "rawPredict")
	}
	g := idle.New(ctx, m.stall)
	defer g.End()
	var n struct {
		Input *int64 `json:"input_tokens"`
		AWS   *int64 `json:"inputTokens"`
	}
	if err := m.exchange(g, http.MethodPost, address, a.header, jsonType, bodyOf(body), &n); err != nil {
		return 0, m.uncounted(m.failure(g, err))
	}
	switch {
	case n.Input != nil && *n.Input >= 0:
		return *n.Input, nil
	case n.AWS != nil && *n.AWS >= 0:
		return *n.AWS, nil
	default:
		return 0, m.failure(g, &foreignError{kind: jsonType})
	}
}

// countBody returns the body of the call that counts a request's tokens.
func (m *Model) countBody(body []byte) ([]byte, error) {
	if m.aws != nil {
		// The API takes the complete body of InvokeModel
		// (API_runtime_InvokeModelTokensRequest).
		return json.Marshal(map[string]any{"input": map[string]any{"invokeModel": map[string]any{"body": body}}})
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, notSent(event.ErrInvalid, "the request cannot be read as JSON", "look at the members that are added to it")
	}
	if m.google != nil { // on Vertex AI the model is in the body and not in the path
		all["model"], _ = json.Marshal(m.name) //nolint:errchkjson // a string can always be written
	}
	var b bytes.Buffer
	for _, name := range counted {
		if raw, ok := all[name]; ok {
			b.WriteString(`,"` + name + `":`)
			b.Write(raw)
		}
	}
	b.WriteByte('}')
	out := b.Bytes()
	out[0] = '{'
	return out, nil
}

// notCounted matches Bedrock's message that it does not count for a model.
var notCounted = lazyre.New(`(?i)(doesn.t|does not) support (counting tokens|count)`)

// uncounted turns an error that means "no count" into one of kind [event.ErrUnsupported].
func (m *Model) uncounted(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || !m.onCloud() {
		return err
	}
	if notCounted.MatchString(e.Message) {
		e.Kind, e.Message, e.Hint = event.ErrUnsupported, m.title()+" counts no tokens for the model", "use Request.Tokens, which estimates"
	}
	return e
}

// foundation returns the model of a Bedrock inference profile. Bedrock counts tokens only
// for models.
func foundation(id string) string {
	if at := strings.LastIndexByte(id, '/'); strings.Contains(id, ":inference-profile/") {
		id = id[at+1:]
	}
	if at := strings.Index(id, "anthropic."); at > 0 && !strings.Contains(id, "/") {
		id = id[at:]
	}
	return id
}
