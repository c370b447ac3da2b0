package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// mender completes the message logs of runs whose driver did not learn that they ended, because a
// connection broke or the store refused the write. Reading the message log through the service
// completes it too; reports that read the tables do not.
type mender struct {
	service *Service

	mu    sync.Mutex
	due   map[live.Key]bool
	ended chan struct{}
	work  sync.WaitGroup
	busy  bool
}

const (
	// mostMends bounds how many conversations wait. Others are completed with their next run, or
	// when they are read.
	mostMends = 10_000
	// firstMend is the delay before a conversation is looked at. Another drive can find out meanwhile that its run has ended.
	firstMend = time.Second
	// lastMend bounds the delay, which doubles after each failure.
	lastMend = 30 * time.Second
)

func newMender(s *Service) *mender {
	return &mender{service: s, due: make(map[live.Key]bool), ended: make(chan struct{})}
}

// add schedules a conversation.
func (m *mender) add(tenant, conversation string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed() || len(m.due) >= mostMends {
		return
	}
	m.due[live.Key{Tenant: tenant, Conversation: conversation}] = true
	if !m.busy {
		m.busy = true
		m.work.Go(m.run)
	}
}

func (m *mender) closed() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// end stops the work. The rest is completed later.
func (m *mender) end() {
	m.mu.Lock()
	if !m.closed() {
		close(m.ended)
	}
	m.mu.Unlock()
	m.work.Wait()
}

// run completes scheduled conversations until none is left.
func (m *mender) run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for pause := firstMend; ; {
		select {
		case <-m.ended:
			return
		case <-time.After(pause):
		}
		if m.round(ctx) {
			pause = firstMend
		} else {
			pause = min(2*pause, lastMend)
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
func (m *mender) round(ctx context.Context) bool {
	m.mu.Lock()
	due := make([]live.Key, 0, len(m.due))
	for key := range m.due {
		due = append(due, key)
	}
	clear(m.due)
	m.mu.Unlock()
	for i, key := range due {
		err := m.service.mendMessages(ctx, key.Tenant, key.Conversation)
		if err == nil || errors.Is(err, event.ErrNotFound) {
			continue
		}
		m.service.log.Warn("the messages of a run were not kept; will retry",
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
