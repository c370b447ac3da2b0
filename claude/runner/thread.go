package runner

import (
	"context"

	"github.com/braidrun/braid/claude"
)

// thread is the main agent of a program, or one of its sub-agents. Its fields are guarded by the session's lock, but for
// seen, which only the model call that runs touches.
type thread struct {
	// call is the call of Task that started the sub-agent; empty for the main agent.
	call string
	// seen is how many messages the program has, its last answer included; 0 before the first answer.
	seen int
	// items are messages of the program that no model call has taken.
	items []claude.Message
	// mayGo lets the program make its next model call.
	mayGo bool
	// waits says that a tool of the newest answer waits in the program.
	waits bool
	// done says that nothing more comes; finished that the sub-agent has ended with an answer.
	done, finished bool
}

// next returns the next message of a thread; nil if a tool has waited in the program for the length of patience.
func (s *session) next(ctx context.Context, t *thread, patience func() bool) (claude.Message, error) {
	for {
		s.mu.Lock()
		if len(t.items) > 0 {
			m := t.items[0]
			t.items = t.items[1:]
			s.mu.Unlock()
			return m, nil
		}
		err, done, changed := s.err, t.done, s.changed
		s.mu.Unlock()
		switch {
		case patience():
			return nil, nil //nolint:nilnil // no message is what the caller asks about
		case err != nil:
			return nil, err
		case done:
			return nil, errThreadOver
		}
		select {
		case <-changed:
		case <-s.tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// thread returns the thread of a call of Task; "" for the main agent.
func (s *session) thread(call string) *thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threadLocked(call)
}

func (s *session) threadLocked(call string) *thread {
	t := s.threads[call]
	if t == nil {
		t = &thread{call: call}
		s.threads[call] = t
	}
	return t
}

// goOn lets the program make the next model call of a thread.
func (s *session) goOn(t *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mayGo = true
	s.keepLocked()
	s.signal()
}

// signal tells all that wait that something has changed. The lock is held.
func (s *session) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until ready, which is called with the lock held, or the end of ctx or of the program.
func (s *session) await(ctx context.Context, ready func() bool) error {
	for {
		s.mu.Lock()
		ok, err, changed := ready(), s.err, s.changed
		s.mu.Unlock()
		switch {
		case ok:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
