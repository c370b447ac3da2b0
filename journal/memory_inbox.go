package journal

import "slices"

// inbox is the mail of one run.
type inbox struct {
	// unread holds the unread mail in the order of posting.
	unread []Mail
	// known holds all mail that was ever posted, by ID.
	known map[string]posted
}

// posted identifies mail after it was read.
type posted struct {
	read   bool
	digest [16]byte
	// message is set for a MailMessage.
	message bool
}

func (b *inbox) add(m Mail, digest [16]byte) {
	if b.known == nil {
		b.known = make(map[string]posted)
	}
	b.known[m.ID] = posted{digest: digest, message: m.Kind == MailMessage}
	b.unread = append(b.unread, m)
}

func (b *inbox) knows(id string) bool {
	_, ok := b.known[id]
	return ok
}

// inherit takes over the unread messages of an earlier run.
func (b *inbox) inherit(mail []Mail, run, from string) {
	own := b.unread
	b.unread = nil
	for _, m := range mail {
		for b.knows(m.ID) {
			m.ID += "@" + from
		}
		m.Run, m.Early = run, true
		b.add(m, Digest(m))
	}
	// Messages that this run inherited before are even earlier.
	n := 0
	for n < len(own) && own[n].Early {
		n++
	}
	b.unread = slices.Concat(own[:n], b.unread, own[n:])
}

// wakes reports whether the mail makes a waiting run due.
func (b *inbox) wakes() bool {
	for i := range b.unread {
		if b.unread[i].Kind != MailMessage {
			return true
		}
	}
	return false
}

// has reports whether all ids are unread.
func (b *inbox) has(ids []string) bool {
	for _, id := range ids {
		if l, ok := b.known[id]; !ok || l.read {
			return false
		}
	}
	return true
}

// hasRead reports whether all ids were read.
func (b *inbox) hasRead(ids []string) bool {
	for _, id := range ids {
		if !b.known[id].read {
			return false
		}
	}
	return true
}

// consume marks unread ids as read and removes them.
func (b *inbox) consume(ids []string) {
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		l := b.known[id]
		l.read = true
		b.known[id] = l
	}
	kept := b.unread[:0]
	for _, m := range b.unread {
		if !b.known[m.ID].read {
			kept = append(kept, m)
		}
	}
	clear(b.unread[len(kept):])
	b.unread = kept
}

// close drops the mail of an ended run but keeps the ids. It returns the unread messages.
func (b *inbox) close() []Mail {
	left := slices.DeleteFunc(b.unread, func(m Mail) bool { return m.Kind != MailMessage })
	b.unread = nil
	return left
}
