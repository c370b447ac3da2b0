package journaltest

import (
	"context"

	"github.com/braidrun/braid/journal"
)

func (b *bent) Messages(ctx context.Context, q journal.MessageQuery) ([]journal.MessageEntry, error) {
	if b.said != nil {
		return b.said(ctx, q)
	}
	return b.Memory.Messages(ctx, q)
}

func (b *bent) KeepMessages(ctx context.Context, run string, list []journal.MessageEntry) error {
	if b.keep != nil {
		return b.keep(ctx, run, list)
	}
	return b.Memory.KeepMessages(ctx, run, list)
}

func (b *bent) Unkept(ctx context.Context, tenant, conversation string) ([]string, error) {
	if b.unkept != nil {
		return b.unkept(ctx, conversation)
	}
	return b.Memory.Unkept(ctx, tenant, conversation)
}

// messageMutants are stores that keep messages incorrectly.
func messageMutants() []mutant {
	return []mutant{
		{name: "every run lacks its messages", catcher: "messages/runs that have ended without are known", plant: func(b *bent) {
			b.unkept = func(_ context.Context, conversation string) (runs []string, err error) {
				for _, e := range b.history(conversation) {
					runs = append(runs, e.Run)
				}
				return runs, nil
			}
		}},
		{name: "a page begins with the event that the last one ended in", catcher: "messages/messages come in their order, page by page", plant: func(b *bent) {
			b.said = func(ctx context.Context, q journal.MessageQuery) ([]journal.MessageEntry, error) {
				if q.After.Seq > 0 {
					q.After.Part = -1
				}
				return b.Memory.Messages(ctx, q)
			}
		}},
		{name: "what is kept again is added", catcher: "messages/what is kept again takes the place of what was", plant: func(b *bent) {
			var kept []journal.MessageEntry
			b.keep = func(ctx context.Context, run string, list []journal.MessageEntry) error {
				kept = append(kept, list...)
				return b.Memory.KeepMessages(ctx, run, kept)
			}
		}},
		{name: "redactions spare messages", catcher: "messages/a redaction takes their content, and a removal all of it", plant: func(b *bent) {
			var kept []journal.MessageEntry
			b.keep = func(ctx context.Context, run string, list []journal.MessageEntry) error {
				kept = list
				return b.Memory.KeepMessages(ctx, run, list)
			}
			b.said = func(ctx context.Context, q journal.MessageQuery) ([]journal.MessageEntry, error) {
				list, err := b.Memory.Messages(ctx, q)
				for i := range list {
					list[i].Content = kept[i].Content
				}
				return list, err
			}
		}},
	}
}
