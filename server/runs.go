package server

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire/native"
)

// runRequest is the body that asks for a run (seed 4, and what stands beside it).
type runRequest struct {
	front.Settings

	UserInput       string            `json:"user_input,omitempty"`
	Executor        string            `json:"executor,omitempty"`
	Tokens          map[string]string `json:"tokens,omitempty"`
	PreferredSkills []string          `json:"preferred_skills,omitempty"`
	OutputSchema    json.RawMessage   `json:"output_schema,omitempty"`
	// Policy says what becomes of it while a run is open: reject, queue, steer or
	// interrupt.
	Policy string `json:"policy,omitempty"`
	// OnDisconnect is continue or cancel: what a reader that leaves does to the run.
	OnDisconnect string            `json:"on_disconnect,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	Attachments  []attachment      `json:"attachments,omitempty"`
}

// retryRequest is the body that continues a run. What it leaves out is as in the request of that run.
type retryRequest struct {
	front.Settings

	Executor        string            `json:"executor,omitempty"`
	Tokens          map[string]string `json:"tokens,omitempty"`
	PreferredSkills []string          `json:"preferred_skills,omitempty"`
	OutputSchema    json.RawMessage   `json:"output_schema,omitempty"`
	OnDisconnect    string            `json:"on_disconnect,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
}

func (in *retryRequest) run() *runRequest {
	return &runRequest{
		Executor: in.Executor, Tokens: in.Tokens, PreferredSkills: in.PreferredSkills, OutputSchema: in.OutputSchema,
		Settings: in.Settings, OnDisconnect: in.OnDisconnect, Metadata: in.Metadata,
	}
}

func (in *runRequest) request(key string) (service.RunRequest, error) {
	switch in.OnDisconnect {
	case "", "continue", "cancel":
	default:
		return service.RunRequest{}, front.Bad(`on_disconnect is neither "continue" nor "cancel"`, "send one of them, or leave it out")
	}
	r := service.RunRequest{
		Input: in.UserInput, Executor: in.Executor, Skills: in.PreferredSkills,
		Policy: braid.Policy(in.Policy), Metadata: in.Metadata, Key: key,
	}
	in.Set(&r)
	if s := string(in.OutputSchema); s != "" && s != "null" {
		r.OutputSchema = in.OutputSchema
	}
	if len(in.Tokens) > 0 {
		r.Tokens = make(map[string]secret.Secret, len(in.Tokens))
		for name, value := range in.Tokens {
			r.Tokens[name] = secret.New(value)
		}
	}
	for i := range in.Attachments {
		a, err := in.Attachments[i].attached()
		if err != nil {
			return service.RunRequest{}, err
		}
		r.Attachments = append(r.Attachments, a)
	}
	return r, nil
}

// acceptedBody says where to look for a run. Joined says that the input was left for a
// run that was open.
type acceptedBody struct {
	runBrief

	Joined bool   `json:"joined,omitempty"`
	Stream string `json:"stream"`
}

// waitingBody says that a run waits for a person.
type waitingBody struct {
	ID       string           `json:"id"`
	Status   event.RunStatus  `json:"status"`
	Question *native.Question `json:"question"`
}

// cancelBody says that a run was asked to end.
type cancelBody struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// startRun accepts a run and answers in one of three ways: a stream, one JSON when
// it is over, or at once with where to look.
func (s *Server) startRun(w http.ResponseWriter, r *http.Request) error {
	var in runRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	return s.answerRun(w, r, &in, "")
}

// retryRun continues a run that failed, and answers as startRun does.
func (s *Server) retryRun(w http.ResponseWriter, r *http.Request) error {
	var in retryRequest
	if err := s.readBody(w, r, &in, true); err != nil {
		return err
	}
	return s.answerRun(w, r, in.run(), r.PathValue("run"))
}

// answerRun begins the run that a request asks for, and answers with it. continues names the run that it continues;
// empty for none.
func (s *Server) answerRun(w http.ResponseWriter, r *http.Request, in *runRequest, continues string) error {
	rd, err := s.accept(w, r, in, continues)
	if rd == nil {
		return err
	}
	leaves, run := in.OnDisconnect == "cancel", rd.encoder.Run
	if err == nil {
		if wantsJSON(r) {
			err = rd.collect(w, r)
		} else {
			rd.encoder.Complete = true // the reader begins with the run and may know the seed's frames alone
			err = rd.send(w, r)
		}
	}
	// A client that repeats its request reads the run already when the server notices that its first
	// connection is gone.
	if leaves && s.readers.Leave(run) && !rd.over() && (err == nil || r.Context().Err() != nil) {
		s.leave(r, r.PathValue("id"), run)
	}
	return err
}

