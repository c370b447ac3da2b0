package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// damagedArchive is a store whose events cannot be read.
type damagedArchive struct{ archive }

func (damagedArchive) Read(context.Context, string, int64, int) ([]*event.Event, error) {
	return nil, &event.Error{Kind: event.ErrInternal, Message: "the journal is damaged"}
}

// lister lists conversations by their IDs, the newest first.
type lister []string

func (l lister) Conversations(_ context.Context, _, _ string, limit int) ([]journal.Summary, error) {
	var found []journal.Summary
	for _, id := range l {
		if limit <= 0 || len(found) < limit {
			found = append(found, journal.Summary{ID: id})
		}
	}
	return found, nil
}

func (lister) Runs(context.Context, string, int, int) ([]journal.Run, error) { return nil, nil }

func TestFindConversation(t *testing.T) {
	t.Parallel()
	all := lister{"k7f2m9qd", "k7f2aaaa", "zebra", "zebra-2"}
	for _, c := range []struct {
		word, want string
		kind       event.ErrorKind
		hint       string
	}{
		{"", "k7f2m9qd", "", ""},
		{"latest", "k7f2m9qd", "", ""},
		{"k7f2m", "k7f2m9qd", "", ""},
		{"k7f2aaaa", "k7f2aaaa", "", ""},
		{"zebra", "zebra", "", ""}, // the whole ID, although another one begins with it
		{"z", "", event.ErrInvalid, "zebra, zebra-2"},
		{"k7f", "", event.ErrInvalid, "write more of it"},
		{"k7f3m9", "", event.ErrNotFound, "did you mean k7f2m9qd?"},
		{"nothing", "", event.ErrNotFound, "braid conversations lists them"},
		{"\x1b[2J", "", event.ErrNotFound, "braid conversations"},
	} {
		got, err := findConversation(t.Context(), all, c.word)
		switch {
		case c.kind != "":
			_, hint := term.Describe(err)
			if !errors.Is(err, c.kind) || !strings.Contains(hint, c.hint) {
				t.Errorf("%q gives %v", c.word, err)
			}
		case err != nil || got.ID != c.want:
			t.Errorf("%q finds %+v, %v", c.word, got, err)
		}
	}
	for _, word := range []string{"", "x"} {
		if _, err := findConversation(t.Context(), lister{}, word); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("in an empty list: %v", err)
		}
	}
}

// The word after --continue may be an ID or the beginning of the prompt.
func TestWhatContinueIsAbout(t *testing.T) {
	t.Parallel()
	all := lister{"newest99", "k7f2m9qd", "summary1", "summary2"}
	for _, c := range []struct {
		args []string
		want string
		kind event.ErrorKind
		left []string
	}{
		{[]string{"--continue"}, "newest99", "", nil},
		{[]string{"--continue", "What is it?"}, "newest99", "", []string{"What is it?"}},
		{[]string{"hello", "--continue"}, "newest99", "", []string{"hello"}},
		{[]string{"--continue", "k7f2m9", "And now?"}, "k7f2m9qd", "", []string{"And now?"}},
		{[]string{"-c", "k7f2m9qd"}, "k7f2m9qd", "", nil},
		{[]string{"one", "-c", "k7f2m9qd", "two"}, "k7f2m9qd", "", []string{"one", "two"}},
		{[]string{"-c", "k7f2"}, "newest99", "", []string{"k7f2"}}, // too short for an ID
		{[]string{"--continue=k7f2"}, "k7f2m9qd", "", nil},
		{[]string{"-c=k7f2", "k7f2m9qd"}, "k7f2m9qd", "", []string{"k7f2m9qd"}},
		{[]string{"-c", "-q", "k7f2m9qd"}, "newest99", "", []string{"k7f2m9qd"}},
		{[]string{"-c", "-", "-q"}, "newest99", "", []string{"-"}},
		{[]string{"-c", "latest", "so"}, "newest99", "", []string{"so"}},
		{[]string{"-c", "summary"}, "", event.ErrInvalid, nil},
		{[]string{"--continue=nowhere"}, "", event.ErrNotFound, nil},
	} {
		cmd := runCommand(&process{})
		in, err := conf.ParseFlags(&cmd, c.args)
		if err != nil {
			t.Fatal(err)
		}
		found, err := findPlace(t.Context(), in, all, in.Flags["continue"])
		switch {
		case c.kind != "":
			if !errors.Is(err, c.kind) {
				t.Errorf("%q gives %v", c.args, err)
			}
		case err != nil || found.ID != c.want || !slices.Equal(in.Args, c.left):
			t.Errorf("%q finds %+v, %v and leaves %q", c.args, found, err, in.Args)
		}
	}
}

func TestIDsAreShortAndTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := newConversationID()
		if seen[id] || len(id) != 16 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
			t.Fatal(id)
		}
		seen[id] = true
	}
}

