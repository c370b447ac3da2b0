package service

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

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
	if err := s.quotas.affords(ctx, in); err != nil {
		return Started{}, err
	}
	if err := s.quotas.holds(ctx, in); err != nil {
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
	in.ready, in.atOnce = ready, r.Watch
	s.tokens.put(run.ID, runTokens{r.Tokens, r.Shown})
	s.prepared.put(run.ID, ready)
	started, err := s.admit(ctx, ready.agent, in, r.Policy)
	if err != nil || started.Run.ID != run.ID {
		s.tokens.drop(run.ID)
		s.prepared.take(run.ID)
	}
	switch {
	case errors.Is(err, event.ErrConflict) && run.Key != "" && !isArchived(err) && !isNotRetryable(err) && !isOtherSettings(err):
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
func (s *conversations) before(ctx context.Context, conversation string) (int64, error) {
	if seq := s.folds.seen(conversation); seq > 0 && !s.options.Shared {
		return seq, nil
	}
	return s.end(ctx, conversation)
}

// end returns the Seq of the conversation's last event.
func (s *conversations) end(ctx context.Context, conversation string) (int64, error) {
	heads, err := s.options.Journal.LastSeqs(ctx, []string{conversation})
	return heads[conversation], err
}
