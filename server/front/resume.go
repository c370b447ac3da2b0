package front

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/server/stream"
	"github.com/braidrun/braid/service"
)

// Answer answers a question.
type Answer struct {
	// Token is the question's.
	Token string
	// Value is any JSON; nil declines to answer.
	Value json.RawMessage
}

// Resumption is a request that answers the questions of a waiting run.
type Resumption struct {
	Answers []Answer
	// Again is how long ago an answer may have been given that is sent once more.
	Again time.Duration
	// Unknown is the error for an answer to no open question, for a second answer to one, and for one that was given with another value.
	Unknown error
	// Own are settings that came with the answers. Those of the run must not be others.
	Own *Settings
	// Decline takes an answer without a value. It may be nil if there are none.
	Decline func(ctx context.Context, q *braid.Question) error
}

// Resume gives the answers and follows the run that they belong to. The stream begins before the first of them: the encoder
// takes in what was there before. An answer that the log has already counts as given.
func (t *Turn) Resume(ctx context.Context, conv *service.Conversation, r *Resumption) error {
	open, err := t.Service.Questions(ctx, t.Pause.Who, t.Conversation)
	if err != nil {
		return err
	}
	asked := func(token string) int {
		return slices.IndexFunc(open, func(q braid.Question) bool { return q.Token == token })
	}
	before := map[string]Answer{}
	for _, a := range r.Answers {
		if t.Pause.Awaited[a.Token] {
			return r.Unknown
		}
		t.Pause.Awaited[a.Token] = true
		if asked(a.Token) < 0 {
			before[a.Token] = a
		} else if len(conv.Open) > 0 {
			t.Story.Run = conv.Open[0].ID
			if err := r.Own.kept(&conv.Open[0]); err != nil {
				return err
			}
		}
	}
	to, err := t.answered(ctx, r, before)
	if err != nil {
		return err
	}
	at, err := t.Skip(ctx, t.Log, to, nil)
	if err != nil {
		return err
	}
	if err = t.Follow(ctx, at); err != nil {
		return err
	}
	for _, a := range r.Answers {
		if i := asked(a.Token); i >= 0 {
			if err = t.give(ctx, r, &a, &open[i]); err != nil {
				t.Follower.Close()
				return err
			}
		}
	}
	t.x.Run = t.Story.Run
	return nil
}

// give answers an open question.
func (t *Turn) give(ctx context.Context, r *Resumption, a *Answer, q *braid.Question) error {
	if a.Value == nil {
		return r.Decline(ctx, q)
	}
	run, err := t.Service.Answer(ctx, t.Pause.Who, t.Conversation, a.Token, a.Value)
	if err == nil {
		t.Story.Run = run.ID
	}
	return err
}

// answered finds in the log the answers that were given before, and the run that they went to. It returns the place before
// the first of them.
func (t *Turn) answered(ctx context.Context, r *Resumption, before map[string]Answer) (to int64, err error) {
	to = stream.ToTheEnd
	all, err := stream.FindAnswers(ctx, t.Log, 0, before, func(e *event.Event, b *event.Answered, a Answer) error {
		if b.By != t.Pause.Who.User || time.Since(e.Time) >= r.Again || a.Value != nil && !strictjson.Same(b.Value, a.Value) {
			return r.Unknown
		}
		to, t.Story.Run = min(to, e.Seq-1), e.Run
		return nil
	})
	if err == nil && !all {
		err = r.Unknown
	}
	return to, err
}
