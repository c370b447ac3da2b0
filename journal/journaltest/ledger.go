package journaltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// usage returns the rows that a query finds, without the store's own keys.
func (p *probe) usage(q journal.LedgerQuery) []journal.UsageEntry {
	p.Helper()
	list, err := p.Store.UsageLog(p.ctx, q)
	p.ok("UsageLog", err)
	for i := range list {
		if list[i].Key == 0 {
			p.Fatalf("a row has no key")
		}
		list[i].Key = 0
	}
	return list
}

func (p *probe) tools(q journal.LedgerQuery) []journal.ToolEntry {
	p.Helper()
	list, err := p.Store.ToolLog(p.ctx, q)
	p.ok("ToolLog", err)
	for i := range list {
		if list[i].Key == 0 {
			p.Fatalf("a row has no key")
		}
		list[i].Key = 0
	}
	return list
}

func (p *probe) sums(q journal.LedgerQuery, by journal.UsageBy) string {
	p.Helper()
	list, err := p.Store.UsageSums(p.ctx, q, by, nil)
	p.ok("UsageSums", err)
	return told(list)
}

// told formats sums briefly.
func told(list []journal.UsageSum) string {
	var text strings.Builder
	for _, s := range list {
		cost := "?"
		if c := s.CostNanoUSD(); c != nil {
			cost = fmt.Sprint(*c)
		}
		fmt.Fprintf(&text, "%q %d: %d %d %d %d %s; ", s.Key, s.Calls, s.Input, s.Output, s.CacheRead, s.CacheWrite, cost)
	}
	return text.String()
}

// used returns the usage of the n-th call.
func used(n int, model string, cost *int64) journal.UsageEntry {
	return journal.UsageEntry{
		Step: fmt.Sprint("m", n), Attempt: 1, Seq: int64(n), Kind: journal.UsageModel, Model: model,
		Tokens: journal.Tokens{Input: int64(n), Output: 10, CacheRead: 100, CacheWrite: 1000}, CostNanoUSD: cost,
		Status: event.OutcomeDone, Time: noon.Add(time.Duration(n) * time.Hour),
	}
}

// runs returns the entry of a call that has begun.
func runs(step string) journal.ToolEntry {
	return journal.ToolEntry{
		Step: step, Attempt: 1, Asked: 1, Call: "call " + step, Parent: "p", Scope: "s", Agent: "scout", Name: "look", Source: "builtin",
		Input: json.RawMessage(`{"q":"the secret"}`), Status: journal.ToolRunning, Began: noon,
	}
}

// gave returns the same entry after its end.
func gave(t journal.ToolEntry, status journal.ToolStatus, text string) journal.ToolEntry {
	t.Status, t.Output, t.End, t.Finished = status, words(text), 2, noon.Add(time.Second)
	return t
}

