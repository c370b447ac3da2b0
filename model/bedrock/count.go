package bedrock

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
)

// CountTokens implements [model.Counter] with the API's own count (API_runtime_CountTokens), which only Claude has
// (bedrock/latest/userguide/count-tokens). It uses the model's own id, because the API refuses inference profiles
// here. The credentials need bedrock:CountTokens.
func (m *Model) CountTokens(ctx context.Context, req *model.Request) (int64, error) {
	if !m.family.claude {
		return 0, notSent(event.ErrUnsupported, "Amazon Bedrock does not count the tokens of the model %q", "use an estimate", m.name)
	}
	a, err := m.request(req, false)
	if err != nil {
		return 0, err
	}
	// After the messages, only the model's own parameters count.
	body := append([]byte(`{"input":{"converse":`), a.body[:a.tail]...)
	if len(a.fields) > 0 {
		body = append(append(body, `,"additionalModelRequestFields":`...), a.fields...)
	}
	body = append(body, `}}}`...)
	g := idle.New(ctx, m.stall)
	defer g.End()
	g.Arm()
	answer, header, err := m.caller.whole(g.Context(), countTokens, m.plain, a.header, body)
	g.Rest()
	var said struct {
		Tokens *int64 `json:"inputTokens"`
	}
	if err == nil {
		err = read(answer, &said)
	}
	if err == nil && (said.Tokens == nil || *said.Tokens < 0) {
		err = errNoAnswer
	}
	if err != nil {
		return 0, m.failure(g, header != nil, req, err)
	}
	return *said.Tokens, nil
}
