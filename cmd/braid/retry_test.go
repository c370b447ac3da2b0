package main

import (
	"context"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// A failed run of a chat continues with /retry once another model works. The conversation is kept.
func TestRetryInAChat(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(folder, name+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "demo:" + path
	}
	bad := script("bad", "rules:\n  - name: bad\n    reply: never\n    fault: {kind: model_auth}\n")
	good := script("good", "rules:\n  - name: good\n    when: {user: [Ann]}\n    reply: Hello Ann.\n  - name: other\n    reply: Who?\n")
	p, out, errs := testProcess(t, nil, "chat", "--model", bad)
	p.openRef = nil // scripts are in files
	p.Stdin = strings.NewReader("My name is Ann.\n/retry\n/model " + good + "\n/retry\n/retry\n")
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("%d, %s", code, errs)
	}
	if n := strings.Count(errs.String(), "refused the credential"); n != 2 || strings.Count(out.String(), "Hello Ann.") != 1 {
		t.Errorf("it failed %d times, and says\n%s\n%s", n, out, errs)
	}
	if !strings.Contains(errs.String(), "no open run") {
		t.Errorf("what was answered is continued:\n%s", errs)
	}
}

// unready is a model without a key at first.
type unready struct{ fails *atomic.Int32 }

func (unready) Info() model.Info { return model.Info{Name: "test:unready"} }

func (m unready) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if m.fails.Add(-1) >= 0 {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModelAuth, Message: "the key was refused"})
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "Hello Ann."}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// /retry works with a server too, also in a later chat of the conversation.
func TestRetryInAChatWithAServer(t *testing.T) {
	t.Parallel()
	var fails atomic.Int32
	fails.Store(2)
	svc, err := service.New(service.Options{
		Journal: &journal.Memory{}, Rows: &service.MemoryRows{},
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("assistant", unready{&fails}), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	handler, err := server.New(server.Options{Service: svc, Token: secret.New("a-token"), Tenant: conf.Tenant}, nil)
	if err != nil {
		t.Fatal(err)
	}
	far := httptest.NewServer(handler)
	t.Cleanup(func() {
		_ = svc.Drain(context.Background())
		far.Close()
	})
	chat := func(lines string, args ...string) (out, errs string) {
		p, stdout, stderr := testProcess(t, map[string]string{"BRAID_TOKEN": "a-token"}, append([]string{"chat", "--server", far.URL}, args...)...)
		p.Stdin = strings.NewReader(lines)
		if code := p.run(t.Context()); code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return stdout.String(), stderr.String()
	}
	out, errs := chat("/retry\nMy name is Ann.\n/retry\n")
	if n := strings.Count(errs, "the key was refused"); n != 2 || !strings.Contains(errs, "there is no run to continue") {
		t.Errorf("it failed %d times, and says\n%s\n%s", n, out, errs)
	}
	out, errs = chat("/retry\n/retry\n", "--continue")
	if strings.Count(out, "Hello Ann.") != 1 || !strings.Contains(errs, "cannot be continued") {
		t.Errorf("later it says\n%s\n%s", out, errs)
	}
}
