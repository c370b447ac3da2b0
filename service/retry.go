package service

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/directory"
)

// This file continues a failed run with a new one, and decides what later runs see of it.

// codeNotRetryable is the Code of the error for a run that cannot be continued.
const codeNotRetryable = "RUN_NOT_RETRYABLE"

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

// forgetsFailed reports whether later runs do not see the messages of the tenant's failed runs.
func (s *Service) forgetsFailed(t *directory.Tenant) bool {
	return cmp.Or(t.FailedRuns, s.options.FailedRuns, directory.ForgetFailedRuns) != directory.KeepFailedRuns
}

// retried prepares run to continue the run with the id failed: run inherits what the request leaves
// out. For a repeated request it returns the run that the first one began.
func (s *Service) retried(ctx context.Context, row *Row, run *journal.Run, failed string) (Started, error) {
	old, err := s.rowOf(ctx, row.ID, failed)
	if err != nil {
		return Started{}, err
	}
	if run.Key != "" {
		later, err := s.options.Journal.Runs(ctx, row.ID, old.Turn, 0)
		if err != nil {
			return Started{}, err
		}
		if i := slices.IndexFunc(later, func(r journal.Run) bool { return r.Key == run.Key }); i >= 0 {
			if later[i].Metadata[keyBody] != run.Metadata[keyBody] {
				return Started{}, keyReused("retry run")
			}
			return Started{Run: later[i], Titled: row.Title != ""}, nil
		}
	}
	if !old.Status.Ended() {
		return Started{}, notRetryable("the run has not ended")
	}
	newest, err := s.newest(ctx, row)
	if err != nil {
		return Started{}, err
	}
	if newest != old.Turn {
		return Started{}, notRetryable("the conversation went on: the run is not its newest, or a new session is to begin")
	}
	retryable, err := braid.Open(s.options.Journal, row.ID).Retryable(ctx)
	if err != nil {
		return Started{}, err
	}
	if retryable != failed {
		return Started{}, notRetryable("the run did not fail while it worked: it is complete, was cancelled, or failed before it began")
	}
	inherit(run, &old)
	run.Metadata[journal.ContinuesLabel] = failed
	run.Follows = old.Turn // also if another server admits a run before this one
	return Started{}, nil
}

// newest returns the turn of the conversation's newest run. It returns 0 if a reset makes the next
// run begin a session.
func (s *Service) newest(ctx context.Context, row *Row) (int, error) {
	if err := s.settle(ctx, row); err != nil {
		return 0, err
	}
	at, err := s.place(ctx, row.ID, row.Since)
	if err != nil || row.Since > 0 && !at.Begun {
		return 0, err
	}
	return at.Turns, nil
}

// inherit copies what the request leaves out from the run that it continues.
func inherit(run, old *journal.Run) {
	own := run.Metadata
	run.Metadata = make(map[string]string, len(own)+len(old.Metadata))
	labelled := len(hidden(own)) > 0 // a request's own labels replace all of the old ones
	for k, v := range old.Metadata {
		switch k {
		case keyModel, keyLimits, keySchema, keySkills:
			run.Metadata[k] = v
		default:
			if !isReserved(k) && !labelled {
				run.Metadata[k] = v
			}
		}
	}
	maps.Copy(run.Metadata, own)
	run.Executor = cmp.Or(run.Executor, old.Executor)
}

// isPassed reports whether the journal refused a run because the run that it continues is not the
// newest.
func isPassed(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == journal.CodePassed
}

func isNotRetryable(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeNotRetryable
}

func notRetryable(why string) error {
	return &event.Error{
		Op: "retry run", Kind: event.ErrConflict, Code: codeNotRetryable, Message: "the run cannot be continued: " + why,
		Hint: "send the request as a new run",
	}
}
