package agentcore

import (
	"net/http"
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

// Task registers work that outlives its request. Until the caller calls done, /ping reports
// [Busy], so that the platform keeps the machine. It is safe for concurrent use, and further
// calls of done do nothing.
func (h *Handler) Task(name string) (done func()) {
	t := &Task{name, time.Now()}
	s := &h.health
	s.mu.Lock()
	if s.tasks == nil {
		s.tasks = make(map[*Task]struct{})
	}
	s.tasks[t] = struct{}{}
	s.mu.Unlock()
	s.look()
	return func() {
		s.mu.Lock()
		delete(s.tasks, t)
		s.mu.Unlock()
		s.look()
	}
}

// Tasks returns the registered tasks in no particular order. It is safe for concurrent use.
func (h *Handler) Tasks() []Task {
	h.health.mu.Lock()
	defer h.health.mu.Unlock()
	out := make([]Task, 0, len(h.health.tasks))
	for t := range h.health.tasks {
		out = append(out, *t)
	}
	return out
}

// Force makes /ping report a fixed status; "" ends this. It is safe for concurrent use.
func (h *Handler) Force(as Health) {
	h.health.mu.Lock()
	h.health.forced = as
	h.health.mu.Unlock()
	h.health.look()
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

// pingBody is the response of /ping. The time is in whole seconds.
type pingBody struct {
	Status Health `json:"status"`
	Since  int64  `json:"time_of_last_update"`
}

func (h *Handler) pingBody() pingBody {
	status, at := h.health.look()
	return pingBody{status, at.Unix()}
}

// ping responds to the platform.
func (x *exchange) ping() error {
	x.json(http.StatusOK, x.h.pingBody())
	return nil
}

// jobsBody is the response to the debug action job_status.
type jobsBody struct {
	Active int       `json:"active_count"`
	Jobs   []jobBody `json:"running_jobs"`
}

type jobBody struct {
	Name     string  `json:"name"`
	Duration float64 `json:"duration"`
}

// act executes a debug action of the SDK.
func (x *exchange) act(action string) error {
	forced := func(as Health) {
		x.h.Force(as)
		x.json(http.StatusOK, map[string]string{"forced_status": string(as)})
	}
	switch action {
	case "ping_status":
		x.json(http.StatusOK, x.h.pingBody())
	case "job_status":
		out := jobsBody{Jobs: []jobBody{}}
		for _, t := range x.h.Tasks() {
			out.Active++
			out.Jobs = append(out.Jobs, jobBody{t.Name, time.Since(t.Begun).Seconds()})
		}
		x.json(http.StatusOK, out)
	case "force_healthy":
		forced(Healthy)
	case "force_busy":
		forced(Busy)
	case "clear_forced_status":
		x.h.Force("")
		x.json(http.StatusOK, map[string]string{"forced_status": "Cleared"})
	default:
		return &fault{http.StatusBadRequest, validation, "Unknown action: " + fit(action, 60), ""}
	}
	return nil
}
