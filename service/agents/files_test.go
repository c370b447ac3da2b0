package agents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// filesRules are a model that writes a file, or lists the files, as the user says.
const filesRules = `rules:
  - when: {after: list_files}
    reply: "files {{.Result}} end"
  - when: {after: write_file}
    reply: done
  - when: {user: write}
    reply: [{call: write_file, args: {name: canary.txt, content: "of the first customer"}}]
  - reply: [{call: list_files, args: {}}]
`

// node is one of several servers over the same journal, rows and directory, with a scratch folder of its own.
type node struct {
	*service.Service

	t       *testing.T
	scratch string
	agents  *Factory
}

// run runs a text in the conversation of that name, which it makes if there is none.
func (n *node) run(tenant, name, text string) (conversation, log string) {
	n.t.Helper()
	p := service.Principal{Tenant: tenant}
	conv, err := n.OpenConversation(n.t.Context(), p, name, service.NewConversation{})
	if err != nil {
		n.t.Fatal(err)
	}
	started, err := n.StartRun(n.t.Context(), p, conv.ID, service.RunRequest{Input: text})
	if err != nil {
		n.t.Fatal(err)
	}
	f, err := n.Follow(n.t.Context(), p, conv.ID, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	for {
		var items [1]live.Item
		if _, err := f.Read(n.t.Context(), items[:]); err != nil {
			n.t.Fatal(err)
		}
		item := items[0]
		if item.Event == nil || item.Event.Run != started.Run.ID {
			continue
		}
		switch b := item.Event.Body.(type) {
		case *event.StepEnded:
			if b.Result != nil {
				log += event.TextOf(b.Result.Content)
			}
		case *event.RunEnded:
			if b.Status != event.RunCompleted {
				n.t.Fatalf("it ended as %+v: %v", b, b.Err)
			}
			return conv.ID, log
		}
	}
}

// A conversation that is made under the id of a deleted one finds none of its files: not on the server that
// deleted it, and not on another one that still has them.
func TestFilesOfARecreatedConversation(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "files.yaml")
	if err := os.WriteFile(script, []byte(filesRules), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	people := directory.New(directory.Options{Database: db})
	defer people.Close()
	by := directory.By{Operator: true}
	tenants := func() {
		if _, err := people.CreateTenant(t.Context(), by, directory.Tenant{ID: "acme"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	store, rows := &journal.Memory{}, service.NewRows(db)
	start := func() *node {
		n := &node{t: t, scratch: t.TempDir()}
		model, err := models.Open("demo:" + script)
		if err != nil {
			t.Fatal(err)
		}
		if n.agents, err = New(t.Context(), Options{Model: model, Files: FilesIn(n.scratch)}); err != nil {
			t.Fatal(err)
		}
		n.Service, err = service.New(service.Options{
			Journal: store, Rows: rows, Agent: n.agents.Agent, Directory: people, Workspace: n.agents.Workspace,
			Forget: n.agents.Forget, ForgetTenant: n.agents.ForgetTenant,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Drain(context.Background()) })
		return n
	}
	tenants()
	a, b := start(), start()
	has := func(dir string) (files int) {
		t.Helper()
		err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
			if err == nil && d.Name() == "canary.txt" {
				files++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	writes := func(n *node, name string) (id string) {
		t.Helper()
		id, _ = n.run("acme", name, "write")
		if _, log := n.run("acme", name, "look"); !strings.Contains(log, "canary.txt") {
			t.Fatalf("it does not find its own file: %q", log)
		}
		return id
	}
	finds := func(n *node, name, why string) {
		t.Helper()
		if _, log := n.run("acme", name, "look"); strings.Contains(log, "canary.txt") {
			t.Errorf("%s: it finds another conversation's file: %q", why, log)
		}
	}
	// Deleted here.
	p := service.Principal{Tenant: "acme"}
	if err := a.DeleteConversation(t.Context(), p, writes(a, "one")); err != nil {
		t.Fatal(err)
	}
	if n := has(a.scratch); n != 0 {
		t.Errorf("%d files are left where the conversation was deleted", n)
	}
	finds(a, "one", "deleted here")
	// Deleted at another server.
	if err := a.DeleteConversation(t.Context(), p, writes(b, "two")); err != nil {
		t.Fatal(err)
	}
	finds(b, "two", "deleted at another server")
	// With its tenant, at another server.
	writes(b, "three")
	if _, err := people.UpdateTenant(t.Context(), by, "acme", 0, func(old *directory.Tenant) error { old.Status = directory.Inactive; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := a.EraseTenant(t.Context(), by, "acme"); err != nil {
		t.Fatal(err)
	}
	tenants()
	finds(b, "three", "erased with its tenant")
	// The other server removes what is left.
	if n := has(b.scratch); n != 2 {
		t.Fatalf("%d files are left at the other server, want 2", n)
	}
	if next, err := b.agents.SweepFiles(t.Context(), "", b.Lives); err != nil || next != "" {
		t.Fatal(next, err)
	}
	if n := has(b.scratch); n != 0 {
		t.Errorf("%d files are left at the other server after it has looked", n)
	}
	if err := os.MkdirAll(filepath.Join(b.scratch, "somebody's"), 0o700); err != nil {
		t.Fatal(err)
	}
	writes(b, "four")
	if _, err := b.agents.SweepFiles(t.Context(), "", b.Lives); err != nil || has(b.scratch) != 1 {
		t.Errorf("the files of a conversation that is there were removed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.scratch, "somebody's")); err != nil {
		t.Error(err)
	}
}

// Files that an earlier version kept under a conversation's id alone are its own if they are not older than it.
func TestFilesOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	made := time.Now().UTC().Truncate(time.Microsecond)
	key := service.ConversationKey{Tenant: "acme", ID: "conv_abc", Life: strconv.FormatInt(made.UnixMicro(), 36)}
	for _, c := range []struct {
		why  string
		at   time.Time
		want bool
	}{
		{"written later", made.Add(time.Minute), true},
		{"written before there was the conversation", made.Add(-time.Minute), false},
	} {
		s := FilesIn(t.TempDir())
		old := filepath.Join(s.dir, key.ID, "notes.txt")
		if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o700), os.WriteFile(old, []byte("x"), 0o600), os.Chtimes(old, c.at, c.at)); err != nil {
			t.Fatal(err)
		}
		dir, ok := s.of(key)
		if !ok {
			t.Fatal("no folder")
		}
		s.adopt(key, dir)
		if _, err := os.Stat(filepath.Join(dir, "notes.txt")); (err == nil) != c.want {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}
