package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// MessageProcessor handles the events of one drive of a run. It publishes each to the
// conversation's followers, durable ones after their commit, and calls the service's own observers.
// The wire decides which frames a follower gets.
type MessageProcessor struct {
	conversations *conversations
	titles        *TitleGenerator
	completer     *logCompleter

	x         *ExecutionContext
	h         *cachedFold
	publisher live.Publisher
	// cold reports that this process had no cached fold of the conversation before this drive.
	cold bool
	// compacted reports that this drive shortened the conversation.
	compacted bool
	// words are the first words of the conversation, if this drive has seen its beginning.
	words string
	// began reports that this drive has seen the conversation's beginning, and no redaction since.
	began bool
	// log holds the messages of the run, as far as this drive has seen them.
	log messageLog
	// reported is the cause that was logged last.
	reported error
}

func (m *MessageProcessor) close() {
	m.publisher.Close()
}

// take handles the next event. The driver calls it and waits for it.
func (m *MessageProcessor) take(e event.Event) {
	if e.Live() {
		m.publisher.Publish(e)
		return
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		m.x.SessionID = event.SessionID(m.x.Conversation, b.Session)
		m.began = e.Seq == 1
	case *event.UserMessage:
		if m.words == "" && m.began {
			m.words = shorten(event.TextOf(b.Content))
		}
	case *event.Redacted:
		m.conversations.unscrubbed.Store(true)
		m.words, m.began = "", false // they may be what was redacted
	case *event.Notice:
		if b.Code == event.NoticeUsage {
			m.conversations.log.Warn(b.Text, "tenant", m.x.Principal.Tenant, "conversation", m.x.Conversation, "run", e.Run, "step", e.Step)
		}
	case *event.Compacted:
		m.compacted = true
	}
	m.h.add(&e)
	m.log.take(&e)
	m.report(&e)
	m.publisher.Publish(e)
	m.h.seen.Store(e.Seq)
	if m.conversations.options.Webhooks != nil {
		m.conversations.options.Webhooks.Committed(m.x.Principal.Tenant, &e)
	}
	if observe := m.conversations.options.Observe; observe != nil {
		durable := e // a copy, so that live events stay off the heap
		observe(m.x.Principal.Tenant, m.x.Tenant.Life, &durable)
	}
}

// report logs the cause of a failed step or run that the event does not contain: the panic of a
// tool, or the text of a model's error.
func (m *MessageProcessor) report(e *event.Event) {
	log := m.conversations.log
	switch b := e.Body.(type) {
	case *event.StepEnded:
		if b.Err != nil && b.Err.Err != nil && (b.Step != event.StepTool || panicked(b.Err)) {
			log.Warn("a step failed", "tenant", m.x.Principal.Tenant, "conversation", e.Conversation, "run", e.Run, "step", e.Step,
				"error", b.Err, "cause", b.Err.Err)
			m.reported = b.Err.Err
		}
	case *event.RunEnded:
		if b.Status == event.RunFailed && b.Err != nil && b.Err.Err != nil && !errors.Is(b.Err.Err, m.reported) {
			log.Error("a run failed", "tenant", m.x.Principal.Tenant, "conversation", e.Conversation, "run", e.Run,
				"kind", b.Err.Kind, "error", b.Err, "cause", b.Err.Err)
		}
	}
}

func panicked(err error) bool {
	_, yes := errors.AsType[*event.PanicError](err)
	return yes
}

// end does the work after the end of a run.
func (m *MessageProcessor) end(ctx context.Context, status event.RunStatus, agent *braid.Agent) {
	m.keepMessages(context.WithoutCancel(ctx))
	if m.cold && m.x.Turn > 1 { // the process that drove the previous run may have died at its end
		m.completer.add(m.x.Principal.Tenant, m.x.Conversation)
	}
	if status == event.RunCompleted && !m.h.titled.Load() {
		m.titles.begin(context.WithoutCancel(ctx), m.x, m.h, agent, m.words)
	}
}

// keepMessages stores the messages of an ended run. If that fails the logCompleter tries again.
func (m *MessageProcessor) keepMessages(ctx context.Context) {
	var err error
	if m.log.begun {
		err = m.conversations.options.Journal.KeepMessages(ctx, m.x.Run, m.log.rows)
	} else { // another drive saw the beginning
		err = m.conversations.rebuildMessages(ctx, m.x.Conversation, map[string]bool{m.x.Run: true})
	}
	if err != nil && !errors.Is(err, event.ErrNotFound) {
		m.conversations.log.Warn("the messages of a run were not kept; will retry",
			"tenant", m.x.Principal.Tenant, "conversation", m.x.Conversation, "run", m.x.Run, "error", err)
		m.completer.add(m.x.Principal.Tenant, m.x.Conversation)
	}
}
