package sqlite

import (
	"sync"
	"time"
)

// clock reads two clocks. The wall clock is what users and drivers mean: when a run was admitted, when a waiting run
// is due. The steady clock is for leases: it never goes back, so that a lease lasts its term while the wall clock is
// set.
//
// time.Now measures elapsed time whatever happens to the wall clock. Any other clock counts only when it goes
// forward.
type clock struct {
	now func() time.Time

	mu     sync.Mutex
	before time.Time
	steady time.Duration
}

// newClock continues a steady clock that read steady when the wall clock read wall, in
// microseconds. It adds the time since, if that is not negative.
func newClock(now func() time.Time, steady, wall int64) *clock {
	c := &clock{now: now, before: now(), steady: time.Duration(steady) * time.Microsecond}
	if wall > 0 {
		c.steady += max(0, c.before.Sub(fromMicros(wall)))
	}
	return c
}

// read returns the wall time, and both clocks in microseconds.
func (c *clock) read() (now time.Time, steady, wall int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.now()
	c.steady += max(0, t.Sub(c.before))
	c.before = t
	return t.UTC().Truncate(time.Microsecond), c.steady.Microseconds(), t.UnixMicro()
}

// fromMicros returns the time in a column.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// wakeMicros returns a wake-up time for a column, rounded up.
func wakeMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if time.UnixMicro(us).Before(t) {
		us++
	}
	return us
}
