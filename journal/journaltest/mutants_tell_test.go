package journaltest

import (
	"context"
	"maps"

	"github.com/braidrun/braid/journal"
)

func tellMutants() []mutant {
	const (
		far    = "tell/how far conversations are"
		mail   = "tell/who has mail"
		cancel = "tell/who is to be cancelled"
	)
	heads := func(f func(asked []string, heads map[string]int64)) func(b *bent) {
		return func(b *bent) {
			b.heads = func(ctx context.Context, asked []string) (map[string]int64, error) {
				heads, err := b.Memory.LastSeqs(ctx, asked)
				f(asked, heads)
				return heads, err
			}
		}
	}
	posted := func(f func(b *bent, asked []string, posted map[string]journal.Posted)) func(b *bent) {
		return func(b *bent) {
			b.posted = func(ctx context.Context, asked []string) (map[string]journal.Posted, error) {
				posted, err := b.Memory.Posted(ctx, asked)
				posted = maps.Clone(posted)
				if posted == nil {
					posted = map[string]journal.Posted{}
				}
				f(b, asked, posted)
				return posted, err
			}
		}
	}
	each := func(f func(p *journal.Posted)) func(b *bent) {
		return posted(func(_ *bent, _ []string, posted map[string]journal.Posted) {
			for id, p := range posted {
				f(&p)
				posted[id] = p
			}
		})
	}
	return []mutant{
		{name: "who is not there has no events", catcher: far, plant: heads(func(asked []string, heads map[string]int64) {
			for _, id := range asked {
				heads[id] += 0
			}
		})},
		{name: "who has no events is not there", catcher: far, plant: heads(func(_ []string, heads map[string]int64) {
			maps.DeleteFunc(heads, func(_ string, last int64) bool { return last == 0 })
		})},
		{name: "the head is one behind", catcher: far, plant: heads(func(_ []string, heads map[string]int64) {
			for id := range heads {
				heads[id] = max(heads[id]-1, 0)
			}
		})},
		{name: "mail that was read is told", catcher: mail, plant: posted(func(b *bent, _ []string, posted map[string]journal.Posted) {
			for _, r := range b.rows {
				if _, ok := posted[r.ID]; !ok && r.ID == first {
					posted[r.ID] = journal.Posted{Mark: 1}
				}
			}
		})},
		{name: "the mark says only that there is mail", catcher: mail, plant: each(func(p *journal.Posted) { p.Mark = min(p.Mark, 1) })},
		{name: "nobody is cancelled", catcher: cancel, plant: each(func(p *journal.Posted) { p.Cancelled = false })},
	}
}
