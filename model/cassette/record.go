package cassette

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"iter"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Recorder is a [model.Model] that calls another model and records the requests and answers. It
// is safe for concurrent use.
//
// It writes a request before it calls the model, and the answer at its end, each with one
// Write. If a write fails, the call fails, and so do all later calls, without calling the
// model: an incomplete recording would be useless. The error is of kind [event.ErrInternal],
// because a retry would not help; [Recorder.Err] has the cause. If a write fails after the
// caller has left the call, the next call and Err report it.
type Recorder struct {
	model model.Model
	id    int
	tape  *tape
}

var _ model.Model = (*Recorder)(nil)

// Record returns a model that records the calls of m to w. The caller closes w after all runs
// have ended.
func Record(m model.Model, w io.Writer, opts ...Option) *Recorder {
	t := &tape{
		w: w, opts: configure(opts), runs: runs{}, begun: beginnings{},
		setups: map[[32]byte]int{}, models: map[string]int{}, last: map[string]*recorded{}, costs: map[costed]bool{},
	}
	header := headerLine{Kind: lineHeader, Version: Version}
	if !t.opts.timeless {
		now := time.Now().UTC().Truncate(time.Second)
		header.Recorded = &now
	}
	if line, err := appendLine(nil, header); err != nil {
		t.err = err
	} else {
		t.write(line)
	}
	return t.model(m)
}

// Also returns a model that records m in the same recording, for example the model of a
// sub-agent.
func (r *Recorder) Also(m model.Model) *Recorder { return r.tape.model(m) }

// Info implements [model.Model]. It returns the recorded model's Info.
func (r *Recorder) Info() model.Info {
	info := r.model.Info()
	if cost := info.Cost; cost != nil {
		info.Cost = func(u event.Usage) (int64, bool) {
			n, known := cost(u)
			if known {
				r.tape.priced(r.id, u, n)
			}
			return n, known
		}
	}
	return info
}

// Unwrap returns the recorded model.
func (r *Recorder) Unwrap() model.Model { return r.model }

// Err returns why the recording is incomplete; nil if it is not. The error is of kind
// [event.ErrStorageFull] if there is no space, [event.ErrUnavailable] for other failures to
// write, and [event.ErrInvalid] for a value that cannot be encoded.
func (r *Recorder) Err() error {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	return r.tape.err
}

// Calls returns the number of calls begun.
func (r *Recorder) Calls() int {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	return r.tape.n
}

// tape is a recording in progress.
type tape struct {
	opts options

	mu     sync.Mutex
	w      io.Writer
	err    error
	n      int
	runs   runs
	count  int // of runs
	begun  beginnings
	models map[string]int
	setups map[[32]byte]int
	// last holds the last request of each scope, and of each scope of a run.
	last map[string]*recorded
	// costs are the usages whose cost is written.
	costs map[costed]bool
}

// priced writes the cost of a usage that no chunk reported.
func (t *tape) priced(model int, u event.Usage, cost int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.costs[costOf(model, u)] {
		return
	}
	t.costs[costOf(model, u)] = true
	line, err := appendLine(nil, costLine{Kind: lineCost, Model: model, Usage: u, Cost: cost})
	if err != nil && t.err == nil {
		t.err = lost(err)
	}
	t.write(line)
}

// recorded is a request that was written: only what is needed to find how much of
// the next one it has.
type recorded struct {
	n    int
	sums [][32]byte
}

// write writes lines with one Write. The caller must hold the lock or be the only user.
func (t *tape) write(lines []byte) {
	if t.err != nil {
		return
	}
	n, err := t.w.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	if err != nil {
		t.err = lost(err)
	}
}

// lost returns the error for a failed write.
func lost(err error) error {
	e := &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the recording cannot be written", Err: err,
		Hint: "check where it is written to, or run without it",
	}
	if errors.Is(err, syscall.ENOSPC) {
		e.Kind, e.Hint = event.ErrStorageFull, "free some space, or write elsewhere"
		e.Message += ": there is no space left"
	}
	return e
}

