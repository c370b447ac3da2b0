package journaltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// unread returns the mail of a leased run as the real store has it.
func (b *bent) unread(l journal.Lease) []journal.Mail {
	news, _ := b.Memory.Renew(context.Background(), l)
	return news.Mail
}

// status returns the status of a run that the test admitted.
func (b *bent) status(run string) event.RunStatus {
	b.mu.Lock()
	rows := slices.Clone(b.rows)
	b.mu.Unlock()
	for _, r := range rows {
		if r.ID == run {
			row, _ := b.Memory.Admit(context.Background(), r)
			return row.Status
		}
	}
	return ""
}

// open returns the runs of a conversation that have not ended.
func (b *bent) open(conversation string) []journal.Run {
	if conversation == "" {
		return nil
	}
	runs, _ := b.Memory.Queue(context.Background(), conversation)
	return runs
}

// dropAtTheEnd plants a bug: a run's end consumes unread mail.
func dropAtTheEnd(which func(b *bent, l journal.Lease, m journal.Mail) bool) func(b *bent) {
	return func(b *bent) {
		b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
			if batch.Status.Ended() {
				for _, m := range b.unread(l) {
					if which(b, l, m) && !slices.Contains(batch.Read, m.ID) {
						batch.Read = append(slices.Clip(batch.Read), m.ID)
					}
				}
			}
			return b.Memory.Commit(ctx, l, batch)
		}
	}
}

// bendMail changes the mail that Acquire and Renew return.
func bendMail(f func(mail []journal.Mail) []journal.Mail) func(b *bent) {
	return func(b *bent) {
		b.acquire = func(ctx context.Context, run string, have int64) (journal.Opened, error) {
			o, err := b.Memory.Acquire(ctx, run, have)
			o.Mail = f(o.Mail)
			return o, err
		}
		b.renew = func(ctx context.Context, l journal.Lease) (journal.News, error) {
			news, err := b.Memory.Renew(ctx, l)
			news.Mail = f(news.Mail)
			return news, err
		}
	}
}

// bendMade changes Due's rows of runs that the store itself admitted.
func bendMade(f func(r *journal.Run)) func(b *bent) {
	return func(b *bent) {
		b.due = func(ctx context.Context, limit int) ([]journal.Run, error) {
			due, err := b.Memory.Due(ctx, limit)
			for i := range due {
				if strings.HasSuffix(due[i].ID, "+") {
					f(&due[i])
				}
			}
			return due, err
		}
	}
}

