package serve

import (
	"context"
	"time"
)

// expireEvery is how often a server looks for what its tenants keep no longer.
const expireEvery = time.Hour

// expire removes what tenants keep no longer, at once and then every hour. end has it stop, and
// returns when it has.
func (s *Server) expire(ctx context.Context) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(expireEvery)
		defer tick.Stop()
		for {
			switch n, err := s.service.Expire(ctx, time.Now()); {
			case err != nil && ctx.Err() == nil:
				s.log.Warn("what has expired could not all be removed", "error", err)
			case n > 0:
				s.log.Info("what had expired was removed", "conversations", n)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		stop()
		<-done
	}
}
