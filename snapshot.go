package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/internal/userdata"
)

// snapshotSchema is the version of the form of a [Snapshot]. One of another version is
// refused.
const snapshotSchema = 1

// SnapshotField names a part of a [Snapshot].
type SnapshotField string

// The fields of a snapshot.
const (
	// SnapshotMessages are what the model would see next.
	SnapshotMessages SnapshotField = "messages"
	// SnapshotState is the conversation's own state, without what it shares with others and
	// without what belongs to one run.
	SnapshotState SnapshotField = "state"
)

// Snapshot is what a conversation is at an instant, as data: it is written and read as JSON, kept
// wherever files are kept, and loaded into any conversation. The log is what a conversation
// is kept in; a snapshot is for taking it elsewhere, trying something from there, or beginning
// others alike.
//
// A question that is open is not in it, nor calls without results: their run waits in its own log.
type Snapshot struct {
	// Schema is the version of this form, 1. Fields says what is in it.
	Schema int             `json:"schema"`
	Fields []SnapshotField `json:"fields"`
	// Conversation, Seq and Turn say what it was taken of, and Taken when. Agent is who
	// answered in the newest run.
	Conversation string    `json:"conversation,omitempty"`
	Seq          int64     `json:"seq,omitempty"`
	Turn         int       `json:"turn,omitempty"`
	Taken        time.Time `json:"taken,omitzero"`
	Agent        string    `json:"agent,omitempty"`

	Messages []event.Message            `json:"messages,omitempty"`
	State    map[string]json.RawMessage `json:"state,omitempty"`
	// App is the program's own.
	App json.RawMessage `json:"app,omitempty"`
}

