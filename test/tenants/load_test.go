package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/wire/native"
)

// patience bounds the load on one store. It takes half a minute on an idle machine.
const patience = 4 * time.Minute

// Clients of many tenants run at once. Each sees all of its own data and nothing of others.
func TestNothingCrosses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open func(t *testing.T) (store, *database.DB)
	}{{"sqlite", openSQLite}, {"postgres", openPostgres}} {
		t.Run(c.name, func(t *testing.T) {
			clients, tenants := crowd()
			logs, db := c.open(t)
			l := &load{site: open(t, tenants, logs, db), tenants: tenants, shared: make([]string, tenants), runs: make([]atomic.Int64, tenants)}
			begun := time.Now()
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			for n := range tenants { // one conversation that all users of a tenant share
				conv, err := l.client(n).Create(ctx, client.NewConversation{Title: "title" + mark(tenantID(n))})
				if err != nil {
					t.Fatal(err)
				}
				l.shared[n] = conv.ID
			}
			var work sync.WaitGroup
			for i := range clients {
				work.Go(func() { l.person(ctx, i) })
			}
			work.Wait()
			for n := range tenants {
				work.Go(func() { l.books(ctx, n) })
			}
			work.Wait()
			if ctx.Err() != nil {
				t.Fatal("it takes too long")
			}
			t.Logf("%d clients, %d tenants, %v", clients, tenants, time.Since(begun).Round(time.Millisecond))
		})
	}
}

// load is the running load.
type load struct {
	*site

	tenants int
	// shared is a conversation of each tenant; runs counts its ended runs.
	shared []string
	runs   []atomic.Int64
}

// turns is the number of turns in a user's own conversation.
const turns = 3

// person uses its own conversation and the shared one, and tries another tenant's.
func (l *load) person(ctx context.Context, i int) {
	n := i % l.tenants
	api := l.client(n)
	own, err := api.Create(ctx, client.NewConversation{})
	if err != nil {
		l.t.Errorf("%s: a conversation: %v", tenantID(n), err)
		return
	}
	for turn := 1; turn <= turns; turn++ {
		l.talk(ctx, api, n, own.ID, fmt.Sprintf("say%s of %d, %d", mark(tenantID(n)), i, turn), turn, client.RunOptions{})
		if turn == 1 {
			l.talk(ctx, api, n, l.shared[n], fmt.Sprintf("all%s of %d", mark(tenantID(n)), i), 0, client.RunOptions{Policy: "queue"})
		}
	}
	other := l.shared[(n+1)%l.tenants]
	for what, err := range map[string]error{
		"reading": func() error { _, err := api.Get(ctx, other); return err }(),
		"running": func() error { _, err := api.Run(ctx, other, "hello", client.RunOptions{}); return err }(),
		"no such": func() error { _, err := api.Get(ctx, "conv_nobodys"); return err }(),
	} {
		if !errors.Is(err, event.ErrNotFound) {
			l.t.Errorf("%s another tenant's conversation: %v", what, err)
		}
	}
	l.history(ctx, api, n, own.ID, turns)
}

var marks = regexp.MustCompile(`<\d{3}>`)

// foreign returns the marks of other tenants in a text. JSON may escape them.
func foreign(n int, text string) []string {
	text = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text)
	return slices.DeleteFunc(marks.FindAllString(text, -1), func(m string) bool { return m == mark(tenantID(n)) })
}

