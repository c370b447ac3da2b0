package fold

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// ModelCall is the state of a scope's current model call.
type ModelCall struct {
	State   ModelState
	Step    string
	Attempt int
	// Tries counts the attempts on the model Name, without those after which a hook asked for another one.
	Tries int
	// Unreached counts the newest of those attempts that reached no server.
	Unreached int

	Name string
	// Err is why the newest attempt failed.
	Err *event.Error
	// RetryAt is when the next attempt may begin; zero means that there is none.
	RetryAt time.Time
	// Fallback is the model to call instead of the one that failed; empty for none.
	Fallback string
	// Eased reports whether the transcript was shortened since the model refused it as too long.
	Eased bool
	// Easings counts how often the transcript was shortened for this call.
	Easings int
}

// ModelState says whether a model call is in flight.
type ModelState uint8

// The states of a model call. A lost call was in flight when its driver ended it or died; the call itself did not fail.
const (
	ModelIdle ModelState = iota
	ModelBegun
	ModelFailed
	ModelLost
)

// countUnreached returns the number of consecutive attempts that reached no server, after one that ended with err.
func countUnreached(n int, err *event.Error) int {
	if model.Unreached(err) {
		return n + 1
	}
	return 0
}
