package sqlite_test

import (
	"bufio"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// The tests below run this test program again, as a process that can be killed. The environment has
// its task.
const (
	childEnv  = "BRAID_SQLITE_TEST_CHILD"
	folderEnv = "BRAID_SQLITE_TEST_FOLDER"
)

func child(what string) int {
	folder := os.Getenv(folderEnv)
	err := errors.New("there is no such child")
	if what != "hold" { // hold reads its input itself
		go func() {
			// The pipe ends with the test, so no child outlives it.
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	switch what {
	case "write":
		err = writeForEver(folder)
	case "hold":
		err = hold(folder)
	case "upload":
		var s *sqlite.Store
		if s, err = sqlite.Open(folder, sqlite.Options{}); err == nil {
			err = uploadForEver(s)
		}
	case "fill":
		err = fill(folder)
	case "try":
		_, err = sqlite.Open(folder, sqlite.Options{})
		fmt.Println("kind", event.KindOf(err))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is a child process and its output by lines.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	input io.WriteCloser
}

func start(t *testing.T, what, folder string, adjust ...func(*exec.Cmd)) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childEnv+"="+what, folderEnv+"="+folder)
	cmd.Stderr = os.Stderr
	for _, f := range adjust {
		f(cmd)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, lines: bufio.NewScanner(out), input: in}
	t.Cleanup(p.kill)
	return p
}

// next returns the next line; "" is the end.
func (p *process) next() string {
	if p.lines.Scan() {
		return p.lines.Text()
	}
	return ""
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// writeForEver admits, commits and posts from many goroutines, and prints each acknowledgement.
func writeForEver(folder string) error {
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(what ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(what...)
	}
	say("pid", os.Getpid())
	round := crand.Text()
	failed := make(chan error, 1)
	for w := range 8 {
		go func() {
			ctx := context.Background()
			conversation := fmt.Sprint("talk", w)
			for i := 0; ; i++ {
				run := fmt.Sprint(round, "-", w, "-", i)
				err := writeRun(ctx, s, conversation, run, w%2 == 0, say)
				if err != nil && !errors.Is(err, event.ErrLocked) {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// writeRun writes one run. It first ends a run that an earlier process left.
func writeRun(ctx context.Context, s *sqlite.Store, conversation, run string, start bool, say func(...any)) error {
	var o journal.Opened
	var err error
	r := journal.Run{ID: run, Conversation: conversation}
	if start {
		o, err = s.Start(ctx, r, 1<<40)
	} else if _, err = s.Admit(ctx, r); err == nil {
		say("run", conversation, run)
		o, err = s.Acquire(ctx, run, 1<<40)
	}
	if errors.Is(err, event.ErrLocked) {
		return finishAll(ctx, s, conversation)
	}
	if err != nil {
		return err
	}
	seq := o.Last
	for range 5 {
		if rand.IntN(2) == 0 {
			id := crand.Text()
			if err := s.Post(ctx, letter(id, run)); err != nil {
				return err
			}
			say("mail", run, id)
		}
		var events []*event.Event
		for range 1 + rand.IntN(3) {
			seq++
			events = append(events, kibibyte(conversation, run, seq))
		}
		if err := s.Commit(ctx, o.Lease, journal.Batch{Events: events}); err != nil {
			return err
		}
		say("log", conversation, seq)
		if rand.IntN(4) == 0 {
			if _, err := s.Renew(ctx, o.Lease); err != nil {
				return err
			}
		}
	}
	// Sometimes the mail stays unread, and the store makes the next run of it.
	var mail []journal.Mail
	if rand.IntN(4) > 0 {
		news, err := s.Renew(ctx, o.Lease)
		if err != nil {
			return err
		}
		mail = news.Mail
	}
	return end(ctx, s, o.Lease, seq, mail)
}

// end ends a run that has read its mail.
func end(ctx context.Context, s *sqlite.Store, l journal.Lease, seq int64, mail []journal.Mail) error {
	e := &event.Event{
		Header: event.Header{Seq: seq + 1, Conversation: l.Conversation, Run: l.Run},
		Body:   &event.RunEnded{Status: event.RunCompleted},
	}
	b := journal.Batch{Events: []*event.Event{e}, Status: event.RunCompleted}
	for _, m := range mail {
		b.Read = append(b.Read, m.ID)
	}
	return s.Commit(ctx, l, b)
}

// finishAll ends the conversation's runs, also those of an earlier process.
func finishAll(ctx context.Context, s *sqlite.Store, conversation string) error {
	for {
		due, err := s.Due(ctx, 0)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(due, func(r journal.Run) bool { return r.Conversation == conversation })
		if i < 0 {
			return nil
		}
		o, err := s.Acquire(ctx, due[i].ID, 1<<40)
		if err == nil {
			err = end(ctx, s, o.Lease, o.Last, o.Mail)
		}
		if err != nil {
			return err
		}
	}
}

func letter(id, run string) journal.Mail {
	return journal.Mail{
		ID: id, Run: run, Kind: journal.MailMessage, Message: []event.Block{&event.Text{Text: strings.Repeat(id, 10)}},
	}
}

// acknowledged holds what the store acknowledged to a child.
type acknowledged struct {
	logs map[string]int64
	runs map[string]string
	mail map[string][]string
	n    int
}

func nothingYet() *acknowledged {
	return &acknowledged{logs: map[string]int64{}, runs: map[string]string{}, mail: map[string][]string{}}
}

// take reads a line of the child. A line that was cut by its death counts as nothing.
func (a *acknowledged) take(line string) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return
	}
	switch f[0] {
	case "log":
		if seq, err := strconv.ParseInt(f[2], 10, 64); err == nil {
			a.logs[f[1]] = max(a.logs[f[1]], seq)
		}
	case "run":
		a.runs[f[2]] = f[1]
	case "mail":
		a.mail[f[1]] = append(a.mail[f[1]], f[2])
	}
	a.n++
}

// look checks that the store has all of it.
func (a *acknowledged) look(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for conversation, seq := range a.logs {
		events, err := s.Read(t.Context(), conversation, seq-1, 1)
		if err != nil || len(events) != 1 || events[0].Seq != seq {
			t.Errorf("event %d of %s was acknowledged: %v", seq, conversation, err)
		}
	}
	for run, conversation := range a.runs {
		r, err := s.Admit(t.Context(), journal.Run{ID: run, Conversation: conversation})
		if err != nil || r.Turn == 0 {
			t.Errorf("run %s was acknowledged: %v", run, err)
		}
	}
	for run, ids := range a.mail {
		o, err := s.Acquire(t.Context(), run, 1<<40)
		if err == nil {
			if len(o.Mail) < len(ids) {
				t.Errorf("%d letters to %s were acknowledged, and it has %d", len(ids), run, len(o.Mail))
			}
			continue
		}
		for _, id := range ids {
			// The run has ended: its own mail is accepted again, and other mail is refused.
			if err := s.Post(t.Context(), letter(id, run)); err != nil {
				t.Errorf("letter %s was acknowledged: %v", id, err)
			}
		}
	}
}

// TestKill kills a process in the middle of its commits, again and again, and checks that the file
// has everything that was acknowledged.
func TestKill(t *testing.T) {
	t.Parallel()
	const rounds = 10
	folder := t.TempDir()
	all := 0
	var total int64
	for round := range rounds {
		p := start(t, "write", folder)
		if line := p.next(); !strings.HasPrefix(line, "pid ") {
			t.Fatalf("round %d: the child says %q", round, line)
		}
		told := nothingYet()
		// The number of lines decides when the process dies, not a clock.
		for range 20 + rand.IntN(300) {
			told.take(p.next())
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.lines.Scan() {
			told.take(p.lines.Text())
		}
		_ = p.cmd.Wait()

		s, err := sqlite.Open(folder, sqlite.Options{Owner: fmt.Sprint("test ", round)})
		if err != nil {
			t.Fatalf("round %d: Open: %v", round, err)
		}
		if result, err := s.Integrity(); err != nil || result != "ok" {
			t.Errorf("round %d: integrity: %s %v", round, result, err)
		}
		told.look(t, s)
		all += told.n
		total = 0
		for conversation := range told.logs {
			events, err := s.Read(t.Context(), conversation, 0, 0) // the whole log, without gaps
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			total += int64(len(events))
		}
		shut(t, s)
	}
	t.Logf("%d kills, %d acknowledgements, %d events", rounds, all, total)
}

// hold acquires two leases and waits for a line, until it is killed.
func hold(folder string) error {
	s, err := sqlite.Open(folder, sqlite.Options{Term: time.Hour})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, run := range []string{"written", "taken"} {
		if _, err := s.Admit(ctx, journal.Run{ID: run, Conversation: run}); err != nil {
			return err
		}
		o, err := s.Acquire(ctx, run, 0)
		if err != nil {
			return err
		}
		if run == "written" {
			if err := s.Commit(ctx, o.Lease, journal.Batch{Events: []*event.Event{kibibyte(run, run, 1)}}); err != nil {
				return err
			}
		}
		fmt.Println("epoch", o.Lease.Epoch)
	}
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := start(t, "hold", folder)
	epochs := map[string]string{"written": p.next(), "taken": p.next()}

	_, err := sqlite.Open(folder, sqlite.Options{})
	wantKind(t, "Open of a folder that another process has", err, event.ErrConflict)
	if pid := strconv.Itoa(p.cmd.Process.Pid); !strings.Contains(err.Error(), pid) {
		t.Errorf("the error is %q, want the process's number %s in it", err, pid)
	}
	p.kill()

	// Its lock file is still there, and its leases have an hour left.
	s := open(t, folder, sqlite.Options{Term: time.Hour})
	due, err := s.Due(t.Context(), 0)
	if err != nil || len(due) != 2 {
		t.Fatalf("due are %v, want the two runs of the dead process: %v", due, err)
	}
	for run, before := range epochs {
		o, err := s.Acquire(t.Context(), run, 0)
		if err != nil {
			t.Fatalf("Acquire of %s: %v", run, err)
		}
		if n, err := strconv.ParseInt(strings.TrimPrefix(before, "epoch "), 10, 64); err != nil || o.Lease.Epoch <= n {
			t.Errorf("%s: the epoch is %d after %q", run, o.Lease.Epoch, before)
		}
		_, err = s.Acquire(t.Context(), run, 0)
		wantKind(t, "Acquire of a run that the new process holds", err, event.ErrLocked)
	}
}

func TestOneStoreAtATime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	_, err := sqlite.Open(folder, sqlite.Options{})
	wantKind(t, "Open of a folder that is open here", err, event.ErrConflict)
	if !strings.Contains(err.Error(), "this process") {
		t.Errorf("the error is %q, want it to name this process", err)
	}
	shut(t, s)
	open(t, folder, sqlite.Options{})
}

// The content of a lock file has no meaning.
func TestLockFileOfTheDead(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "1\n", strconv.Itoa(os.Getpid()) + "\n", "\x00\xff not a number", strings.Repeat("9", 1000)} {
		folder := t.TempDir()
		write(t, folder, "journal.lock", []byte(content))
		shut(t, open(t, folder, sqlite.Options{}))
	}
}

// wantKind checks an error's kind and message.
func wantKind(t testing.TB, what string, err error, kind event.ErrorKind) {
	t.Helper()
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("%s: the error is %v (%s), want %s", what, err, event.KindOf(err), kind)
	}
	if e.Message == "" || e.Op == "" {
		t.Errorf("%s: the error says nothing to people: %+v", what, e)
	}
	for _, bad := range []string{os.TempDir(), "SQLITE", "SELECT", "journal.db"} {
		if strings.Contains(err.Error(), bad) {
			t.Errorf("%s: the error %q has %q in it", what, err, bad)
		}
	}
}
