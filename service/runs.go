package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
)

// GetRun gives a run as it stands.
func (s *Service) GetRun(ctx context.Context, p Principal, conversation, run string) (journal.Run, error) {
	if _, err := s.row(ctx, p, "run", conversation); err != nil {
		return journal.Run{}, err
	}
	// One that is open is asked for most, and found without looking at all that were.
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

// ListRuns lists a conversation's runs by their turn: those behind the turn after, at
// most limit of them; limit ≤ 0 means all.
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

// CancelRun asks for a run to end. For one that has ended it is [event.ErrConflict].
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

// Questions lists what the conversation's waiting run wants to know.
func (s *Service) Questions(ctx context.Context, p Principal, conversation string) ([]braid.Question, error) {
	if _, err := s.row(ctx, p, "questions", conversation); err != nil {
		return nil, err
	}
	return braid.Open(s.options.Journal, conversation).Questions(ctx)
}

// Answer answers an open question, once. The run goes on. A principal that names a user answers
// only for that user's own runs, unless the tenant's [directory.Approvals] let any user answer.
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
