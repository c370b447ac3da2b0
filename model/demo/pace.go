package demo

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
)

// pacer delays the pieces of one answer. It uses only package time, so that a testing/synctest bubble sees exact
// times.
type pacer struct {
	done  <-chan struct{}
	timed bool
	start time.Time
	first time.Duration
	step  time.Duration
	last  time.Duration
	timer *time.Timer
}

// newPacer paces n pieces. speed divides every time and must be above 0.
func newPacer(ctx context.Context, t Timing, speed float64, n int) pacer {
	p := pacer{done: ctx.Done()}
	if t.zero() {
		return p
	}
	p.timed = true
	p.start = time.Now()
	p.first = time.Duration(float64(t.FirstByte) / speed)
	switch total := time.Duration(float64(t.Total) / speed); {
	case t.Total > 0:
		p.last = max(total, p.first)
		if n > 1 {
			p.step = (p.last - p.first) / time.Duration(n-1)
		}
	case t.Rate > 0:
		p.step = time.Duration(float64(time.Second) / t.Rate / speed)
		p.last = p.first + p.step*time.Duration(n-1)
	default:
		p.last = p.first
	}
	return p
}

// wait blocks until piece i of n is due; it returns false if the context ended. Times count from the beginning, so
// that a slow reader causes no extra delay.
func (p *pacer) wait(i, n int) bool {
	if !p.timed {
		select {
		case <-p.done:
			return false
		default:
			return true
		}
	}
	at := p.first + p.step*time.Duration(i)
	if i == n-1 {
		at = p.last
	}
	d := at - time.Since(p.start)
	if d <= 0 {
		select {
		case <-p.done:
			return false
		default:
			return true
		}
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.done:
		return false
	case <-p.timer.C:
		return true
	}
}

func (p *pacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// ended returns the error of an answer whose context has ended.
func ended(ctx context.Context) error {
	e := &event.Error{Op: op, Kind: event.ErrCancelled, Message: "the simulated model's answer was cancelled", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = event.ErrTimeout, "the time was over before the simulated model's answer was"
	}
	return e
}
