package drive

import (
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// inbox is what others have left for the run, and how the driver learns of it.
type inbox struct {
	// messages are pending: the log does not have them yet. They wait for the next model call of the root.
	messages []journal.Mail
	// wake has something in it when this process has left mail.
	wake <-chan struct{}
	// engine has something in it when the engine knows of mail.
	engine <-chan struct{}
}

// notified reports whether somebody says that there is mail.
func (b *inbox) notified() (yes bool) {
	// One channel at a time: looking at an empty one costs next to nothing.
	select {
	case <-b.engine:
		yes = true
	default:
	}
	select {
	case <-b.wake:
		yes = true
	default:
	}
	return yes
}

// readInbox takes in what others have left for the run since the last round. It asks the store only where somebody says
// that there is something.
func (d *driver) readInbox() {
	if d.inbox.notified() {
		d.fetch()
	}
	select {
	case <-d.lease.renewer.Notified():
		d.deliver(d.lease.renewer.TakeMail())
	default:
	}
}

// fetch asks the store for mail. It reports whether any of it concerns the loop.
func (d *driver) fetch() bool {
	if d.lease.renewer.Err() != nil {
		return false // the store will refuse the next commit
	}
	news, err := d.lease.conv.Store.Renew(d.lease.base, d.lease.held)
	if err != nil {
		// Where the store could not be reached, the renewer asks again.
		if errors.Is(err, event.ErrLeaseLost) && d.lease.renewer != nil {
			d.lease.renewer.Lose(err)
		}
		return false
	}
	if news.Cancelled {
		d.stop()
	}
	return d.deliver(news.Mail)
}

// deliver takes in mail, each piece once. Answers and the wish to cancel become events of the next commit; messages wait
// for the next model call. It reports whether the loop is to look.
func (d *driver) deliver(mail []journal.Mail) bool {
	moved := false
	for i := range mail {
		m := &mail[i]
		if slices.Contains(d.pending.read, m.ID) || slices.ContainsFunc(d.inbox.messages, func(o journal.Mail) bool { return o.ID == m.ID }) {
			continue
		}
		switch m.Kind {
		case journal.MailAnswer:
			moved = true
			d.pending.read = append(d.pending.read, m.ID)
			if slices.ContainsFunc(d.view.Run.Questions, func(q *fold.Ask) bool {
				return q.Token == m.Token && !q.Answered
			}) {
				d.add(nil, "", 0, &event.Answered{Token: m.Token, Value: m.Value, By: m.By})
			}
		case journal.MailCancel:
			moved = true
			d.pending.read = append(d.pending.read, m.ID)
			d.stop()
		case journal.MailMessage:
			moved = true
			d.inbox.messages = append(d.inbox.messages, *m)
		case journal.MailChild:
			// It stays unread: nothing sends it yet.
		}
	}
	return moved
}

// admitPending lets pending messages into the log where the model is about to be called. It also does so where the root
// would end its turn: its answer is not the last word while a message is pending. The messages enter with the commit that
// begins the call, so each one is new to one call alone. Where the run ends without another call, the next run gets them.
func (d *driver) admitPending(s *fold.Scope, cmd decide.Command) decide.Command {
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
	d.admit(d.inbox.messages)
	d.inbox.messages = nil
	return cmd
}

// admit writes messages that came by mail. The log has a message already where its sender did not learn of that, and
// sent it again.
func (d *driver) admit(mail []journal.Mail) {
	for i := range mail {
		m := &mail[i]
		known, err := d.entered(m.ID)
		if err != nil {
			continue // it stays in the inbox, for the next driver
		}
		switch {
		case known == d.row.ID:
		case known == "" && (d.row.Key == "" || m.ID != journal.LetterID(d.row.Key)):
			d.pending.read = append(d.pending.read, m.ID)
			d.addInput(nil, m.Message, func(c []event.Block) event.Body { return &event.UserMessage{Content: c, Mail: m.ID} })
		default:
			d.pending.read = append(d.pending.read, m.ID)
		}
	}
}

// entered returns the run that a message has entered, "" for none. Where the view was folded from the end of the log
// alone, it asks the store.
func (d *driver) entered(id string) (run string, err error) {
	if run = d.view.Mail[id]; run != "" || !d.view.Partial {
		return run, nil
	}
	err = d.lease.retry(func() (err error) {
		run, err = d.lease.conv.Store.Entered(d.lease.base, d.row.Conversation, id)
		return err
	})
	return run, err
}
