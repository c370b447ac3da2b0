package service

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
)

// codeKeyReused is the Code of the error for an idempotency key that was used with another request.
const codeKeyReused = "IDEMPOTENCY_MISMATCH"

// KeyReused reports whether err says that an idempotency key was used for another request before.
func KeyReused(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeKeyReused
}

func keyReused(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: codeKeyReused, Message: "the idempotency key was used with another request",
		Hint: "use a new key for a new request",
	}
}

// followAndAccept checks the tenant's quotas and accepts the run. It opens the follower first if
// the request wants one.
func (s *Service) followAndAccept(ctx context.Context, in *admission, r *RunRequest, ready *prepared) (Started, error) {
	var err error
	if in.after, err = s.before(ctx, in.row.ID); err != nil {
		return Started{}, err
	}
	if err := s.fits(ctx, in); err != nil {
		return Started{}, err
	}
	if err := s.affords(ctx, in); err != nil {
		return Started{}, err
	}
	if err := s.holds(ctx, in); err != nil {
		return Started{}, err
	}
	var follower *live.Follower
	if r.Watch {
		// Before the run exists, so that no event of it must be read back.
		if follower, err = s.follow(ctx, in.row.Key(), live.FollowOptions{After: in.after, Current: true}); err != nil {
			return Started{}, err
		}
	}
	id := in.run.ID
	started, err := s.accept(ctx, in, r, ready)
	started.After, started.Titled = in.after, in.row.Title != ""
	if err == nil && !started.Joined && started.Run.ID == id {
		started.Follower = follower
		return started, nil
	}
	if follower != nil {
		follower.Close()
	}
	switch {
	case err != nil:
	case started.Joined:
		err = s.joined(ctx, &started, in.run.Key)
	default:
		started.After = 0 // a repeated request gets its run from the beginning
	}
	return started, err
}

// accept admits a run that was checked.
func (s *Service) accept(
	ctx context.Context, in *admission, r *RunRequest, ready *prepared,
) (Started, error) {
	const op = "start run"
	run := in.run
	s.tokens.put(run.ID, runTokens{r.Tokens, r.Shown})
	s.prepared.put(run.ID, ready)
	started, err := s.admit(ctx, ready.agent, in, r.Policy)
	if err != nil || started.Run.ID != run.ID {
		s.tokens.drop(run.ID)
		s.prepared.take(run.ID)
	}
	switch {
	case errors.Is(err, event.ErrConflict) && run.Key != "" && !isArchived(err) && !isNotRetryable(err):
		return Started{}, keyReused(op)
	case err != nil:
		return Started{}, err
	case !started.Joined && started.Run.Metadata[keyBody] != run.Metadata[keyBody]:
		return Started{}, keyReused(op)
	}
	return started, nil
}

// before returns the Seq of an event before the new run: the last one seen here if the conversation
// is in use, or else the last one of its log.
func (s *Service) before(ctx context.Context, conversation string) (int64, error) {
	if seq := s.folds.seen(conversation); seq > 0 && !s.options.Shared {
		return seq, nil
	}
	return s.end(ctx, conversation)
}

// end returns the Seq of the conversation's last event.
func (s *Service) end(ctx context.Context, conversation string) (int64, error) {
	heads, err := s.options.Journal.LastSeqs(ctx, []string{conversation})
	return heads[conversation], err
}

// admit admits the run under its policy.
func (s *Service) admit(ctx context.Context, agent *braid.Agent, in *admission, policy braid.Policy) (Started, error) {
	submit := func(run journal.Run) (journal.Run, error) { return s.engine.Submit(ctx, run) }
	switch policy {
	case "", braid.Reject:
		in.run.Alone = true
		return s.admitAlone(ctx, in)
	case braid.Queue:
		row, err := s.submitLocked(ctx, in, submit)
		return Started{Run: row}, err
	case braid.Interrupt:
		row, err := s.submitLocked(ctx, in, submit)
		if err != nil {
			return Started{}, err
		}
		return Started{Run: row}, s.interrupt(ctx, row)
	case braid.Steer:
		var started Started
		_, err := s.submitLocked(ctx, in, func(run journal.Run) (_ journal.Run, err error) {
			started, err = s.steer(ctx, agent, run)
			return started.Run, err
		})
		return started, err
	default:
		return Started{}, invalid("start run", "there is no such policy", "use reject, queue, steer or interrupt")
	}
}

// admitAlone waits up to LockWait for an open run to end.
func (s *Service) admitAlone(ctx context.Context, in *admission) (Started, error) {
	submit := func(run journal.Run) (journal.Run, error) { return s.engine.Submit(ctx, run) }
	run := in.run
	row, err := s.submitLocked(ctx, in, submit)
	if run.Follows > 0 && errors.Is(err, event.ErrLocked) {
		return Started{}, notRetryable("a later run of the conversation is open") // whatever happens to that one
	}
	if isPassed(err) {
		return Started{}, notRetryable("the conversation went on: the run is not its newest")
	}
	if !errors.Is(err, event.ErrLocked) || s.options.LockWait < 0 {
		return Started{Run: row}, s.locked(ctx, in, err)
	}
	w, watchErr := s.bus.Watch(ctx, in.row.Key().topic())
	if watchErr != nil {
		return Started{}, watchErr
	}
	defer w.Close()
	wait, stop := context.WithTimeout(ctx, s.options.LockWait)
	defer stop()
	in.waited = true
	defer s.counts.waited(time.Now())
	ends := runEnds{watcher: w, after: in.after}
	if s.poller != nil {
		ends.moved = s.poller.moved(run.Conversation, in.after)
	}
	for {
		if gaveUp := ends.wait(wait); gaveUp != nil {
			if ctx.Err() != nil {
				return Started{}, gaveUp
			}
			return Started{}, s.locked(ctx, in, err)
		}
		if row, err = s.submitLocked(ctx, in, submit); !errors.Is(err, event.ErrLocked) {
			return Started{Run: row}, err
		}
	}
}

