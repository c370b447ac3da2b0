package floor

import (
	"slices"
	"strconv"
	"time"
)

// Session holds the finished events of a conversation and the messages that the
// model sees. It belongs to one run at a time.
type Session struct {
	id       string
	events   []*Event
	messages []*Message
	runs     int64
}

// NewSession makes an empty session.
func NewSession(id string) *Session { return &Session{id: id} }

// Load makes a session from stored events, which it shares.
func Load(id string, events []*Event) *Session {
	s := &Session{id: id, events: slices.Clip(events)}
	for _, e := range events {
		s.messages = append(s.messages, e.Message)
	}
	return s
}

// Events are the finished events so far. The caller does not change them.
func (s *Session) Events() []*Event { return s.events }

func (s *Session) begin() (run string) {
	s.runs++
	return s.id + "/" + strconv.FormatInt(s.runs, 10)
}

// add keeps a finished event.
func (s *Session) add(run, author string, kind Kind, m *Message) *Event {
	e := &Event{
		Seq: int64(len(s.events)) + 1, Session: s.id, Run: run, Author: author,
		Time: time.Now(), Kind: kind, Message: m,
	}
	s.events = append(s.events, e)
	s.messages = append(s.messages, m)
	return e
}
