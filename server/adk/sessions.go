package adk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/adk"
)

const (
	// mostSessions bounds a list of sessions, mostEvents the events that a new session may bring.
	mostSessions, mostEvents = 1000, 10_000
	// eventPage is how many events of a log are read at a time.
	eventPage = 512
	// idPrefix begins the ids of conversations.
	idPrefix = "conv_"
)

// The labels of a conversation that a client has given an id of its own.
const (
	labelApp     = "adk_app"
	labelSession = "adk_session"
)

// session is a session as ADK's clients know it.
type session struct {
	ID      string                     `json:"id"`
	App     string                     `json:"appName"`
	User    string                     `json:"userId"`
	State   map[string]json.RawMessage `json:"state"`
	Events  json.RawMessage            `json:"events"`
	Updated float64                    `json:"lastUpdateTime"`
}

func sessionOf(row *service.Row, app, user string) session {
	return session{
		ID: cmp.Or(row.Metadata[labelSession], row.ID), App: app, User: user, State: map[string]json.RawMessage{},
		Events: json.RawMessage("[]"), Updated: float64(row.Updated.UnixMicro()) / 1e6,
	}
}

// appOfRow returns the app that a conversation belongs to.
func appOfRow(row *service.Row) string {
	return cmp.Or(row.Metadata[labelApp], row.Agent, DefaultApp)
}

// place is what a path names: an app and a user.
type place struct {
	app  app
	user string
	// who acts for that user and nobody else.
	who service.Principal
}

// place finds what a path names. A credential for a user sees that user alone.
func (h *handler) place(x *front.Exchange, name, user string) (at place, err error) {
	who := x.Who.Principal
	switch {
	case user == "" || len(user) > front.MaxID || strings.ContainsRune(user, 0):
		return at, front.Bad("userId is missing or too long", "send at most 200 bytes")
	case who.User != "" && who.User != user:
		return at, front.Refusal(event.ErrNotFound, "there is no such user", "use the user of the credential, "+who.User)
	}
	who.User = user
	at.user, at.who = user, who
	at.app, err = h.app(x.R.Context(), who, name)
	return at, err
}

func (h *handler) path(x *front.Exchange) (place, error) {
	return h.place(x, x.R.PathValue("app"), x.R.PathValue("user"))
}

func noSession() error {
	return &event.Error{Kind: event.ErrNotFound, Code: "SESSION_NOT_FOUND", Message: "Session not found", Hint: "create it first"}
}

// named is the name of a conversation that a client has given an id.
func (at *place) named(id string) string {
	return "adk session " + strconv.Quote(at.app.Name) + " " + strconv.Quote(at.user) + " " + id
}

// find finds a session: by the conversation's id, or by the id that a client gave it.
func (h *handler) find(ctx context.Context, at *place, id string) (c service.Conversation, err error) {
	if id == "" || len(id) > front.MaxID {
		return c, noSession()
	}
	if strings.HasPrefix(id, idPrefix) {
		c, err = h.front.Service.GetConversation(ctx, at.who, id)
	} else {
		c, err = h.front.Service.ConversationNamed(ctx, at.who, at.named(id))
	}
	switch {
	case errors.Is(err, event.ErrNotFound):
		return c, noSession()
	case err != nil:
		return c, err
	case c.User != at.user, appOfRow(&c.Row) != at.app.Name && (at.app.Name != DefaultApp || c.Metadata[labelApp] != ""):
		return service.Conversation{}, noSession() // another user's of the same tenant, or another app's
	}
	return c, nil
}

