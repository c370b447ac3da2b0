package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/claude/runner"
	"github.com/braidrun/braid/event"
)

// options are those of an agent whose program talks to the stand-in of its provider. The program is a stand-in too, or the
// real one with BRAID_PEERS_CLAUDE: see scripts/test-peers claude.
func options(t *testing.T, m *messages) runner.Options {
	t.Helper()
	path, stand := os.Getenv("BRAID_PEERS_CLAUDE"), "BRAID_STANDIN="
	if path == "" {
		path, stand = os.Args[0], "BRAID_STANDIN=1"
	}
	scratch := t.TempDir()
	t.Cleanup(func() {
		if left, _ := os.ReadDir(scratch); len(left) > 0 {
			t.Errorf("folders are left: %v", left)
		}
	})
	return runner.Options{
		Dir: t.TempDir(), Model: "claude-test-1", Scratch: scratch,
		Env:    []string{"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=sk-test", "GORACE=atexit_sleep_ms=0", stand},
		Claude: []claude.Option{claude.Command(path), claude.CleanEnv()},
	}
}

// logOf tells a conversation's log, one line an event.
func logOf(t *testing.T, c *braid.Conversation) (lines []string) {
	t.Helper()
	for e, err := range c.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s", e.Body.Kind(), e.Step)
		switch b := e.Body.(type) {
		case *event.StepEnded:
			line += " " + string(b.Outcome)
			if b.Result != nil {
				line += " " + event.TextOf(b.Result.Content)
			}
			if b.Err != nil {
				line += " " + string(b.Err.Kind)
			}
		case *event.AssistantMessage:
			line += fmt.Sprintf(" %q calls=%d %d/%d", event.TextOf(b.Content), len(event.CallsOf(b.Content)), b.Usage.Input, b.Usage.Output)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestProgramText(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said { return said{text: fmt.Sprintf("Hello there, %d.", a.answers()), in: 10, out: 5} })
	agent := runner.New("coder", options(t, m), braid.Instructions("Be terse."))
	conv := braid.NewConversation()
	var text strings.Builder
	for e, err := range agent.Stream(t.Context(), "/compact @file hi", braid.In(conv)) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Body.(*event.TextDelta); ok {
			text.WriteString(d.Text)
		}
	}
	if text.String() != "Hello there, 0." {
		t.Errorf("%q", text.String())
	}
	r, err := agent.Run(t.Context(), "and again", braid.In(conv))
	if err != nil || r.Text() != "Hello there, 1." || r.Usage.Input != 10 || r.Usage.Output != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	want := []string{
		"run_started ", "user_message ", "step_begun m1", `assistant_message m1 "Hello there, 0." calls=0 10/5`, "run_ended ",
		"run_started ", "user_message ", "step_begun m1", `assistant_message m1 "Hello there, 1." calls=0 10/5`, "run_ended ",
	}
	if got := logOf(t, conv); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	all := m.requests()
	if len(all) != 2 || !strings.Contains(all[0].text(), "/compact @file hi") || !strings.Contains(all[1].text(), "Hello there, 0.") ||
		os.Getenv("BRAID_PEERS_CLAUDE") != "" && !strings.Contains(string(all[0].System), "Be terse.") {
		t.Errorf("%d requests, %s", len(all), all[len(all)-1].text())
	}
}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func TestProgramTools(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said {
		if a.answers() == 0 {
			return said{text: "I work.", in: 100, out: 50, calls: []toolCall{
				{"toolu_1", "Bash", `{"command":"echo one > made.txt; echo one","description":"d"}`},
				{"toolu_2", "mcp__braid__add", `{"a":1,"b":2}`},
				{"toolu_3", "Bash", `{"command":"exit 3","description":"d"}`},
			}}
		}
		return said{text: "Done.", in: 200, out: 7}
	})
	o := options(t, m)
	add := braid.Func("add", "Adds.", func(_ context.Context, in sum) (string, error) { return fmt.Sprint(in.A + in.B), nil })
	conv := braid.NewConversation()
	r, err := runner.New("coder", o, braid.Tools(add)).Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Text() != "Done." {
		t.Fatalf("%+v, %v", r, err)
	}
	log := logOf(t, conv)
	for _, line := range []string{
		`assistant_message m1 "I work." calls=3 100/50`, "step_ended t1.0 done one", "step_ended t1.1 done 3", "step_ended t1.2 done Exit code 3",
		`assistant_message m2 "Done." calls=0 200/7`,
	} {
		if !slices.Contains(log, line) {
			t.Errorf("the log has no %q: %q", line, log)
		}
	}
	if text, err := os.ReadFile(filepath.Join(o.Dir, "made.txt")); err != nil || string(text) != "one\n" {
		t.Errorf("%q, %v", text, err)
	}
	all := m.requests()
	if last := all[len(all)-1].text(); len(all) != 2 || !strings.Contains(last, `"text":"3"`) || !strings.Contains(last, "Exit code 3") {
		t.Errorf("%d requests, %s", len(all), last)
	}
}

func TestProgramSubAgents(t *testing.T) {
	t.Parallel()
	m := startMessages(t, func(a *asked) said {
		switch {
		case a.Agent == "" && a.answers() == 0:
			return said{text: "Two helpers.", in: 1001, out: 60, calls: []toolCall{
				{"toolu_a", "Task", `{"description":"A","prompt":"DO A","subagent_type":"helper"}`},
				{"toolu_b", "Task", `{"description":"B","prompt":"DO B","subagent_type":"helper"}`},
				{"toolu_c", "Bash", `{"command":"echo mine","description":"d"}`},
			}}
		case a.Agent == "":
			return said{text: "Both reported.", in: 1204, out: 65}
		case strings.Contains(a.text(), "DO B"):
			return said{text: "B has nothing.", in: 703, out: 73}
		case a.answers() == 0:
			return said{text: "A works.", in: 501, out: 51, calls: []toolCall{
				{"toolu_s1", "Bash", `{"command":"echo sub","description":"d"}`}, {"toolu_s2", "Bash", `{"command":"echo sub2","description":"d"}`},
			}}
		}
		return said{text: "A is done.", in: 602, out: 62}
	})
	o := options(t, m)
	o.Agents = map[string]claude.Agent{"helper": {Description: "Helps.", Prompt: "You help.", Tools: []string{"Bash"}}}
	conv := braid.NewConversation()
	r, err := runner.New("coder", o).Run(t.Context(), "go", braid.In(conv))
	// The usage of each sub-agent is that of its own messages: 1103/113 and 703/73, where the program's result of Task says 602/62.
	log := logOf(t, conv)
	for _, line := range []string{
		`assistant_message t1.0/m1 "A works." calls=2 501/51`, `assistant_message t1.0/m2 "A is done." calls=0 602/62`,
		`assistant_message t1.1/m1 "B has nothing." calls=0 703/73`, "step_ended t1.0/t1.0 done sub", "step_ended t1.0/t1.1 done sub2",
		"step_ended t1.0 done A is done.", "step_ended t1.1 done B has nothing.", "step_ended t1.2 done mine", "scope_opened t1.0", "scope_opened t1.1",
	} {
		if !slices.Contains(log, line) {
			t.Errorf("the log has no %q: %q", line, log)
		}
	}
	if err != nil || r.Text() != "Both reported." {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Usage.Input != 1001+1204+703+501+602 || r.Usage.Output != 60+65+73+51+62 {
		t.Errorf("%+v", r.Usage)
	}
	if n := len(m.requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
}
