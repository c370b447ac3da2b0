package agentcore

import (
	"sync"
	"time"
)

// Health is the status that /ping reports.
type Health string

// The statuses of /ping. Busy keeps a session's machine alive without requests.
const (
	Healthy Health = "Healthy"
	Busy    Health = "HealthyBusy"
)

// health tracks the status of a handler.
type health struct {
	custom func() Health

	mu     sync.Mutex
	forced Health
	tasks  map[*Task]struct{}
	// said is the last reported status.
	said Health
	// at is when said last changed.
	at time.Time
}

// Task is work that continues after its request.
type Task struct {
	Name  string
	Begun time.Time
}

// look returns the status, and since when it holds.
func (s *health) look() (Health, time.Time) {
	custom := s.ask()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := Healthy
	switch {
	case s.forced != "":
		now = s.forced
	case custom != "":
		now = custom
	case len(s.tasks) > 0:
		now = Busy
	}
	if s.said == "" {
		s.said = Healthy // the initial status
	}
	if now != s.said {
		s.said, s.at = now, time.Now()
	}
	return s.said, s.at
}

// ask calls the embedding program's Health, which may return "" or panic.
func (s *health) ask() (h Health) {
	if s.custom == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			h = ""
		}
	}()
	return s.custom()
}
