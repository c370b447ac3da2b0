package service

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

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
	submit := func(run journal.Run) (journal.Run, error) {
		if row, ok := s.beginRun(ctx, in, run); ok {
			return row, nil
		}
		in.atOnce = false
		return s.engine.Submit(ctx, run)
	}
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
