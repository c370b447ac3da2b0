package gemini

import (
	"context"
	"iter"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
)

// Check implements [model.Checker].
func (m *Model) Check(req *model.Request) error {
	if req == nil {
		return notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a request")
	}
	if _, err := m.appendHead(nil, req); err != nil {
		return err
	}
	if err := unsupported(req.Messages); err != nil {
		return err
	}
	_, err := m.tail(req)
	return err
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		body, back, err := m.body(req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		g := idle.New(ctx, m.stall)
		defer g.End()
		x := exchange{action: streaming, body: body, attempt: req.Attempt}
		x.header, err = m.headers(&req.Options)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		err = m.post(g, &x)
		left := 0
		if refusesSignature(err) {
			var bare *model.Request
			if bare, left = bound.Without(req, unsigned); left > 0 {
				if body, back, err = m.body(bare); err == nil {
					x.body = body
					err = m.post(g, &x)
				}
			}
		}
		if err != nil {
			yield(model.Chunk{}, m.failure(g, &x, err))
			return
		}
		defer x.answer.Body.Close()
		if left > 0 && !yield(bound.Report(left, true), nil) {
			return
		}
		in, err := m.events(g, &x)
		if err != nil {
			yield(model.Chunk{}, m.failure(g, &x, err))
			return
		}
		s := stream{decoder: decoder{names: back, yield: yield, serial: req.ToolChoice.Serial}, in: in, end: g.Cancel}
		s.perPrompt = m.generation < levels
		if err := s.run(); err != nil && !s.left {
			yield(model.Chunk{}, m.failure(g, &x, err))
		}
	}
}
