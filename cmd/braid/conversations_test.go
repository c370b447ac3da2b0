package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// kept opens the data folder of a test's process, for steps that no command has.
func kept(t *testing.T, p *process) *sqlite.Store {
	t.Helper()
	dir, err := p.DataDir()
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(dir, sqlite.Options{Owner: "another program"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// says returns an input of one message.
func says(words string) []event.Message {
	return []event.Message{{Role: event.RoleUser, Content: text(words)}}
}

// again returns a process with the same environment, for another command.
func again(p *process, args ...string) (*process, *strings.Builder, *strings.Builder) {
	var out, errs strings.Builder
	next := &process{
		System: conf.System{
			Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: p.Getenv, Environ: p.Environ, Now: p.Now,
			ConfigDir: p.ConfigDir, DataDir: p.DataDir,
		}, freeSpace: p.freeSpace, openRef: p.openRef, localServers: p.localServers,
	}
	return next, &out, &errs
}

func TestConversationsAreListed(t *testing.T) {
	t.Parallel()
	p, out, errs := testProcess(t, nil, "conversations")
	if code := p.run(t.Context()); code != 0 || out.Len() > 0 || !strings.Contains(errs.String(), "braid chat begins one") {
		t.Errorf("an empty list: %d, %q, %q", code, out, errs)
	}
	for _, say := range []string{"What is 6 times 7?", "first\n\tline \x1b[31m red", "hi"} {
		if p, _, errs := again(p, "run", "-q", say); p.run(t.Context()) != 0 {
			t.Fatal(errs)
		}
	}
	s := kept(t, p)
	if _, err := s.Admit(t.Context(), journal.Run{ID: "r", Tenant: conf.Tenant, Conversation: "waits-in-line", Agent: "assistant", Input: says("not begun")}); err != nil {
		t.Fatal(err)
	}
	list := func(args ...string) []string {
		t.Helper()
		p, out, errs := again(p, append([]string{"conversations"}, args...)...)
		if code := p.run(t.Context()); code != 0 || errs.Len() > 0 {
			t.Fatalf("%d, %s", code, errs)
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	rows := list()
	if len(rows) != 4 {
		t.Fatalf("%d rows: %q", len(rows), rows)
	}
	var texts []string
	for _, row := range rows {
		cells := strings.Split(row, "\t")
		if len(cells) != 5 {
			t.Fatalf("%q", row)
		}
		if _, err := time.Parse(time.RFC3339, cells[1]); err != nil {
			t.Error(err)
		}
		texts = append(texts, cells[2]+" "+cells[3]+" "+cells[4])
	}
	want := []string{"1 queued not begun", "1 completed hi", "1 completed first line ␛[31m red", "1 completed What is 6 times 7?"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	if rows = list("--limit", "2"); len(rows) != 2 || !strings.Contains(rows[1], "hi") {
		t.Errorf("--limit 2: %q", rows)
	}
	if rows = list("-n", "0", "--json"); len(rows) != 4 {
		t.Errorf("--limit 0: %q", rows)
	}
	var c conversation
	if err := json.Unmarshal([]byte(rows[0]), &c); err != nil || c.ID != "waits-in-line" || c.Status != "queued" || c.Open != 1 || c.Text != "not begun" {
		t.Errorf("%+v, %v", c, err)
	}

	// No process works on the queued run, so it does not begin by itself.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if rows = list("-n", "1"); !strings.Contains(rows[0], "\tinterrupted\tnot begun") {
		t.Errorf("%q", rows)
	}
	q, _, errs := again(p, "conversations", "--limit", "few")
	if code := q.run(t.Context()); code != 2 || !strings.Contains(errs.String(), `--limit: "few" is no count`) {
		t.Errorf("%d, %s", code, errs)
	}
}

func TestConversationsAsATable(t *testing.T) {
	t.Parallel()
	rows := []conversation{
		{ID: "aaaaaaaabbbb", Turns: 1, Status: "completed", Text: "3と5を足して、それから" + strings.Repeat("長い", 60)},
		{ID: "aaaaaaaabcbb", Turns: 1200, Status: statusInterrupted, Text: "hello"},
		{ID: "zz\x1b[2J", Turns: 2, Status: "failed", Damaged: true},
		{ID: strings.Repeat("very-long-", 12), Turns: 2, Status: "waiting", Text: "x"},
	}
	for i := range rows {
		rows[i].Updated = noon
	}
	for _, width := range []int{10, 30, 60, 80, 200} {
		var b strings.Builder
		if err := rowsAsTable(term.NewOutput(&b), term.Screen{Terminal: true, Width: width, Colour: true}, rows); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != 5 {
			t.Fatalf("%d lines at %d columns", len(lines), width)
		}
		for _, line := range lines {
			if w := term.Width(uncoloured(line)); w > width {
				t.Errorf("%d columns of %d: %q", w, width, line)
			}
		}
		if strings.Contains(b.String(), "\x1b[2J") {
			t.Error("an ID acts on the terminal")
		}
		if width == 80 && (!strings.HasPrefix(lines[1], "aaaaaaaabb ") || !strings.HasPrefix(lines[2], "aaaaaaaabc ")) {
			t.Errorf("the IDs cannot be told apart, or are longer than need be: %q", lines)
		}
	}
}

// An unreadable conversation affects only its own row.
func TestADamagedConversationIsListed(t *testing.T) {
	t.Parallel()
	p, _, errs := testProcess(t, nil, "run", "-q", "hi")
	if code := p.run(t.Context()); code != 0 {
		t.Fatal(errs)
	}
	dir, _ := p.DataDir()
	a, err := sqlite.View(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	found, err := a.Conversations(t.Context(), conf.Tenant, "", 0)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	row, err := rowOf(t.Context(), damagedArchive{a}, &found[0], false)
	if err != nil || !row.Damaged || row.Text != "" {
		t.Errorf("%+v, %v", row, err)
	}
	var b strings.Builder
	if err := rowsAsTabs(term.NewOutput(&b), []conversation{row}); err != nil || !strings.HasSuffix(b.String(), "\t"+damagedWords+"\n") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestDataDir(t *testing.T) {
	t.Parallel()
	home := func() (string, error) { return filepath.FromSlash("/home/ann"), nil }
	none := func() (string, error) { return "", os.ErrNotExist }
	for _, c := range []struct {
		platform string
		env      map[string]string
		home     func() (string, error)
		want     string
	}{
		{"linux", nil, home, "/home/ann/.local/share/braid"},
		{"linux", map[string]string{"XDG_DATA_HOME": "/data"}, home, "/data/braid"},
		{"linux", map[string]string{"XDG_DATA_HOME": "data"}, home, "/home/ann/.local/share/braid"},
		{"linux", nil, none, ""},
		{"freebsd", nil, home, "/home/ann/.local/share/braid"},
		{"darwin", map[string]string{"XDG_DATA_HOME": "/data"}, home, "/home/ann/Library/Application Support/braid"},
		{"darwin", nil, none, ""},
		{"windows", map[string]string{"LocalAppData": "/appdata"}, home, "/appdata/braid"},
		{"windows", nil, home, ""},
	} {
		got, err := conf.DataDir(c.platform, func(name string) string { return c.env[name] }, c.home)
		if got != filepath.FromSlash(c.want) || (err == nil) != (c.want != "") {
			t.Errorf("%s, %v: %q, %v; want %q", c.platform, c.env, got, err, c.want)
		}
	}
}
