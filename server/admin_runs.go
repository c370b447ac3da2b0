package server

import (
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
)

// operatedRun is a run in the operator's view: owner and status, but no content.
type operatedRun struct {
	ID           string          `json:"id"`
	Tenant       string          `json:"tenant"`
	Conversation string          `json:"conversation_id"`
	Turn         int             `json:"turn"`
	Status       event.RunStatus `json:"status"`
	// ErrorKind is the kind of the error of a failed run, such as run_poisoned.
	ErrorKind event.ErrorKind `json:"error_kind,omitempty"`
	User      string          `json:"user,omitempty"`
	Agent     string          `json:"agent,omitempty"`
	Executor  string          `json:"executor,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
	WakeAt    *time.Time      `json:"wake_at,omitempty"`
	Cancelled bool            `json:"cancel_requested,omitempty"`
	// LostDrivers counts the consecutive processes that died while driving the run.
	LostDrivers int `json:"lost_drivers,omitempty"`
}

func operatedRunOf(run *journal.Run) operatedRun {
	o := operatedRun{
		ID: run.ID, Tenant: run.Tenant, Conversation: run.Conversation, Turn: run.Turn, Status: run.Status, ErrorKind: run.Failure,
		User: run.User, Agent: run.Agent, Executor: run.Executor, CreatedAt: run.Admitted,
		Cancelled: run.Cancelled && !run.Status.Ended(), LostDrivers: run.Lost,
	}
	if !run.WakeAt.IsZero() {
		o.WakeAt = &run.WakeAt
	}
	return o
}

// findRuns lists the runs of all tenants.
func (s *Server) findRuns(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "tenant", "status", "user", "agent", "error_kind", "since", "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", service.MostPage)
	if err != nil {
		return err
	}
	q := service.RunQuery{
		Tenant: values["tenant"], Status: values["status"], User: values["user"], Agent: values["agent"],
		Failure: event.ErrorKind(values["error_kind"]), Cursor: values["cursor"], Limit: int(limit),
	}
	if text, ok := values["since"]; ok {
		if q.Since, err = moment("since", text); err != nil {
			return err
		}
	}
	runs, next, err := s.service.FindRuns(r.Context(), q)
	if err != nil {
		return err
	}
	list := make([]operatedRun, len(runs))
	for i := range runs {
		list[i] = operatedRunOf(&runs[i])
	}
	return answerPage(w, list, next)
}

// findRun responds with a run of any tenant.
func (s *Server) findRun(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	run, err := s.service.FindRun(r.Context(), r.PathValue("run"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, operatedRunOf(&run))
	return nil
}

// cancelAnyRun cancels a run of any tenant.
func (s *Server) cancelAnyRun(w http.ResponseWriter, r *http.Request) error {
	if err := s.readBody(w, r, &struct{}{}, true); err != nil {
		return err
	}
	run, err := s.service.CancelAnyRun(r.Context(), by(r), r.PathValue("run"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, cancelBody{run.ID, "cancel_requested"})
	return nil
}