func (h *handler) listSessions(x *front.Exchange, _ []byte) error {
	at, err := h.path(x)
	if err != nil {
		return err
	}
	list := []session{}
	page := service.Page{User: &at.user, Limit: service.MostPage, Agent: at.app.agent()}
	for len(list) < mostSessions {
		rows, next, err := h.front.Service.ListConversations(x.R.Context(), at.who, page)
		if err != nil {
			return err
		}
		for i := range rows {
			if rows[i].User == at.user && appOfRow(&rows[i]) == at.app.Name {
				list = append(list, sessionOf(&rows[i], at.app.Name, at.user))
			}
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	reply(x, http.StatusOK, list)
	return nil
}

// createRequest is what a session begins with.
type createRequest struct {
	id     string
	state  map[string]json.RawMessage
	events []wire.Event
}

func (h *handler) createSession(x *front.Exchange, body []byte) error {
	var in createRequest
	err := members(body, func(key string, raw json.RawMessage) (err error) {
		switch key {
		case "sessionId":
			err = json.Unmarshal(raw, &in.id)
		case "state":
			err = json.Unmarshal(raw, &in.state)
		case "events":
			in.events, err = wire.DecodeList(raw, mostEvents)
		}
		return err
	})
	if err != nil {
		return err
	}
	return h.create(x, &in)
}

// createNamedSession creates a session with the id of the path. The body is its state, or a whole request.
func (h *handler) createNamedSession(x *front.Exchange, body []byte) error {
	in := createRequest{id: x.R.PathValue("session")}
	if text := strings.TrimSpace(string(body)); text != "" && text != "null" {
		if strictjson.Check(body, strictjson.DefaultDepth) != nil || json.Unmarshal(body, &in.state) != nil {
			return front.Bad("the body is no state", "send one JSON object, or nothing")
		}
		var whole struct {
			State  map[string]json.RawMessage `json:"state"`
			Events json.RawMessage            `json:"events"`
		}
		_, state := in.state["state"]
		_, events := in.state["events"]
		if (state || events) && json.Unmarshal(body, &whole) == nil {
			in.state = whole.State
			var err error
			if len(whole.Events) > 0 && string(whole.Events) != "null" {
				if in.events, err = wire.DecodeList(whole.Events, mostEvents); err != nil {
					return err
				}
			}
		}
	}
	return h.create(x, &in)
}

func (h *handler) create(x *front.Exchange, in *createRequest) error {
	at, err := h.path(x)
	if err != nil {
		return err
	}
	ctx, svc := x.R.Context(), h.front.Service
	history, err := wire.Import(in.events)
	if err != nil {
		return err
	}
	maps.Copy(history.State, in.state)
	if err := mayChange(x, history.State); err != nil {
		return err
	}
	n := service.NewConversation{Agent: at.app.agent(), Metadata: map[string]string{labelApp: at.app.Name}}
	var c service.Conversation
	switch {
	case in.id == "":
		c, err = svc.CreateConversation(ctx, at.who, n)
	case strings.HasPrefix(in.id, idPrefix) || len(in.id) > front.MaxID || strings.ContainsAny(in.id, "\x00/"):
		err = front.Bad("the id of the session cannot be used", "send at most 200 bytes without a slash that do not begin with "+idPrefix)
	default:
		n.Metadata[labelSession] = in.id
		c, err = svc.CreateNamed(ctx, at.who, at.named(in.id), n)
		if errors.Is(err, event.ErrConflict) {
			err = &event.Error{
				Kind: event.ErrConflict, Code: "SESSION_EXISTS", Message: "Session already exists: " + in.id, Hint: "use another sessionId",
			}
		}
	}
	if err != nil {
		return err
	}
	x.Conversation = c.ID
	if err := svc.Import(ctx, at.who, c.ID, at.app.Root, history.Messages, history.State); err != nil {
		_ = svc.DeleteConversation(context.WithoutCancel(ctx), at.who, c.ID) // the first error says what went wrong
		return err
	}
	return h.show(x, &at, &c)
}

// mayChange refuses keys of the state that the caller may not set. What the application shares is for keys without a user.
func mayChange(x *front.Exchange, set map[string]json.RawMessage) error {
	for key := range set {
		switch {
		case userdata.IsTemp(key) || strings.HasPrefix(key, userdata.RunPrefix):
			return front.Bad("the state of one run cannot be set from outside", "leave the key "+strconv.Quote(key)+" out")
		case strings.HasPrefix(key, userdata.AppPrefix) && x.Who.User != "":
			return &event.Error{
				Kind: event.ErrPermission, Code: "KEY_BOUND_TO_USER", Message: "the key acts for one user and cannot set what the application shares",
				Hint: "use a key without a user, or leave the keys out that begin with app:",
			}
		}
		if err := userdata.Key(key); err != nil {
			return err
		}
	}
	return nil
}

func (h *handler) getSession(x *front.Exchange, _ []byte) error {
	at, err := h.path(x)
	if err != nil {
		return err
	}
	c, err := h.find(x.R.Context(), &at, x.R.PathValue("session"))
	if err != nil {
		return err
	}
	return h.show(x, &at, &c)
}

// show answers with a session: its state and its events.
func (h *handler) show(x *front.Exchange, at *place, c *service.Conversation) error {
	x.Conversation = c.ID
	s := sessionOf(&c.Row, at.app.Name, at.user)
	ctx := x.R.Context()
	state, _, err := h.front.Service.State(ctx, at.who, c.ID)
	if err != nil {
		return err
	}
	for key, value := range state {
		if !wire.Hidden(key) {
			s.State[key] = value
		}
	}
	recent, after, err := window(x.R.URL.Query())
	if err != nil {
		return err
	}
	var last time.Time
	if s.Events, last, err = h.events(ctx, at, c.ID, recent, after); err != nil {
		return err
	}
	if last.After(c.Updated) {
		s.Updated = float64(last.UnixMicro()) / 1e6
	}
	reply(x, http.StatusOK, &s)
	return nil
}

// window reads which events a request wants: the newest, and those since a time. recent is negative for all.
func window(q map[string][]string) (recent int, after time.Time, err error) {
	recent = -1
	for key, values := range q {
		text := strings.Join(values, ",")
		switch key {
		case "num_recent_events", "numRecentEvents":
			if recent, err = strconv.Atoi(text); err != nil || recent < 0 {
				return 0, after, front.Bad("num_recent_events is no number", "send 0 or more")
			}
		case "after_timestamp", "afterTimestamp":
			seconds, err := strconv.ParseFloat(text, 64)
			if err != nil || seconds < 0 || seconds > 1e11 {
				return 0, after, front.Bad("after_timestamp is no time", "send seconds since 1970")
			}
			after = time.UnixMicro(int64(seconds * 1e6))
		}
	}
	return recent, after, nil
}

// events writes the events of a conversation as a JSON array, and returns the time of the last one.
func (h *handler) events(ctx context.Context, at *place, id string, recent int, after time.Time) (all json.RawMessage, last time.Time, err error) {
	enc := &wire.Encoder{List: true}
	feed := feedOf(enc)
	var each [][]byte
	keep := func(b []byte, at time.Time) {
		if len(b) > 0 && !at.Before(after) {
			each = append(each, b)
		}
		if recent >= 0 && len(each) > 2*recent+eventPage {
			each = slices.Clone(each[len(each)-recent:])
		}
	}
	for seq := int64(0); ; {
		events, more, err := h.front.Service.EventPage(ctx, at.who, id, seq, eventPage)
		if err != nil {
			return nil, last, err
		}
		for _, e := range events {
			seq, last = e.Seq, e.Time
			keep(feed.Append(nil, e), e.Time)
		}
		if !more || len(events) == 0 {
			break
		}
	}
	keep(enc.AppendInterrupted(nil, nil), last)
	if recent >= 0 && len(each) > recent {
		each = each[len(each)-recent:]
	}
	all = append(all, '[')
	for i, b := range each {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, b...)
	}
	return append(all, ']'), last, nil
}

func (h *handler) patchSession(x *front.Exchange, body []byte) error {
	at, err := h.path(x)
	if err != nil {
		return err
	}
	var delta map[string]json.RawMessage
	if err := members(body, func(key string, raw json.RawMessage) error {
		if key != "stateDelta" {
			return nil
		}
		return json.Unmarshal(raw, &delta)
	}); err != nil {
		return err
	}
	if len(delta) == 0 {
		return front.Bad("stateDelta is missing", "send the keys to set")
	}
	ctx := x.R.Context()
	c, err := h.find(ctx, &at, x.R.PathValue("session"))
	if err != nil {
		return err
	}
	if err := h.patch(ctx, x, &at, c.ID, delta); err != nil {
		return err
	}
	return h.show(x, &at, &c)
}

func (h *handler) patch(ctx context.Context, x *front.Exchange, at *place, id string, delta map[string]json.RawMessage) error {
	if err := mayChange(x, delta); err != nil {
		return err
	}
	return h.front.Service.ChangeState(ctx, at.who, id, braid.AnyVersion, delta, nil)
}

func (h *handler) deleteSession(x *front.Exchange, _ []byte) error {
	at, err := h.path(x)
	if err != nil {
		return err
	}
	c, err := h.find(x.R.Context(), &at, x.R.PathValue("session"))
	if err != nil {
		return err
	}
	x.Conversation = c.ID
	if err := h.front.Service.DeleteConversation(x.R.Context(), at.who, c.ID); err != nil {
		return err
	}
	reply(x, http.StatusOK, nil)
	return nil
}
