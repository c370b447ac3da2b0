package webhooks_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/webhooks"
)

// Processes that share a database deliver every message, and none of them twice.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *database.DB) {
		const messages, most = 60, 3
		w := newWorld(t, db)
		w.hook("acme", "one")
		w.hook("acme", "two")
		processes := most
		if !db.Shared() {
			processes = 1
		}
		var all []*webhooks.Outbox
		for range processes {
			o := w.process()
			o.Start(t.Context())
			all = append(all, o)
		}
		var wg sync.WaitGroup
		for c := range messages {
			e := w.ended(fmt.Sprint("c", c))
			wg.Go(func() { w.happen(all[c%processes], "acme", e) })
		}
		wg.Wait()
		deadline := time.Now().Add(time.Minute)
		for len(w.web.got("")) < 2*messages && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
		for _, o := range all {
			o.Stop()
		}
		sent := map[string]int{}
		for _, r := range w.web.got("") {
			sent[r.url+" "+r.id()]++
		}
		for what, n := range sent {
			if n != 1 {
				t.Errorf("%s was sent %d times", what, n)
			}
		}
		if len(sent) != 2*messages || w.count("webhook_notice") != 0 {
			t.Errorf("%d messages were sent, %d notices are left", len(sent), w.count("webhook_notice"))
		}
	})
}
