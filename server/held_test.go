package server_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// refusing is a journal that admits runs and then refuses to write for a while.
type refusing struct {
	*journal.Memory

	with    atomic.Pointer[event.Error]
	commits atomic.Int64
}

func (r *refusing) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if err := r.with.Load(); err != nil {
		r.commits.Add(1)
		return err
	}
	return r.Memory.Commit(ctx, l, b)
}

func (r *refusing) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if err := r.with.Load(); err != nil {
		return journal.News{}, err
	}
	return r.Memory.Renew(ctx, l)
}

// A run that waits because nothing can be written says so on its stream, not with every attempt, and goes on by itself.
func TestARunThatCannotWriteSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind event.ErrorKind
		code string
	}{{event.ErrStorageFull, "STORAGE_FULL"}, {event.ErrUnavailable, "UNAVAILABLE"}} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &refusing{Memory: journal.NewMemory(journal.MemoryOptions{Term: 500 * time.Millisecond})}
				store.with.Store(&event.Error{Kind: c.kind, Message: "not now"})
				s := open(t, func(o *service.Options, _ *server.Options) { o.Journal = store })
				res := s.ask("POST", "/v1/conversations/"+s.conversation()+"/runs", `{"user_input":"hello"}`, "Accept", "text/event-stream")
				defer res.Body.Close()
				if res.StatusCode != http.StatusOK {
					t.Fatalf("answered %d", res.StatusCode)
				}
				notices, ended := 0, false
				for lines := bufio.NewScanner(res.Body); lines.Scan(); {
					switch line := lines.Text(); {
					case strings.Contains(line, `"`+c.code+`"`):
						notices++
						store.with.Store(nil)
					case strings.HasPrefix(line, "event: result"):
						ended = true
					}
				}
				if notices == 0 || notices > 3 || !ended {
					t.Errorf("%d notices, ended is %v, %d commits", notices, ended, store.commits.Load())
				}
			})
		})
	}
}