// model returns the recorder of a model. Models with the same name share an entry.
func (t *tape) model(m model.Model) *Recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	info := m.Info()
	id := t.models[info.Name]
	if id == 0 {
		id = len(t.models) + 1
		t.models[info.Name] = id
		line, err := appendLine(nil, modelLine{
			Kind: lineModel, Model: id, Name: info.Name, Simulated: info.Simulated, ContextWindow: info.ContextWindow, Output: info.Output,
			Priced: info.Cost != nil,
		})
		if err != nil && t.err == nil {
			t.err = lost(err)
		}
		t.write(line)
	}
	return &Recorder{model: m, id: id, tape: t}
}

// Stream implements [model.Model].
func (r *Recorder) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if req == nil {
			req = &model.Request{}
		}
		n, err := r.tape.begin(r.id, req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		x := &exchanged{n: n, model: r.id, began: time.Now(), cost: r.model.Info().Cost}
		written := false
		end := func(left string, err error) error {
			written = true
			return r.tape.end(x, left, err)
		}
		defer func() {
			if !written { // the model panicked
				_ = end("", &event.Error{Op: "model " + r.model.Info().Name, Kind: event.ErrInternal, Message: "the model panicked"})
			}
		}()
		for c, err := range r.model.Stream(ctx, req) {
			if err != nil {
				if lost := end(leftBy(ctx), err); lost != nil {
					err = lost
				}
				yield(c, err)
				return
			}
			x.add(&c)
			if !yield(c, nil) {
				left := leftBy(ctx)
				if left == "" {
					left = leftStopped
				}
				_ = end(left, nil) // kept for Err and the next call
				return
			}
		}
		left := ""
		if !x.stopped {
			left = leftBy(ctx)
		}
		if err := end(left, nil); err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

// leftBy returns how a context ended a call; "" if it did not.
func leftBy(ctx context.Context) string {
	switch {
	case ctx.Err() == nil:
		return ""
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return leftDeadline
	default:
		return leftCancelled
	}
}

// begin writes a request and returns its number.
func (t *tape) begin(id int, req *model.Request) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return 0, t.ended()
	}
	again := t.begun.again(id, req)
	if _, known := t.runs[req.Run]; again || !known && req.Run != "" {
		t.count++
		t.runs[req.Run] = t.count
	}
	a, err := askedOf(req, &t.opts.hide, t.runs)
	if err != nil {
		return 0, err
	}
	line := requestLine{
		Kind: lineRequest, N: t.n + 1, Model: id, Run: t.runs[req.Run], Scope: req.Scope, Cycle: req.Cycle, Attempt: req.Attempt,
	}
	lines, err := appendLine(nil, a.setup)
	if err != nil {
		return 0, unwritable("the request", err)
	}
	sum := sha256.Sum256(lines)
	if line.Setup = t.setups[sum]; line.Setup == 0 {
		line.Setup = len(t.setups) + 1
		t.setups[sum] = line.Setup
		a.setup.Setup = line.Setup
		if lines, err = appendLine(nil, a.setup); err != nil {
			return 0, unwritable("the request", err)
		}
	} else {
		lines = nil
	}
	line.As, line.Keep = t.before(line.N, req, a)
	line.Messages = a.messages[line.Keep:]
	if lines, err = appendLine(lines, line); err != nil {
		return 0, unwritable("the request", err)
	}
	t.n++
	t.write(lines)
	return line.N, t.ended()
}

// ended returns the error for calls after a failed write; nil if all writes succeeded. Its kind
// is not retried.
func (t *tape) ended() error {
	e, ok := errors.AsType[*event.Error](t.err)
	if !ok {
		return t.err
	}
	told := *e
	told.Kind, told.Err = event.ErrInternal, e
	return &told
}

// before returns the earlier request with the same beginning, and the number of shared
// messages. It then stores this request in its place.
func (t *tape) before(n int, req *model.Request, a *asked) (as, keep int) {
	now := &recorded{n: n, sums: make([][32]byte, len(a.messages))}
	for i, m := range a.messages {
		now.sums[i] = sha256.Sum256(m)
	}
	for _, key := range []string{req.Scope + "\x00" + req.Run, req.Scope} {
		if r := t.last[key]; r != nil {
			same := 0
			for same < len(r.sums) && same < len(now.sums) && r.sums[same] == now.sums[same] {
				same++
			}
			if same > keep {
				as, keep = r.n, same
			}
		}
		t.last[key] = now
	}
	return as, keep
}

// exchanged is an answer in progress.
type exchanged struct {
	n       int
	model   int
	began   time.Time
	cost    func(event.Usage) (int64, bool)
	chunks  []chunkLine
	blocks  []event.Block
	stopped bool
}

