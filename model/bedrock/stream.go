package bedrock

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/awsframe"
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
		g.Arm()
		answer, err := m.post(g.Context(), &a, m.whole(req))
		refused := a.kept.Sent > 0 && refusesThinking(err)
		if refused {
			if a, err = m.request(req, true); err == nil {
				g.Arm()
				answer, err = m.post(g.Context(), &a, m.whole(req))
			}
		}
		g.Rest()
		if err != nil {
			yield(model.Chunk{}, m.failure(g, answer.header != nil, req, err))
			return
		}
		d := decoder{
			family: &m.family, guard: m.guard, id: answer.header.Get("X-Amzn-Requestid"),
			names: m.family.names.Back(req.Tools), serial: req.ToolChoice.Serial, yield: yield,
		}
		if m.family.binds {
			d.stamper = a.kept.Stamper()
		}
		d.send(model.Chunk{Kind: model.ChunkResponse, ID: d.id, Text: m.name})
		if n := len(a.kept.Drop); n > 0 {
			d.send(bound.Report(n, refused))
		}
		if answer.stream == nil {
			err = d.answer(answer.whole)
		} else {
			defer answer.stream.Close()
			err = d.run(g, answer.stream)
		}
		if err != nil && !d.left {
			yield(model.Chunk{}, m.failure(g, true, req, err))
		}
	}
}

// answer is an answer of the API, streamed or whole.
type answer struct {
	// header is nil until the answer begins.
	header http.Header
	stream io.ReadCloser
	whole  []byte
}

// post sends a request.
func (m *Model) post(ctx context.Context, a *asked, whole bool) (answer, error) {
	if whole {
		body, header, err := m.caller.whole(ctx, converse, m.name, a.header, a.body)
		return answer{header: header, whole: body}, err
	}
	resp, err := m.caller.ask(ctx, converseStream, m.name, a.header, a.body) //nolint:bodyclose // who reads the answer closes it
	if err != nil {
		return answer{}, err
	}
	return answer{header: resp.Header, stream: resp.Body}, nil
}

// metadataWait bounds the wait for the metadata after an answer's end signal. It
// comes at once or never.
const metadataWait = 5 * time.Second

// Bounds for a stream: its bytes, and its open blocks.
const (
	maxStream = 512 << 20
	maxOpen   = 1 << 10
)

// run reads a stream until the answer is complete and returns the error that cut it.
// If the caller stopped reading chunks, d.left is set and run returns nil.
func (d *decoder) run(g *idle.Guard, body io.Reader) error {
	in := g.Reading(body)
	f := awsframe.NewReader(in)
	var late *time.Timer
	var over atomic.Bool
	total := 0
	defer func() {
		if late != nil {
			late.Stop()
		}
	}()
	for !d.left && (!d.told || !d.stopped) {
		m, err := f.Next()
		switch {
		case err == nil:
			err = d.message(&m)
			if total += len(m.Payload); err == nil && (total > cmp.Or(d.most, maxStream) ||
				d.held > cmp.Or(d.most, maxWhole) || len(d.open) > maxOpen) {
				err = awsframe.ErrTooLong
			}
		case errors.Is(err, io.EOF) && d.stopped, d.stopped && g.Outer().Err() == nil && (over.Load() || g.Stalled()):
			// No metadata followed the end signal: the usage is unknown.
			d.finish()
			return nil
		case errors.Is(err, io.EOF):
			err = errCut
		}
		if err != nil {
			return err
		}
		if d.stopped && late == nil {
			late = time.AfterFunc(metadataWait, func() { over.Store(true); g.Cancel() })
		}
	}
	if !d.left {
		d.finish()
	}
	if !d.left {
		g.Drain(in)
	}
	return nil
}

// message decodes one message of a stream.
func (d *decoder) message(m *awsframe.Frame) error {
	switch string(m.Kind) {
	case "event":
		return d.event(string(m.Name), m.Payload)
	case "exception", "error":
		return awserr.Exception(string(m.Name), string(m.Message), m.Payload)
	default:
		return nil
	}
}