func ledgerCases() []testCase {
	acme := journal.Run{ID: first, Conversation: talk, Tenant: "acme", User: "ann", Executor: "cron"}
	of := journal.LedgerQuery{Tenant: "acme"}
	// whose adds the store's data about the run.
	whose := func(u journal.UsageEntry, r journal.Run, status event.RunStatus) journal.UsageEntry {
		u.Tenant, u.Conversation, u.Run, u.Turn, u.Executor, u.User, u.RunStatus = r.Tenant, r.Conversation, r.ID, 1, r.Executor, r.User, status
		return u
	}
	owns := func(t journal.ToolEntry, r journal.Run) journal.ToolEntry {
		t.Tenant, t.Conversation, t.Run, t.Turn, t.Executor = r.Tenant, r.Conversation, r.ID, 1, r.Executor
		return t
	}
	with := func(b journal.Batch, usage []journal.UsageEntry, tools ...journal.ToolEntry) journal.Batch {
		b.Usage, b.Tools = usage, tools
		return b
	}
	one := func(u ...journal.UsageEntry) []journal.UsageEntry { return u }
	return []testCase{
		{"what a commit used stands there with its run", func(p *probe) {
			p.admit(acme)
			w := p.take(first)
			a, b := used(1, "opus", new(int64(7))), used(2, "haiku", nil)
			b.Kind, b.Scope, b.Call, b.Agent, b.Status = journal.UsageCompaction, "s1", "call 1", "scout", event.OutcomeFailed
			w.commit(with(w.batch(note("a")), one(a, b)))
			w.commit(with(journal.Batch{}, one(used(3, "opus", new(int64(0)))))) // also without an event
			equal(p, "rows", p.usage(of), one(
				whose(used(3, "opus", new(int64(0))), acme, event.RunRunning), whose(b, acme, event.RunRunning), whose(a, acme, event.RunRunning)))
			w.end(event.RunFailed)
			equal(p, "how the run stands", p.usage(of)[0].RunStatus, event.RunFailed)
		}},
		{"a commit that comes again has its rows once", func(p *probe) {
			p.admit(acme)
			w := p.take(first)
			b := with(w.batch(note("a")), one(used(1, "opus", new(int64(7)))), runs("t1"))
			w.commit(b)
			w.repeat("the commit again", b)
			end := with(w.ending(event.RunCompleted), one(used(2, "opus", new(int64(7)))), gave(runs("t1"), journal.ToolDone, "4"))
			w.commit(end)
			w.repeat("the end again", end)
			equal(p, "usage", len(p.usage(of)), 2)
			equal(p, "tools", p.tools(of), []journal.ToolEntry{owns(gave(runs("t1"), journal.ToolDone, "4"), acme)})
		}},
		{"a refused commit has no rows", func(p *probe) {
			p.admit(acme)
			w := p.take(first)
			old := *w
			w.release()
			w = p.take(first)
			old.lost("a void lease", with(old.batch(note("a")), one(used(1, "opus", nil)), runs("t1")))
			w.refused("mail that is not there", with(journal.Batch{Read: []string{"x"}}, one(used(1, "opus", nil)), runs("t1")), event.ErrConflict)
			w.refused("an end without a beginning",
				with(w.batch(ended("t", 1, event.StepTool, event.OutcomeDone)), one(used(1, "opus", nil)), runs("t1")), event.ErrConflict)
			equal(p, "usage", p.usage(of), nil)
			equal(p, "tools", p.tools(of), nil)
		}},
		{"a tool call is where it stands", func(p *probe) {
			p.admit(acme)
			w := p.take(first)
			w.commit(with(w.batch(note("a")), nil, runs("t1"), runs("t2")))
			equal(p, "running", p.tools(of), []journal.ToolEntry{owns(runs("t2"), acme), owns(runs("t1"), acme)})
			later := gave(journal.ToolEntry{Step: "t1", Attempt: 3, Began: noon.Add(time.Hour), IsError: true}, journal.ToolError, "no")
			w.release() // another driver continues
			w = p.take(first)
			w.commit(with(w.batch(note("b")), nil, later))
			w.commit(with(w.batch(note("c")), nil, gave(journal.ToolEntry{Step: "t2", Attempt: 1}, journal.ToolInDoubt, "?")))
			want := gave(runs("t1"), journal.ToolError, "no")
			want.Attempt, want.IsError = 3, true
			equal(p, "ended", p.tools(of), []journal.ToolEntry{
				owns(gave(runs("t2"), journal.ToolInDoubt, "?"), acme), owns(want, acme),
			})
			again := runs("t1")
			again.Attempt, again.Input, again.Status = 4, json.RawMessage(`{"q":2}`), journal.ToolWaiting
			w.commit(with(w.batch(note("d")), nil, again))
			equal(p, "once more", p.tools(of)[1], owns(again, acme))
		}},
		{"rows are found by what they are of", func(p *probe) {
			p.admit(acme)
			hers := journal.Run{ID: next, Conversation: other, Tenant: "acme", User: "eve", Executor: "web"}
			p.admit(hers)
			w, v := p.take(first), p.take(next)
			w.commit(with(w.batch(note("a")), one(used(1, "opus", nil), used(3, "haiku", nil)), runs("t1")))
			find := runs("t1")
			find.Name, find.Began = "find", noon.Add(time.Hour)
			v.commit(with(v.batch(note("b")), one(used(2, "opus", nil), used(4, "haiku", nil)), find))
			for _, c := range []struct {
				q    journal.LedgerQuery
				want string
			}{
				{journal.LedgerQuery{}, "m4 m3 m2 m1 find look"},
				{journal.LedgerQuery{Limit: 1}, "m4 find"},
				{journal.LedgerQuery{Conversation: talk}, "m3 m1 look"},
				{journal.LedgerQuery{Run: next}, "m4 m2 find"},
				{journal.LedgerQuery{Executor: "web"}, "m4 m2 find"},
				{journal.LedgerQuery{Model: "opus", Tool: "look"}, "m2 m1 look"},
				{journal.LedgerQuery{User: "eve"}, "m4 m2 find look"},
				{journal.LedgerQuery{User: "ann", Model: "opus"}, "m1 find look"},
				{journal.LedgerQuery{User: "nobody"}, "find look"},
				{journal.LedgerQuery{Conversation: "none"}, ""},
				{journal.LedgerQuery{From: noon.Add(time.Hour), To: noon.Add(3 * time.Hour)}, "m2 m1 find"},
				{journal.LedgerQuery{From: noon.Add(time.Nanosecond), To: noon.Add(time.Hour + time.Nanosecond)}, "m1 find"},
			} {
				c.q.Tenant = "acme"
				var got []string
				for _, u := range p.usage(c.q) {
					got = append(got, u.Step)
				}
				for _, t := range p.tools(c.q) {
					got = append(got, t.Name)
				}
				equal(p, fmt.Sprintf("%+v", c.q), strings.Join(got, " "), c.want)
			}
		}},
		{"pages follow each other", func(p *probe) {
			l := p.Store
			p.admit(acme)
			w := p.take(first)
			var all []journal.UsageEntry
			var calls []journal.ToolEntry
			for i := range 7 {
				u := used(i, "opus", nil)
				u.Time = noon.Add(time.Duration(i/3) * time.Hour) // some have the same time
				all = append(all, u)
				t := runs(fmt.Sprint("t", i))
				t.Began = u.Time
				calls = append(calls, t)
			}
			w.commit(with(w.batch(note("a")), all, calls...))
			var got, steps []string
			q := journal.LedgerQuery{Tenant: "acme", Limit: 2}
			for range 10 {
				list, err := l.UsageLog(p.ctx, q)
				p.ok("UsageLog", err)
				for _, u := range list {
					got = append(got, u.Step)
					q.Before = u.Place()
				}
			}
			q.Before = journal.LedgerPlace{}
			for range 10 {
				list, err := l.ToolLog(p.ctx, q)
				p.ok("ToolLog", err)
				for _, t := range list {
					steps = append(steps, t.Step)
					q.Before = t.Place()
				}
			}
			equal(p, "usage", strings.Join(got, " "), "m6 m5 m4 m3 m2 m1 m0")
			equal(p, "tools", strings.Join(steps, " "), "t6 t5 t4 t3 t2 t1 t0")
		}},
		{"sums are those of the rows", func(p *probe) {
			l := p.Store
			p.admit(acme)
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "acme"})
			w, v := p.take(first), p.take(next)
			scout := used(14, "haiku", nil)
			scout.Agent, scout.Call, scout.Kind = "scout", "call 1", journal.UsageCompaction
			w.commit(with(w.batch(note("a")), one(used(1, "opus", new(int64(7))), scout)))
			v.commit(with(v.batch(note("b")), one(used(2, "opus", new(int64(5))))))
			for by, want := range map[journal.UsageBy]string{
				journal.UsageByModel:        `"haiku" 1: 14 10 100 1000 ?; "opus" 2: 3 20 200 2000 12; `,
				journal.UsageByConversation: `"other talk" 1: 2 10 100 1000 5; "talk" 2: 15 20 200 2000 ?; `,
				journal.UsageByRun:          `"run 1" 2: 15 20 200 2000 ?; "run 2" 1: 2 10 100 1000 5; `,
				journal.UsageByDay:          `"2026-11-20" 2: 3 20 200 2000 12; "2026-11-21" 1: 14 10 100 1000 ?; `,
				journal.UsageByExecutor:     `"" 1: 2 10 100 1000 5; "cron" 2: 15 20 200 2000 ?; `,
				journal.UsageByAgent:        `"" 2: 3 20 200 2000 12; "scout" 1: 14 10 100 1000 ?; `,
				journal.UsageByUser:         `"" 1: 2 10 100 1000 5; "ann" 2: 15 20 200 2000 ?; `,
				journal.UsageByKind:         `"compaction" 1: 14 10 100 1000 ?; "model" 2: 3 20 200 2000 12; `,
			} {
				equal(p, "by "+string(by), p.sums(of, by), want)
				// Reading page by page gives the same result.
				paged, q, after := "", of, (*string)(nil)
				q.Limit = 1
				for range 4 {
					list, err := l.UsageSums(p.ctx, q, by, after)
					p.ok("UsageSums", err)
					paged += told(list)
					for _, s := range list {
						after = &s.Key
					}
				}
				equal(p, "by "+string(by)+" in pages", paged, want)
			}
			narrow := of
			narrow.Model, narrow.To, narrow.Before = "opus", noon.Add(2*time.Hour), journal.LedgerPlace{Time: noon, Key: 1}
			equal(p, "of some", p.sums(narrow, journal.UsageByModel), `"opus" 1: 1 10 100 1000 7; `)
			hers := of
			hers.User = "ann"
			equal(p, "of a user", p.sums(hers, journal.UsageByModel), `"haiku" 1: 14 10 100 1000 ?; "opus" 1: 1 10 100 1000 7; `)
			equal(p, "of nothing", p.sums(journal.LedgerQuery{}, journal.UsageByModel), "")
			_, err := l.UsageSums(p.ctx, of, "colour", nil)
			p.refused("sums by what there is not", err, event.ErrInvalid)
		}},
		{"sums of days and of parts of days are those of the rows", func(p *probe) {
			l := p.Store
			p.admit(acme)
			w := p.take(first)
			var all []journal.UsageEntry
			for i := range 60 {
				u := used(i, []string{"opus", "haiku"}[i%2], []*int64{nil, new(int64(i))}[i/2%2])
				u.Time, u.Estimated = noon.Add(time.Duration(i)*5*time.Hour), i%5 == 0
				all = append(all, u)
			}
			w.commit(with(w.batch(note("a")), all[:30]))
			w.commit(with(w.batch(note("b")), all[30:]))
			midnight := noon.Truncate(24 * time.Hour)
			for _, from := range []time.Time{{}, midnight, midnight.Add(24 * time.Hour), noon.Add(30 * time.Hour), noon.Add(31*time.Hour + time.Microsecond)} {
				for _, long := range []time.Duration{0, time.Hour, 20 * time.Hour, 48 * time.Hour, 100 * time.Hour, 9999 * time.Hour} {
					q := journal.LedgerQuery{Tenant: "acme", From: from}
					if long > 0 {
						q.To = noon.Add(long)
						if !from.IsZero() {
							q.To = from.Add(long)
						}
					}
					for _, q.Model = range []string{"", "opus"} {
						want := map[string]journal.UsageSum{}
						for _, u := range p.usage(q) {
							day := u.Time.Format(time.DateOnly)
							sum := want[day]
							sum.Key, sum.Tokens = day, sum.Add(u.Tokens)
							sum.Calls++
							if u.CostNanoUSD == nil {
								sum.Unpriced++
							} else {
								sum.KnownNanoUSD += *u.CostNanoUSD
							}
							if u.Estimated {
								sum.Estimated++
							}
							want[day] = sum
						}
						got, err := l.UsageSums(p.ctx, q, journal.UsageByDay, nil)
						p.ok("UsageSums", err)
						if len(got) != len(want) {
							p.Fatalf("%d days of %+v, and the rows are of %d", len(got), q, len(want))
						}
						for _, sum := range got {
							equal(p, fmt.Sprintf("%s of %+v", sum.Key, q), sum, want[sum.Key])
						}
					}
				}
			}
		}},
		{"an estimate is marked", func(p *probe) {
			l := p.Store
			p.admit(acme)
			w := p.take(first)
			u := used(1, "opus", new(int64(7)))
			u.Estimated = true
			w.commit(with(w.batch(note("a")), one(u, used(2, "opus", nil))))
			equal(p, "rows", p.usage(of), one(whose(used(2, "opus", nil), acme, event.RunRunning), whose(u, acme, event.RunRunning)))
			for _, by := range []journal.UsageBy{journal.UsageByModel, journal.UsageByRun} {
				list, err := l.UsageSums(p.ctx, of, by, nil)
				p.ok("UsageSums", err)
				if len(list) != 1 || list[0].Estimated != 1 || list[0].Unpriced != 1 || list[0].KnownNanoUSD != 7 {
					p.Fatalf("sums by %s: %+v", by, list)
				}
			}
		}},
		{"a sum that does not fit is a large number", func(p *probe) {
			l := p.Store
			p.admit(acme)
			w := p.take(first)
			const huge = 1<<63 - 4
			for n := range 3 {
				u := used(n, "opus", new(int64(huge)))
				u.Tokens = journal.Tokens{Input: huge, Output: huge, CacheRead: -7, CacheWrite: huge}
				w.commit(with(w.batch(note("a")), one(u)))
			}
			for _, by := range []journal.UsageBy{journal.UsageByModel, journal.UsageByRun} {
				list, err := l.UsageSums(p.ctx, of, by, nil)
				p.ok("UsageSums", err)
				if len(list) != 1 || list[0].Calls != 3 || list[0].Input < 1<<30 || list[0].KnownNanoUSD < 1<<50 {
					p.Fatalf("sums by %s: %+v", by, list)
				}
			}
		}},
		{"a tenant sees its own", func(p *probe) {
			p.admit(acme)
			zeta := journal.Run{ID: next, Conversation: other, Tenant: "zeta"}
			p.admit(zeta)
			for _, run := range []string{first, next} {
				w := p.take(run)
				w.commit(with(w.batch(note("a")), one(used(1, "opus", nil)), runs("t1")))
			}
			equal(p, "usage", p.usage(journal.LedgerQuery{Tenant: "zeta"}), one(whose(used(1, "opus", nil), zeta, event.RunRunning)))
			equal(p, "tools", p.tools(journal.LedgerQuery{Tenant: "zeta"}), []journal.ToolEntry{owns(runs("t1"), zeta)})
			theirs := journal.LedgerQuery{Tenant: "zeta", Conversation: talk, Run: first}
			equal(p, "usage of another's", p.usage(theirs), nil)
			equal(p, "tools of another's", p.tools(theirs), nil)
			equal(p, "sums of another's", p.sums(theirs, journal.UsageByModel), "")
			equal(p, "usage of nobody", p.usage(journal.LedgerQuery{}), nil)
		}},
		{"a redaction erases what the ledger repeats", func(p *probe) {
			p.admit(acme)
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "acme"})
			v := p.take(next)
			v.commit(with(v.batch(note("a"), note("b")), nil, gave(runs("t1"), journal.ToolDone, "kept")))
			w := p.take(first)
			w.commit(with(w.batch(answer("", 0), note("b")), nil, gave(runs("t1"), journal.ToolDone, "the secret")))
			w.write(event.Event{Body: &event.Redacted{Target: 2, Clean: true}})
			equal(p, "clean", p.tools(of)[0], owns(gave(runs("t1"), journal.ToolDone, "the secret"), acme))
			w.write(redacts(2, "(no)"))
			want := owns(gave(runs("t1"), journal.ToolDone, "(no)"), acme)
			equal(p, "its result", p.tools(of)[0], want)
			w.write(redacts(1, "(no)"))
			want.Input = nil
			equal(p, "its arguments", p.tools(of)[0], want)
			w.commit(with(w.batch(note("c"), redacts(6, "(no)")), nil, func() journal.ToolEntry {
				t := gave(runs("t2"), journal.ToolDone, "the secret")
				t.End = 6
				return t
			}()))
			equal(p, "in the same commit", p.tools(of)[0].Output, words("(no)"))
			equal(p, "another's", p.tools(of)[2].Output, words("kept"))
			equal(p, "another's arguments", p.tools(of)[2].Input, runs("t1").Input)
		}},
		{"of a conversation that is removed what was used stays", func(p *probe) {
			remove := p.Store.Remove
			p.admit(acme)
			w := p.take(first)
			w.commit(with(w.ending(event.RunCancelled), one(used(1, "opus", new(int64(7)))), runs("t1")))
			p.ok("Remove", remove(p.ctx, "acme", talk))
			equal(p, "tools", p.tools(of), nil)
			equal(p, "usage", p.usage(of), one(whose(used(1, "opus", new(int64(7))), acme, event.RunCancelled)))
			w = p.startIn(talk, first) // the names are free for another tenant
			w.commit(with(w.batch(note("a")), one(used(1, "opus", nil)), runs("t1")))
			equal(p, "usage then", p.usage(of), one(whose(used(1, "opus", new(int64(7))), acme, event.RunCancelled)))
			equal(p, "usage of the new one", len(p.usage(journal.LedgerQuery{})), 1)
			equal(p, "tools of the new one", len(p.tools(journal.LedgerQuery{})), 1)
		}},
		{"what is used beside a log is added once", func(p *probe) {
			l := p.Store
			p.admit(acme)
			w := p.take(first)
			w.end(event.RunCompleted)
			title := journal.UsageEntry{Run: first, Step: "title", Kind: journal.UsageTitle, Model: "haiku", Status: event.OutcomeDone, Time: noon}
			p.ok("AddUsage", l.AddUsage(p.ctx, title))
			p.ok("AddUsage again", l.AddUsage(p.ctx, title))
			more := title
			more.Attempt = 2
			p.ok("AddUsage of a second attempt", l.AddUsage(p.ctx, more))
			equal(p, "rows", p.usage(of), one(whose(more, acme, event.RunCompleted), whose(title, acme, event.RunCompleted)))
			title.Run = "none"
			p.refused("usage of no run", l.AddUsage(p.ctx, title), event.ErrNotFound)
			title.Run = ""
			p.refused("usage without a run", l.AddUsage(p.ctx, title), event.ErrInvalid)
			p.refused("usage without a step", l.AddUsage(p.ctx, journal.UsageEntry{Run: first}), event.ErrInvalid)
		}},
		{"text that cannot be held is mended", func(p *probe) {
			p.admit(acme)
			w := p.take(first)
			u, t := used(1, "a\x00\xffb", nil), runs("t1")
			t.Name = "a\x00\xffb"
			w.commit(with(w.batch(note("a")), one(u), t))
			equal(p, "the model", p.usage(of)[0].Model, "a\uFFFD\uFFFDb")
			equal(p, "the tool", p.tools(of)[0].Name, "a\uFFFD\uFFFDb")
		}},
	}
}
