package drive

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// Record writes a run in which nothing runs: its beginning, the bodies and its end, in one commit. It serves changes
// of a conversation without its agent. It asks bodies before the run is admitted, and again when the conversation is
// taken. An error the first time leaves no trace; an error the second time makes the run fail.
func (c *Handle) Record(
	ctx context.Context, op, agent string, o *Request, bodies func(*fold.Conversation) ([]event.Body, error),
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := c.lock(stop); err != nil {
		return err
	}
	kept := c.Warm
	defer func() { c.unlock(kept) }()
	v := kept
	if v == nil {
		var err error
		if v, err = c.ColdView(ctx); err != nil {
			return err
		}
	}
	if v.Open() {
		return &event.Error{
			Op: op, Kind: event.ErrConflict, Message: "the conversation's last run is not over", Hint: "wait for it, or cancel it",
		}
	}
	if _, err := bodies(v); err != nil {
		return err
	}
	row := journal.Run{
		ID: c.newRun(), Conversation: c.ID, Tenant: o.Tenant, User: o.User, Agent: agent, Executor: o.Executor,
		Metadata: o.Metadata, NewSession: o.NewSession, Alone: true,
	}
	var opened journal.Opened
	take := func() (err error) {
		opened, err = c.Store.Start(ctx, row, v.Last)
		return err
	}
	if err := c.PastWithdrawn(ctx, take(), take); err != nil {
		if opened.Run.Status == event.RunQueued {
			c.withdraw(context.WithoutCancel(ctx), opened.Run.ID)
		}
		return err
	}
	kept = nil
	base := context.WithoutCancel(ctx)
	for _, e := range opened.Events {
		v.Add(e)
	}
	if v.Stale || v.Last != opened.Last {
		var err error
		if v, err = c.ColdView(base); err != nil {
			_ = c.Store.Commit(base, opened.Lease, journal.Batch{Release: true})
			return err
		}
	}
	v.State.Share(opened.Shared)
	list, refused := bodies(v)
	ended := &event.RunEnded{
		Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyNothing, CostNanoUSD: new(int64),
	}
	if refused != nil {
		list = nil
		ended.Status, ended.Stop, ended.Why, ended.Err = event.RunFailed, event.StopError, event.WhyFailed, hookError(refused)
	}
	b := journal.Batch{Status: ended.Status, Events: recorded(v, &opened.Run, list, ended)}
	if err := c.commit(base, opened.Lease, b); err != nil {
		return err
	}
	for _, e := range b.Events {
		v.Add(e)
	}
	kept = v
	c.storeFold(ctx, opened.Lease, kept)
	return refused
}

// recorded makes the events of such a run.
func recorded(v *fold.Conversation, run *journal.Run, list []event.Body, ended *event.RunEnded) []*event.Event {
	session := max(v.Session, 1)
	if run.NewSession && v.Session > 0 {
		session = v.Session + 1
	}
	bodies := append([]event.Body{&event.RunStarted{
		Agent: run.Agent, Turn: run.Turn, Session: session, Executor: run.Executor, Metadata: run.Metadata,
	}}, list...)
	bodies = append(bodies, ended)
	events := make([]*event.Event, len(bodies))
	now := time.Now()
	for i, b := range bodies {
		head := event.Header{
			Seq: v.Last + int64(i) + 1, Conversation: run.Conversation, Run: run.ID, Author: event.UserAuthor, Time: now,
		}
		if _, spoken := b.(*event.AssistantMessage); spoken && run.Agent != "" {
			head.Author = run.Agent
		}
		events[i] = &event.Event{Header: head, Body: b}
	}
	return events
}
