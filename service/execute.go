package service

import (
	"cmp"
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
)

// This file is a run from its request to its end, in ten steps. [Service.StartRun] makes the first
// three: after them the run is in the journal, and whoever asked for it may go. The engine has
// drive make the others, in this process or in another one, now or after a crash; and again from
// the fourth where a run has waited for a person.

// Started says what became of a request for a run.
type Started struct {
	// Run is the run that answers.
	Run journal.Run
	// Joined says that the input was left for a run that was open.
	Joined bool
	// After is the Seq of an event before which the run had none: who follows from
	// there misses nothing of it.
	After int64
	// Follower follows from After, and has since before the run was accepted. The
	// caller closes it. It is nil where none was asked for, and where the run that
	// answers was there before: then it is to be followed like any other.
	Follower *live.Follower
	// Titled says that the conversation had a title.
	Titled bool
}

// StartRun accepts a run: once it has, the run is in the journal and will be driven,
// whatever dies. With the policy reject it waits a little for an open run to end;
// then the answer is [event.ErrLocked] with RetryAfter. Whoever is refused leaves nothing behind.
func (s *Service) StartRun(ctx context.Context, p Principal, conversation string, r RunRequest) (Started, error) {
	const op = "start run"
	changes := s.changes.Load()
	if err := s.begun(op); err != nil {
		return Started{}, err
	}

	// 1. The request is checked, before anything is looked up.
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

	// 2. The conversation, its tenant, its agent and its model are there, and active.
	row, err := s.row(ctx, p, op, conversation)
	if err != nil {
		return Started{}, err
	}
	if err := row.takesRuns(op); err != nil {
		return Started{}, err
	}
	run.User = cmp.Or(run.User, row.User) // a program without a user acts for the conversation's
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

	// 3. The conversation's lock: one run at a time. A run that is accepted has its turn.
	started, err := s.enter(ctx, &entry{row: row, changes: changes, run: run}, &r, ready)
	if err != nil && first {
		s.unpin(ctx, x, &row)
	}
	return started, err
}

// ready sees that there is an agent for a run, and has the conversation keep to it. first says that it did not before.
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

// drive is the engine's way to a run.
func (s *Service) drive(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	out, err := s.driven(ctx, w)
	if err != nil { // the run may have ended although its driver does not know it
		s.mends.add(w.Run.Tenant, w.Run.Conversation)
	}
	return out, err
}

func (s *Service) driven(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	row := w.Run
	if row.Metadata[keyBody] == "" { // all that somebody who woke it knew of it
		var err error
		if row, err = s.head(ctx, w.Run.Conversation, w.Run.ID); err != nil {
			return engine.Outcome{}, err
		}
	}

	// 4. The context: whose run it is, its turn, its session, its tokens.
	x := s.contextOf(&row)
	if len(x.Tokens) == 0 && row.Metadata[keyTokens] != "" {
		s.log.Warn("a run goes on without its tokens, which were in the memory of the process that accepted it", "tenant", row.Tenant,
			"conversation", row.Conversation, "run", row.ID)
	}

	// 5. The options, and the agent that is made with them: those that the run was accepted with, or others where
	// that was earlier or elsewhere. What was active then may not be any more.
	agent := s.preparedFor(ctx, x)
	if agent == nil {
		var err error
		if agent, err = s.agentOf(ctx, x, &row); err != nil {
			return engine.Outcome{}, err
		}
	}

	// 6. The agent runs: each step is committed, and 7. each event goes to the watchers once it
	// is, and 8. each tool is tracked in the commit of its step.
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
		bytes = 0 // it is counted already
	}
	h, done := s.warm.take(s.options.Journal, row.Conversation, row.Metadata[keyLife], bytes)
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

	if messages.compacted { // the fold holds less than its events did
		s.reweigh(ctx, h, row.Conversation)
	}

	// 9. The result: all that is of the run itself was committed with its last event. The title
	// comes after that, and nobody waits for it.
	if r.Status.Ended() {
		s.tokens.drop(row.ID)
		messages.end(ctx, r.Status, agent)
	}

	// 10. The lock: the commit that ended the run, or has it wait, has given it back.
	return engine.Outcome{Status: r.Status, WakeAt: r.WakeAt}, nil
}
