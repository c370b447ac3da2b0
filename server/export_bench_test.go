package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// BenchmarkExport exports a conversation of 1,000 turns, and one of a single run with as many events, over HTTP from a SQLite
// file. The least is 50 MB/s.
func BenchmarkExport(b *testing.B) {
	for name, turns := range map[string]int{"1,000 turns": 1000, "one run": 1} {
		b.Run(name, func(b *testing.B) {
			store, err := sqlite.Open(b.TempDir(), sqlite.Options{Relaxed: true})
			if err != nil {
				b.Fatal(err)
			}
			svc, err := service.New(service.Options{
				Journal: store, Rows: &service.MemoryRows{},
				Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) { return nil, event.ErrUnsupported },
			})
			if err != nil {
				b.Fatal(err)
			}
			if err := svc.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			handler, err := server.New(server.Options{Service: svc, Token: secret.New(token), Tenant: "default"}, nil)
			if err != nil {
				b.Fatal(err)
			}
			site := httptest.NewServer(handler)
			b.Cleanup(func() {
				site.Close()
				if err := svc.Drain(context.Background()); err != nil {
					b.Error(err)
				}
				if err := store.Close(); err != nil {
					b.Error(err)
				}
			})
			conv, err := svc.CreateConversation(b.Context(), service.Principal{Tenant: "default"}, service.NewConversation{})
			if err != nil {
				b.Fatal(err)
			}
			converse(b, store, conv.ID, turns, 20_000, 4)
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, site.URL+"/v1/conversations/"+conv.ID+"/export", nil)
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+token)
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK {
					b.Fatal(res.Status, err)
				}
				b.SetBytes(n)
			}
		})
	}
}

// converse writes a conversation of turns with events in all.
func converse(b *testing.B, store journal.Store, conv string, turns, events, times int) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	seq := int64(0)
	for turn := range turns {
		run, err := store.Admit(b.Context(), journal.Run{ID: fmt.Sprint("run_", turn), Conversation: conv, Tenant: "default", Agent: "a"})
		must(err)
		o, err := store.Acquire(b.Context(), run.ID, seq)
		must(err)
		write := func(status event.RunStatus, bodies ...event.Body) {
			batch := journal.Batch{Status: status}
			for _, body := range bodies {
				seq++
				batch.Events = append(batch.Events, &event.Event{
					Header: event.Header{Seq: seq, Conversation: conv, Run: run.ID, Author: "a", Time: time.Unix(seq, 0)}, Body: body,
				})
			}
			must(store.Commit(b.Context(), o.Lease, batch))
		}
		text := func(say string) []event.Block { return []event.Block{&event.Text{Text: strings.Repeat(say, times)}} }
		write("", &event.RunStarted{Turn: turn + 1, Session: 1}, &event.UserMessage{Content: text("What is there to see? ")})
		for range (events/turns - 3) / 2 {
			write("", &event.AssistantMessage{Content: text("There is a \"tower\" beside the river.\n"), Model: "m"}, &event.UserMessage{Content: text("そして次は。")})
		}
		write(event.RunCompleted, &event.RunEnded{Status: event.RunCompleted})
	}
}
