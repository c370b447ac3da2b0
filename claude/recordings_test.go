package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

// Every recording gives typed messages, through a process and the control protocol. The golden has one line a message.
func TestRecordings(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(recordings, "*.stdout.jsonl"))
	if err != nil || len(paths) < 60 {
		t.Fatal(len(paths), err)
	}
	var all strings.Builder
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		fmt.Fprintf(&all, "== %s\n", name)
		if dialog := strings.TrimSuffix(name, ".stdout") + ".dialog"; exists(filepath.Join(recordings, dialog+".jsonl")) {
			name = dialog
		}
		all.WriteString(replay(t, name))
	}
	golden(t, "testdata/recordings.golden", all.String())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// replay sends what the host of a recording sent, and tells what came.
func replay(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	opts := append(standing(recorded(t, name)), SessionStates(),
		OnHook(HookMatch{Point: PreToolUse}, func(context.Context, *HookInput) (HookOutput, error) { return HookOutput{}, nil }),
		CanUseTool(func(context.Context, *PermissionRequest) (Permission, error) { return Permission{}, nil }),
		InProcess("calc", &ToolServer{}))
	c, err := Open(ctx, opts...)
	if err != nil {
		t.Fatal(name, err)
	}
	defer c.Close()
	var told strings.Builder
	for _, act := range hostOf(t, name) {
		switch act.Type {
		case "user":
			for m, err := range c.Turn(ctx, "go") {
				if err != nil {
					fmt.Fprintf(&told, "error: %v\n", err)
					break
				}
				told.WriteString(describe(m))
				if _, text := m.(*StreamEvent); text && strings.HasPrefix(name, "14-") && act.interrupt {
					act.interrupt = false
					if err := c.Interrupt(ctx); err != nil {
						t.Error(name, err)
					}
				}
				if a, ok := m.(*Assistant); ok && act.interrupt && len(a.Message.Content) > 0 && interruptible(name, a) {
					act.interrupt = false
					if err := c.Interrupt(ctx); err != nil {
						t.Error(name, err)
					}
				}
			}
		case "control_request":
			var r struct {
				Subtype string `json:"subtype"`
			}
			if err := json.Unmarshal(act.Request, &r); err != nil {
				t.Fatal(err)
			}
			answer, err := c.Control(ctx, r.Subtype, nil)
			fmt.Fprintf(&told, "answer to %s: %d bytes, %v\n", r.Subtype, min(len(answer), 1), err)
		}
	}
	return told.String()
}

// interruptible says when the host of a recording interrupted: at a call of Bash, the second one for sub-agents.
func interruptible(name string, a *Assistant) bool {
	if strings.HasPrefix(name, "58-") {
		return a.ParentToolUse == "toolu_task_b"
	}
	return a.Message.Content[0].Type == "tool_use"
}

type act struct {
	hostLine
	interrupt bool
}

// hostOf returns what the host of a recording did by itself. An interrupt belongs to the turn before it.
func hostOf(t *testing.T, name string) (acts []act) {
	t.Helper()
	if !strings.HasSuffix(name, ".dialog") {
		return []act{{hostLine: hostLine{Type: "user"}}}
	}
	text, err := os.ReadFile(filepath.Join(recordings, name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var s recordedStep
		var l hostLine
		if json.Unmarshal(line, &s) != nil || s.Dir != "host->cli" || json.Unmarshal(s.Line, &l) != nil {
			continue
		}
		switch {
		case bytes.Contains(l.Request, []byte(`"initialize"`)), l.Type == "control_response":
		case bytes.Contains(l.Request, []byte(`"interrupt"`)):
			acts[len(acts)-1].interrupt = true
		default:
			acts = append(acts, act{hostLine: l})
		}
	}
	return acts
}

// describe tells a message in a line.
func describe(m Message) string {
	h := m.Base()
	s := strings.TrimPrefix(fmt.Sprintf("%T", m), "*claude.") + " " + h.Type
	if h.Subtype != "" {
		s += "/" + h.Subtype
	}
	switch m := m.(type) {
	case *Assistant:
		s += fmt.Sprintf(" %s parent=%q error=%q aborted=%v %s", m.Message.Model, m.ParentToolUse, m.Error, m.Aborted, blocks(m.Message.Content))
	case *User:
		s += fmt.Sprintf(" parent=%q synthetic=%v replay=%v %s", m.ParentToolUse, m.Synthetic, m.Replay, blocks(m.Message.Content))
	case *StreamEvent:
		s += fmt.Sprintf(" %s %q abandoned=%v", m.Event.Type, m.Event.Delta.Text+m.Event.Delta.Thinking+m.Event.Delta.PartialJSON, m.Abandoned != nil)
	case *Init:
		s += fmt.Sprintf(" %s tools=%d servers=%v mode=%s", m.Model, len(m.Tools), m.MCPServers, m.PermissionMode)
	case *Result:
		s += fmt.Sprintf(" %q in=%d out=%d models=%d turns=%d %s err=%v", m.Text, m.Usage.Input, m.Usage.Output, len(m.ModelUsage), m.Turns, m.TerminalReason, m.Err())
	case *TaskStarted:
		s += fmt.Sprintf(" %s background=%v depth=%d", m.ToolUseID, m.Background, m.Depth)
	case *TaskNotification:
		s += fmt.Sprintf(" %s %s", m.ToolUseID, m.Status)
	case *TaskUpdated:
		s += " " + m.Patch.Status
	case *APIRetry:
		s += fmt.Sprintf(" %d/%d status=%d %s", m.Attempt, m.MaxRetries, m.Status, m.Error)
	case *Mirror:
		s += fmt.Sprintf(" %d entries", len(m.Entries))
	case *Status:
		s += " " + m.Status
	case *SessionState:
		s += " " + m.State
	case *CompactBoundary:
		s += fmt.Sprintf(" %s %d", m.Metadata.Trigger, m.Metadata.PreTokens)
	case *Unknown:
		s += " UNKNOWN"
	}
	return s + "\n"
}

func blocks(c Content) string {
	var kinds []string
	for i := range c {
		b := &c[i]
		text := []rune(b.Text + b.Thinking + b.Name + b.Content.Text())
		kinds = append(kinds, fmt.Sprintf("%s(%q)", b.Type, string(text[:min(len(text), 40)])))
	}
	return strings.Join(kinds, " ")
}

func recordedLines(tb testing.TB) (lines [][]byte) {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(recordings, "*.stdout.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			lines = append(lines, bytes.TrimSpace(line))
		}
	}
	return lines
}
