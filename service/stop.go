package service

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// StopLook is how often a process checks whether the tenants whose runs it drives are still
	// active.
	StopLook = time.Second
	// stopAll is after how many checks it looks at the open runs of all tenants. No process drives
	// a run that waits for an answer.
	stopAll = 30
)

// stops cancels the runs of inactive tenants.
type stops struct {
	end  context.CancelFunc
	work sync.WaitGroup
}

// begin starts the checks. It calls round at once and then after each [StopLook]; every stopAll-th
// time everywhere is true. It uses only the values of ctx.
func (t *stops) begin(ctx context.Context, log *slog.Logger, round func(ctx context.Context, everywhere bool) error) {
	ctx, t.end = context.WithCancel(context.WithoutCancel(ctx))
	t.work.Go(func() {
		tick := time.NewTicker(StopLook)
		defer tick.Stop()
		for n := 0; ; n++ {
			if err := round(ctx, n%stopAll == 0); err != nil && ctx.Err() == nil {
				log.Warn("the runs of inactive tenants could not all be cancelled", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// stop ends the checks.
func (t *stops) stop() {
	if t.end != nil {
		t.end()
		t.work.Wait()
	}
}
