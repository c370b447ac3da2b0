package sqlite

import "context"

// write executes a task in a transaction and waits until it is done. If ctx ends while others write, nothing has happened.
// A task that has begun is awaited, because only its end tells what happened.
func (s *Store) write(ctx context.Context, op string, lazy bool, do func(*tx) error) error {
	if err := alive(ctx, op); err != nil {
		return err
	}
	t := newTask(do, lazy)
	if !s.writer.enter(t) {
		return isClosed(op)
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		if t.taken.CompareAndSwap(false, true) {
			return alive(ctx, op)
		}
		<-t.done
	}
	if t.panicked != nil {
		panic(t.panicked) //nolint:forbidigo // it is the task's, and belongs to its caller
	}
	return fault(op, t.err)
}