// talk starts a run and checks each of its frames.
func (l *load) talk(ctx context.Context, api *client.Client, n int, conv, input string, turn int, o client.RunOptions) {
	var ends int
	var text strings.Builder
	for f, err := range api.Stream(ctx, conv, input, o) {
		if err != nil {
			l.t.Errorf("%s: a stream: %v", tenantID(n), err)
			return
		}
		raw, err := json.Marshal(f)
		if err != nil {
			l.t.Error(err)
		}
		if other := foreign(n, string(raw)); len(other) > 0 {
			l.t.Errorf("%s sees %v in %s", tenantID(n), other, raw)
		}
		switch f := f.(type) {
		case *native.Init:
			if turn > 0 && f.Turn != turn {
				l.t.Errorf("%s: the turn is %d and not %d", tenantID(n), f.Turn, turn)
			}
		case *native.TextDelta:
			text.WriteString(f.Text)
		case *native.Result:
			ends++
			if f.IsError {
				l.t.Errorf("%s: %v", tenantID(n), f.Errors)
			}
		case *native.Error:
			ends++
			l.t.Errorf("%s: %+v", tenantID(n), f)
		}
	}
	if ends != 1 {
		l.t.Errorf("%s: a stream has %d ends", tenantID(n), ends)
	}
	m := mark(tenantID(n))
	for _, part := range []string{"prompt" + m + "\n\nagent" + m, "model" + m, "credential" + m, input, "tool" + m + " of " + conv} {
		if !strings.Contains(text.String(), part) {
			l.t.Errorf("%s: the answer lacks %q: %s", tenantID(n), part, text.String())
		}
	}
	l.runs[n].Add(1)
}

// history reads a conversation again: its turns have no gaps, and each has one end.
func (l *load) history(ctx context.Context, api *client.Client, n int, conv string, want int) {
	runs, err := api.Runs(ctx, conv)
	if err != nil {
		l.t.Errorf("%s: %v", tenantID(n), err)
		return
	}
	ends := map[string]int{}
	for e, err := range api.Events(ctx, conv, 0) {
		if err != nil {
			l.t.Errorf("%s: %v", tenantID(n), err)
			return
		}
		raw, err := json.Marshal(&e)
		if err != nil {
			l.t.Error(err)
		}
		if other := foreign(n, string(raw)); len(other) > 0 {
			l.t.Errorf("the log of %s has %v in %s", tenantID(n), other, raw)
		}
		if _, ok := e.Body.(*event.RunEnded); ok {
			ends[e.Run]++
		}
	}
	seen := make([]int, 0, len(runs))
	for i := range runs {
		seen = append(seen, runs[i].Turn)
		if runs[i].Status != event.RunCompleted || ends[runs[i].ID] != 1 {
			l.t.Errorf("%s: a run is %s, with %d ends", tenantID(n), runs[i].Status, ends[runs[i].ID])
		}
	}
	slices.Sort(seen)
	for i, turn := range seen {
		if turn != i+1 {
			l.t.Errorf("%s: the turns are %v", tenantID(n), seen)
			break
		}
	}
	if len(runs) != want {
		l.t.Errorf("%s: there are %d runs and not %d", tenantID(n), len(runs), want)
	}
}

// books compares a tenant's bill with what its users did.
func (l *load) books(ctx context.Context, n int) {
	tenant, runs := tenantID(n), l.runs[n].Load()
	l.history(ctx, l.client(n), n, l.shared[n], int(runs)/(turns+1))
	sums, err := l.ledger.UsageSums(ctx, journal.LedgerQuery{Tenant: tenant}, journal.UsageByModel, nil)
	if err != nil {
		l.t.Error(err)
		return
	}
	calls := 2 * runs // one before the tool and one after it
	want := journal.UsageSum{Key: "demo:model" + mark(tenant), Calls: calls}
	want.Input, want.Output = calls*inputTokens(n), calls
	want.Unpriced = calls
	if len(sums) != 1 || sums[0] != want {
		l.t.Errorf("%s is billed for %+v and not for %+v", tenant, sums, want)
	}
	tools, err := l.ledger.ToolLog(ctx, journal.LedgerQuery{Tenant: tenant})
	if err != nil || int64(len(tools)) != runs {
		l.t.Errorf("%s: %d calls of tools and not %d: %v", tenant, len(tools), runs, err)
	}
	for i := range tools {
		if raw, err := json.Marshal(&tools[i]); err != nil || len(foreign(n, string(raw))) > 0 {
			l.t.Errorf("the tools of %s: %s, %v", tenant, raw, err)
		}
	}
}
