package cassette

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Patience bounds the wait of a replayed call that its caller ended in the recording. If the
// caller does not end it again, it then fails.
const Patience = time.Second

// Player is a [model.Model] that answers from a recording. Its Info is that of the recorded
// model, with Replay set. It is safe for concurrent use.
//
// Each answer is given once. A request is matched by its run, scope, cycle and attempt. A run
// is matched to the first unused recorded run that begins in the same way. If several calls
// match, as for calls outside a loop, the first with the same request is used. If the request
// differs, the call fails with [event.ErrConflict] and a description of the difference, and so
// do all later calls of that run. If the recording has no such call, the error is
// [event.ErrNotFound]. The loop retries neither.
//
// Errors are returned as recorded, with kind, hint and RetryAfter. A call that its caller ended
// yields the recorded chunks, and then waits for at most [Patience] until the caller ends it
// again.
type Player struct {
	// progress is shared by the players of one recording.
	*progress
	tape  *recording
	opts  options
	model int
}

// progress is the state of a replay.
type progress struct {
	mu     sync.Mutex
	played []bool
	left   int
	// runs numbers the runs that play; taken are the recorded ones that do.
	runs  runs
	ids   runs // of all runs so far
	begun beginnings
	taken map[int]bool
	// broken holds, by run, the error that ended its replay.
	broken map[string]error
	first  error
	told   map[string]bool
}

var _ model.Model = (*Player)(nil)

// Replay reads a whole recording and returns its first model.
//
// The error is of kind [event.ErrInvalid] for an invalid recording, and [event.ErrNewer] for
// the format of a later version.
func Replay(r io.Reader, opts ...Option) (*Player, error) {
	tape, err := read(r)
	if err != nil {
		return nil, err
	}
	return &Player{
		tape: tape, opts: configure(opts), model: 1,
		progress: &progress{
			played: make([]bool, len(tape.calls)), left: len(tape.calls), runs: runs{}, ids: runs{}, begun: beginnings{}, taken: map[int]bool{},
			broken: map[string]error{}, told: map[string]bool{},
		},
	}, nil
}

// Names returns the names of the recorded models in the order in which they were added.
func (p *Player) Names() []string {
	names := make([]string, len(p.tape.models))
	for i := range names {
		names[i] = p.tape.models[i].Name
	}
	return names
}

// Model returns the model with this name in the same recording.
func (p *Player) Model(name string) (*Player, error) {
	i := slices.Index(p.Names(), name)
	if i < 0 {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "the recording has no answers of the model " + strconv.Quote(excerpt(name, 0)),
			Hint: "it has those of " + strings.Join(p.Names(), ", "),
		}
	}
	other := *p
	other.model = i + 1
	return &other, nil
}

// Cancellable implements [model.Cancellable].
func (p *Player) Cancellable() model.Model { return p }

// Info implements [model.Model]. It has a price for usages whose cost was recorded.
func (p *Player) Info() model.Info {
	m := &p.tape.models[p.model-1]
	info := model.Info{Name: m.Name, Simulated: m.Simulated, ContextWindow: m.ContextWindow, Output: m.Output, Replay: true}
	if m.Priced {
		info.Cost = func(u event.Usage) (int64, bool) {
			n, known := p.tape.costs[costOf(p.model, u)]
			return n, known
		}
	}
	return info
}

// Left returns the number of recorded calls that were not replayed: 0 after a complete replay.
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// Truncated reports whether the end of the recording is missing, as after a crash.
func (p *Player) Truncated() bool { return p.tape.cut }

// Err returns the error for the first request that did not match; nil if all matched.
func (p *Player) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first
}

// Inputs returns the input of each recorded run in order, as far as the recorded requests show
// it: the last text of the input, or "" for input without text.
func (p *Player) Inputs() []string {
	inputs := make([]string, p.tape.runs)
	seen := 0
	for _, c := range p.tape.calls {
		if c.Run != seen+1 {
			continue
		}
		seen++
		all := c.all()
		if c.Scope != "" || c.Cycle > 1 || len(all) == 0 {
			continue
		}
		if m, err := event.DecodeMessage(all[len(all)-1]); err == nil && m.Role == event.RoleUser {
			for _, b := range m.Content { // what was left of earlier runs stands before it
				if text, ok := b.(*event.Text); ok {
					inputs[seen-1] = text.Text
				}
			}
		}
	}
	return inputs
}

// Stream implements [model.Model].
func (p *Player) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if req == nil {
			req = &model.Request{}
		}
		c, drifts, err := p.find(req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		for _, d := range drifts {
			p.opts.drifted(d)
		}
		p.play(ctx, c, yield)
	}
}