// accept begins the run that a request asks for. It returns a reading of the run, also if that cannot be prepared, and
// none if the request was answered or refused. It is not part of answerRun, whose stack lasts as long as the stream.
//
//go:noinline
func (s *Server) accept(w http.ResponseWriter, r *http.Request, in *runRequest, continues string) (*reading, error) {
	// Whoever asks anew goes behind those who wait. Without it a core that is full serves
	// the connections that it has just served, because they never leave its own queue of
	// goroutines, and hardly looks at the common one: first events then take seconds.
	runtime.Gosched()
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		return nil, front.Bad("the Idempotency-Key is too long", "send at most 255 bytes")
	}
	at, err := lastEventID(r)
	if err != nil {
		return nil, err
	}
	request, err := in.request(key)
	if err != nil {
		return nil, err
	}
	request.Trace = service.TraceOf(r.Header.Values("Traceparent"), r.Header.Values("Tracestate"))
	request.Watch, request.Continues = !asynchronous(r), continues
	conversation := r.PathValue("id")
	// Nothing below uses the input, so that a large one is not kept for as long as the stream lasts.
	started, err := s.begin(r, conversation, request)
	release(w)
	if err != nil {
		return nil, err
	}
	w.Header().Set("X-Run-Id", started.Run.ID)
	here := s.at("conversations", conversation, "runs", started.Run.ID)
	if asynchronous(r) {
		w.Header().Set("Location", here)
		w.Header().Set("Preference-Applied", "respond-async")
		brief := runBrief{started.Run.ID, started.Run.Turn, started.Run.Status}
		writeJSON(w, http.StatusAccepted, acceptedBody{brief, started.Joined, here + "/stream"})
		return nil, nil //nolint:nilnil // it is answered
	}
	rd := s.read(r, conversation, started.Run.ID)
	rd.cursor.Seq = started.After
	if in.OnDisconnect == "cancel" {
		s.readers.Enter(started.Run.ID)
	}
	if started.Follower != nil {
		rd.begin(started.Follower, started.Titled)
		return rd, nil
	}
	if at != nil && !wantsJSON(r) {
		rd.cursor = *at
	}
	return rd, rd.prepare(r.Context())
}

// lastEventID is the place that a reader goes on from; nil if it names none.
func lastEventID(r *http.Request) (*native.Cursor, error) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		return nil, nil //nolint:nilnil // no place is what most readers name
	}
	at, err := native.ParseCursor(id)
	return &at, err
}

// begin starts a run. It may have to wait for another one: whose credential ends meanwhile begins none.
func (s *Server) begin(r *http.Request, conversation string, request service.RunRequest) (service.Started, error) {
	ctx, unwatch := s.door.Watch(r.Context(), callerOf(r))
	defer unwatch()
	started, err := s.service.StartRun(ctx, who(r), conversation, request)
	if ended := door.Ended(ctx); err != nil && ended != nil {
		return started, ended
	}
	return started, err
}

// leave cancels the run of a reader that has gone and asked for that.
func (s *Server) leave(r *http.Request, conversation, run string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	defer stop()
	if err := s.service.CancelRun(ctx, who(r), conversation, run); err != nil && event.KindOf(err) != event.ErrConflict {
		s.log.Warn("a run whose reader left could not be cancelled", "request", idOf(r), "run", run, "error", err)
	}
}

// asynchronous reports whether the caller wants to look later (RFC 7240).
func asynchronous(r *http.Request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), "respond-async") {
				return true
			}
		}
	}
	return false
}

// wantsJSON reports whether the caller wants one answer instead of a stream: it says
// so, and does not name streams too.
func wantsJSON(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// runBody is a run on the wire.
type runBody struct {
	ID        string            `json:"id"`
	Turn      int               `json:"turn"`
	Status    event.RunStatus   `json:"status"`
	Agent     string            `json:"agent,omitempty"`
	Executor  string            `json:"executor,omitempty"`
	Metadata  map[string]string `json:"metadata"`
	SessionID *string           `json:"session_id"`
	CreatedAt time.Time         `json:"created_at"`
	WakeAt    *time.Time        `json:"wake_at,omitempty"`
	Cancelled bool              `json:"cancel_requested,omitempty"`
	// Result or Error is there once the run has ended.
	Result *native.Result `json:"result,omitempty"`
	Error  *native.Error  `json:"error,omitempty"`
}

func bodyOfRun(run *journal.Run) runBody {
	b := runBody{
		ID: run.ID, Turn: run.Turn, Status: run.Status, Agent: run.Agent, Executor: run.Executor, Metadata: run.Metadata,
		CreatedAt: run.Admitted, Cancelled: run.Cancelled && !run.Status.Ended(),
	}
	if id := event.SessionID(run.Conversation, run.Session); id != "" {
		b.SessionID = &id // null until it begins
	}
	if !run.WakeAt.IsZero() {
		b.WakeAt = &run.WakeAt
	}
	return b
}

func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "after", "limit")
	if err != nil {
		return err
	}
	after, err := number(values, "after", math.MaxInt32)
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", 1000)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = 100
	}
	runs, err := s.service.ListRuns(r.Context(), who(r), r.PathValue("id"), int(after), int(limit)+1)
	if err != nil {
		return err
	}
	out := runPage{Data: []runBody{}, Last: int(after), HasMore: len(runs) > int(limit)}
	for i := range runs[:min(len(runs), int(limit))] {
		out.Last = runs[i].Turn
		out.Data = append(out.Data, bodyOfRun(&runs[i]))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) getRun(w http.ResponseWriter, r *http.Request) error {
	run, err := s.service.GetRun(r.Context(), who(r), r.PathValue("id"), r.PathValue("run"))
	if err != nil {
		return err
	}
	b := bodyOfRun(&run)
	if run.Status.Ended() {
		end, err := s.read(r, r.PathValue("id"), run.ID).terminal(r.Context())
		if err != nil {
			return err
		}
		switch end := end.(type) {
		case *native.Result:
			b.Result = end
		case *native.Error:
			b.Error = end
		}
	}
	writeJSON(w, http.StatusOK, b)
	return nil
}

func (s *Server) cancelRun(w http.ResponseWriter, r *http.Request) error {
	if err := s.readBody(w, r, &struct{}{}, true); err != nil {
		return err
	}
	if err := s.service.CancelRun(r.Context(), who(r), r.PathValue("id"), r.PathValue("run")); err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, cancelBody{r.PathValue("run"), "cancel_requested"})
	return nil
}
