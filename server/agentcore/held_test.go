package agentcore_test

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
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// full is a journal that refuses commits for a while.
type full struct {
	*journal.Memory

	is atomic.Bool
}

func (f *full) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if f.is.Load() {
		return &event.Error{Kind: event.ErrStorageFull, Message: "there is no space left"}
	}
	return f.Memory.Commit(ctx, l, b)
}

// A run that waits for its turn, or for space to write, says so on the stream that AWS's SDK reads, and goes on by itself.
func TestARunThatWaitsSaysSo(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"QUEUED", "STORAGE_FULL"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &full{Memory: journal.NewMemory(journal.MemoryOptions{Term: 500 * time.Millisecond})}
				s := open(t, func(o *service.Options, _ *agentcore.Options) { o.Engine.Running, o.Journal = 1, store })
				goOn := func() { store.is.Store(false) }
				if code == "QUEUED" {
					busy, err := s.Client().Do(s.request(t.Context(), http.MethodPost, "/invocations", promptBody("use wait"), sessionHeader, strings.Repeat("busy-", 7)))
					if err != nil {
						t.Fatal(err)
					}
					defer busy.Body.Close()
					lines := bufio.NewScanner(busy.Body)
					for begun := false; !begun && lines.Scan(); {
						begun = strings.Contains(lines.Text(), "toolUse")
					}
					goOn = func() { close(s.gate) }
				} else {
					store.is.Store(true)
				}
				out, err := s.client(acme).InvokeAgentRuntime(t.Context(), invocation("hello"))
				if err != nil {
					t.Fatal(err)
				}
				defer out.Response.Close()
				notices, text, complete := "", "", false
				for r := wire.NewReader(out.Response, 0); ; {
					it, err := r.Next()
					if err != nil {
						break
					}
					switch it.Kind {
					case wire.KindNotice:
						notices += it.Code + " "
						if code == "STORAGE_FULL" {
							time.Sleep(5 * time.Second) // many times the lease's term: no driver counts as dead
						}
						goOn()
					case wire.KindText:
						if !it.Repeats {
							text += string(it.Text)
						}
					case wire.KindResult:
						complete = true
					case wire.KindAnomaly, wire.KindOther, wire.KindError:
						t.Errorf("%s %s", it.Kind, it.Raw)
					}
				}
				if n := strings.Count(notices, code+" "); n == 0 || n > 3 || len(notices) != n*len(code+" ") || !complete || text == "" {
					t.Errorf("the notices are %q, the text %q, complete is %v", notices, text, complete)
				}
			})
		})
	}
}
