package anthropic

import (
	"context"
	"iter"
	"net/http"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
)

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a, err := m.request(req, false)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		g := idle.New(ctx, m.stall)
		defer g.End()
		answer, err := m.post(g, &a)
		refused := a.kept.Sent > 0 && refusesThinking(err)
		if refused {
			if a, err = m.request(req, true); err == nil {
				answer, err = m.post(g, &a)
			}
		}
		if err != nil {
			yield(model.Chunk{}, m.failure(g, err))
			return
		}
		defer answer.Body.Close()
		in := g.Reading(answer.Body)
		d := decoder{names: a.names, yield: yield}
		if binds(m.name) {
			d.bind = newBinding(&a)
		}
		if n := len(a.kept.Drop); n > 0 {
			d.send(bound.Report(n, refused))
		}
		from, err := m.events(answer, in)
		if err == nil {
			err = d.run(from)
		}
		switch {
		case d.left:
		case err != nil:
			yield(model.Chunk{}, m.failure(g, err))
		default:
			g.Drain(in)
		}
	}
}

// post sends a request and returns the response once its header has arrived. [Model.events]
// reads the response.
func (m *Model) post(g *idle.Guard, a *asked) (*http.Response, error) {
	accept := eventsType
	if m.aws != nil {
		accept = framesType
	}
	answer, err := m.send(g, http.MethodPost, m.address(), accept, a.header, jsonType, bodyOf(a.body))
	if err != nil {
		return nil, err
	}
	if kind := contentType(answer.Header); answer.StatusCode != http.StatusOK || kind != accept && kind != jsonType {
		return nil, strange(g, answer)
	}
	return answer, nil
}

// Info implements [model.Model]. The name is "anthropic:", "bedrock:" or "vertex:" and
// the vendor's name.
func (m *Model) Info() model.Info {
	return model.Info{Name: m.identity(), ContextWindow: window(m.name), Output: schematic(m.name), Setups: m.setups()}
}

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }
