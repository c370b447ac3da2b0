package models

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Limits bound the use of one provider's key. Zero means no bound.
type Limits struct {
	// Requests is per minute. An unused minute is saved, as with vendors: after a pause that many may go at once.
	Requests int
	// Tokens is per minute, and saved in the same way.
	Tokens int64
	// Concurrency bounds the calls at the same time.
	Concurrency int
}

// Limiter keeps the calls of one key within [Limits]. If the provider throttles one call with a
// Retry-After, all calls wait.
//
// Calls wait in one queue and go in the order in which they came, whatever their size. A call stops
// waiting when its context ends. Its tokens are estimated from the request and corrected by the
// reported usage: input, cache writes, and output, and cache reads except for Anthropic and
// Bedrock, which do not count them. A call that is refused before any output returns its tokens.
//
// If the provider asks to wait longer than [PatientFor], a call fails with ErrThrottled and the
// remaining time, so that its run can be parked.
//
// The waiting time is part of the latency in a run's metrics: for the run it is the same as a slow
// model.
type Limiter struct {
	limits Limits
	// door lets one call at a time wait for tokens. The others wait for the door in the order in
	// which they came.
	door  *semaphore.Weighted
	slots *semaphore.Weighted

	mu       sync.Mutex
	requests bucket
	tokens   bucket
	pause    time.Time
	// wake tells the call at the door that tokens were returned.
	wake chan struct{}
}

// PatientFor is the longest Retry-After of another call that a call waits for.
const PatientFor = 30 * time.Second

// NewLimiter returns a limiter. It returns an error of kind ErrInvalid for negative limits.
func NewLimiter(limits Limits) (*Limiter, error) {
	if limits.Requests < 0 || limits.Tokens < 0 || limits.Concurrency < 0 {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "a limit for a provider is negative", Hint: "give a number from 1, or 0 for no limit",
		}
	}
	l := &Limiter{limits: limits, door: semaphore.NewWeighted(1), wake: make(chan struct{}, 1)}
	if limits.Concurrency > 0 {
		l.slots = semaphore.NewWeighted(int64(limits.Concurrency))
	}
	now := time.Now()
	l.requests, l.tokens = newBucket(float64(limits.Requests), now), newBucket(float64(limits.Tokens), now)
	return l, nil
}

// Wrap returns a model whose calls obey the limiter. Several models may share a limiter. Unwrap
// returns the wrapped model.
func (l *Limiter) Wrap(m model.Model) model.Model {
	vendor, _, _ := strings.Cut(m.Info().Name, ":")
	return &limited{Model: m, limiter: l, cached: vendor != "anthropic" && vendor != "bedrock"}
}

// limited is a model that obeys a limiter.
type limited struct {
	model.Model
	limiter *Limiter
	// cached reports that cache reads count.
	cached bool
}

// Unwrap returns the wrapped model.
func (m *limited) Unwrap() model.Model { return m.Model }

// Cancellable implements [model.Cancellable] if the wrapped model does.
func (m *limited) Cancellable() model.Model {
	if model.IsCancellable(m.Model) {
		return m
	}
	return nil
}

// Stream implements [model.Model].
func (m *limited) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		need := int64(0)
		if m.limiter.limits.Tokens > 0 {
			need = estimate(req)
		}
		if err := m.limiter.enter(ctx, need); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		took := need
		defer func() { m.limiter.leave(took - need) }()
		said := false
		for c, err := range m.Model.Stream(ctx, req) {
			switch {
			case err != nil:
				if !said {
					took = 0
				}
				m.limiter.refused(err)
			case c.Usage != nil:
				took = m.counted(c.Usage)
			}
			said = said || err == nil
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// counted returns how many tokens of a usage the provider counts.
func (m *limited) counted(u *event.Usage) int64 {
	n := max(u.Input, 0) + max(u.CacheWrite, 0) + max(u.Output, 0)
	if m.cached {
		n += max(u.CacheRead, 0)
	}
	return n
}

// enter waits until a call may go. Without an error the caller must call leave.
func (l *Limiter) enter(ctx context.Context, tokens int64) error {
	if err := ctx.Err(); err != nil {
		return ended(ctx)
	}
	if l.door.Acquire(ctx, 1) != nil {
		return ended(ctx)
	}
	defer l.door.Release(1)
	if l.slots != nil && l.slots.Acquire(ctx, 1) != nil {
		return ended(ctx)
	}
	err := l.wait(ctx, tokens)
	if err != nil && l.slots != nil {
		l.slots.Release(1)
	}
	return err
}

// wait waits at the door.
func (l *Limiter) wait(ctx context.Context, tokens int64) error {
	for {
		wait, paused := l.take(tokens)
		switch {
		case wait == 0:
			return nil
		case paused > PatientFor:
			return &event.Error{
				Op: op, Kind: event.ErrThrottled, RetryAfter: paused, Code: "limiter",
				Message: "the provider asked another call with the same key to wait", Hint: "try again when that time is over, or use another model",
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return ended(ctx)
		}
	}
}

// take lets a call go, or returns how long to wait. paused is the part of it that the provider
// asked for.
func (l *Limiter) take(tokens int64) (wait, paused time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	paused = max(l.pause.Sub(now), 0)
	wait = max(paused, l.requests.until(1, now), l.tokens.until(float64(tokens), now))
	if wait == 0 {
		l.requests.take(1, now)
		l.tokens.take(float64(tokens), now)
	}
	return wait, paused
}

// leave ends a call that used more tokens than estimated, or fewer if more is negative.
func (l *Limiter) leave(more int64) {
	if l.slots != nil {
		l.slots.Release(1)
	}
	if more == 0 {
		return
	}
	l.mu.Lock()
	l.tokens.take(float64(more), time.Now())
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// refused handles a provider's refusal of a call.
func (l *Limiter) refused(err error) {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.RetryAfter <= 0 || e.Kind != event.ErrThrottled && e.Kind != event.ErrOverloaded {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(e.RetryAfter); until.After(l.pause) {
		l.pause = until
	}
}

// ended returns the error of a call whose context has ended.
func ended(ctx context.Context) error {
	e := &event.Error{
		Op: op, Kind: event.ErrCancelled, Message: "the call was cancelled while it waited for the provider's limits", Err: context.Cause(ctx),
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = event.ErrTimeout, "the time was over while the call waited for the provider's limits"
		e.Hint = "allow more time, or higher limits"
	}
	return e
}

// bucket is a token bucket that fills per minute, up to a minute's worth. It may be in debt.
// Without a rate it is never empty.
type bucket struct {
	minute, level float64
	at            time.Time
}

func newBucket(minute float64, now time.Time) bucket { return bucket{minute, minute, now} }

func (b *bucket) fill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.level, b.at = min(b.minute, b.level+b.minute*d.Minutes()), now
	}
}

// until returns how long it takes until n are available. More than a minute's worth is available
// when the bucket is full.
func (b *bucket) until(n float64, now time.Time) time.Duration {
	if b.minute == 0 {
		return 0
	}
	b.fill(now)
	short := min(n, b.minute) - b.level
	if short <= 0 {
		return 0
	}
	// Round up, so that the caller need not wait again.
	return time.Duration(short/b.minute*float64(time.Minute)) + time.Nanosecond
}

// take takes n, or returns them if n is negative.
func (b *bucket) take(n float64, now time.Time) {
	b.fill(now)
	b.level = min(b.minute, b.level-n)
}

// tokensOfMedia is the estimate for an image of medium size or a page or two.
const tokensOfMedia = 1600

// estimate returns about how many tokens a request has: one for four bytes.
func estimate(req *model.Request) int64 {
	bytes, media := len(req.Instructions), 0
	for i := range req.Tools {
		t := &req.Tools[i]
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for i := range req.Messages {
		b, m := sizes(req.Messages[i].Content)
		bytes, media = bytes+b, media+m
	}
	return int64(bytes/4) + int64(media)*tokensOfMedia + 1
}

func sizes(blocks []event.Block) (bytes, media int) {
	for _, block := range blocks {
		switch b := block.(type) {
		case *event.Text:
			bytes += len(b.Text)
		case *event.Thinking:
			bytes += len(b.Text) + len(b.Signature)
		case *event.ToolCall:
			bytes += len(b.Name) + len(b.Args)
		case *event.ToolResult:
			n, m := sizes(b.Content)
			bytes, media = bytes+n, media+m
		default:
			media++
		}
	}
	return bytes, media
}