// play yields a recorded answer.
func (p *Player) play(ctx context.Context, c *call, yield func(model.Chunk, error) bool) {
	end := c.end
	if end == nil {
		end = &endLine{}
	}
	pace := pacer{speed: p.opts.speed, began: time.Now()}
	defer pace.stop()
	for i := range c.chunks {
		// What was heard before its caller went is given also if he is quicker now.
		if !pace.wait(ctx, c.chunks[i].at) && end.Left == "" {
			yield(model.Chunk{}, gone(ctx))
			return
		}
		out := c.chunks[i].Chunk
		if out.Usage != nil {
			u := *out.Usage
			out.Usage = &u
		}
		if !yield(out, nil) {
			return
		}
	}
	pace.wait(ctx, time.Duration(end.At))
	switch {
	case c.end == nil:
		yield(model.Chunk{}, p.fail("", &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the recording breaks off inside this answer (request " + strconv.Itoa(c.N) + ")",
			Hint: "the program that wrote it was killed; record it again",
		}))
	case end.Left != "":
		timer := time.NewTimer(Patience)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		if err := end.err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		if ctx.Err() != nil {
			return // without a word, as it was
		}
		yield(model.Chunk{}, &event.Error{
			Op: op, Kind: event.ErrCancelled, Message: "the recording ends here: the run was cancelled when it was made",
			Hint: "record it again for a complete answer",
		})
	case ctx.Err() != nil:
		yield(model.Chunk{}, gone(ctx))
	default:
		if err := end.err(); err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

// err returns the recorded error; nil if there was none.
func (l *endLine) err() error {
	switch {
	case l.Error != nil:
		e := *l.Error
		return &e
	case l.Plain != nil:
		return &plainError{text: *l.Plain, kind: l.Is}
	default:
		return nil
	}
}

// plainError is a recorded error that was not an *event.Error.
type plainError struct {
	text string
	kind event.ErrorKind
}

func (e *plainError) Error() string { return e.text }

// Unwrap returns an error for the recorded kind.
func (e *plainError) Unwrap() []error {
	switch e.kind {
	case "":
		return nil
	case event.ErrCancelled:
		return []error{e.kind, context.Canceled}
	case event.ErrTimeout:
		return []error{e.kind, context.DeadlineExceeded}
	default:
		return []error{e.kind}
	}
}

// gone returns the error of a call that its caller ended.
func gone(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &event.Error{Op: op, Kind: event.ErrTimeout, Message: "the time was over before the answer was", Err: context.Cause(ctx)}
	}
	return &event.Error{Op: op, Kind: event.ErrCancelled, Message: "the call was cancelled", Err: context.Cause(ctx)}
}

// pacer waits for the recorded time of a chunk.
type pacer struct {
	speed float64
	began time.Time
	timer *time.Timer
}

