package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/braidrun/braid/model/internal/provider"
)

// whole turns a complete answer into the events of a stream, for servers without streaming.
type whole struct{ left [][]byte }

func (w *whole) next() ([]byte, error) {
	if len(w.left) == 0 {
		return nil, io.EOF
	}
	e := w.left[0]
	w.left = w.left[1:]
	return e, nil
}

// wholeAnswer is an answer without streaming (api/messages), or an error.
type wholeAnswer struct {
	Type    string            `json:"type"`
	ID      string            `json:"id"`
	Model   string            `json:"model"`
	Content []json.RawMessage `json:"content"`
	Stop    *string           `json:"stop_reason"`
	Usage   json.RawMessage   `json:"usage"`
	Error   json.RawMessage   `json:"error"`
}

// readWhole decodes an answer without streaming.
func readWhole(in io.Reader) (events, error) {
	body, err := provider.ReadAll(in, longest)
	switch {
	case errors.Is(err, provider.ErrTooLong):
		return nil, errTooLong
	case err != nil:
		return nil, err
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil, errCut
	}
	if body[0] != '{' {
		return nil, &foreignError{kind: jsonType}
	}
	var a wholeAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	switch {
	case a.Type == "error" || a.Content == nil && len(a.Error) > 0:
		return nil, said(0, nil, body)
	case a.Content == nil:
		return nil, &foreignError{kind: jsonType}
	}
	return a.events()
}

// events returns the stream events for the answer's blocks.
func (a *wholeAnswer) events() (events, error) {
	w := &whole{}
	add := func(e map[string]any) {
		b, err := json.Marshal(e)
		if err == nil { // raw parts were already decoded from JSON
			w.left = append(w.left, b)
		}
	}
	message := map[string]any{"id": a.ID, "model": a.Model}
	if len(a.Usage) > 0 {
		message["usage"] = a.Usage
	}
	add(map[string]any{"type": "message_start", "message": message})
	for i, raw := range a.Content {
		var b struct {
			Citations []json.RawMessage `json:"citations"`
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnreadable, err)
		}
		add(map[string]any{"type": "content_block_start", "index": i, "content_block": raw})
		for _, c := range b.Citations {
			add(map[string]any{"type": "content_block_delta", "index": i, "delta": map[string]any{"type": "citations_delta", "citation": c}})
		}
		add(map[string]any{"type": "content_block_stop", "index": i})
	}
	add(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": a.Stop}})
	add(map[string]any{"type": "message_stop"})
	return w, nil
}

// events returns the reader for a response, by its content type.
func (m *Model) events(answer *http.Response, in io.Reader) (events, error) {
	switch contentType(answer.Header) {
	case jsonType:
		return readWhole(in)
	case framesType:
		return newFrames(in), nil
	default:
		return newLines(in), nil
	}
}
