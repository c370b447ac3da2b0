package openai

import (
	"cmp"
	"context"
	"iter"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
)

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		body, way, err := m.body(req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		g := idle.New(ctx, m.stall)
		defer g.End()
		answer, err := m.post(g, &req.Options, body)
		left := 0
		if refusesReasoning(err) {
			var bare *model.Request
			if bare, left = bound.Without(req, m.unsealed); left > 0 {
				if body, way, err = m.body(bare); err == nil {
					answer, err = m.post(g, &req.Options, body)
				}
			}
		}
		if err != nil {
			yield(model.Chunk{}, m.failure(g, err))
			return
		}
		defer answer.Body.Close()
		if left > 0 && !yield(bound.Report(left, true), nil) {
			return
		}
		s := stream{in: answer.in, events: m.decoder(way, yield)}
		if answer.in == nil {
			err = s.all(answer.whole)
		} else {
			err = s.run()
		}
		switch {
		case s.sender().left:
		case err != nil:
			yield(model.Chunk{}, m.failure(g, err))
		case answer.in != nil:
			g.Drain(s.in)
		}
	}
}

// decoder returns the decoder for an answer.
func (m *Model) decoder(way back, yield func(model.Chunk, error) bool) events {
	s := sender{names: way.names, yield: yield, arguments: arguments{nulled: way.nulled}}
	if len(way.absent) > 0 {
		s.absent = &filter{names: way.absent}
	}
	if m.api == Responses {
		return &responsesDecoder{to: s, runsCustom: m.host == xai}
	}
	return &chatDecoder{to: s, host: m.host}
}

// Check implements [model.Checker]. It builds a request and discards it.
func (m *Model) Check(req *model.Request) error {
	if req == nil {
		return nil
	}
	if _, err := m.header(req.Options.Headers); err != nil {
		return err
	}
	if err := m.unsupported(req.Messages); err != nil {
		return err
	}
	_, err := m.around(req, nil)
	return err
}

// Info implements [model.Model]. The name is "openai:", or the prefix set by [Named],
// and the server's name.
func (m *Model) Info() model.Info {
	info := model.Info{Name: m.prefix + ":" + m.name, Output: m.outputs}
	if m.vendors {
		info.ContextWindow = window(cmp.Or(m.family, m.name))
	}
	return info
}

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// back is what the decoder needs from the request.
type back struct {
	// names maps tool names that were changed for the wire back to the agent's.
	names map[string]string
	// absent are the members of the structured output that are null if absent.
	absent map[string]bool
	// nulled are the same for the arguments of strict tools, by tool.
	nulled map[string]map[string]bool
}
