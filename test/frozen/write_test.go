//go:build unix

package frozen

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

var write = flag.String("write", "", "write a frozen journal under this name, such as v0.2")

// A process that is to be killed is this test's own program with these in its
// environment.
const (
	lifeEnv   = "BRAID_FROZEN_LIFE"
	folderEnv = "BRAID_FROZEN_FOLDER"
)

const (
	tenant = "acme"
	user   = "ann"
)

func TestMain(m *testing.M) {
	if life := os.Getenv(lifeEnv); life != "" {
		if err := live(context.Background(), os.Getenv(folderEnv), life == "2"); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("there")
		select {} // until somebody kills it
	}
	goleak.VerifyTestMain(m)
}

// live brings every run into its state. In a second life only those that need one
// are driven.
func live(ctx context.Context, folder string, second bool) error {
	store, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		return err
	}
	o := newOutside(true)
	a := o.agent(agentName)
	for i := range runs {
		r := &runs[i]
		if r.plan == "" || second && !r.secondLife {
			continue
		}
		if err := bring(ctx, store, o, a, r, second); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

func bring(ctx context.Context, store *sqlite.Store, o *outside, a *braid.Agent, r *frozenRun, second bool) error {
	holds, tools := strings.Count(r.plan, "!")+strings.Count(r.plan, "?"), 0
	if r.secondLife {
		holds = 1
	}
	if !second {
		_, err := store.Admit(ctx, journal.Run{
			ID: r.name, Conversation: r.talk(), Tenant: tenant, User: user, Agent: agentName,
			Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: r.plan}}}},
		})
		if err != nil || r.asleep {
			return err
		}
	}
	drive := func() error {
		_, err := a.Drive(ctx, braid.Open(store, r.talk()), r.name, braid.Work{})
		return err
	}
	if holds == 0 {
		if err := drive(); err != nil {
			return err
		}
	} else {
		failed := make(chan error, 1)
		go func() { failed <- drive() }()
		for range holds {
			select {
			case <-o.held:
			case err := <-failed:
				return errors.Join(errors.New("it ended"), err)
			}
		}
		// What is not held ends, and is written, once the model has asked for it.
		if !strings.HasPrefix(r.plan, "do think!") {
			tools = strings.Count(r.plan, ",") + 1 - holds
		}
	}
	events, err := store.Read(ctx, r.talk(), 0, 0)
	for ended := -1; err == nil && tools > 0 && ended < tools; events, err = store.Read(ctx, r.talk(), 0, 0) {
		ended = 0
		for _, e := range events {
			if b, ok := e.Body.(*event.StepEnded); ok && b.Step == event.StepTool {
				ended++
			}
		}
	}
	if err != nil {
		return err
	}
	for _, m := range r.mail {
		m.Run = r.name
		for _, e := range events {
			if asked, ok := e.Body.(*event.Asked); ok && m.Kind == journal.MailAnswer {
				m.Token = asked.Token
			}
		}
		if err := store.Post(ctx, m); err != nil {
			return err
		}
	}
	if r.again {
		return drive()
	}
	return nil
}

// A journal is written by processes that are killed, as a crash would leave it.
//
//nolint:paralleltest // it writes what the others read
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	for _, life := range []string{"1", "2"} {
		kill(t, folder, life)
	}
	files := []string{"journal.db", "journal.db-wal"}
	var packed bytes.Buffer
	pack(t, &packed, folder, files...)
	// What its own version reads in it is kept beside it. To read it changes it, so
	// that is done with a copy.
	copied := t.TempDir()
	unpack(t, bytes.NewReader(packed.Bytes()), copied)
	wanted := make([]string, len(runs))
	for i := range runs {
		wanted[i] = runs[i].name
	}
	store := open(t, copied)
	asFrozen(t, store, wanted)
	if err := os.WriteFile(filepath.Join(folder, eventsName), eventsOf(t, store, wanted), 0o600); err != nil {
		t.Fatal(err)
	}
	packed.Reset()
	pack(t, &packed, folder, append(files, eventsName)...)
	if *write == "" {
		return
	}
	path := filepath.Join("testdata", *write+".tar.gz")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("what is frozen is not written again: %v", err)
	}
	if _, err := f.Write(packed.Bytes()); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("wrote %s, %d bytes", path, packed.Len())
}

// kill runs a life until it has everything where it is to be, and ends it.
func kill(t *testing.T, folder, life string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), lifeEnv+"="+life, folderEnv+"="+folder)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 6)
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "there\n" {
		rest, _ := io.ReadAll(out)
		t.Errorf("life %s says %q %v", life, string(said)+string(rest), err)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
}

// eventsName is the file with all events as their own version read them, as JSON lines.
const eventsName = "events.jsonl"

func eventsOf(t *testing.T, store *sqlite.Store, names []string) (lines []byte) {
	t.Helper()
	for _, r := range named(t, names) {
		if r.behind != "" {
			continue
		}
		events, err := store.Read(t.Context(), r.talk(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if lines, err = event.AppendJSON(lines, e); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, '\n')
		}
	}
	return lines
}

// pack puts files of a data folder into one compressed file: the database and what is
// still beside it. The lock and the shared memory die with the process.
func pack(t *testing.T, to io.Writer, folder string, files ...string) {
	t.Helper()
	zip, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(zip)
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, from io.Reader, folder string) {
	t.Helper()
	zip, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(zip); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(head.Name)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
