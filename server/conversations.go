package server

import (
	"encoding/json"
	"math"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// conversationBody is a conversation on the wire.
type conversationBody struct {
	ID string `json:"id"`
	// User is whose conversation it is; it is left out where it is no user's.
	User      string            `json:"user,omitempty"`
	Title     string            `json:"title"`
	Archived  bool              `json:"archived"`
	Metadata  map[string]string `json:"metadata"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt time.Time         `json:"updated_at"`
	// Agent and AgentVersion are what the conversation keeps to; they are left out where the
	// server's own agent answers, and where the tenant has had none that can since it was made.
	Agent        string    `json:"agent,omitempty"`
	AgentVersion int       `json:"agent_version,omitempty"`
	ForkedFrom   *forkBody `json:"forked_from,omitempty"`
	// Workspace is false where the conversation was made without files, and left out otherwise.
	Workspace *bool `json:"workspace,omitempty"`
}

// conversationState is a conversation as it stands, which lists do not tell.
type conversationState struct {
	conversationBody

	Status   string     `json:"status"`
	OpenRuns []runBrief `json:"open_runs,omitempty"`
	// SessionID names what the model sees of the conversation. It is null where the next
	// run begins a session.
	SessionID *string `json:"session_id"`
}

// createRequest is what a conversation begins with.
type createRequest struct {
	Title    string            `json:"title,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Agent is the id of the tenant's agent that answers; empty is the tenant's choice.
	Agent string `json:"agent,omitempty"`
	// User is whose conversation it is. A key that names a user may leave it out or send that user.
	User string `json:"user,omitempty"`
	// Workspace is false for a conversation without files. Otherwise the server and the tenant's policy decide.
	Workspace *bool `json:"workspace,omitempty"`
}

// updateRequest changes what it names; a metadata value of "" removes the key. User takes a key
// that names no user.
type updateRequest struct {
	User     *string           `json:"user,omitempty"`
	Title    *string           `json:"title,omitempty"`
	Archived *bool             `json:"archived,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// SessionID can only be null: then the next run begins a session.
	SessionID json.RawMessage `json:"session_id,omitempty"`
}

func (in *updateRequest) changes() (service.Changes, error) {
	c := service.Changes{User: in.User, Title: in.Title, Archived: in.Archived, Metadata: in.Metadata, Reset: in.SessionID != nil}
	if c.Reset && string(in.SessionID) != "null" {
		return c, front.Bad("a session cannot be chosen", "send null for session_id: the next run begins a new one")
	}
	return c, nil
}

// forkRequest names the event up to which the fork knows what was said; 0 is the end.
type forkRequest struct {
	At int64 `json:"at,omitempty"`
}

// eventPage is a part of a log. Last is what to ask for events after, for the next
// page; HasMore says whether there is one.
type eventPage struct {
	Data    []json.RawMessage `json:"data"`
	Last    int64             `json:"last"`
	HasMore bool              `json:"has_more"`
}

// runPage is a part of a conversation's runs, as [eventPage] is of its log: Last is the
// turn to ask for runs after.
type runPage struct {
	Data    []runBody `json:"data"`
	Last    int       `json:"last"`
	HasMore bool      `json:"has_more"`
}

type runBrief struct {
	ID     string          `json:"id"`
	Turn   int             `json:"turn"`
	Status event.RunStatus `json:"status"`
}

type forkBody struct {
	Conversation string `json:"conversation_id"`
	At           int64  `json:"at"`
}

func bodyOfRow(row *service.Row) conversationBody {
	b := conversationBody{
		ID: row.ID, User: row.User, Title: row.Title, Archived: row.Archived, Metadata: row.Metadata, CreatedAt: row.Created, UpdatedAt: row.Updated,
		Agent: row.Agent, AgentVersion: row.AgentVersion,
	}
	if row.NoFiles {
		b.Workspace = new(bool)
	}
	if b.Metadata == nil {
		b.Metadata = map[string]string{}
	}
	if row.Origin != "" {
		b.ForkedFrom = &forkBody{row.Origin, row.At}
	}
	return b
}

func bodyOf(c *service.Conversation) conversationState {
	b := conversationState{conversationBody: bodyOfRow(&c.Row), Status: "idle"}
	if c.SessionID != "" {
		b.SessionID = &c.SessionID
	}
	if c.Status != "" {
		b.Status = string(c.Status)
	}
	for i := range c.Open {
		b.OpenRuns = append(b.OpenRuns, runBrief{c.Open[i].ID, c.Open[i].Turn, c.Open[i].Status})
	}
	return b
}

func (s *Server) createConversation(w http.ResponseWriter, r *http.Request) error {
	var in createRequest
	if err := s.readBody(w, r, &in, true); err != nil {
		return err
	}
	c, err := s.service.CreateConversation(r.Context(), who(r), service.NewConversation{
		Title: in.Title, Metadata: in.Metadata, Agent: in.Agent, User: in.User, NoFiles: in.Workspace != nil && !*in.Workspace,
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.at("conversations", c.ID))
	writeJSON(w, http.StatusCreated, bodyOf(&c))
	return nil
}

func (s *Server) listConversations(w http.ResponseWriter, r *http.Request) error {
	list, next, err := s.conversationsOf(r, who(r))
	if err != nil {
		return err
	}
	return answerPage(w, list, next)
}

// conversationsOf reads the page that a request asks for.
func (s *Server) conversationsOf(r *http.Request, p service.Principal) (page []conversationBody, next string, err error) {
	values, err := query(r, "limit", "cursor", "archived", "user", "agent", "status")
	if err != nil {
		return nil, "", err
	}
	limit, err := number(values, "limit", service.MostPage)
	if err != nil {
		return nil, "", err
	}
	archived, err := yesNo(values, "archived")
	if err != nil {
		return nil, "", err
	}
	wanted := service.Page{Cursor: values["cursor"], Limit: int(limit), Archived: archived, Agent: values["agent"], Status: values["status"]}
	if user, ok := values["user"]; ok {
		wanted.User = &user
	}
	list, next, err := s.service.ListConversations(r.Context(), p, wanted)
	if err != nil {
		return nil, "", err
	}
	page = make([]conversationBody, len(list))
	for i := range list {
		page[i] = bodyOfRow(&list[i])
	}
	return page, next, nil
}

func (s *Server) getConversation(w http.ResponseWriter, r *http.Request) error {
	c, err := s.service.GetConversation(r.Context(), who(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, bodyOf(&c))
	return nil
}

func (s *Server) updateConversation(w http.ResponseWriter, r *http.Request) error {
	var in updateRequest
	if err := s.readBody(w, r, &in, false); err != nil {
		return err
	}
	changes, err := in.changes()
	if err != nil {
		return err
	}
	c, err := s.service.UpdateConversation(r.Context(), who(r), r.PathValue("id"), changes)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, bodyOf(&c))
	return nil
}

func (s *Server) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	if err := s.service.DeleteConversation(r.Context(), who(r), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) resetConversation(w http.ResponseWriter, r *http.Request) error {
	c, err := s.service.ResetConversation(r.Context(), who(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, bodyOf(&c))
	return nil
}

func (s *Server) forkConversation(w http.ResponseWriter, r *http.Request) error {
	var in forkRequest
	if err := s.readBody(w, r, &in, true); err != nil {
		return err
	}
	c, err := s.service.ForkConversation(r.Context(), who(r), r.PathValue("id"), in.At)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.at("conversations", c.ID))
	writeJSON(w, http.StatusCreated, bodyOf(&c))
	return nil
}

// exportWrite is how many bytes of an export are written at once.
const exportWrite = 32 << 10

func (s *Server) exportConversation(w http.ResponseWriter, r *http.Request) error {
	events, err := s.service.Export(r.Context(), who(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	send := func(lines []byte) error {
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Content-Disposition", `attachment; filename="`+r.PathValue("id")+`.jsonl"`)
		}
		_ = control.SetWriteDeadline(time.Now().Add(s.options.WriteTime)) // where there are no deadlines, TCP's are left
		_, err := w.Write(lines)
		return err
	}
	var lines []byte
	for e, err := range events {
		if err != nil {
			return err // before the first line an error, behind it a cut
		}
		if !shownTo(e) {
			continue
		}
		if lines, err = event.AppendJSON(lines, shown(e)); err != nil {
			return err
		}
		if lines = append(lines, '\n'); len(lines) < exportWrite {
			continue
		}
		if send(lines) != nil {
			return nil // who does not read it any more needs no error
		}
		lines = lines[:0]
	}
	_ = send(lines)
	return nil
}

func (s *Server) listEvents(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "after", "limit")
	if err != nil {
		return err
	}
	after, err := number(values, "after", math.MaxInt64)
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
	events, more, err := s.service.EventPage(r.Context(), who(r), r.PathValue("id"), after, int(limit))
	if err != nil {
		return err
	}
	out := eventPage{Data: []json.RawMessage{}, Last: after, HasMore: more}
	for _, e := range events {
		out.Last = e.Seq
		if !shownTo(e) {
			continue
		}
		raw, err := event.AppendJSON(nil, shown(e))
		if err != nil {
			return err
		}
		out.Data = append(out.Data, raw)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
