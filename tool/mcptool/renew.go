package mcptool

import (
	"context"
	"sync"
)

// Lists returns how many lists of tools were read from the servers. While it stays the same, [Servers.Tools] returns
// the same tools.
func (s *Servers) Lists() (n int64) {
	for _, one := range s.list {
		one.mu.Lock()
		n += one.lists
		one.mu.Unlock()
	}
	return n
}

// Renew asks connected servers for their lists of tools again, and tries to reach the others, all at once. It waits
// until each has answered or failed, or ctx ends. A server that no longer answers counts as failed. It is for servers
// that do not report changes (notifications/tools/list_changed).
func (s *Servers) Renew(ctx context.Context) {
	var wait sync.WaitGroup
	for _, one := range s.list {
		if !one.config.Disabled {
			wait.Go(func() { one.renew(ctx) })
		}
	}
	wait.Wait()
	s.Refresh(ctx)
}

// renew asks for the list of a live session again.
func (s *server) renew(ctx context.Context) {
	s.mu.Lock()
	one := s.one
	s.mu.Unlock()
	if one == nil || !one.alive() {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.ConnectTimeout, errPatience)
	defer cancel()
	if err := s.list(ctx, one); err != nil && s.life.Err() == nil && ctx.Err() == nil {
		s.drop(one)
	}
}