// lockLook is how long admitAlone waits for an event of the bus before it tries again.
const lockLook = 2 * time.Second

// runEnds tells a waiting request when to try again. A try costs the journal more than all of the
// waiting.
type runEnds struct {
	watcher live.Watcher
	// after is the Seq of an event from before the last try. A run that ended since has a later
	// one.
	after int64
	// moved is set if other processes drive runs too. It reports whether anything was committed
	// since its last call.
	moved func() bool
}

// wait returns when a run may have ended: the bus said so, or time has passed.
func (r *runEnds) wait(ctx context.Context) error {
	for {
		pause := lockLook
		if r.moved != nil {
			pause = sharedPoll
		}
		ended, err := r.within(ctx, pause)
		if ended || err != nil || r.moved == nil || r.moved() {
			return err
		}
	}
}

// within reports whether the bus published the end of a run within pause.
func (r *runEnds) within(ctx context.Context, pause time.Duration) (bool, error) {
	soon, stop := context.WithTimeout(ctx, pause)
	defer stop()
	var items [32]live.Item
	for {
		n, err := r.watcher.Read(soon, items[:])
		if err != nil {
			if ctx.Err() == nil && errors.Is(err, event.ErrTimeout) {
				return false, nil
			}
			return false, err
		}
		for _, item := range items[:n] {
			if item.Event == nil {
				if r.missed(item.Sync.Last) {
					return true, nil
				}
				continue
			}
			if _, ok := item.Event.Body.(*event.RunEnded); ok {
				return true, nil
			}
		}
	}
}

// missed reports whether a run may have ended without an event on the bus. last is the Seq of the
// last event that the bus knows. last == 0 means that no driver is in this process: the run may
// have ended before we subscribed, and across processes moved tells.
func (r *runEnds) missed(last int64) bool {
	if last == 0 {
		return r.moved == nil
	}
	further := last > r.after
	r.after = max(r.after, last)
	return further
}

// locked completes an [event.ErrLocked] with a hint and RetryAfter. If the open run waits for
// storage space, it returns that error instead.
func (s *Service) locked(ctx context.Context, in *admission, err error) error {
	if !errors.Is(err, event.ErrLocked) {
		return err
	}
	if open, queueErr := s.queue(ctx, in.run.Conversation); queueErr == nil && len(open) > 0 {
		if why := s.engine.Waits(open[0].ID); errors.Is(why, event.ErrStorageFull) {
			return &event.Error{
				Op: "start run", Kind: event.ErrStorageFull, Message: "there is no storage space left, and a run of the conversation waits for it",
				Hint: "try again once there is space", RetryAfter: 5 * time.Second, Err: why,
			}
		}
	}
	return &event.Error{
		Op: "start run", Kind: event.ErrLocked, Message: "another run of the conversation is open",
		Hint: "wait for it, cancel it, or send a policy: queue, steer or interrupt", RetryAfter: 5 * time.Second, Err: err,
	}
}

// interrupt cancels the runs that were open before row.
func (s *Service) interrupt(ctx context.Context, row journal.Run) error {
	open, err := s.queue(ctx, row.Conversation)
	if err != nil {
		return err
	}
	for i := range open {
		if open[i].Turn >= row.Turn {
			break
		}
		if err := s.engine.Cancel(ctx, open[i], row.User); err != nil && !errors.Is(err, event.ErrConflict) {
			return err
		}
	}
	return nil
}

// entering is a journal that admits a run with the id and history that the service gave it.
type entering struct {
	journal.Store
	run *journal.Run
}

var _ journal.Store = entering{}

// Start implements [journal.Store].
func (e entering) Start(ctx context.Context, r journal.Run, have int64) (journal.Opened, error) {
	return journal.AdmitAndAcquire(ctx, e, r, have)
}

// Admit implements [journal.Store].
func (e entering) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	r.ID, r.Since, r.Past, r.Incarnation = e.run.ID, e.run.Since, e.run.Past, e.run.Incarnation
	return e.Store.Admit(ctx, r)
}

// steer adds the input to the open run, or admits a run if none is open.
func (s *Service) steer(ctx context.Context, agent *braid.Agent, run journal.Run) (Started, error) {
	conv := braid.Open(entering{s.options.Journal, &run}, run.Conversation)
	opts := []braid.SendOption{
		braid.History(run.Input...), braid.During(braid.Steer), braid.Key(run.Key), braid.For(run.Tenant, run.User), braid.Executor(run.Executor),
		braid.Metadata(run.Metadata),
	}
	sent, err := agent.Send(ctx, conv, "", opts...)
	if err != nil {
		return Started{}, err
	}
	if sent.Joined {
		row := journal.Run{ID: sent.Run, Conversation: run.Conversation, Tenant: run.Tenant, Turn: sent.Turn, Status: sent.Status}
		return Started{Run: row, Joined: true}, s.engine.Wake(ctx, row)
	}
	// It is admitted. If the engine misses this, its sweep finds the run.
	run.ID = sent.Run
	row, err := s.engine.Submit(ctx, run)
	return Started{Run: row}, err
}
