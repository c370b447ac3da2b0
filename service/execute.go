package service

import (
	"cmp"
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
)

// This file takes a run from its request to its end, in ten steps. [Service.StartRun] makes the
// first three: after them the run is in the journal, and the request may end. The engine calls
// drive for the others, in this process or another one, now or after a crash. A run that waited for
// an answer is driven again from step 4.

// Started is the result of a request for a run.
type Started struct {
	// Run is the run that answers.
	Run journal.Run
	// Joined reports that the input was added to an open run.
	Joined bool
	// After is the Seq of an event before the run's first one. A follower that starts there misses
	// no event of the run.
	After int64
	// Follower follows from After since before the run was accepted. The caller must close it. It
	// is nil if none was requested, or if the run existed before the request: then call
	// [Service.Follow].
	Follower *live.Follower
	// Titled reports whether the conversation had a title.
	Titled bool
}

// StartRun accepts a run. Once it returns, the run is in the journal and will be driven, even if
// this process dies. With the policy reject it waits up to LockWait for an open run to end, and
// then returns [event.ErrLocked] with RetryAfter. A refused request leaves nothing behind.
func (s *Service) StartRun(ctx context.Context, p Principal, conversation string, r RunRequest) (Started, error) {
	const op = "start run"
	changes := s.changes.Load()
	if err := s.begun(op); err != nil {
		return Started{}, err
	}

	// 1. Check the request by itself.
	if err := p.check(op); err != nil {
		return Started{}, err
	}
	if err := r.check(op); err != nil {
		return Started{}, err
	}
	run, err := r.row(p, conversation)
	if err != nil {
		return Started{}, err
	}

	// 2. Check that the conversation, its tenant, its agent and its model exist and are active.
	row, err := s.row(ctx, p, op, conversation)
	if err != nil {
		return Started{}, err
	}
	if err := row.takesRuns(op); err != nil {
		return Started{}, err
	}
	run.User = cmp.Or(run.User, row.User) // a principal without a user acts for the conversation's user
	if r.Continues != "" {
		if repeated, err := s.retried(ctx, &row, &run, r.Continues); err != nil || repeated.Run.ID != "" {
			return repeated, err
		}
	}
	x := s.contextOf(&run)
	x.Tokens, x.Shown, x.ConversationLife = r.Tokens, r.Shown, row.life()
	ready, first, err := s.ready(ctx, x, &row)
	if err != nil {
		return Started{}, err
	}
	run.Agent = ready.agent.Name()
	pinnedIn(run.Metadata, &x.Agent)

	// 3. Admit the run to the conversation, which has one active run at a time.
	started, err := s.followAndAccept(ctx, &admission{row: row, changes: changes, run: run}, &r, ready)
	if err != nil && first {
		s.unpin(ctx, x, &row)
	}
	return started, err
}

// ready makes the agent of a run and pins the conversation to it. first reports that the
// conversation was not pinned before.
func (s *Service) ready(ctx context.Context, x *ExecutionContext, row *Row) (ready *prepared, first bool, err error) {
	for {
		now, err := s.moment(ctx, row.ID)
		if err != nil {
			return nil, false, err
		}
		if err := s.verify(ctx, x, row.pick); err != nil {
			return nil, false, err
		}
		r, err := s.builder.Build(ctx, x)
		if err != nil {
			return nil, false, err
		}
		agent, err := s.make(ctx, &r)
		if err != nil {
			return nil, false, err
		}
		first := row.Agent == ""
		if pinned, err := s.pin(ctx, x, row); err != nil || pinned {
			return &prepared{agent, x.Tenant, x.Agent, now}, first && row.Agent != "", err
		}
	}
}

// drive is the engine's entry point for driving a run.
func (s *Service) drive(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	out, err := s.driven(ctx, w)
	if err != nil { // the run may have ended although its driver does not know it
		s.completer.add(w.Run.Tenant, w.Run.Conversation)
	}
	return out, err
}

func (s *Service) driven(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	row := w.Run
	if row.Metadata[keyBody] == "" { // the engine was woken with the run's ids alone
		var err error
		if row, err = s.head(ctx, w.Run.Conversation, w.Run.ID); err != nil {
			return engine.Outcome{}, err
		}
	}

	// 4. Make the context: principal, turn, session and tokens.
	x := s.contextOf(&row)
	x.Accepted = true
	if len(x.Tokens) == 0 && row.Metadata[keyTokens] != "" {
		s.log.Warn("a run goes on without its tokens, which were in the memory of the process that accepted it", "tenant", row.Tenant,
			"conversation", row.Conversation, "run", row.ID)
	}

	// 5. Make the options and the agent. If nothing has changed since the run was accepted, use the
	// agent that was made then. Otherwise check the tenant and the agent again: they may be
	// inactive now.
	agent := s.preparedFor(ctx, x)
	if agent == nil {
		var err error
		if agent, err = s.agentOf(ctx, x, &row); err != nil {
			return engine.Outcome{}, err
		}
	}

	// 6. Drive the agent. Each step is committed; 7. each event is published once it is committed;
	// 8. each tool call is tracked in the commit of its step.
	bytes, known, err := s.weigh(ctx, &row)
	if err != nil {
		return engine.Outcome{}, err
	}
	give, err := s.memory.wait(ctx, w.Draining, row.Tenant, bytes+inputBytes(&row))
	if err != nil {
		return engine.Outcome{}, err
	}
	defer give()
	if known {
		bytes = 0 // it is already counted
	}
	h, done := s.folds.take(s.options.Journal, row.Conversation, row.Metadata[keyLife], bytes)
	defer done()
	h.agent.Store(agent)
	h.owner.Store(&owner{tenant: row.Tenant, life: x.Tenant.Life})
	ctx = withConversation(ctx, x.Key())
	messages := s.messages(x, h)
	defer messages.close()
	defer s.stalled.Delete(row.ID)
	r, err := agent.Drive(ctx, h.conv, row.ID, braid.Work{
		Sink: messages.take, Mail: w.Mail, Draining: w.Draining, ForgetFailed: s.forgetsFailed(&x.Tenant),
		Secrets: x.Tokens, Shown: x.Shown, Models: s.meter(x.Principal.Tenant),
		Stalled: func(err error) {
			if err == nil {
				s.stalled.Delete(row.ID)
			} else {
				s.stalled.Store(row.ID, err)
			}
		},
	})
	if err != nil {
		s.counts.drove(err)
		return engine.Outcome{}, err
	}

	if messages.compacted { // the fold now holds less than its events did
		s.reweigh(ctx, h, row.Conversation)
	}

	// 9. The run's result was committed with its last event. The title is made after that, and
	// nothing waits for it.
	if r.Status.Ended() {
		s.tokens.drop(row.ID)
		messages.end(ctx, r.Status, agent)
	}

	// 10. The commit that ended the run, or made it wait, has released the lock.
	return engine.Outcome{Status: r.Status, WakeAt: r.WakeAt}, nil
}