// add stores a chunk.
func (x *exchanged) add(c *model.Chunk) {
	line := chunkLine{Kind: lineChunk, N: x.n, At: int64(time.Since(x.began)), Index: c.Index, ID: c.ID, Text: c.Text, Stop: c.Stop}
	if int(c.Kind) < len(chunkNames) {
		line.Chunk = chunkNames[c.Kind]
	}
	if c.Usage != nil {
		u := *c.Usage
		line.Usage = &u
		if x.cost != nil {
			if n, known := x.cost(u); known {
				line.Cost = &n
			}
		}
	}
	x.stopped = x.stopped || c.Kind == model.ChunkStop
	x.chunks = append(x.chunks, line)
	x.blocks = append(x.blocks, c.Block)
}

// end writes an answer and its end.
func (t *tape) end(x *exchanged, left string, failed error) error {
	h := &t.opts.hide
	last := endLine{Kind: lineEnd, N: x.n, At: int64(time.Since(x.began)), Left: left}
	if failed != nil {
		if e, ok := errors.AsType[*event.Error](failed); ok {
			hidden := *e
			hidden.Err = nil
			hidden.Message, hidden.Hint = h.text(e.Message), h.text(e.Hint)
			hidden.Op, hidden.Code = h.text(e.Op), h.text(e.Code)
			last.Error = &hidden
		} else {
			text := h.text(failed.Error())
			last.Plain = &text
			if kind := plainKind(failed); kind != event.ErrInternal {
				last.Is = kind
			}
		}
	}
	lines, err := x.lines(h, t.opts.timeless)
	if t.opts.timeless {
		last.At = 0
	}
	if err == nil {
		lines, err = appendLine(lines, last)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.err == nil {
		t.err = unwritable("the answer", err)
	}
	for i := range x.chunks {
		if c := &x.chunks[i]; c.Cost != nil {
			t.costs[costOf(x.model, *c.Usage)] = true
		}
	}
	t.write(lines)
	return t.ended()
}

// plainKind returns the kind of an error that is not an *event.Error.
func plainKind(err error) event.ErrorKind {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return event.ErrTimeout
	case errors.Is(err, context.Canceled):
		return event.ErrCancelled
	default:
		return event.KindOf(err)
	}
}

// lines redacts the chunks and encodes them.
func (x *exchanged) lines(h *hider, timeless bool) ([]byte, error) {
	type place struct {
		kind  string
		index int
	}
	texts := map[place][]int{}
	var order []place
	for i := range x.chunks {
		c := &x.chunks[i]
		switch c.Chunk {
		case chunkNames[model.ChunkText], chunkNames[model.ChunkThinking], chunkNames[model.ChunkSignature], chunkNames[model.ChunkCallInput]:
			p := place{c.Chunk, c.Index}
			if texts[p] == nil {
				order = append(order, p)
			}
			texts[p] = append(texts[p], i)
		default:
			c.Text = h.text(c.Text)
		}
		c.ID = h.text(c.ID)
	}
	h.acrossBlocks(x.chunks)
	for _, p := range order {
		pieces := make([]string, len(texts[p]))
		for k, i := range texts[p] {
			pieces[k] = x.chunks[i].Text
		}
		if p.kind == chunkNames[model.ChunkCallInput] {
			h.jsonPieces(pieces)
		} else {
			h.pieces(pieces)
		}
		for k, i := range texts[p] {
			x.chunks[i].Text = pieces[k]
		}
	}
	var lines []byte
	for i := range x.chunks {
		c := &x.chunks[i]
		if timeless {
			c.At = 0
		}
		if !utf8.ValidString(c.Text) {
			c.Base64, c.Text = []byte(c.Text), ""
		}
		if b := x.blocks[i]; b != nil {
			raw, err := event.AppendBlock(nil, b)
			if err != nil {
				return lines, err
			}
			raw = h.json(raw, false)
			if c.Block, err = compact(raw); err != nil {
				return lines, err
			}
			if string(c.Block) != string(raw) {
				c.Block, c.Verbatim = nil, string(raw)
			}
		}
		var err error
		if lines, err = appendLine(lines, c); err != nil {
			return lines, err
		}
	}
	return lines, nil
}
