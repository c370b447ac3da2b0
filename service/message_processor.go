package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// MessageProcessor is what becomes of the events of one drive of a run: it hands each to those who
// watch the conversation, durable ones once they are committed, and tells the service's own
// observers. Which frames a watcher is sent is his wire's to say.
type MessageProcessor struct {
	service   *Service
	x         *ExecutionContext
	h         *warmth
	publisher live.Publisher
	// cold says that nothing of the conversation was known here before this drive.
	cold bool
	// compacted reports that this drive shortened the conversation.
	compacted bool
	// log is what was said, as far as this drive has seen it.
	log messageLog
	// told is the cause that the operator was told last.
	told error
}

func (s *Service) messages(x *ExecutionContext, h *warmth) *MessageProcessor {
	publisher := s.bus.Publisher(x.Key().topic())
	return &MessageProcessor{service: s, x: x, h: h, publisher: publisher, cold: h.seen.Load() == 0}
}

func (m *MessageProcessor) close() {
	m.publisher.Close()
}

// take takes the next event. It is the driver that calls it, and that waits for it.
func (m *MessageProcessor) take(e event.Event) {
	if e.Live() {
		m.publisher.Publish(e)
		return
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		m.x.SessionID = event.SessionID(m.x.Conversation, b.Session)
	case *event.Redacted:
		m.service.unscrubbed.Store(true)
	case *event.Notice:
		if b.Code == braid.NoticeUsage {
			m.service.log.Warn(b.Text, "tenant", m.x.Principal.Tenant, "conversation", m.x.Conversation, "run", e.Run, "step", e.Step)
		}
	case *event.Compacted:
		m.compacted = true
	}
	m.h.add(&e)
	m.log.take(&e)
	m.report(&e)
	m.publisher.Publish(e)
	m.h.seen.Store(e.Seq)
	if observe := m.service.options.Observe; observe != nil {
		durable := e // so that live events stay off the heap
		observe(m.x.Principal.Tenant, m.x.Tenant.Life, &durable)
	}
}

// report tells the operator why a step or a run failed, where the event does not say it: the panic of a tool, or
// the text of an error that a model gave.
func (m *MessageProcessor) report(e *event.Event) {
	log := m.service.log
	switch b := e.Body.(type) {
	case *event.StepEnded:
		if b.Err != nil && b.Err.Err != nil && (b.Step != event.StepTool || panicked(b.Err)) {
			log.Warn("a step failed", "tenant", m.x.Principal.Tenant, "conversation", e.Conversation, "run", e.Run, "step", e.Step,
				"error", b.Err, "cause", b.Err.Err)
			m.told = b.Err.Err
		}
	case *event.RunEnded:
		if b.Status == event.RunFailed && b.Err != nil && b.Err.Err != nil && !errors.Is(b.Err.Err, m.told) {
			log.Error("a run failed", "tenant", m.x.Principal.Tenant, "conversation", e.Conversation, "run", e.Run,
				"kind", b.Err.Kind, "error", b.Err, "cause", b.Err.Err)
		}
	}
}

func panicked(err error) bool {
	_, yes := errors.AsType[*event.PanicError](err)
	return yes
}

// end does what is to be done once a run has ended.
func (m *MessageProcessor) end(ctx context.Context, status event.RunStatus, agent *braid.Agent) {
	m.keepMessages(context.WithoutCancel(ctx))
	if m.cold && m.x.Turn > 1 { // the process that drove the run before may have died at its end
		m.service.mends.add(m.x.Principal.Tenant, m.x.Conversation)
	}
	if status == event.RunCompleted && !m.h.titled.Load() {
		m.service.titles.begin(context.WithoutCancel(ctx), m.x, m.h, agent)
	}
}
