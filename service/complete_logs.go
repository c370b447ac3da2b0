package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// logCompleter completes the message logs of runs whose driver did not learn that they ended, because a
// connection broke or the store refused the write. Reading the message log through the service
// completes it too; reports that read the tables do not.
type logCompleter struct {
	conversations *conversations

	mu    sync.Mutex
	due   map[live.Key]bool
	ended chan struct{}
	work  sync.WaitGroup
	busy  bool
}

const (
	// mostIncomplete bounds how many conversations wait. Others are completed with their next run, or
	// when they are read.
	mostIncomplete = 10_000
	// firstDelay is the delay before a conversation is looked at. Another drive can find out meanwhile that its run has ended.
	firstDelay = time.Second
	// lastDelay bounds the delay, which doubles after each failure.
	lastDelay = 30 * time.Second
)

func newLogCompleter(c *conversations) *logCompleter {
	return &logCompleter{conversations: c, due: make(map[live.Key]bool), ended: make(chan struct{})}
}

// add schedules a conversation.
func (m *logCompleter) add(tenant, conversation string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed() || len(m.due) >= mostIncomplete {
		return
	}
	m.due[live.Key{Tenant: tenant, Conversation: conversation}] = true
	if !m.busy {
		m.busy = true
		m.work.Go(m.run)
	}
}

func (m *logCompleter) closed() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// end stops the work. The rest is completed later.
func (m *logCompleter) end() {
	m.mu.Lock()
	if !m.closed() {
		close(m.ended)
	}
	m.mu.Unlock()
	m.work.Wait()
}

// run completes scheduled conversations until none is left.
func (m *logCompleter) run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for pause := firstDelay; ; {
		select {
		case <-m.ended:
			return
		case <-time.After(pause):
		}
		if m.round(ctx) {
			pause = firstDelay
		} else {
			pause = min(2*pause, lastDelay)
		}
		m.mu.Lock()
		m.busy = len(m.due) > 0
		busy := m.busy
		m.mu.Unlock()
		if !busy {
			return
		}
	}
}

// round looks once at each scheduled conversation and reports whether all could be completed.
func (m *logCompleter) round(ctx context.Context) bool {
	m.mu.Lock()
	due := make([]live.Key, 0, len(m.due))
	for key := range m.due {
		due = append(due, key)
	}
	clear(m.due)
	m.mu.Unlock()
	for i, key := range due {
		err := m.conversations.completeMessages(ctx, key.Tenant, key.Conversation)
		if err == nil || errors.Is(err, event.ErrNotFound) {
			continue
		}
		m.conversations.log.Warn("the messages of a run were not kept; will retry",
			"tenant", key.Tenant, "conversation", key.Conversation, "error", err)
		m.mu.Lock()
		for _, left := range due[i:] {
			m.due[left] = true
		}
		m.mu.Unlock()
		return false // the store does not answer: the others would fail too
	}
	return true
}
