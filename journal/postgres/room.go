package postgres

import (
	"context"
	"math/rand/v2"
	"time"
)

// While the database has no connection left a call asks again, for a while: other servers give theirs back.
const (
	roomTime      = 5 * time.Second
	roomPause     = 50 * time.Millisecond
	mostRoomPause = 500 * time.Millisecond
)

// withRoom calls do again as long as the database has no connection left for it, for at most about roomTime.
func withRoom(ctx context.Context, do func() error) error {
	until := time.Now().Add(roomTime)
	for pause := roomPause; ; pause = min(2*pause, mostRoomPause) {
		err := do()
		if code(err) != codeConnections || time.Now().After(until) {
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
