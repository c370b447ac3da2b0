package engine

// Held counts what the engine keeps in mind.
func (l *Local) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tasks) + len(l.talks) + len(l.queue.tenants) + len(l.timers) + l.queue.backlog + l.queue.running
}
