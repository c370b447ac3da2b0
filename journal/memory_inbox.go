package journal

// inbox is the mail of one run.
type inbox struct {
	// unread is what has not been consumed, in the order of posting.
	unread []Mail
	// read knows every id ever posted, and whether it was consumed.
	read map[string]bool
}

func (b *inbox) knows(id string) bool {
	_, ok := b.read[id]
	return ok
}

func (b *inbox) add(m Mail) {
	if b.read == nil {
		b.read = make(map[string]bool)
	}
	b.read[m.ID] = false
	b.unread = append(b.unread, m)
}

// has reports whether all of ids are unread.
func (b *inbox) has(ids []string) bool {
	for _, id := range ids {
		if read, ok := b.read[id]; !ok || read {
			return false
		}
	}
	return true
}

// hasRead reports whether all of ids were consumed.
func (b *inbox) hasRead(ids []string) bool {
	for _, id := range ids {
		if !b.read[id] {
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
		b.read[id] = true
	}
	kept := b.unread[:0]
	for _, m := range b.unread {
		if !b.read[m.ID] {
			kept = append(kept, m)
		}
	}
	clear(b.unread[len(kept):])
	b.unread = kept
}

// close drops the mail of a run that has ended, but not the ids.
func (b *inbox) close() { b.unread = nil }