func mailMutants() []mutant {
	const readBy = "left/a run that has read a message is found by it"
	const (
		goes  = "left/a message that was not read goes to the next run"
		made  = "left/where none is queued a run is admitted for it"
		other = "inbox/the same id for something else is a conflict"
		tells = "news/renewing tells all mail that is not consumed, oldest first"
	)
	past := time.Unix(0, 0)
	bendNews := func(f func(b *bent, l journal.Lease, mail []journal.Mail) []journal.Mail) func(b *bent) {
		return func(b *bent) {
			b.renew = func(ctx context.Context, l journal.Lease) (journal.News, error) {
				news, err := b.Memory.Renew(ctx, l)
				news.Mail = f(b, l, news.Mail)
				return news, err
			}
		}
	}
	return []mutant{
		{
			name: "Renew tells no mail", catcher: tells,
			plant: bendNews(func(*bent, journal.Lease, []journal.Mail) []journal.Mail { return nil }),
		},
		{
			name: "Renew tells a letter once", catcher: tells,
			plant: bendNews(func(b *bent, _ journal.Lease, mail []journal.Mail) []journal.Mail {
				b.mu.Lock()
				defer b.mu.Unlock()
				return slices.DeleteFunc(mail, func(m journal.Mail) bool {
					_, told := b.letters[m.Run+"/"+m.ID]
					b.letters[m.Run+"/"+m.ID] = m
					return told
				})
			}),
		},
		{
			name: "Renew tells the newest first", catcher: tells,
			plant: bendNews(func(_ *bent, _ journal.Lease, mail []journal.Mail) []journal.Mail {
				slices.Reverse(mail)
				return mail
			}),
		},
		{
			name: "Renew tells messages only", catcher: tells,
			plant: bendNews(func(_ *bent, _ journal.Lease, mail []journal.Mail) []journal.Mail {
				return slices.DeleteFunc(mail, func(m journal.Mail) bool { return m.Kind != journal.MailMessage })
			}),
		},
		{
			name: "news are the store's own", catcher: "news/what a driver does with the news changes nothing",
			plant: func(b *bent) {
				shared := map[string][]journal.Mail{}
				bendNews(func(b *bent, l journal.Lease, mail []journal.Mail) []journal.Mail {
					b.mu.Lock()
					defer b.mu.Unlock()
					if len(shared[l.Run]) != len(mail) {
						shared[l.Run] = mail
					}
					return shared[l.Run]
				})(b)
			},
		},
		{
			name: "whatever comes under a known id is a repeat", catcher: other,
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					err := b.Memory.Post(ctx, m)
					if errors.Is(err, event.ErrConflict) && !b.status(m.Run).Ended() {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "what consumed mail said is forgotten", catcher: other,
			plant: func(b *bent) {
				read := map[string]bool{}
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					b.mu.Lock()
					defer b.mu.Unlock()
					for _, id := range batch.Read {
						read[l.Run+"/"+id] = err == nil
					}
					return err
				}
				b.post = func(ctx context.Context, m journal.Mail) error {
					b.mu.Lock()
					gone := read[m.Run+"/"+m.ID]
					b.mu.Unlock()
					if gone {
						return nil
					}
					return b.Memory.Post(ctx, m)
				}
			},
		},
		{
			name: "who sent it counts", catcher: other,
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					err := b.Memory.Post(ctx, m)
					b.mu.Lock()
					defer b.mu.Unlock()
					before, known := b.letters[m.Run+"/"+m.ID]
					if known && before.By != m.By {
						return &event.Error{Kind: event.ErrConflict, Message: "not you"}
					}
					b.letters[m.Run+"/"+m.ID] = m
					return err
				}
			},
		},
		{
			name: "broken text is mended in mail", catcher: "inbox/what is not UTF-8 is invalid",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					m.By, m.Token = strings.ToValidUTF8(m.By, "?"), strings.ToValidUTF8(m.Token, "?")
					return b.Memory.Post(ctx, m)
				}
			},
		},
		{
			name: "broken text is mended in runs", catcher: "admit/what is not UTF-8 is invalid",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					r.User = strings.ToValidUTF8(r.User, "?")
					return b.Memory.Admit(ctx, r)
				}
			},
		},
		{
			name: "messages end with their run", catcher: goes,
			plant: dropAtTheEnd(func(*bent, journal.Lease, journal.Mail) bool { return true }),
		},
		{
			name: "messages end with their run, whoever posts", catcher: "race/mail that is posted while the run ends is refused, or is with the next",
			plant: dropAtTheEnd(func(*bent, journal.Lease, journal.Mail) bool { return true }),
		},
		{
			name: "one message is passed on", catcher: goes,
			plant: dropAtTheEnd(func(b *bent, l journal.Lease, m journal.Mail) bool { return m.ID != b.unread(l)[0].ID }),
		},
		{
			name: "what was left stands behind what the run has", catcher: goes,
			plant: bendMail(func(mail []journal.Mail) []journal.Mail {
				slices.SortStableFunc(mail, func(x, y journal.Mail) int {
					switch {
					case x.Early == y.Early:
						return 0
					case y.Early:
						return -1
					default:
						return 1
					}
				})
				return mail
			}),
		},
		{
			name: "what was left is turned round", catcher: goes,
			plant: bendMail(func(mail []journal.Mail) []journal.Mail {
				n := 0
				for n < len(mail) && mail[n].Early {
					n++
				}
				slices.Reverse(mail[:n])
				return mail
			}),
		},
		{
			name: "mail comes by the time of its posting", catcher: "left/what is left on and on stays in its order",
			plant: bendMail(func(mail []journal.Mail) []journal.Mail {
				slices.SortStableFunc(mail, func(x, y journal.Mail) int { return x.Posted.Compare(y.Posted) })
				return mail
			}),
		},
		{
			name: "nothing is early", catcher: goes,
			plant: bendMail(func(mail []journal.Mail) []journal.Mail {
				for i := range mail {
					mail[i].Early = false
				}
				return mail
			}),
		},
		{
			name: "all is early once some is", catcher: goes,
			plant: bendMail(func(mail []journal.Mail) []journal.Mail {
				for i := range mail {
					mail[i].Early = mail[0].Early
				}
				return mail
			}),
		},
		{
			name: "messages end with the last run", catcher: made,
			plant: dropAtTheEnd(func(b *bent, l journal.Lease, _ journal.Mail) bool { return len(b.open(l.Conversation)) == 1 }),
		},
		{name: "a run that was made has no labels", catcher: made, plant: bendMade(func(r *journal.Run) { r.Metadata = nil })},
		{name: "a run that was made has no executor", catcher: made, plant: bendMade(func(r *journal.Run) { r.Executor = "" })},
		{name: "a run that was made is nobody's", catcher: made, plant: bendMade(func(r *journal.Run) { r.User = "" })},
		{name: "a run that was made begins a session", catcher: made, plant: bendMade(func(r *journal.Run) { r.NewSession = true })},
		{name: "a run that was made has input", catcher: made, plant: bendMade(func(r *journal.Run) { r.Input = whole().Input })},
		{name: "a run that was made has a key", catcher: made, plant: bendMade(func(r *journal.Run) { r.Key = "k1" })},
		{name: "a run that was made is old", catcher: made, plant: bendMade(func(r *journal.Run) { r.Admitted = past })},
		{
			name: "messages end where the id is taken", catcher: "left/its id is one that is free",
			plant: dropAtTheEnd(func(b *bent, l journal.Lease, _ journal.Mail) bool { return b.status(l.Run+"+") != "" }),
		},
		{
			name: "all mail is passed on", catcher: "left/other mail goes with its run",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					mail := b.unread(l)
					err := b.Memory.Commit(ctx, l, batch)
					if open := b.open(l.Conversation); err == nil && batch.Status.Ended() && len(open) > 0 {
						for _, m := range mail {
							if m.Run = open[0].ID; m.Kind != journal.MailMessage {
								_ = b.Memory.Post(ctx, m)
							}
						}
					}
					return err
				}
			},
		},
		{
			name: "a run that has ended knows no mail", catcher: "left/the run that has ended still knows it",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					if b.status(m.Run).Ended() {
						return &event.Error{Kind: event.ErrConflict, Message: "ended"}
					}
					return b.Memory.Post(ctx, m)
				}
			},
		},
		{
			name: "a run that has ended takes mail", catcher: "inbox/a run that has ended takes no new mail",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					err := b.Memory.Post(ctx, m)
					if errors.Is(err, event.ErrConflict) && b.status(m.Run).Ended() {
						return nil
					}
					return err
				}
			},
		},
		{
			name: "one of two letters of an id is lost", catcher: "left/it gets another id where the next run knows its own",
			plant: func(b *bent) {
				dropAtTheEnd(func(b *bent, l journal.Lease, m journal.Mail) bool {
					open := b.open(l.Conversation)
					b.mu.Lock()
					defer b.mu.Unlock()
					if len(open) < 2 {
						return false
					}
					_, known := b.letters[open[1].ID+"/"+m.ID]
					return known
				})(b)
				b.post = func(ctx context.Context, m journal.Mail) error {
					b.mu.Lock()
					b.letters[m.Run+"/"+m.ID] = m
					b.mu.Unlock()
					return b.Memory.Post(ctx, m)
				}
			},
		},
		{
			name: "each repeat of an end makes a run", catcher: "left/an end that is repeated leaves nothing twice",
			plant: func(b *bent) {
				ended := map[string]bool{}
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					err := b.Memory.Commit(ctx, l, batch)
					b.mu.Lock()
					again := ended[l.Run]
					ended[l.Run] = again || err == nil && batch.Status.Ended()
					b.mu.Unlock()
					if err == nil && again {
						_, _ = b.Memory.Admit(ctx, journal.Run{ID: l.Run + "*", Conversation: l.Conversation})
					}
					return err
				}
			},
		},
		{
			name: "an end that is refused takes the mail", catcher: "left/an end that is refused leaves nothing",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					mail := b.unread(l)
					err := b.Memory.Commit(ctx, l, batch)
					if err != nil && batch.Status.Ended() {
						_ = b.Memory.Commit(ctx, l, journal.Batch{Read: mailIDs(mail)})
					}
					return err
				}
			},
		},
		{
			name: "what was left wakes who waits", catcher: "left/what was left wakes nobody who waits",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					if batch.Status == event.RunWaiting && slices.Contains(early(b.unread(l)), true) {
						batch.WakeAt = past
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "a run with a message does not stay waiting", catcher: "due/a run that waits with a message unread stays waiting",
			plant: func(b *bent) {
				b.commit = func(ctx context.Context, l journal.Lease, batch journal.Batch) error {
					if batch.Status == event.RunWaiting && len(b.unread(l)) > len(batch.Read) {
						batch.WakeAt = past
					}
					return b.Memory.Commit(ctx, l, batch)
				}
			},
		},
		{
			name: "a message of another conversation is found", catcher: readBy,
			plant: func(b *bent) {
				b.found = func(c consumed, _, id string) bool { return c.id == id && c.kind != journal.MailAnswer }
			},
		},
		{
			name: "an answer is found as a message", catcher: readBy,
			plant: func(b *bent) {
				b.found = func(c consumed, conversation, id string) bool { return c.conversation == conversation && c.id == id }
			},
		},
		{
			name: "a message is found only where it was left first", catcher: readBy,
			plant: func(b *bent) {
				b.found = func(c consumed, conversation, id string) bool {
					return c.conversation == conversation && c.id == id && c.kind == journal.MailMessage
				}
			},
		},
		{
			name: "a message wakes", catcher: "due/a message does not make a waiting run due",
			plant: func(b *bent) {
				b.post = func(ctx context.Context, m journal.Mail) error {
					err := b.Memory.Post(ctx, m)
					if err == nil && m.Kind == journal.MailMessage && b.status(m.Run) == event.RunWaiting {
						_ = b.Memory.Post(ctx, journal.Mail{ID: "wake for " + m.ID, Run: m.Run, Kind: "wake"})
					}
					return err
				}
			},
		},
	}
}

