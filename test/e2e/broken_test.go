package e2e

import (
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"
)

// spoil changes a journal by hand, as somebody with a SQLite tool would.
func (p *person) spoil(statements ...string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.data, "journal.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(p.t.Context(), s); err != nil {
			p.t.Fatal(err)
		}
	}
}

// withTalk is a person who has said something.
func withTalk(t *testing.T) *person {
	t.Helper()
	p := newPerson(t)
	p.says("", "run", "-q", "What is 6 times 7?").wants(t, 0, "42", "")
	return p
}

// Whatever is wrong with the data folder is one sentence, what to do next, and the exit
// code of its kind; for every command that needs it, and never more than that.
func TestBrokenData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(*testing.T, *person)
		// run, list and show are the exit codes of braid run --continue, conversations and show.
		run, list, show int
		errs            string
	}{
		{
			"of another program", func(_ *testing.T, p *person) {
				p.spoil("PRAGMA application_id = 7")
			}, 2, 2, 2, "belongs to another program",
		},
		{
			"newer", func(_ *testing.T, p *person) { p.spoil("PRAGMA user_version = 99") },
			32, 32, 32, "was written by a newer version of Braid",
		},
		{
			"no database", func(t *testing.T, p *person) {
				write(t, filepath.Join(p.data, "journal.db"), strings.Repeat("this is no database\n", 1000))
			}, 2, 2, 2, "is not a journal",
		},
		{
			"truncated", func(t *testing.T, p *person) {
				p.spoil("PRAGMA journal_mode = DELETE")
				if err := os.Truncate(filepath.Join(p.data, "journal.db"), 5000); err != nil {
					t.Fatal(err)
				}
			}, 1, 1, 1, "damaged",
		},
		{
			"a damaged row", func(_ *testing.T, p *person) { p.spoil("UPDATE log SET events = x'00ff00ff'") },
			1, 0, 1, "cannot be read",
		},
		{
			"events that are gone", func(_ *testing.T, p *person) { p.spoil("DELETE FROM log") },
			0, 0, 1, "log is missing",
		},
		{
			"a folder where the file should be", func(t *testing.T, p *person) {
				if err := os.Remove(filepath.Join(p.data, "journal.db")); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Join(p.data, "journal.db", "in"), 0o700); err != nil {
					t.Fatal(err)
				}
			}, 2, 2, 2, "there is a folder where the journal's file should be",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := withTalk(t)
			c.spoil(t, p)
			for _, use := range []struct {
				code int
				args []string
			}{
				{c.list, []string{"conversations"}}, {c.show, []string{"show"}}, {c.run, []string{"run", "-q", "--continue", "And now?"}},
			} {
				a := p.says("", use.args...)
				if a.code != use.code {
					t.Errorf("braid %s: exit code %d, want %d: %s%s", use.args[0], a.code, use.code, a.out, a.errs)
				}
				if use.code != 0 && (!strings.Contains(a.errs, c.errs) || strings.Count(a.errs, "braid: ") != 1 || !strings.Contains(a.errs, "\n  next: ")) {
					t.Errorf("braid %s: no sentence with %q and a next step in %s", use.args[0], c.errs, a.errs)
				}
			}
			if c.run == 0 {
				return
			}
			if a := p.says("", "doctor"); c.list != 0 && (a.code != c.list || !strings.Contains(a.out, c.errs)) {
				t.Errorf("the doctor finds: %d\n%s", a.code, a.out)
			}
			// Who wants nothing kept is not concerned.
			p.says("", "run", "-q", "--ephemeral", "What is 5 times 5?").wants(t, 0, "25", "")
		})
	}
}

// A damaged conversation does not take the others with it.
func TestADamagedRowSpoilsItsOwn(t *testing.T) {
	t.Parallel()
	p := withTalk(t)
	p.says("", "run", "-q", "What is 5 times 5?").wants(t, 0, "25", "")
	p.spoil("UPDATE log SET events = x'00' WHERE conversation = 1")
	rows := strings.Split(p.says("", "conversations").out, "\n")
	if len(rows) != 3 || !strings.HasSuffix(rows[0], "\tWhat is 5 times 5?") || !strings.HasSuffix(rows[1], "\t(damaged: it cannot be read)") {
		t.Fatalf("%q", rows)
	}
	p.says("", "show").wants(t, 0, "[run] ended", "")
	p.says("", "doctor").wants(t, 0, "cannot be read: the journal is damaged", "")
	id, _, _ := strings.Cut(rows[1], "\t")
	p.says("", "show", id).wants(t, 1, "", "other conversations are not affected")
	p.says("", "run", "-q", "--continue", "What is 2 plus 2?").wants(t, 0, "4", "")
}

