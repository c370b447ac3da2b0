package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
)

// GetRun returns a run.
func (s *Service) GetRun(ctx context.Context, p Principal, conversation, run string) (journal.Run, error) {
	if _, err := s.row(ctx, p, "run", conversation); err != nil {
		return journal.Run{}, err
	}
	// Look at the open runs first: they are requested most, and no ended run must be read.
	open, err := s.queue(ctx, conversation)
	if err != nil {
		return journal.Run{}, err
	}
	if i := slices.IndexFunc(open, func(r journal.Run) bool { return r.ID == run }); i >= 0 {
		open[i].Metadata = hidden(open[i].Metadata)
		return open[i], nil
	}
	runs, err := s.ListRuns(ctx, p, conversation, 0, 0)
	if err != nil {
		return journal.Run{}, err
	}
	i := slices.IndexFunc(runs, func(r journal.Run) bool { return r.ID == run })
	if i < 0 {
		return journal.Run{}, notFound("run", "run")
	}
	return runs[i], nil
}

// ListRuns lists a conversation's runs after a turn in their order, at most limit. A limit of 0 or
// less means all.
func (s *Service) ListRuns(ctx context.Context, p Principal, conversation string, after, limit int) ([]journal.Run, error) {
	if _, err := s.row(ctx, p, "runs", conversation); err != nil {
		return nil, err
	}
	runs, err := s.options.Journal.Runs(ctx, conversation, after, limit)
	for i := range runs {
		runs[i].Metadata = hidden(runs[i].Metadata)
	}
	return runs, err
}

// CancelRun cancels a run. It returns [event.ErrConflict] if the run has ended.
func (s *Service) CancelRun(ctx context.Context, p Principal, conversation, run string) error {
	const op = "cancel"
	if err := s.begun(op); err != nil {
		return err
	}
	if _, err := s.row(ctx, p, op, conversation); err != nil {
		return err
	}
	row, err := s.GetRun(ctx, p, conversation, run)
	if err != nil {
		return err
	}
	return s.engine.Cancel(ctx, row, p.User)
}

// Questions lists the open questions of the conversation's waiting run.
func (s *Service) Questions(ctx context.Context, p Principal, conversation string) ([]braid.Question, error) {
	if _, err := s.row(ctx, p, "questions", conversation); err != nil {
		return nil, err
	}
	return braid.Open(s.options.Journal, conversation).Questions(ctx)
}

// Answer answers an open question once. The run goes on. A principal with a user may answer only
// for that user's own runs, unless the tenant's [directory.Approvals] let any user answer.
func (s *Service) Answer(ctx context.Context, p Principal, conversation, token string, value json.RawMessage) (journal.Run, error) {
	const op = "answer"
	if err := s.begun(op); err != nil {
		return journal.Run{}, err
	}
	if _, err := s.row(ctx, p, op, conversation); err != nil {
		return journal.Run{}, err
	}
	open, err := s.queue(ctx, conversation)
	if err != nil {
		return journal.Run{}, err
	}
	if len(open) > 0 {
		if err := s.mayAnswer(ctx, op, p, open[0].User); err != nil {
			return journal.Run{}, err
		}
	}
	if err := braid.Open(s.options.Journal, conversation).AnswerAs(ctx, p.User, token, value); err != nil {
		return journal.Run{}, err
	}
	if len(open) == 0 {
		return journal.Run{}, notFound(op, "question")
	}
	return open[0], s.engine.Wake(ctx, open[0])
}
