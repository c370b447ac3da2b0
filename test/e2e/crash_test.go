//go:build unix

package e2e

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kill ends a command as a crash would.
func (c *command) kill(t *testing.T) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.Wait()
}

// shows waits until braid show has text in it.
func (p *person) shows(text string) string {
	p.t.Helper()
	end := time.Now().Add(20 * time.Second)
	for {
		a := p.says("", "show")
		if strings.Contains(a.out, text) {
			return a.out
		}
		if time.Now().After(end) {
			p.t.Fatalf("braid show does not show %q: %s%s", text, a.out, a.errs)
		}
	}
}

// stuck is a model that says nothing more in the middle of its second answer, until it
// is asked again.
const stuck = "demo:tour?fault=stall&cycle=2&attempts=1&after=5"

// A program is killed while its model speaks. What its tools did stays done, and
// the next program goes on where it was.
func TestKilledWhileItSpeaks(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c := startIn(t, p.env, "run", "--model", stuck, "Show me what you can do.")
	p.shows("[cycle 2] began")
	p.says("", "conversations").wants(t, 0, "\trunning\tShow me what you can do.", "")
	c.kill(t)
	p.says("", "conversations").wants(t, 0, "\tinterrupted\tShow me what you can do.", "")
	p.says("", "show").wants(t, 0, "the run was interrupted and nobody works on it: braid chat --continue", "")

	a := p.says("", "run", "--continue", "--model", "demo:tour")
	a.wants(t, 0, "you> Show me what you can do.", "")
	a.wants(t, 0, "Lunch for 12 costs 120 euros", "")
	log := p.says("", "show")
	log.wants(t, 0, "why=taken_over attempt=2", "")
	for what, n := range map[string]int{"tool=#1:calculator began": 1, "tool=#2:clock began": 1, "[cycle 1] began": 1, "[run] ended status=completed": 1} {
		if got := strings.Count(log.out, what); got != n {
			t.Errorf("%q happened %d times:\n%s", what, got, log.out)
		}
	}
}

