package engine

import "github.com/braidrun/braid/journal"

// Begin drives a run at once that is not in the journal yet: its drive admits it, with its first commit. It returns
// false and does nothing if the run would have to wait here, because no place to run is free or the engine knows another
// run of the conversation. The caller then submits the run.
//
// admitted reports whether the run is in the journal. The engine asks when the drive has ended, and forgets a run that
// is not: nobody else knows it.
func (l *Local) Begin(run journal.Run, admitted func() bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != started || l.queue.ready > 0 || l.tasks[run.ID] != nil || l.talks[talkKey{run.Tenant, run.Conversation}] != nil {
		return false
	}
	tenant := l.queue.tenant(run.Tenant, l.options.share)
	if l.queue.running >= l.queue.most || tenant.running >= tenant.share.Running {
		l.queue.tidy(tenant)
		return false
	}
	t := l.know(run)
	t.admitted = admitted
	l.queue.start(t)
	l.start(t)
	return true
}
