// Package answering has a function of the program answer the questions of a run, one after another, beside the driver.
package answering

import (
	"context"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
)

// Func answers a question. It is called by one goroutine at a time.
type Func func(ctx context.Context, q event.Question) (answer any, err error)

// Worker calls a function for questions in the order in which it is given them. One goroutine calls it, as long as there
// is a question. Make it with [New], and Close it.
type Worker struct {
	answer Func
	post   func(ctx context.Context, token string, answer any) error
	grace  time.Duration
	ctx    context.Context //nolint:containedctx // it is the run's
	stop   context.CancelFunc

	mu   sync.Mutex
	seen map[string]bool
	list []event.Question
	// done is closed when the goroutine has ended; nil for none.
	done chan struct{}
	// posted counts the answers since the last Wait, and err is why a question has none.
	posted int
	err    error
}

// New returns a worker. post leaves an answer to the run. grace is how long Close waits for the function.
func New(ctx context.Context, answer Func, post func(ctx context.Context, token string, answer any) error, grace time.Duration) *Worker {
	w := &Worker{answer: answer, post: post, grace: max(grace, 0), seen: map[string]bool{}}
	w.ctx, w.stop = context.WithCancel(ctx)
	return w
}

// Add has a question answered, unless it was added before.
func (w *Worker) Add(q event.Question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[q.Token] || w.ctx.Err() != nil {
		return
	}
	w.seen[q.Token] = true
	w.list = append(w.list, q)
	if w.done == nil {
		w.done = make(chan struct{})
		go w.work(w.done)
	}
}

func (w *Worker) work(done chan struct{}) {
	defer close(done)
	for {
		w.mu.Lock()
		if len(w.list) == 0 || w.ctx.Err() != nil {
			w.list, w.done = nil, nil
			w.mu.Unlock()
			return
		}
		q := w.list[0]
		w.list = w.list[1:]
		w.mu.Unlock()
		err := w.one(q)
		w.mu.Lock()
		switch {
		case err == nil:
			w.posted++
		case w.err == nil:
			w.err = err
		}
		w.mu.Unlock()
	}
}

// one answers a question. It returns as soon as the run is over, although the function may still be at work: what that
// returns then is answered to nobody.
func (w *Worker) one(q event.Question) error {
	var answer any
	came := foreign.Apart("answer", "the function that answers questions", func() (err error) {
		answer, err = w.answer(w.ctx, q)
		return err
	})
	var err error
	select {
	case err = <-came:
	case <-w.ctx.Done():
		t := time.NewTimer(w.grace)
		defer t.Stop()
		select {
		case err = <-came:
		case <-t.C:
			return w.ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	if err = w.post(w.ctx, q.Token, answer); event.KindOf(err) == event.ErrNotFound {
		return nil // somebody else has answered it, or the call that asked is over
	}
	return err
}

// Wait waits until every question that was added is answered or cannot be. It returns how many answers were left to the
// run since the last time, and why a question has none. It ends with the run's context.
func (w *Worker) Wait() (posted int, err error) {
	w.wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	posted, w.posted, err = w.posted, 0, w.err
	if cause := context.Cause(w.ctx); cause != nil && posted == 0 {
		kind := event.ErrCancelled
		if w.ctx.Err() == context.DeadlineExceeded {
			kind = event.ErrTimeout
		}
		err = &event.Error{
			Op: "run", Kind: kind, Message: "the run was left before its question was answered",
			Hint: "it keeps waiting: answer the question and resume it", Err: cause,
		}
	}
	return posted, err
}

func (w *Worker) wait() {
	w.mu.Lock()
	done := w.done
	w.mu.Unlock()
	if done != nil {
		<-done // it ends with the context, after the grace period at the latest
	}
}

// Close ends the function's context and waits for the function, at most for the grace period.
func (w *Worker) Close() {
	w.stop()
	w.wait()
}

// Unanswered is the error of a run that waits although a function answers its questions.
func Unanswered(err error) error {
	if e, ok := err.(*event.Error); ok { //nolint:errorlint // what the function or the store said is passed on unchanged
		return e
	}
	return &event.Error{
		Op: "answer", Kind: event.ErrConflict, Message: "a question of the run has no answer: the function that answers questions failed",
		Hint: "look at the error; the run keeps waiting, so answer the question and resume it", Err: err,
	}
}