// The folder of conversations, and the errors if there is none.
func TestPlaces(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "journal.db"), []byte(strings.Repeat("this is no database ", 300)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		home error
		code int
		kept bool
		// errs is a part of the errors.
		errs string
	}{
		{name: "kept", args: []string{"run", "--json", "hi"}, kept: true},
		{name: "not wanted", args: []string{"run", "--json", "--ephemeral", "hi"}},
		{name: "both", args: []string{"run", "--json", "--ephemeral", "--continue", "hi"}, code: 2, errs: "leave one of them out; --ephemeral says"},
		{name: "nothing to go on with", args: []string{"run", "--continue", "hi"}, code: 12, errs: "no conversation is kept yet"},
		{name: "nothing to go on with in a chat", args: []string{"chat", "-c"}, code: 12, errs: "no conversation is kept yet"},
		{name: "no home", args: []string{"run", "--json", "hi"}, home: os.ErrNotExist, errs: "there is no folder for your data, so this conversation is kept in memory only"},
		{name: "no home, and to go on", args: []string{"run", "-c", "hi"}, home: os.ErrNotExist, code: 11, errs: "set HOME, or name a folder with --data"},
		{name: "a file", args: []string{"run", "--data", file, "hi"}, code: 2, errs: "is a file, or inside one"},
		{name: "in a file", args: []string{"run", "--data", filepath.Join(file, "in"), "hi"}, code: 2, errs: "is a file, or inside one"},
		{name: "no journal", args: []string{"run", "--data", foreign, "hi"}, code: 2, errs: "is not a journal\n  next: choose another folder"},
		{name: "no journal to look into", args: []string{"conversations", "--data", foreign}, code: 2, errs: "is not a journal"},
		{name: "nothing to show", args: []string{"show"}, code: 12, errs: "no conversation is kept yet"},
		{name: "a file to look into", args: []string{"show", "--data", file}, code: 2, errs: "next: "},
		{name: "two to show", args: []string{"show", "a", "b"}, code: 2, errs: "takes one ID"},
		{name: "two to chat with", args: []string{"chat", "-c", "a", "b"}, code: 2, errs: "takes no prompt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, out, errs := testProcess(t, nil, c.args...)
			if c.home != nil {
				p.DataDir = func() (string, error) { return "", c.home }
			}
			if code := p.run(t.Context()); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, errs)
			}
			if !strings.Contains(errs.String(), c.errs) {
				t.Errorf("no %q in %s", c.errs, errs)
			}
			if c.code == 0 && !strings.Contains(out.String(), `"kept":`+strconv.FormatBool(c.kept)) {
				t.Errorf("kept is not %t: %s", c.kept, out)
			}
			for _, never := range []string{"SQL", "journal open", "goroutine", "no such file or directory"} {
				if strings.Contains(errs.String(), never) {
					t.Errorf("%q in %s", never, errs)
				}
			}
		})
	}
}

// A configured folder must work; the system's default need not.
func TestAFolderThatNobodyMayWrite(t *testing.T) {
	t.Parallel()
	const nobodys = "/sys/braid-data"
	if os.Mkdir(nobodys, 0o700) == nil || !errors.Is(storeError(openedFolder(nobodys)), event.ErrPermission) {
		_ = os.Remove(nobodys)
		t.Skip("there is no folder that nobody may write")
	}
	p, out, errs := testProcess(t, nil, "run", "-q", "What is 6 times 7?")
	p.DataDir = func() (string, error) { return nobodys, nil }
	if code := p.run(t.Context()); code != 0 || !strings.Contains(out.String(), "42") || !strings.Contains(errs.String(), "in memory only") {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	p, _, errs = testProcess(t, nil, "run", "-q", "--data", nobodys, "What is 6 times 7?")
	if code := p.run(t.Context()); code != 11 || !strings.Contains(errs.String(), "give yourself the right") {
		t.Errorf("%d, %s", code, errs)
	}
}

func openedFolder(dir string) error {
	s, err := sqlite.Open(dir, sqlite.Options{})
	if err == nil {
		err = s.Close()
	}
	return err
}

// A single run works although another process uses the folder; what continues a conversation does not.
func TestAFolderInUse(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil)
	s := kept(t, p)
	me := "process (" + strconv.Itoa(os.Getpid()) + ")"
	q, out, errs := again(p, "run", "-q", "What is 6 times 7?")
	if code := q.run(t.Context()); code != 0 || !strings.Contains(out.String(), "42") || !strings.Contains(errs.String(), me) ||
		!strings.Contains(errs.String(), "in memory only") {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	for _, args := range [][]string{{"run", "--continue", "hi"}, {"chat", "--continue"}} {
		q, _, errs := again(p, args...)
		if code := q.run(t.Context()); code != event.ErrConflict.Info().Exit || !strings.Contains(errs.String(), me) || !strings.Contains(errs.String(), "next: ") {
			t.Errorf("%q: %d, %s", args, code, errs)
		}
	}
	if found, err := s.Conversations(t.Context(), conf.Tenant, "", 0); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}
