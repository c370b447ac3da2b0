package claude

import (
	"context"
	"sync"
)

// mostQueued is how many bytes of lines wait for a slow reader before the program has to wait too.
const mostQueued = 2 * MaxLine

// queue takes messages from the reader of the program's output to the loop over them. It never holds back the
// answers to control requests unless mostQueued is reached.
type queue struct {
	mu    sync.Mutex
	items []Message
	size  int
	err   error
	// more is closed and replaced when something has been added, room when something has been taken.
	more, room chan struct{}
}

func newQueue() *queue { return &queue{more: make(chan struct{}), room: make(chan struct{})} }

// put adds a message. It waits for room until quit.
func (q *queue) put(m Message, quit <-chan struct{}) {
	q.mu.Lock()
	for q.size > mostQueued {
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-quit:
			return
		}
		q.mu.Lock()
	}
	q.items = append(q.items, m)
	q.size += len(m.Base().Raw)
	q.signal(&q.more)
	q.mu.Unlock()
}

// fail ends the queue: after the last message, next returns err.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		q.signal(&q.more)
	}
}

// next returns the next message, and waits for one.
func (q *queue) next(ctx context.Context) (Message, error) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			m := q.items[0]
			q.items[0] = nil
			q.items = q.items[1:]
			q.size -= len(m.Base().Raw)
			q.signal(&q.room)
			q.mu.Unlock()
			return m, nil
		}
		err, more := q.err, q.more
		q.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *queue) signal(c *chan struct{}) {
	close(*c)
	*c = make(chan struct{})
}
