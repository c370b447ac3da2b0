package client

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// Conversation is a conversation as the server returns it.
type Conversation struct {
	ID string `json:"id"`
	// User is the owner. It is empty if the conversation has none.
	User      string            `json:"user,omitempty"`
	Title     string            `json:"title"`
	Archived  bool              `json:"archived"`
	Metadata  map[string]string `json:"metadata"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt time.Time         `json:"updated_at"`
	// Status is "idle", or the status of the open run. Lists leave it out.
	Status string `json:"status,omitempty"`
	// OpenRuns are the open runs. Lists leave them out.
	OpenRuns []RunState `json:"open_runs,omitempty"`
	// SessionID names the part of the conversation that the model sees. It is empty in lists, and
	// if the next run begins a session.
	SessionID string `json:"session_id,omitempty"`
	// Agent is the agent that the conversation is pinned to. It is empty if the server's own agent answers, and if the
	// tenant has had no usable agent since.
	Agent string `json:"agent,omitempty"`
	// AgentVersion is the version of Agent.
	AgentVersion int `json:"agent_version,omitempty"`
	// Workspace is false if the conversation was made without files, and nil otherwise.
	Workspace *bool `json:"workspace,omitempty"`
	// ForkedFrom is set for a fork.
	ForkedFrom *ForkedFrom `json:"forked_from,omitempty"`
}

// ForkedFrom says where a conversation was forked.
type ForkedFrom struct {
	Conversation string `json:"conversation_id"`
	// At is the Seq of the last event that the fork has.
	At int64 `json:"at"`
}

// RunState is the state of a run.
type RunState struct {
	ID     string          `json:"id"`
	Turn   int             `json:"turn"`
	Status event.RunStatus `json:"status"`
}

// NewConversation holds the settings of a new conversation.
type NewConversation struct {
	Title    string            `json:"title,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Agent is the id of the tenant's agent that answers. Empty means the tenant's default.
	Agent string `json:"agent,omitempty"`
	// User is the owner. Only a key without a user may name one. A key with a user creates that
	// user's conversations.
	User string `json:"user,omitempty"`
	// Workspace is false for a conversation without files. nil leaves it to the server and the tenant's policy.
	Workspace *bool `json:"workspace,omitempty"`
}

// Filter selects conversations. The zero value selects all that are not archived.
type Filter struct {
	// Archived selects the archived ones instead.
	Archived bool
	// Status selects conversations whose oldest open run, or else newest run, is open, queued,
	// running, waiting, completed, failed or cancelled. The conversation whose run was admitted
	// last then comes first.
	Status string
	// User selects that user's conversations.
	User string
	// Agent selects the conversations that are pinned to that agent.
	Agent string
}

func (f Filter) query() url.Values {
	q := url.Values{}
	if f.Archived {
		q.Set("archived", "true")
	}
	set(q, "user", f.User)
	set(q, "agent", f.Agent)
	set(q, "status", f.Status)
	return q
}

