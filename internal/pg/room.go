package pg

import (
	"context"
	"math/rand/v2"
	"time"
)

// How long, and how often, a call asks again while the database has no connection left. Other servers give theirs back.
const (
	roomTime      = 5 * time.Second
	roomPause     = 50 * time.Millisecond
	mostRoomPause = 500 * time.Millisecond
)

// WithRoom calls do again as long as the database has no connection left for it, for at most about roomTime.
func WithRoom(ctx context.Context, do func() error) error {
	until := time.Now().Add(roomTime)
	for pause := roomPause; ; pause = min(2*pause, mostRoomPause) {
		err := do()
		if Code(err) != NoConnections || time.Now().After(until) {
			return err
		}
		wait := time.NewTimer(pause/2 + rand.N(pause)) //nolint:gosec // only to differ from others
		select {
		case <-ctx.Done():
			wait.Stop()
			return err
		case <-wait.C:
		}
	}
}