// A program is killed while tools run. They say that repeating them does no harm, so those that had not ended are
// run again, as another attempt.
func TestKilledInsideATool(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	const files = 60
	script := &strings.Builder{}
	script.WriteString("rules:\n  - when: {round: 1}\n    reply:\n")
	for i := range files {
		fmt.Fprintf(script, "      - call: write_file\n        args: {name: %d.txt, content: %s}\n", i, strings.Repeat("x", 8<<10))
	}
	script.WriteString("  - when: {round: any}\n    reply: All are written.\n")
	model := filepath.Join(t.TempDir(), "script.yaml")
	write(t, model, script.String())
	var scratch string
	// All calls begin together, and one writes after the other: at the first file most of them are under way. Where
	// this process was not given the processor in time, all have ended, and another one is to be killed.
	for tries, written := 0, files; written == files; tries++ {
		if tries == 20 {
			t.Fatal("none could be killed in time")
		}
		scratch = t.TempDir()
		c := startIn(t, p.env, "run", "--model", "demo:"+model, "--scratch", scratch, "Write.")
		for end := time.Now().Add(time.Minute); ; {
			if list, err := os.ReadDir(scratch); err != nil || len(list) > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("no tool has written anything")
			}
		}
		c.kill(t)
		list, err := filepath.Glob(filepath.Join(scratch, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		written = len(list)
	}
	p.says("", "run", "--continue", "--model", "demo:"+model, "--scratch", scratch).wants(t, 0, "write_file goes on (attempt 2)", "")
	log := p.says("", "show")
	log.wants(t, 0, ":write_file began effect=idempotent attempt=2", "")
	if left, err := filepath.Glob(filepath.Join(scratch, "*.txt")); err != nil || len(left) != files {
		t.Errorf("%d of %d files are there: %v", len(left), files, err)
	}
	if drafts, err := filepath.Glob(filepath.Join(scratch, ".*")); err != nil || len(drafts) != 0 {
		t.Errorf("the crash left %v: %v", drafts, err)
	}
}

// A program is killed while it waits for an answer: the question is asked again, and the
// files that the conversation has made are still there.
func TestKilledAtAQuestion(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c := startIn(t, p.env, "chat", "--model", "demo:approval")
	if _, err := io.WriteString(c.in, draft+"\n"); err != nil {
		t.Fatal(err)
	}
	c.waitFor(t, "y/n> ")
	c.kill(t)
	p.says("", "conversations").wants(t, 0, "\twaiting\t"+draft, "")
	p.says("", "show").wants(t, 0, "the run waits for an answer: braid chat --continue", "")
	a := p.says("y\n"+draft+"\nn\n", "chat", "--continue", "--model", "demo:approval")
	a.wants(t, 0, "(conversation ", "")
	a.wants(t, 0, "draft.txt is deleted.", "")
	a.wants(t, 0, "draft.txt is kept.", "")
	p.says("", "conversations").wants(t, 0, "\t2\tcompleted\t"+draft, "")
	if kept, err := filepath.Glob(filepath.Join(p.data, "scratch", "*", "draft.txt")); err != nil || len(kept) != 1 {
		t.Errorf("the file is not where the conversation is: %v, %v", kept, err)
	}
}

// Ctrl-C cancels a run, and what it did until then is in the log.
func TestACancelledRunIsKept(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c := startIn(t, p.env, "run", "--model", stuck, "Show me what you can do.")
	p.shows("[cycle 2] began")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c.ends(t, 130)
	p.says("", "show").wants(t, 0, "[run] ended status=cancelled why=cancelled", "")
	p.says("", "run", "-q", "--continue", "hello").wants(t, 0, "", "")
	p.says("", "show").wants(t, 0, "\nturn 2 ", "")
}

// Of two programs at once one has the folder. The other one answers, and says that it
// keeps nothing; it can look on, but not go on.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c := startIn(t, p.env, "chat")
	if _, err := io.WriteString(c.in, "What is 6 times 7?\n"); err != nil {
		t.Fatal(err)
	}
	c.waitFor(t, "The result of 6 * 7 is 42.")
	c.waitFor(t, "you> ")
	who := fmt.Sprintf("braid: the folder for the data is in use by process %d", c.Process.Pid)
	p.says("", "run", "-q", "What is 5 times 5?").wants(t, 0, "25", who+", so this conversation is kept in memory only\n")
	p.says("What is 5 times 5?\n", "chat", "-q").wants(t, 0, "25", who)
	p.says("", "run", "--continue", "And now?").wants(t, 13, "", who+"\n  next: ")
	p.says("", "chat", "--continue").wants(t, 13, "", who+"\n  next: ")
	p.says("", "conversations").wants(t, 0, "\tWhat is 6 times 7?\n", "")
	p.says("", "show", "--follow").wants(t, 0, "[run] ended status=completed", "")
	p.says("", "doctor").wants(t, 0, fmt.Sprintf("process %d is at work in the data folder", c.Process.Pid), "")
	elsewhere := t.TempDir()
	p.says("", "run", "-q", "--data", elsewhere, "What is 5 times 5?").wants(t, 0, "25", "")
	p.says("", "conversations", "--data", elsewhere).wants(t, 0, "What is 5 times 5?", "")
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	c.ends(t, 0)
	if a := p.says("", "conversations"); strings.Count(a.out, "\n") != 1 {
		t.Errorf("%s", a.out)
	}
}

// show --follow shows what another program commits, as it does, and ends with the run.
func TestFollow(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c := startIn(t, p.env, "run", "--model", "demo:approval", draft)
	c.waitFor(t, "y/n> ")
	timeline, lines := startIn(t, p.env, "show", "--follow"), startIn(t, p.env, "show", "latest", "-f", "--json")
	timeline.waitFor(t, "asks: Delete draft.txt")
	lines.waitFor(t, `"kind":"asked"`)
	stopped := startIn(t, p.env, "show", "-f")
	stopped.waitFor(t, "asks: Delete draft.txt")
	if err := stopped.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stopped.ends(t, 130)
	if stopped.errs.Len() > 0 {
		t.Errorf("Ctrl-C is no error: %s", stopped.errs)
	}
	if _, err := io.WriteString(c.in, "y\n"); err != nil {
		t.Fatal(err)
	}
	timeline.waitFor(t, "tool=#2:delete_file: true")
	timeline.waitFor(t, "[run] ended status=completed")
	timeline.ends(t, 0)
	lines.waitFor(t, `"kind":"run_ended"`)
	lines.ends(t, 0)
	c.ends(t, 0)
}