func aloneMutants() []mutant {
	const refused = "alone/one that is to be alone is refused while another is open"
	locked := &event.Error{Kind: event.ErrLocked, Message: "not alone"}
	// guard changes the decision whether a run may be alone.
	guard := func(refuse func(b *bent, r journal.Run) bool) func(b *bent) {
		return func(b *bent) {
			b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
				if r.Alone && b.status(r.ID) == "" && refuse(b, r) {
					return journal.Run{}, locked
				}
				r.Alone = false
				return b.Memory.Admit(ctx, r)
			}
		}
	}
	return []mutant{
		{name: "Alone is not looked at", catcher: refused, plant: guard(func(*bent, journal.Run) bool { return false })},
		{
			name: "who waits is nobody", catcher: refused,
			plant: guard(func(b *bent, r journal.Run) bool {
				return slices.ContainsFunc(b.open(r.Conversation), func(o journal.Run) bool { return o.Status != event.RunWaiting })
			}),
		},
		{
			name: "who is queued is nobody", catcher: refused,
			plant: guard(func(b *bent, r journal.Run) bool {
				return slices.ContainsFunc(b.open(r.Conversation), func(o journal.Run) bool { return o.Status != event.RunQueued })
			}),
		},
		{
			name: "those that have ended count", catcher: "alone/one that is to be alone is admitted where none is open",
			plant: guard(func(b *bent, r journal.Run) bool {
				runs, _ := b.Memory.Runs(context.Background(), r.Conversation, 0, 0)
				return len(runs) > 0
			}),
		},
		{
			name: "every conversation counts", catcher: "alone/only the own conversation counts",
			plant: guard(func(b *bent, _ journal.Run) bool {
				due, _ := b.Memory.Due(context.Background(), 0)
				return len(due) > 0
			}),
		},
		{
			name: "Alone comes before the key", catcher: "alone/being alone is no part of what was asked for",
			plant: guard(func(b *bent, r journal.Run) bool { return len(b.open(r.Conversation)) > 0 }),
		},
		{
			name: "who is alone stays alone", catcher: "alone/others queue behind one that was alone",
			plant: func(b *bent) {
				alone := map[string]bool{}
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					b.mu.Lock()
					kept := alone[r.Conversation] && !r.Alone
					b.mu.Unlock()
					if kept && len(b.open(r.Conversation)) > 0 {
						return journal.Run{}, locked
					}
					row, err := b.Memory.Admit(ctx, r)
					b.mu.Lock()
					alone[r.Conversation] = alone[r.Conversation] || r.Alone && err == nil
					b.mu.Unlock()
					return row, err
				}
			},
		},
		{
			name: "first a look, then the admission", catcher: "alone/of fifty who want to be alone one is",
			plant: guard(func(b *bent, r journal.Run) bool {
				busy := len(b.open(r.Conversation)) > 0
				time.Sleep(time.Millisecond)
				return busy
			}),
		},
		{
			name: "Follows is not looked at", catcher: "alone/one that follows another is refused where that one is not the newest",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					r.Follows = 0
					return b.Memory.Admit(ctx, r)
				}
			},
		},
		{
			name: "the run that is followed need only be the newest at a look before", catcher: "alone/of fifty who follow the same run one is admitted",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					runs, _ := b.Memory.Runs(ctx, r.Conversation, 0, 0)
					if len(runs) == r.Follows {
						time.Sleep(time.Millisecond)
						r.Follows = 0
					}
					return b.Memory.Admit(ctx, r)
				}
			},
		},
		{
			name: "the row keeps Alone", catcher: "alone/one that is to be alone is admitted where none is open",
			plant: func(b *bent) {
				b.admit = func(ctx context.Context, r journal.Run) (journal.Run, error) {
					row, err := b.Memory.Admit(ctx, r)
					row.Alone = r.Alone && err == nil
					return row, err
				}
			},
		},
	}
}
