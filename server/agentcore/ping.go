package agentcore

import (
	"net/http"
	"time"

	"github.com/braidrun/braid/internal/shorten"
)

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
		return &fault{http.StatusBadRequest, validation, "Unknown action: " + shorten.Text(action, 60, "…"), ""}
	}
	return nil
}