// wait reports whether the context is still active.
func (p *pacer) wait(ctx context.Context, at time.Duration) bool {
	if p.speed > 0 {
		if d := time.Duration(float64(at)/p.speed) - time.Since(p.began); d > 0 {
			if p.timer == nil {
				p.timer = time.NewTimer(d)
			} else {
				p.timer.Reset(d)
			}
			select {
			case <-p.timer.C:
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err() == nil
}

func (p *pacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// fail records that a run's replay failed.
func (p *Player) fail(run string, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed(run, err)
}

// failed is fail for callers that hold the lock.
func (p *Player) failed(run string, err error) error {
	if p.first == nil {
		p.first = err
	}
	if run != "" {
		p.broken[run] = err
	}
	return err
}

// find returns the recorded call for a request, and marks it as used.
func (p *Player) find(req *model.Request) (*call, []Drift, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun.again(p.model, req) {
		delete(p.broken, req.Run)
		delete(p.runs, req.Run)
	}
	if err := p.broken[req.Run]; err != nil {
		return nil, nil, err
	}
	if req.Run != "" {
		p.ids[req.Run] = 0
	}
	var c *call
	var drifts []Drift
	var err error
	if p.opts.inOrder {
		c, drifts, err = p.next(req)
	} else {
		c, drifts, err = p.fitting(req)
	}
	if err != nil {
		return nil, nil, p.failed(req.Run, err)
	}
	p.played[c.N-1] = true
	p.left--
	return c, slices.DeleteFunc(drifts, func(d Drift) bool {
		if p.told[d.Call] {
			return true
		}
		p.told[d.Call] = true
		return false
	}), nil
}

// next returns the next call of the file, if the request matches it.
func (p *Player) next(req *model.Request) (*call, []Drift, error) {
	n := slices.Index(p.played, false)
	if n < 0 {
		return nil, nil, p.over()
	}
	c := p.tape.calls[n]
	run, known := p.runs[req.Run]
	if !known && req.Run != "" {
		if run = c.Run; p.taken[run] {
			run = 0 // another run has it
		}
	}
	if c.spot() != p.spot(req, run) {
		return nil, nil, &event.Error{
			Op: op, Kind: event.ErrConflict, Message: "the recording goes on with " + place(c) + ", and this is " + placeOf(req, p.name(), run),
			Hint: "replay without the option InOrder if the order of calls may differ, or record it again",
		}
	}
	a, err := askedOf(req, &p.opts.hide, p.ids)
	if err != nil {
		return nil, nil, err
	}
	g, drifts := p.compare(c, a, p.opts.drifted != nil)
	if g != nil {
		return nil, nil, differs(c, g)
	}
	p.bind(req.Run, run)
	return c, drifts, nil
}

// fitting is the call with the request's place and content: in the recorded run that
// its run plays, or in another one, which was asked the same.
func (p *Player) fitting(req *model.Request) (*call, []Drift, error) {
	a, err := askedOf(req, &p.opts.hide, p.ids)
	if err != nil {
		return nil, nil, err
	}
	run, known := p.runs[req.Run]
	if known || req.Run == "" {
		c, drifts, missed := p.among(p.spot(req, run), a)
		if c == nil {
			if c, drifts, _ = p.among(p.spot(req, anyRun), a); c == nil && missed == nil {
				missed = p.nowhere(req, run)
			}
		}
		if c != nil {
			return c, drifts, nil
		}
		return nil, nil, missed
	}
	// A run that is new: it is the first recorded one that begins like it.
	var first error
	for run = 1; run <= p.tape.runs; run++ {
		if p.taken[run] {
			continue
		}
		c, drifts, missed := p.among(p.spot(req, run), a)
		if c != nil {
			p.bind(req.Run, run)
			return c, drifts, nil
		}
		if missed == nil {
			missed = p.nowhere(req, run)
		}
		if first == nil {
			first = missed
		}
	}
	if c, drifts, _ := p.among(p.spot(req, anyRun), a); c != nil {
		return c, drifts, nil
	}
	if first == nil {
		first = p.over()
	}
	return nil, nil, first
}

// among is the first call at a spot that was asked the same and was not played.
// Where there is none, missed says how the first one differs; nil if there is not
// even that.
func (p *Player) among(at spot, a *asked) (c *call, drifts []Drift, missed error) {
	for _, c := range p.tape.byPlace[at] {
		if p.played[c.N-1] {
			continue
		}
		g, drifts := p.compare(c, a, p.opts.drifted != nil)
		if g == nil {
			return c, drifts, nil
		}
		if missed == nil {
			missed = differs(c, g)
		}
	}
	return nil, nil, missed
}

// nowhere returns the error for a request without a recorded call.
func (p *Player) nowhere(req *model.Request, run int) error {
	e := &event.Error{
		Op: op, Kind: event.ErrNotFound, Message: "the recording has no " + placeOf(req, p.name(), run),
		Hint: "record it again; a replay can only repeat the recorded requests",
	}
	switch {
	case p.tape.cut:
		e.Message += ": its end is missing"
		e.Hint = "the program that wrote it was killed; record it again"
	case len(p.tape.byPlace[p.spot(req, run)]) > 0:
		e.Message = "the recording's " + placeOf(req, p.name(), run) + " was replayed already"
		e.Hint = "open the recording again for another replay"
	}
	return e
}

// spot is where a request stands if its run is the recorded one of this number.
func (p *Player) spot(req *model.Request, run int) spot {
	return spot{p.model, run, req.Scope, req.Cycle, req.Attempt}
}

// bind maps a run to a recorded run.
func (p *Player) bind(id string, run int) {
	if id != "" {
		p.runs[id] = run
		p.taken[run] = true
	}
}

func (p *Player) name() string { return p.tape.models[p.model-1].Name }

// over returns the error for a run that was not recorded.
func (p *Player) over() error {
	e := &event.Error{
		Op: op, Kind: event.ErrNotFound, Message: "the recording is over", Hint: "record it again; a replay can only repeat the recorded requests",
	}
	if p.tape.cut {
		e.Message += ": its end is missing"
		e.Hint = "the program that wrote it was killed; record it again"
	}
	return e
}

// differs returns the error for a request that differs from the recorded one.
func differs(c *call, g *gap) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Message: "this is not what was asked when it was recorded: " + g.words(),
		Hint: fmt.Sprintf("repeat the recorded request, or record it again; recorded is %s (request %d, line %d)", place(c), c.N, c.line),
	}
}

// place describes a recorded call; placeOf describes a request.
func place(c *call) string {
	return words(c.Run, c.Scope, c.Cycle, c.Attempt)
}

func placeOf(req *model.Request, model string, run int) string {
	return words(run, req.Scope, req.Cycle, req.Attempt) + " of " + model
}

func words(run int, scope string, cycle, attempt int) string {
	var parts []string
	if run > 0 {
		parts = append(parts, "run "+strconv.Itoa(run))
	}
	if scope != "" {
		parts = append(parts, "scope "+scope)
	}
	if cycle > 0 {
		parts = append(parts, "cycle "+strconv.Itoa(cycle))
	}
	if attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(attempt))
	}
	if len(parts) == 0 {
		return "call"
	}
	return "call (" + strings.Join(parts, ", ") + ")"
}
