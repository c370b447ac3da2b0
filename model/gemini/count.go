package gemini

import (
	"context"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

var _ model.Counter = (*Model)(nil)

// mostAnswer bounds the responses of calls other than generation.
const mostAnswer = 1 << 20

// CountTokens implements [model.Counter] (api/tokens). The Gemini API counts the whole
// request. Vertex AI counts instructions, tools and messages.
func (m *Model) CountTokens(ctx context.Context, req *model.Request) (int64, error) {
	body, _, err := m.body(req)
	if err != nil {
		return 0, err
	}
	x := exchange{action: "countTokens"}
	if x.header, err = m.headers(&req.Options); err != nil {
		return 0, err
	}
	if m.vertex {
		if x.body, err = m.counted(req, body); err != nil {
			return 0, err
		}
	} else {
		x.body = append(append(append([]byte(`{"generateContentRequest":{"model":"`), m.resource()...), `",`...), body[1:]...)
		x.body = append(x.body, '}')
	}
	var n struct {
		Total *int64 `json:"totalTokens"`
	}
	if err := m.call(ctx, &x, &n); err != nil {
		return 0, err
	}
	if n.Total == nil || *n.Total < 0 {
		return 0, m.strange()
	}
	return *n.Total, nil
}

// counted returns the part of a body that Vertex AI counts: everything up to the end of the
// messages.
func (m *Model) counted(req *model.Request, body []byte) ([]byte, error) {
	if m.cached != "" {
		return nil, notSent(event.ErrUnsupported, "Vertex AI counts no tokens of cached content", "use Request.Tokens, which estimates")
	}
	tail, err := m.tail(req)
	if err != nil {
		return nil, err
	}
	return append(body[:len(body)-len(tail)], `]}`...), nil
}

// call sends a request without streaming and decodes the response into out. If out is nil, it
// discards the response.
func (m *Model) call(ctx context.Context, x *exchange, out any) error {
	g := idle.New(ctx, m.stall)
	defer g.End()
	if err := m.post(g, x); err != nil {
		return m.failure(g, x, err)
	}
	defer x.answer.Body.Close()
	said, err := provider.ReadAll(g.Reading(x.answer.Body), mostAnswer)
	if err != nil {
		return m.failure(g, x, err)
	}
	if out == nil {
		return nil
	}
	if json.Unmarshal(said, out) != nil {
		return m.strange()
	}
	return nil
}

// strange returns the error for a response that is not the API's.
func (m *Model) strange() error {
	return &event.Error{
		Op: op, Kind: event.ErrModel, Code: model.CodeForeign, Err: errNoStream,
		Message: "what answered at " + m.place() + " is not " + m.title(), Hint: "look at the base URL, " + m.baseFrom,
	}
}
