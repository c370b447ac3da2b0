//go:build unix

package nodes

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/native"
)

// stores are the names of a server's stores. arguments returns the flags for one, the same over restarts.
var stores = []string{"sqlite", "postgres"}

func arguments(t *testing.T, store string) (env, args []string) {
	t.Helper()
	args = []string{"--token-file", tokenFile(t)}
	if store == "postgres" {
		return []string{"BRAID_POSTGRES_URL=" + migrated(t, needed(t)).server}, args
	}
	return nil, append(args, "--data", t.TempDir())
}

// Conversations behave the same on both stores, also after a server was killed.
func TestAStory(t *testing.T) {
	t.Parallel()
	needed(t)
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			env, args := arguments(t, store)
			args = append(args, "--model", "demo:assistant?first_byte=20ms&rate=40")
			one := serve(t, env, args...)
			api, ctx := one.client(), t.Context()
			conv, err := api.Create(ctx, client.NewConversation{Metadata: map[string]string{"team": "blue"}})
			if err != nil || conv.Status != "idle" || conv.Metadata["team"] != "blue" {
				t.Fatalf("%+v, %v", conv, err)
			}
			first, err := api.Run(ctx, conv.ID, "What is 6 times 7?", client.RunOptions{Key: "k1", Executor: "ann"})
			if err != nil || first.Turn != 1 || !strings.Contains(first.Result, "42") {
				t.Fatalf("%+v, %v", first, err)
			}
			again, err := api.Run(ctx, conv.ID, "What is 6 times 7?", client.RunOptions{Key: "k1", Executor: "ann"})
			if err != nil || again.RunID != first.RunID {
				t.Errorf("the same key: %+v, %v", again, err)
			}
			if _, err := api.Run(ctx, conv.ID, "Something else", client.RunOptions{Key: "k1", Executor: "ann"}); code(err) != native.CodeIdempotencyMismatch {
				t.Errorf("the key for another request: %v", err)
			}
			// The server is killed while it streams, and the reader continues with another one.
			b := newBalancer(t, one)
			killed := false
			var last native.Frame
			for f, err := range clientOf(t, b.url).Stream(ctx, conv.ID, "What is 2+2?", client.RunOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				last = f
				if _, ok := f.(*native.TextDelta); ok && !killed {
					killed = true
					one.signal(syscall.SIGKILL)
					<-one.ended
					one = serve(t, env, args...)
					b.use(one)
				}
			}
			if r, ok := last.(*native.Result); !ok || !killed || r.Turn != 2 || !strings.Contains(r.Result, "4") {
				t.Fatalf("killed: %v, at the end %+v", killed, last)
			}
			api = one.client()
			// A reset begins a session; earlier messages can still be read.
			before, err := api.Get(ctx, conv.ID)
			if err != nil || before.SessionID != first.SessionID || before.Title == "" {
				t.Errorf("%+v, %v", before, err)
			}
			if c, err := api.Reset(ctx, conv.ID); err != nil || c.SessionID != "" {
				t.Errorf("%+v, %v", c, err)
			}
			third, err := api.Run(ctx, conv.ID, "What is 3+3?", client.RunOptions{})
			if err != nil || third.Turn != 3 || third.SessionID == first.SessionID || third.SessionID == "" {
				t.Errorf("%+v, %v", third, err)
			}
			var seq int64
			for e, err := range api.Events(ctx, conv.ID, 0) {
				if err != nil || e.Seq <= seq {
					t.Fatalf("%d behind %d, %v", e.Seq, seq, err)
				}
				seq = e.Seq
			}
			fork, err := api.Fork(ctx, conv.ID, 0)
			if err != nil || fork.ForkedFrom == nil || fork.ForkedFrom.Conversation != conv.ID {
				t.Errorf("%+v, %v", fork, err)
			}
			if r, err := api.Run(ctx, fork.ID, "What is 4+4?", client.RunOptions{}); err != nil || r.Turn != 1 || !strings.Contains(r.Result, "8") {
				t.Errorf("%+v, %v", r, err)
			}
			// The user is asked and answers.
			asked, err := api.Run(ctx, conv.ID, "Delete the notes.", client.RunOptions{Model: "demo:approval"})
			if err != nil || asked.Status != event.RunWaiting {
				t.Fatalf("%+v, %v", asked, err)
			}
			questions, err := api.Questions(ctx, conv.ID)
			if err != nil || len(questions) != 1 {
				t.Fatalf("%+v, %v", questions, err)
			}
			if err := api.Answer(ctx, conv.ID, questions[0].QuestionID, true); err != nil {
				t.Error(err)
			}
			if err := api.Answer(ctx, conv.ID, questions[0].QuestionID, false); err == nil {
				t.Error("another answer is taken after the first")
			}
			runs, err := api.Runs(ctx, conv.ID)
			if err != nil || len(runs) != 4 {
				t.Fatalf("%+v, %v", runs, err)
			}
			for f, err := range api.Attach(ctx, conv.ID, runs[3].ID, "", client.FollowOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				last = f
			}
			if r, ok := last.(*native.Result); !ok || r.Turn != 4 {
				t.Errorf("after the answer %+v", last)
			}
			for i, r := range runs {
				if r.Turn != i+1 {
					t.Errorf("turn %d stands at %d", r.Turn, i+1)
				}
			}
			var export bytes.Buffer
			if err := api.Export(ctx, conv.ID, &export); err != nil || !strings.Contains(export.String(), "6 times 7") {
				t.Errorf("%v", err)
			}
			if _, err := api.Update(ctx, conv.ID, client.Changes{Title: new("Sums"), Archived: new(true)}); err != nil {
				t.Error(err)
			}
			if _, err := api.Run(ctx, conv.ID, "hello", client.RunOptions{}); code(err) != native.CodeConversationArchived {
				t.Errorf("a run in the archive: %v", err)
			}
			if err := api.Delete(ctx, conv.ID); err != nil {
				t.Error(err)
			}
			if _, err := api.Get(ctx, conv.ID); !errors.Is(err, event.ErrNotFound) {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
}

// The operator's calls on tenants behave the same on both stores.
func TestTenantsInAStory(t *testing.T) {
	t.Parallel()
	needed(t)
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			env, args := arguments(t, store)
			one := serve(t, env, args...)
			admin, ctx := one.client().Admin(), t.Context()
			if _, err := admin.CreateModel(ctx, "", client.NewModel{
				ID: "small", Provider: "demo", Name: "assistant", Aliases: []string{"haiku"}, Prices: client.Prices{Input: "1", Output: "2"},
			}); err != nil {
				t.Fatal(err)
			}
			people := map[string]*client.Client{}
			keys := map[string]client.APIKey{}
			for _, id := range []string{"acme", "zeta"} {
				if _, err := admin.CreateTenant(ctx, id, client.TenantSpec{DefaultModel: "haiku"}); err != nil {
					t.Fatal(err)
				}
				if _, err := admin.CreateAgent(ctx, id, "helper", client.AgentSpec{Instructions: "You are of " + id}); err != nil {
					t.Fatal(err)
				}
				if _, err := admin.UpdateTenant(ctx, id, 0, client.Patch{"default_agent": "helper"}); err != nil {
					t.Fatal(err)
				}
				key, token, err := admin.CreateKey(ctx, id, client.NewKey{Scopes: []string{"read", "write", "admin:read"}})
				if err != nil {
					t.Fatal(err)
				}
				if people[id], err = client.New(one.url, secret.New(token.Reveal()), client.Options{}); err != nil {
					t.Fatal(err)
				}
				keys[id] = key
			}
			convs := map[string]string{}
			for id, api := range people {
				c, err := api.Create(ctx, client.NewConversation{})
				if err != nil {
					t.Fatal(err)
				}
				convs[id] = c.ID
				r, err := api.Run(ctx, c.ID, "What is 6 times 7?", client.RunOptions{Executor: "batch"})
				if err != nil || !strings.Contains(r.Result, "42") {
					t.Fatalf("%+v, %v", r, err)
				}
				var sums []client.UsageSum
				for s, err := range api.Admin().UsageSums(ctx, id, "model", client.LogOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					sums = append(sums, s)
				}
				if len(sums) != 1 || sums[0].CostUSD == nil || sums[0].Calls < 2 {
					t.Errorf("what %s has used: %+v", id, sums)
				}
				tools, messages := 0, 0
				for use, err := range api.Admin().Tools(ctx, id, client.LogOptions{}) {
					if err != nil || use.Status != "done" {
						t.Errorf("%+v, %v", use, err)
					}
					tools++
				}
				for _, err := range api.Admin().Messages(ctx, id, c.ID, client.LogOptions{}) {
					if err != nil {
						t.Error(err)
					}
					messages++
				}
				if tools != 1 || messages < 4 {
					t.Errorf("%s: %d tool calls and %d messages", id, tools, messages)
				}
			}
			if _, err := people["acme"].Get(ctx, convs["zeta"]); code(err) != native.CodeConversationNotFound {
				t.Errorf("another tenant's conversation: %v", err)
			}
			for s, err := range people["acme"].Admin().UsageSums(ctx, "zeta", "model", client.LogOptions{}) {
				if err == nil {
					t.Errorf("another tenant's usage: %+v", s)
				}
			}
			if _, err := admin.RevokeKey(ctx, "zeta", keys["zeta"].ID); err != nil {
				t.Error(err)
			}
			if _, err := people["zeta"].Get(ctx, convs["zeta"]); !errors.Is(err, event.ErrUnauthenticated) {
				t.Errorf("a key that was revoked: %v", err)
			}
			tenant, err := admin.Tenant(ctx, "acme")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := admin.UpdateTenant(ctx, "acme", tenant.Revision, client.Patch{"status": "inactive"}); err != nil {
				t.Error(err)
			}
			if _, err := people["acme"].Get(ctx, convs["acme"]); code(err) != native.CodeTenantInactive {
				t.Errorf("a tenant that is not active: %v", err)
			}
			if v, err := admin.VerifyAudit(ctx, "acme"); err != nil || v.Entries < 4 || v.Broken != 0 {
				t.Errorf("%+v, %v", v, err)
			}
			if gone, err := admin.EraseTenant(ctx, "acme"); err != nil || gone.Conversations != 1 || gone.Agents != 1 {
				t.Errorf("%+v, %v", gone, err)
			}
			if _, err := admin.Tenant(ctx, "acme"); code(err) != native.CodeTenantNotFound {
				t.Errorf("a tenant that was erased: %v", err)
			}
		})
	}
}

// code returns the server's code of an error.
func code(err error) string {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.Code
	}
	return ""
}
