package journal

import "slices"

// inbox is the mail of one run.
type inbox struct {
	// unread is what has not been consumed, in the order of posting.
	unread []Mail
	// known has every letter that ever came.
	known map[string]letter
}

// letter is what stays of mail that was consumed.
type letter struct {
	read   bool
	digest [16]byte
	// message says that it is a MailMessage.
	message bool
}

func (b *inbox) add(m Mail, digest [16]byte) {
	if b.known == nil {
		b.known = make(map[string]letter)
	}
	b.known[m.ID] = letter{digest: digest, message: m.Kind == MailMessage}
	b.unread = append(b.unread, m)
}

func (b *inbox) knows(id string) bool {
	_, ok := b.known[id]
	return ok
}

// inherit takes over the messages that an earlier run did not read.
func (b *inbox) inherit(letters []Mail, run, from string) {
	own := b.unread
	b.unread = nil
	for _, m := range letters {
		for b.knows(m.ID) {
			m.ID += "@" + from
		}
		m.Run, m.Early = run, true
		b.add(m, Digest(m))
	}
	// What this one inherited before is earlier still.
	n := 0
	for n < len(own) && own[n].Early {
		n++
	}
	b.unread = slices.Concat(own[:n], b.unread, own[n:])
}

// wakes reports whether the mail is a reason for a waiting run to go on.
func (b *inbox) wakes() bool {
	for i := range b.unread {
		if b.unread[i].Kind != MailMessage {
			return true
		}
	}
	return false
}

// has reports whether all of ids are unread.
func (b *inbox) has(ids []string) bool {
	for _, id := range ids {
		if l, ok := b.known[id]; !ok || l.read {
			return false
		}
	}
	return true
}

// hasRead reports whether all of ids were consumed.
func (b *inbox) hasRead(ids []string) bool {
	for _, id := range ids {
		if !b.known[id].read {
			return false
		}
	}
	return true
}

// consume marks ids, which are unread, and takes them out.
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

// close drops the mail of a run that has ended, but not the ids, and gives the
// messages that nobody has read.
func (b *inbox) close() []Mail {
	left := slices.DeleteFunc(b.unread, func(m Mail) bool { return m.Kind != MailMessage })
	b.unread = nil
	return left
}