// Where nobody chose the folder and it cannot be written, the answer comes all the
// same; where somebody did, that is an error.
func TestAFolderWithoutPermission(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("this user may write everywhere")
	}
	p := withTalk(t)
	if err := os.Chmod(p.data, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(p.data, "journal.db"), 0o400); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(p.data, 0o700) })
	p.says("", "run", "-q", "What is 5 times 5?").wants(t, 0, "25", "kept in memory only")
	p.says("", "run", "-q", "--data", p.data, "hi").wants(t, 11, "", "next: ")
	p.says("", "run", "-q", "--continue", "hi").wants(t, 11, "", "next: ")
	p.says("", "doctor").wants(t, 11, "cannot be written to", "")
}

func TestTheFolderIsThePersonsOwn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights are told otherwise here")
	}
	p := withTalk(t)
	for name, mode := range map[string]os.FileMode{"": 0o700, "journal.db": 0o600} {
		info, err := os.Stat(filepath.Join(p.data, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, info, err)
		}
	}
	if err := os.Chmod(p.data, 0o755); err != nil {
		t.Fatal(err)
	}
	p.says("", "doctor").wants(t, 0, "other users can read the data folder", "")
	// What nothing was put into is not left behind.
	if _, err := os.Stat(filepath.Join(p.data, "scratch")); err == nil {
		t.Error("an empty folder for files is left")
	}
}

// Each line of show --json is an event, and the list is one object a line.
func TestJSONForPrograms(t *testing.T) {
	t.Parallel()
	p := withTalk(t)
	log := p.says("", "show", "--json")
	log.wants(t, 0, `"kind":"run_ended"`, "")
	seq := 0
	for line := range strings.Lines(log.out) {
		var e struct {
			Seq  int    `json:"seq"`
			Kind string `json:"kind"`
		}
		seq++
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != seq || e.Kind == "" {
			t.Fatalf("%v: %s", err, line)
		}
	}
	var row struct {
		ID     string `json:"id"`
		Turns  int    `json:"turns"`
		Events int    `json:"events"`
		Status string `json:"status"`
		Text   string `json:"text"`
	}
	list := p.says("", "conversations", "--json")
	if err := json.Unmarshal([]byte(list.out), &row); err != nil || row.Turns != 1 || row.Events != seq || row.Status != "completed" || row.Text != "What is 6 times 7?" {
		t.Errorf("%v: %s", err, list.out)
	}
	p.says("", "show", row.ID[:3]).wants(t, 0, "conversation "+row.ID, "")
	p.says("", "run", "--json", "--continue="+row.ID, "hi").wants(t, 0, `"conversation":"`+row.ID+`"`, "")
	wrong := row.ID[:3] + "1" + row.ID[4:]
	p.says("", "show", wrong).wants(t, 12, "", "did you mean "+row.ID+"?")
	p.says("", "chat", "--continue", "nowhere").wants(t, 12, "", "braid conversations lists them")
}

// What an older version has kept is brought up to date by whatever command comes
// first, and goes on.
func TestAnOlderJournal(t *testing.T) {
	t.Parallel()
	for _, first := range [][]string{{"conversations"}, {"show"}, {"run", "-q", "--continue", "What is 2 plus 2?"}} {
		p := newPerson(t)
		if err := os.MkdirAll(p.data, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(p.data, "journal.db"), unzipped(t, "testdata/schema-1.db.gz"))
		p.says("", first...).wants(t, 0, "", "")
		p.says("", "show").wants(t, 0, "conversation older234567aaaaa", "")
		p.says("", "run", "-q", "-c", "What is 6 times 7?").wants(t, 0, "42", "")
		p.says("", "conversations").wants(t, 0, "completed\tWhat is 6 times 7?\n", "")
	}
}

func unzipped(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A server says of a damaged conversation that it is damaged, and others go on.
func TestADamagedConversationOfAServer(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := startServer(t, p.data)
	talk := func() string {
		id, _ := s.json(201, "POST", "/v1/conversations", `{}`)["id"].(string)
		s.json(200, "POST", "/v1/conversations/"+id+"/runs", `{"user_input":"What is 6 times 7?"}`, "Accept", "application/json")
		return "/v1/conversations/" + id
	}
	harmed, healthy := talk(), talk()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wait()
	p.spoil("UPDATE log SET events = x'00ff00ff' WHERE conversation = (SELECT key FROM conversation WHERE id = '" + filepath.Base(harmed) + "')")
	s = startServer(t, p.data)
	e, _ := s.json(500, "GET", harmed+"/events", "")["error"].(map[string]any)
	if e["code"] != "STORAGE_DAMAGED" || e["hint"] == nil || strings.Contains(fmt.Sprint(e), "journal") {
		t.Errorf("the events of a damaged conversation: %v", e)
	}
	if list := s.json(200, "GET", healthy+"/events", ""); len(list) == 0 {
		t.Error("a healthy conversation has no events")
	}
}
