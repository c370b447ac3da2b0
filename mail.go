package braid

import (
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// listen takes in what others have left for the run since the last round. It
// asks the store only where somebody said that there is something.
func (d *driver) listen() {
	// One channel at a time: to look at one that is empty costs next to nothing.
	rung := false
	select {
	case <-d.work.Mail:
		rung = true
	default:
	}
	select {
	case <-d.poked:
		rung = true
	default:
	}
	if rung {
		d.fetch()
	}
	select {
	case <-d.keeper.bell():
		d.mail(d.keeper.letters())
	default:
	}
}

// fetch asks the store for mail. It reports whether there was any for the loop.
func (d *driver) fetch() bool {
	if d.keeper.err() != nil {
		return false // the next commit is refused without being asked for
	}
	news, err := d.conv.store.Renew(d.base, d.lease)
	if err != nil {
		// The keeper asks again where the store could not be reached.
		if errors.Is(err, event.ErrLeaseLost) && d.keeper != nil {
			d.keeper.lose(err)
		}
		return false
	}
	if news.Cancelled {
		d.stop()
	}
	return d.mail(news.Mail)
}

// mail takes in letters, each once. Answers and the wish to cancel become events
// of the next commit; messages wait at the door until the model is called. It
// reports whether the loop should look.
func (d *driver) mail(letters []journal.Mail) bool {
	moved := false
	for i := range letters {
		m := &letters[i]
		if slices.Contains(d.read, m.ID) || slices.ContainsFunc(d.door, func(o journal.Mail) bool { return o.ID == m.ID }) {
			continue
		}
		switch m.Kind {
		case journal.MailAnswer:
			moved = true
			d.read = append(d.read, m.ID)
			if slices.ContainsFunc(d.view.Run.Questions, func(q *fold.Ask) bool {
				return q.Token == m.Token && !q.Answered
			}) {
				d.add(nil, "", 0, &event.Answered{Token: m.Token, Value: m.Value, By: m.By})
			}
		case journal.MailCancel:
			moved = true
			d.read = append(d.read, m.ID)
			d.stop()
		case journal.MailMessage:
			moved = true
			d.door = append(d.door, *m)
		case journal.MailChild:
			// Left unread: nothing here sends it yet.
		}
	}
	return moved
}

// join lets the messages in that wait at the door, where the model is about to
// be called, or would not have been although it may: the root's answer is not the
// last word while somebody has said something. They enter the log in the commit
// that begins the call, so that each is in one call's news and in no more, and
// where the run ends without another call they are left to the next run.
func (d *driver) join(s *fold.Scope, cmd decide.Command) decide.Command {
	switch {
	case cmd.Do == decide.Compact:
		return cmd
	case cmd.Do == decide.Model:
	case cmd.Do == decide.Finish && (cmd.Why == event.WhyEndTurn || cmd.Why == event.WhyNothing):
		next := decide.CallModel(s, &d.policy, event.WhyMessage)
		switch next.Do {
		case decide.Model:
			cmd = next
		case decide.Compact:
			return next
		default:
			return cmd
		}
	default:
		return cmd
	}
	d.enter(d.door)
	d.door = nil
	return cmd
}

// enter writes messages that came by mail. One that the log has already was sent
// again by somebody who did not learn what became of it, or is an old piece of news.
func (d *driver) enter(letters []journal.Mail) {
	for i := range letters {
		m := &letters[i]
		known, err := d.entered(m.ID)
		if err != nil {
			continue // it stays where it is, for whoever drives the run after this one
		}
		switch {
		case known == d.row.ID:
		case known == "" && (d.row.Key == "" || m.ID != LetterID(d.row.Key)):
			d.read = append(d.read, m.ID)
			d.addInput(nil, m.Message, func(c []event.Block) event.Body { return &event.UserMessage{Content: c, Mail: m.ID} })
		default:
			d.read = append(d.read, m.ID)
		}
	}
}

// entered finds the run that a letter has entered, "" for none. The log's end that the view was folded
// from may not tell: then the store does, and is asked until the lease may have run out.
func (d *driver) entered(id string) (run string, err error) {
	if run = d.view.Mail[id]; run != "" || !d.view.Partial {
		return run, nil
	}
	err = d.insist(func() (err error) {
		run, err = d.conv.store.Entered(d.base, d.row.Conversation, id)
		return err
	})
	return run, err
}
