package webhooks

import (
	"math/rand/v2"
	"time"
)

// schedule are the delays before the attempts of a delivery after the first, as in the example of
// Standard Webhooks. The last attempt is at [LastAttempt] after the first.
var schedule = [...]time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour}

const (
	// LastAttempt is when a delivery is tried for the last time, after its start.
	LastAttempt = 24 * time.Hour
	// mostAttempts is how often a delivery is tried.
	mostAttempts = len(schedule) + 2
	// jitter is the part of a delay that is random.
	jitter = 0.1
)

// next returns when a delivery is tried again that began at start and has failed so many attempts by
// now. again is false after the last one. notBefore is what the endpoint asked for; zero for nothing.
func next(start, now time.Time, attempts int, notBefore time.Time) (at time.Time, again bool) {
	last := start.Add(LastAttempt)
	if attempts >= mostAttempts || !now.Before(last) {
		return time.Time{}, false
	}
	at = last
	if attempts <= len(schedule) {
		delay := schedule[attempts-1]
		at = now.Add(delay + time.Duration(float64(delay)*jitter*rand.Float64())) //nolint:gosec // no secret
	}
	if at.Before(notBefore) {
		at = notBefore
	}
	if at.After(last) {
		at = last
	}
	return at, true
}
