package service

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/directory"
)

// This file continues a failed run with a new one, and decides what later runs see of it.

// forgetsFailed reports whether later runs do not see the messages of the tenant's failed runs.
func (s *conversations) forgetsFailed(t *directory.Tenant) bool {
	return cmp.Or(t.FailedRuns, s.options.FailedRuns, directory.ForgetFailedRuns) != directory.KeepFailedRuns
}

// retried prepares run to continue the run with the id failed: run inherits what the request leaves
// out. For a repeated request it returns the run that the first one began.
func (s *conversations) retried(ctx context.Context, row *Row, run *journal.Run, failed string) (Started, error) {
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

// inherit copies what the request leaves out from the run that it continues.
func inherit(run, old *journal.Run) {
	own := run.Metadata
	run.Metadata = make(map[string]string, len(own)+len(old.Metadata))
	labelled := len(hidden(own)) > 0 // a request's own labels replace all of the old ones
	for k, v := range old.Metadata {
		switch k {
		case keyModel, keyLimits, keySchema, keySkills, journal.SettingsLabel:
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
