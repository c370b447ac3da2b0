package service

import (
	"cmp"
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/journal"
)

// This file takes a run from its request to its end, in ten steps. [Service.StartRun] makes the
// first three: after them the run is in the journal, and the request may end. The engine calls
// drive for the others, in this process or another one, now or after a crash. A run that waited for
// an answer is driven again from step 4.

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
	if err := r.checkAttachments(op); err != nil {
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
	undo, err := s.attach(ctx, &row, &r, &run)
	if err != nil {
		return Started{}, err
	}
	if row.NoFiles {
		run.Metadata[keyNoFiles] = "1"
	}
	x := s.contextOf(&run)
	x.Tokens, x.Shown, x.ConversationLife = r.Tokens, r.Shown, row.life()
	ready, first, err := s.ready(ctx, x, &row)
	if err != nil {
		undo()
		return Started{}, err
	}
	run.Agent = ready.agent.Name()
	pinnedIn(run.Metadata, &x.Agent)

	// 3. Admit the run to the conversation, which has one active run at a time.
	var started Started
	if err = reads(ready.agent, r.Attachments); err == nil {
		started, err = s.followAndAccept(ctx, &admission{row: row, changes: changes, run: run}, &r, ready)
	}
	if err != nil {
		undo()
	}
	if err != nil && first {
		s.unpin(ctx, x, &row)
	}
	return started, err
}

// drive is the engine's entry point for driving a run.
func (s *Service) drive(ctx context.Context, w *engine.Work) (engine.Outcome, error) {
	begins := s.beginningOf(w.Run.ID)
	defer begins.end()
	out, err := s.driven(ctx, w, begins)
	if err != nil && (begins == nil || begins.isAdmitted()) { // the run may have ended although its driver does not know it
		s.completer.add(w.Run.Tenant, w.Run.Conversation)
	}
	return out, err
}

// messages returns what handles the events of a drive.
func (s *Service) messages(x *ExecutionContext, h *cachedFold) *MessageProcessor {
	return &MessageProcessor{
		conversations: &s.conversations, titles: s.titles, completer: s.completer,
		x: x, h: h, publisher: s.bus.Publisher(x.Key().topic()), cold: h.seen.Load() == 0,
	}
}

func (s *Service) driven(ctx context.Context, w *engine.Work, begins *beginning) (engine.Outcome, error) {
	row := &w.Run
	x, agent, err := s.surround(ctx, row)
	if err != nil {
		return engine.Outcome{}, err
	}

	// 6. Drive the agent. Each step is committed; 7. each event is published once it is committed;
	// 8. each tool call is tracked in the commit of its step.
	bytes, known, err := s.weigh(ctx, row)
	if err != nil {
		return engine.Outcome{}, err
	}
	quit := w.Draining
	if begins != nil {
		quit = over // a run that must wait for memory is submitted first
	}
	give, err := s.memory.wait(ctx, quit, row.Tenant, bytes+inputBytes(row))
	if err != nil {
		return engine.Outcome{}, err
	}
	defer give()
	s.memory.began()
	if known {
		bytes = 0 // it is already counted
	}
	h, done := s.folds.take(s.options.Journal, row.Conversation, row.Metadata[keyLife], bytes)
	defer done()
	h.store.beginning.Store(begins)
	defer h.store.beginning.Store(nil)
	h.agent.Store(agent)
	h.owner.Store(&owner{tenant: row.Tenant, life: x.Tenant.Life})
	h.turn.Store(int64(row.Turn))
	ctx = withConversation(ctx, runsIn{x.Key(), s.workspacesOf(x), s.quotas, s.artifactsOf(x.Key(), x.Principal.User)})
	messages := s.messages(x, h)
	defer messages.close()
	defer s.stalled.Delete(row.ID)
	r, err := agent.Drive(ctx, h.conv, row.ID, s.work(w, x, messages))
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

// surround makes the environment and the agent of an admitted run. It is not part of driven, whose
// stack lasts as long as the drive.
//
//go:noinline
func (s *Service) surround(ctx context.Context, row *journal.Run) (*ExecutionContext, *braid.Agent, error) {
	if row.Metadata[keyBody] == "" { // the engine was woken with the run's ids alone
		if err := s.reread(ctx, row); err != nil {
			return nil, nil, err
		}
	}

	// 4. Make the context: principal, turn, session and tokens.
	x := s.contextOf(row)
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
		if agent, err = s.agentOf(ctx, x, row); err != nil {
			return nil, nil, err
		}
	}
	return x, agent, nil
}

// over is a closed channel.
var over = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// reread replaces a run of which only the ids are known with the journal's.
func (s *Service) reread(ctx context.Context, run *journal.Run) (err error) {
	*run, err = s.head(ctx, run.Conversation, run.ID)
	return err
}

// work returns what the service passes to a drive.
func (s *Service) work(w *engine.Work, x *ExecutionContext, messages *MessageProcessor) braid.Work {
	run := w.Run.ID
	return braid.Work{
		Sink: messages.take, Mail: w.Mail, Draining: w.Draining, ForgetFailed: s.forgetsFailed(&x.Tenant),
		Secrets: x.Tokens, Shown: x.Shown, Models: s.quotas.meter(x.Principal.Tenant),
		Stalled: func(err error) {
			if err == nil {
				s.stalled.Delete(run)
			} else {
				s.stalled.Store(run, err)
			}
		},
	}
}

// RetryRun continues a run with a new run at the step that failed. The new run sees the messages
// and results of the failed one, even if the tenant forgets failed runs, and repeats no finished
// step.
//
// The run must be the conversation's newest. It must have failed after its start, or have been
// ended by a limit or its deadline before its output. Any other run is [event.ErrConflict] with the
// code RUN_NOT_RETRYABLE. r may have everything but an input and a policy. A repeated request with
// the same Key returns the run that the first one began.
func (s *Service) RetryRun(ctx context.Context, p Principal, conversation, run string, r RunRequest) (Started, error) {
	r.Continues = run
	return s.StartRun(ctx, p, conversation, r)
}