// Changes are the changes of [Client.Update]. A nil field changes nothing. An empty metadata value
// removes its key.
type Changes struct {
	Title    *string           `json:"title,omitempty"`
	Archived *bool             `json:"archived,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// User transfers the conversation to that user. It needs a key without a user.
	User *string `json:"user,omitempty"`
}

// Model is a model that a run may name. Why is the reason why it is not available.
type Model struct {
	Name string `json:"name"`
	// Aliases are its other names.
	Aliases   []string `json:"aliases,omitempty"`
	Simulated bool     `json:"simulated"`
	Available bool     `json:"available"`
	Why       string   `json:"why,omitempty"`
}

// data is a list without pages.
type data[T any] struct {
	Data []T `json:"data"`
}

// path joins the parts of a path.
func path(parts ...string) string {
	p := "/v1"
	var pSb77 strings.Builder
	for _, part := range parts {
		pSb77.WriteString("/" + part)
	}
	p += pSb77.String()
	return p
}

// Create creates a conversation.
func (c *Client) Create(ctx context.Context, n NewConversation) (Conversation, error) {
	var out Conversation
	err := c.call(ctx, http.MethodPost, path("conversations"), nil, n, &out)
	return out, err
}

// Get returns a conversation. It returns [event.ErrNotFound] if there is none.
func (c *Client) Get(ctx context.Context, conversation string) (Conversation, error) {
	var out Conversation
	err := c.to(ctx, http.MethodGet, nil, nil, &out, conversation)
	return out, err
}

// to calls an operation of a conversation.
func (c *Client) to(ctx context.Context, method string, query url.Values, in, out any, conversation string, below ...string) error {
	for _, name := range append([]string{conversation}, below...) {
		if !plain(name) {
			return nothing()
		}
	}
	return c.call(ctx, method, path(append([]string{"conversations", conversation}, below...)...), query, in, out)
}

// nothing returns the error for a name that no server gives.
func nothing() error {
	return &event.Error{
		Op: "client", Kind: event.ErrNotFound, Message: "there is no such object", Hint: "use an id as the server gave it",
	}
}

// plain reports whether a name needs no escaping in a path. All of the server's names are plain.
func plain(name string) bool {
	for i := range len(name) {
		switch b := name[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_', b == '.', b == '+', b == '@', b == '~':
		default:
			return false
		}
	}
	return name != "" && name != "." && name != ".."
}

// List yields the conversations that the key can reach, newest first. An error is the last thing
// that it yields.
func (c *Client) List(ctx context.Context, f Filter) iter.Seq2[Conversation, error] {
	return func(yield func(Conversation, error) bool) {
		query := f.query()
		for {
			var page struct {
				data[Conversation]
				Next *string `json:"next_cursor"`
			}
			if err := c.call(ctx, http.MethodGet, path("conversations"), query, nil, &page); err != nil {
				yield(Conversation{}, err)
				return
			}
			for i := range page.Data {
				if !yield(page.Data[i], nil) {
					return
				}
			}
			if page.Next == nil {
				return
			}
			query.Set("cursor", *page.Next)
		}
	}
}

// Update renames, archives, labels or transfers a conversation.
func (c *Client) Update(ctx context.Context, conversation string, changes Changes) (Conversation, error) {
	var out Conversation
	err := c.to(ctx, http.MethodPatch, nil, changes, &out, conversation)
	return out, err
}

// Delete removes a conversation with everything in it. It returns [event.ErrLocked] while a run is
// open.
func (c *Client) Delete(ctx context.Context, conversation string) error {
	return c.to(ctx, http.MethodDelete, nil, nil, nil, conversation)
}

// Reset makes the next run begin a new session. The log stays, but the model no longer sees it.
func (c *Client) Reset(ctx context.Context, conversation string) (Conversation, error) {
	var out Conversation
	err := c.to(ctx, http.MethodPost, nil, nil, &out, conversation, "reset")
	return out, err
}

// Fork creates a conversation with the history up to an event. 0 means all of it.
func (c *Client) Fork(ctx context.Context, conversation string, at int64) (Conversation, error) {
	var out Conversation
	in := struct {
		At int64 `json:"at,omitempty"`
	}{at}
	err := c.to(ctx, http.MethodPost, nil, in, &out, conversation, "fork")
	return out, err
}

// Export writes a conversation's whole log to w, one event a line.
func (c *Client) Export(ctx context.Context, conversation string, w io.Writer) error {
	return c.to(ctx, http.MethodGet, nil, nil, struct{ io.Writer }{w}, conversation, "export")
}

// Events yields the durable events after a place in the log. An error is the last thing that it
// yields.
func (c *Client) Events(ctx context.Context, conversation string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for more := true; more; {
			var page struct {
				data[json.RawMessage]
				Last    int64 `json:"last"`
				HasMore bool  `json:"has_more"`
			}
			query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {"1000"}}
			err := c.to(ctx, http.MethodGet, query, nil, &page, conversation, "events")
			for i := 0; i < len(page.Data) && err == nil; i++ {
				var e event.Event
				if e, err = event.Decode(page.Data[i]); err == nil && !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			more = page.HasMore && page.Last > after
			after = page.Last
		}
	}
}

// Questions lists the open questions of the conversation's run.
func (c *Client) Questions(ctx context.Context, conversation string) ([]native.Question, error) {
	var out data[native.Question]
	err := c.to(ctx, http.MethodGet, nil, nil, &out, conversation, "questions")
	return out.Data, err
}

// Answer answers a question with a value that has a JSON form, and the run goes on. The answer to
// an approval is true, false or an [event.Approval]. It returns [event.ErrGone] if the question has
// expired or was answered differently.
func (c *Client) Answer(ctx context.Context, conversation, question string, value any) error {
	in := struct {
		Answer any `json:"answer"`
	}{value}
	return c.to(ctx, http.MethodPost, nil, in, nil, conversation, "questions", question)
}

// Models lists the models that a run may name.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var out data[Model]
	err := c.call(ctx, http.MethodGet, path("models"), nil, nil, &out)
	return out.Data, err
}
