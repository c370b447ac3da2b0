package service

import "sync"

// conversationLocks hold one mutex for each conversation in use, so that no run is admitted while
// its conversation is being deleted. The zero value is ready for use.
type conversationLocks struct {
	mu   sync.Mutex
	used map[string]*conversationLock
}

type conversationLock struct {
	mu sync.Mutex
	// users counts the holder and those who wait.
	users int
}

// lock waits for the conversation's mutex. The caller must call unlock.
func (d *conversationLocks) lock(conversation string) (unlock func()) {
	d.mu.Lock()
	if d.used == nil {
		d.used = make(map[string]*conversationLock)
	}
	in := d.used[conversation]
	if in == nil {
		in = &conversationLock{}
		d.used[conversation] = in
	}
	in.users++
	d.mu.Unlock()
	in.mu.Lock()
	return func() {
		in.mu.Unlock()
		d.mu.Lock()
		defer d.mu.Unlock()
		if in.users--; in.users == 0 {
			delete(d.used, conversation)
		}
	}
}
