package sqlite

import (
	"sync"
	"time"
)

// clock tells two times. The wall's is what people and drivers mean: when a run was
// admitted, when one that waits is due. The steady one is for leases: it counts the
// time that passes and never goes back, so that a lease lasts its term also
// while the wall clock is being set.
//
// time.Now measures what passes by itself, whatever is done to the wall clock.
// Any other clock is believed when it goes forward and not when it goes back.
type clock struct {
	now func() time.Time

	mu     sync.Mutex
	before time.Time
	steady time.Duration
}

// newClock goes on from where the steady clock stood at a time by the wall, both
// in microseconds. What has passed since counts, unless it is less than nothing.
func newClock(now func() time.Time, steady, wall int64) *clock {
	c := &clock{now: now, before: now(), steady: time.Duration(steady) * time.Microsecond}
	if wall > 0 {
		c.steady += max(0, c.before.Sub(fromMicros(wall)))
	}
	return c
}

// read gives the time by the wall, and both clocks in microseconds.
func (c *clock) read() (now time.Time, steady, wall int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.now()
	c.steady += max(0, t.Sub(c.before))
	c.before = t
	return t.UTC().Truncate(time.Microsecond), c.steady.Microseconds(), t.UnixMicro()
}

// fromMicros is the time that a column holds.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// wakeMicros is the time a run is to wake at, as a column holds it: never before
// the time that was asked for.
func wakeMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if time.UnixMicro(us).Before(t) {
		us++
	}
	return us
}
