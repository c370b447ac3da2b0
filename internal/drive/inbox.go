package drive

import (
	"errors"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// inbox holds what others have sent to the run, and the channels on which the driver learns of it.
type inbox struct {
	// messages are pending: they are not in the log yet and wait for the root's next model call.
	messages []journal.Mail
	// wake receives a value when this process has sent something.
	wake <-chan struct{}
	// engine receives a value when the engine knows of something.
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

// readInbox takes in what arrived since the last round. It asks the store only after a notification.
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

// fetch reads the inbox from the store. It reports whether the loop must look at it.
func (d *driver) fetch() bool {
	if d.lease.renewer.Err() != nil {
		return false // the store will refuse the next commit
	}
	news, err := d.lease.conv.Store.Renew(d.lease.base, *d.lease.held)
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

// deliver takes in each entry once. Answers and cancellations become events of the next commit; messages wait for the
// next model call. It reports whether the loop must look.
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

// admitPending writes pending messages before a model call, or when the root would end its turn. They enter in the
// commit that begins the call, so each is new in one call alone. If the run ends without another call, the next run
// gets them.
func (d *driver) admitPending(s *fold.Scope, cmd decide.Command) decide.Command {
	switch {
	case cmd.Do == decide.Compact:
		return cmd
	case cmd.Do == decide.Model:
	case cmd.Do == decide.Finish && (cmd.Why == event.WhyEndTurn || cmd.Why == event.WhyNothing), cmd.Do == decide.Wait && cmd.Why == event.WhyTask:
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

// admit writes messages from the inbox. It skips a message that is in the log already, because its sender did not
// learn of that and sent it again.
func (d *activeRun) admit(mail []journal.Mail) {
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
			content, repairs := fitLetter(m.Message)
			if len(repairs) > 0 {
				d.repairs = append(d.repairs, repairs...)
				d.add(nil, "", 0, RepairNotice(repairs))
			}
			d.addInput(nil, content, func(c []event.Block) event.Body { return &event.UserMessage{Content: c, Mail: m.ID} })
		default:
			d.pending.read = append(d.pending.read, m.ID)
		}
	}
}

// fitLetter repairs a message that joins a run. What cannot be repaired was refused before it was sent.
func fitLetter(content []event.Block) (fit []event.Block, repairs []string) {
	whole, repairs, err := FitHistory([]event.Message{{Role: event.RoleUser, Content: content}})
	if err != nil || len(whole) == 0 {
		return content, nil
	}
	return whole[0].Content, repairs
}

// entered returns the run in whose log a message is; "" for none. If the view begins in the middle of the log, it asks
// the store.
func (d *activeRun) entered(id string) (run string, err error) {
	if run = d.view.Mail[id]; run != "" || !d.view.Partial {
		return run, nil
	}
	err = d.lease.retry(func() (err error) {
		run, err = d.lease.conv.Store.Entered(d.lease.base, d.row.Conversation, id)
		return err
	})
	return run, err
}
