package serve

import (
	"context"
	"time"
)

// expireEvery is how often a server looks for expired conversations.
const expireEvery = time.Hour

// expire removes expired conversations, at once and then every hour. end stops it and waits for it.
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
				s.log.Warn("expired conversations could not all be removed", "error", err)
			case n > 0:
				s.log.Info("expired conversations were removed", "conversations", n)
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
