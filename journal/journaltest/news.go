package journaltest

import "github.com/braidrun/braid/journal"

func newsCases() []testCase {
	return []testCase{
		{"renewing tells all mail that is not consumed, oldest first", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.post(letter("z", first))
			w := p.take(first)
			p.post(letter("elsewhere", next))
			p.post(reply("a", first))
			p.post(journal.Mail{ID: "m", Run: first, Kind: journal.MailCancel, By: "ann"})
			news := w.renew()
			equal(p, "mail", mailIDs(news.Mail), []string{"z", "a", "m"})
			equal(p, "mail that is told again", w.renew(), news)

			b := w.batch(note("read"))
			b.Read = []string{"a"}
			w.commit(b)
			equal(p, "mail after one was consumed", mailIDs(w.renew().Mail), []string{"z", "m"})
			p.post(letter("b", first))
			news = w.renew()
			equal(p, "mail after one more came", mailIDs(news.Mail), []string{"z", "m", "b"})
			w.release()
			equal(p, "mail that the next lease brings", p.acquire(first, 0).Mail, news.Mail)
		}},
		{"what a driver does with the news changes nothing", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			p.post(letter("b", first))
			w.renew().Mail[0] = journal.Mail{ID: "c"}
			equal(p, "mail", mailIDs(w.renew().Mail), []string{"a", "b"})
		}},
	}
}
