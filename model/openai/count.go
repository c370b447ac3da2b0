package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
)

// countedMembers are the request members that the count takes (openai-go v3.95,
// responses.InputTokenCountParams). The others do not change what the model reads.
var countedMembers = []string{"instructions", "model", "parallel_tool_calls", "input", "text", "tool_choice", "tools", "reasoning", "truncation"}

// CountTokens implements [model.Counter] with OpenAI's responses/input_tokens. Other servers
// and Chat Completions have no count: the error is of kind [event.ErrUnsupported].
func (m *Model) CountTokens(ctx context.Context, req *model.Request) (int64, error) {
	if !m.vendors || m.azure || m.api != Responses {
		return 0, notSent(event.ErrUnsupported, "%s counts no tokens here",
			"use Request.Tokens, which estimates, or OpenAI's own address with Responses", m.title)
	}
	body, _, err := m.body(req)
	if err != nil {
		return 0, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &members); err != nil {
		return 0, &event.Error{Op: m.op(), Kind: event.ErrInternal, Message: "the request cannot be read again", Err: err}
	}
	for name := range members {
		if !slices.Contains(countedMembers, name) {
			delete(members, name)
		}
	}
	if body, err = json.Marshal(members); err != nil {
		return 0, &event.Error{Op: m.op(), Kind: event.ErrInternal, Message: "the request cannot be written again", Err: err}
	}
	header, err := m.header(req.Options.Headers)
	if err != nil {
		return 0, err
	}
	header.Set("Accept", "application/json")
	g := idle.New(ctx, m.stall)
	defer g.End()
	resp, err := m.send(g, func(ctx context.Context) (*http.Response, error) {
		return provider.Post(ctx, m.client, m.endpoint("responses/input_tokens"), header, body)
	})
	var count struct {
		Tokens *int64 `json:"input_tokens"`
	}
	if err := m.object(g, resp, err, &count); err != nil {
		return 0, m.failure(g, err)
	}
	if count.Tokens == nil || *count.Tokens < 0 {
		return 0, m.foreign(&noStream{kind: "JSON of another kind"})
	}
	return *count.Tokens, nil
}

var _ model.Counter = (*Model)(nil)
