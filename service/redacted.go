package service

import (
	"context"
	"iter"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

const (
	// redactedPage is how many events are read at a time to look for redactions.
	redactedPage = 256
	// pageBytes is how many bytes of a log are read at a time. The commit that reaches it is read
	// whole.
	pageBytes = 4 << 20
)

// view reads a conversation's log with redacted events replaced. A redaction comes later in the log
// than its event, but always in the same run: a guardrail redacts only messages, tasks and tool
// results of its own run. So a view reads ahead to the end of the run in which the page ends. It
// keeps what it has found and reads nothing twice. It is not safe for concurrent use.
type view struct {
	store        journal.Store
	conversation string
	hidden       map[int64]*event.Redacted
	// seen is the Seq of the last event that was looked at.
	seen int64
	// more reports that the log may go on after the last page.
	more bool
}

// read returns events after a Seq: at most limit and about [pageBytes]. A limit of 0 means all. It
// sets more.
func (v *view) read(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
	var events []*event.Event
	var err error
	if v.more = false; limit > 0 {
		events, v.more, err = v.store.ReadPage(ctx, v.conversation, after, limit, pageBytes)
	} else {
		events, err = v.store.Read(ctx, v.conversation, after, 0)
	}
	if err != nil || len(events) == 0 {
		return events, err
	}
	open := false // whether the page ends inside a run that holds something that can be redacted
	for _, e := range events {
		v.note(e)
		switch e.Body.(type) {
		case *event.UserMessage, *event.ScopeOpened, *event.StepEnded:
			open = true
		case *event.RunEnded:
			open = false
		}
	}
	if open && v.more {
		if err := v.ahead(ctx); err != nil {
			return nil, err
		}
	}
	if len(v.hidden) == 0 {
		return events, nil
	}
	shown := make([]*event.Event, len(events))
	for i, e := range events {
		if shown[i] = e; v.hidden[e.Seq] != nil {
			shown[i] = v.hidden[e.Seq].Cover(e)
		}
	}
	return shown, nil
}

// ahead reads on to the end of the run.
func (v *view) ahead(ctx context.Context) error {
	for {
		events, more, err := v.store.ReadPage(ctx, v.conversation, v.seen, redactedPage, pageBytes)
		if err != nil {
			return err
		}
		for _, e := range events {
			v.note(e)
			if _, ok := e.Body.(*event.RunEnded); ok {
				return nil
			}
		}
		if !more {
			return nil
		}
	}
}

func (v *view) note(e *event.Event) {
	v.seen = max(v.seen, e.Seq)
	if r, ok := e.Body.(*event.Redacted); ok {
		if v.hidden == nil {
			v.hidden = map[int64]*event.Redacted{}
		}
		v.hidden[r.Target] = r
	}
}

// all returns the whole log.
func (v *view) all(ctx context.Context) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		for after := int64(0); ; {
			events, err := v.read(ctx, after, redactedPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if !v.more {
				return
			}
		}
	}
}
