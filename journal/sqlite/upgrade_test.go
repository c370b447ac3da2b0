package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// versionOne makes a file of the first version, with runs in every state and with mail: read,
// unread, and of an ended run.
func versionOne(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := sqlite.Prepare(filepath.Join(folder, "journal.db"), sqlite.Migrations()[:1]); err != nil {
		t.Fatal(err)
	}
	run := func(key, conversation, turn int, id, status, due string) string {
		return fmt.Sprintf(`INSERT INTO run (key, id, conversation, turn, tenant, user, agent, idem, executor, new_session, status, admitted, due)
			VALUES (%d, '%s', %d, %d, 'acme', 'ann', 'calc', '', '', 0, '%s', %d, %s)`, key, id, conversation, turn, status, key*1000, due)
	}
	mail := func(run int, id, kind, token, value, message string, read int) string {
		return fmt.Sprintf(`INSERT INTO mail (run, id, kind, token, value, sender, message, posted, read)
			VALUES (%d, '%s', '%s', '%s', %s, 'ann', %s, 7, %d)`, run, id, kind, token, value, message, read)
	}
	const text = `'[{"kind":"text","text":"also this"}]'`
	execute(t, folder,
		`INSERT INTO conversation (key, id, tenant, turns, ended, last, epoch, holder, generation) VALUES
			(1, 'talk', 'acme', 3, 1, 0, 4, 2, 1), (2, 'asked', 'acme', 1, 0, 0, 1, 3, 1), (3, 'new', 'acme', 1, 0, 0, 0, NULL, 1)`,
		run(1, 1, 1, "over", "completed", "NULL"),
		run(2, 1, 2, "open", "running", "0"),
		run(3, 2, 1, "waits", "waiting", "0"), // a message made it due
		run(4, 3, 1, "young", "queued", "0"),
		run(5, 1, 3, "behind", "queued", "0"),
		mail(1, "late", "message", "", "NULL", text, 0),
		mail(2, "read", "answer", "t", "NULL", "NULL", 1),
		mail(2, "unread", "message", "", "NULL", text, 0),
		mail(2, "answer", "answer", "t", `CAST('"yes"' AS BLOB)`, "NULL", 0),
		mail(3, "wakes no more", "message", "", "NULL", text, 0),
	)
	return folder
}

// A file of the first version is migrated with its meaning.
func TestUpgradeFromTheFirstVersion(t *testing.T) {
	t.Parallel()
	s := open(t, versionOne(t), sqlite.Options{})
	ctx := t.Context()
	due := func(want ...string) {
		t.Helper()
		runs, err := s.Due(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range runs {
			got = append(got, r.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("due are %v, want %v", got, want)
		}
	}
	due("open", "young") // a message does not wake a waiting run

	list, err := s.Conversations(ctx, "acme", "", 0)
	if err != nil || len(list) != 3 || list[0].ID != "talk" || list[1].ID != "new" || list[2].ID != "asked" {
		t.Errorf("the conversations are %+v: %v", list, err)
	}
	if got := list[0]; got.Turns != 3 || got.Open != 2 || got.Status != event.RunRunning || got.Updated.UnixMicro() != 5000 {
		t.Errorf("the first one is %+v", got)
	}

	post := func(run, id, text, token, value string) error {
		m := journal.Mail{ID: id, Run: run, Kind: journal.MailMessage}
		if text != "" {
			m.Message = []event.Block{&event.Text{Text: text}}
		}
		if token != "" {
			m.Kind, m.Token, m.Value = journal.MailAnswer, token, []byte(value)
		}
		return s.Post(ctx, m)
	}
	for _, c := range []struct {
		name string
		err  error
		kind event.ErrorKind
	}{
		{"a repeat of what is unread", post("open", "unread", "also this", "", ""), ""},
		{"other words", post("open", "unread", "no", "", ""), event.ErrConflict},
		{"a repeat of an answer", post("open", "answer", "", "t", `"yes"`), ""},
		{"another answer", post("open", "answer", "", "t", `"no"`), event.ErrConflict},
		// The content of read mail is unknown.
		{"a repeat of what was read", post("open", "read", "", "t", `"no"`), ""},
		{"a repeat after the end", post("over", "late", "also this", "", ""), ""},
		{"a new letter after the end", post("over", "later", "also this", "", ""), event.ErrConflict},
	} {
		if event.KindOf(c.err) != c.kind {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.kind)
		}
	}

	o, err := s.Acquire(ctx, "open", 0)
	if err != nil || len(o.Mail) != 2 || o.Mail[0].ID != "unread" || o.Mail[1].ID != "answer" || o.Mail[0].Early {
		t.Fatalf("the mail is %+v: %v", o.Mail, err)
	}
	if err := end(ctx, s, o.Lease, 0, nil); err != nil {
		t.Fatal(err)
	}
	o, err = s.Acquire(ctx, "behind", 0)
	if err != nil || len(o.Mail) != 1 || o.Mail[0].ID != "unread" || !o.Mail[0].Early {
		t.Errorf("the mail of the run behind is %+v: %v", o.Mail, err)
	}
	if got := o.Mail[0].Message; len(got) != 1 || got[0].(*event.Text).Text != "also this" {
		t.Errorf("it says %v", got)
	}
	if err := post("behind", "unread", "no", "", ""); event.KindOf(err) != event.ErrConflict {
		t.Errorf("other words under the id of what was left: %v", err)
	}
	if _, err := s.Blobs().Put(ctx, "acme", blob.Ref{Kind: "file", Name: "a"}, strings.NewReader("new"), 0); err != nil {
		t.Error(err)
	}
	if result, err := s.Integrity(); err != nil || result != "ok" {
		t.Error(result, err)
	}
}