// Snapshot takes a snapshot with the fields that are named; none means all.
func (c *Conversation) Snapshot(ctx context.Context, fields ...SnapshotField) (*Snapshot, error) {
	if len(fields) == 0 {
		fields = []SnapshotField{SnapshotMessages, SnapshotState}
	}
	s := &Snapshot{Schema: snapshotSchema, Fields: slices.Clone(fields), Conversation: c.log.ID, Taken: time.Now().UTC()}
	if err := s.check(); err != nil {
		return nil, err
	}
	look := c.log.Look
	if s.has(SnapshotMessages) {
		look = c.log.LookWhole
	}
	err := look(ctx, func(v *fold.Conversation) {
		s.Seq, s.Turn = v.Last, v.Turn
		if v.Run != nil {
			s.Agent = v.Run.Agent
		}
		if s.has(SnapshotMessages) {
			s.Messages = v.Past.Shared()
			if v.Open() {
				s.Messages = v.Run.Scopes[0].Transcript.Shared()
			}
			s.Messages = slices.Clone(s.Messages)
		}
		if s.has(SnapshotState) {
			s.State = ownState(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ownState is the state that is the conversation's alone.
func ownState(v *fold.Conversation) map[string]json.RawMessage {
	all := v.State.All()
	for k := range all {
		if strings.HasPrefix(k, StateApp) || strings.HasPrefix(k, StateUser) || strings.HasPrefix(k, StateRun) {
			delete(all, k)
		}
	}
	return all
}

func (s *Snapshot) has(f SnapshotField) bool { return slices.Contains(s.Fields, f) }

// ReadSnapshot reads one snapshot as JSON. What it does not know is refused, so that nothing is lost
// silently: another version, an unknown field, doubled names.
func ReadSnapshot(r io.Reader) (*Snapshot, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, &event.Error{Op: "snapshot", Kind: event.ErrUnavailable, Message: "the snapshot cannot be read", Err: err}
	}
	if err := strictjson.Check(data, strictjson.DefaultDepth); err != nil {
		return nil, badSnapshot("is no usable JSON: "+err.Error(), err)
	}
	var v struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, badSnapshot("is none", err)
	}
	if v.Schema != snapshotSchema {
		return nil, badSnapshot(fmt.Sprintf("is of version %d; this program knows %d", v.Schema, snapshotSchema), nil)
	}
	s := &Snapshot{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(s); err != nil {
		if e, ok := errors.AsType[*event.Error](err); ok {
			return nil, badSnapshot("has a message that is none: "+e.Message, err)
		}
		return nil, badSnapshot("is none: "+err.Error(), err)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// check holds a snapshot against what can be loaded.
func (s *Snapshot) check() error {
	if s.Schema != snapshotSchema {
		return badSnapshot(fmt.Sprintf("is of version %d; this program knows %d", s.Schema, snapshotSchema), nil)
	}
	for _, f := range s.Fields {
		if f != SnapshotMessages && f != SnapshotState {
			return badSnapshot(fmt.Sprintf("has a field %q, which nobody knows", f), nil)
		}
	}
	if len(s.Fields) == 0 {
		return badSnapshot("holds nothing", nil)
	}
	if _, _, err := drive.FitHistory(s.Messages); err != nil {
		return err
	}
	for k := range s.State {
		if err := userdata.Key(k); err != nil {
			return err
		}
	}
	return nil
}

func badSnapshot(what string, err error) error {
	return &event.Error{
		Op: "snapshot", Kind: event.ErrInvalid, Message: "the snapshot " + what,
		Hint: "take it with Conversation.Snapshot, and write it with encoding/json", Err: err,
	}
}

// Load gives the conversation the content of a snapshot. Its messages begin a new session, so the model sees them and
// nothing earlier. Its state replaces the conversation's own. Fields that the snapshot does not have stay as they are.
// The earlier log stays.
//
// A history that models would refuse is repaired as the input of [Agent.Run] is. A notice in the log says how, and so
// does the Result of [Into].
//
// The log records this as a run. The options [For], [Executor] and [Metadata] apply to it. While a run is open, the
// error is [event.ErrConflict] or [event.ErrLocked].
func (c *Conversation) Load(ctx context.Context, s *Snapshot, opts ...RunOption) error {
	if s == nil {
		return badSnapshot("is nil", nil)
	}
	if err := s.check(); err != nil {
		return err
	}
	o := options(opts)
	o.NewSession = s.has(SnapshotMessages)
	agent := s.Agent
	if agent == "" || agent == event.UserAuthor {
		agent = "snapshot"
	}
	messages, repairs, err := drive.FitHistory(s.Messages)
	if err != nil {
		return err
	}
	if o.into != nil {
		*o.into = Result{Conversation: c, Repaired: repairs}
	}
	return c.log.Record(ctx, "load", agent, &o.Request, func(v *fold.Conversation) (list []event.Body, _ error) {
		if s.has(SnapshotMessages) {
			if len(repairs) > 0 {
				list = append(list, drive.RepairNotice(repairs))
			}
			for _, m := range messages {
				if m.Role == event.RoleAssistant {
					list = append(list, &event.AssistantMessage{Content: m.Content, Stop: event.StopEndTurn})
					continue
				}
				list = append(list, &event.UserMessage{Content: m.Content})
			}
		}
		if s.has(SnapshotState) {
			if changed := s.change(ownState(v)); changed != nil {
				list = append(list, changed)
			}
		}
		return list, nil
	})
}

// change is what makes the state that is there the snapshot's; nil where it is already.
func (s *Snapshot) change(now map[string]json.RawMessage) *event.StateChanged {
	b := &event.StateChanged{}
	for k, v := range s.State {
		if old, there := now[k]; there && bytes.Equal(old, v) {
			continue
		}
		if b.Set == nil {
			b.Set = make(map[string]json.RawMessage)
		}
		b.Set[k] = v
	}
	for k := range now {
		if _, stays := s.State[k]; !stays {
			b.Delete = append(b.Delete, k)
		}
	}
	slices.Sort(b.Delete)
	if len(b.Set)+len(b.Delete) == 0 {
		return nil
	}
	return b
}
