package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
)

// open opens a client of a stand-in.
func open(t *testing.T, mode string, opts ...Option) *Client {
	t.Helper()
	c, err := Open(t.Context(), append(standing(mode), opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// turn runs one turn and returns its messages and its error.
func turn(ctx context.Context, c *Client) (ms []Message, failed error) {
	for m, err := range c.Turn(ctx, "go") {
		if err != nil {
			failed = err
			continue
		}
		ms = append(ms, m)
	}
	return ms, failed
}

func TestQuery(t *testing.T) {
	t.Parallel()
	var got []string
	for m, err := range Query(t.Context(), "go", standing("plain")...) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%T", m))
	}
	if s := strings.Join(got, " "); s != "*claude.Assistant *claude.Result" {
		t.Error(s)
	}
}

func TestManyTurns(t *testing.T) {
	t.Parallel()
	c := open(t, "plain")
	for range 3 {
		if ms, err := turn(t.Context(), c); err != nil || len(ms) != 2 {
			t.Fatal(len(ms), err)
		}
	}
	if err := c.SetModel(t.Context(), "haiku"); err != nil {
		t.Error(err)
	}
	if err := c.SetPermissionMode(t.Context(), "plan"); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	_ = c.Close()
	if _, err := turn(t.Context(), c); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := c.Interrupt(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// leave begins a turn and leaves its loop.
func leave(t *testing.T, c *Client) {
	t.Helper()
	for _, err := range c.Turn(t.Context(), "go") {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

// A cancelled turn, and one that is left, interrupt the program and keep it.
func TestAnInterruptKeepsTheProcess(t *testing.T) {
	t.Parallel()
	c := open(t, "slow")
	pid := c.PID()
	ctx, cancel := context.WithCancel(t.Context())
	for m, err := range c.Turn(ctx, "go") {
		if m != nil {
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	cancel()
	leave(t, c)
	for m, err := range c.Turn(t.Context(), "and again") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*Assistant); ok {
			if _, err := turn(t.Context(), c); !errors.Is(err, ErrBusy) {
				t.Error("two turns at once:", err)
			}
			if err := c.Interrupt(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if r, ok := m.(*Result); ok && !errors.Is(r.Err(), event.ErrCancelled) {
			t.Error(r.Err())
		}
	}
	if c.PID() != pid || c.process.wait(0) {
		t.Error("the process has ended")
	}
}

// What a program may do wrong fails the run that it does it in, with an error that says what happened.
func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  string
		kind  event.ErrorKind
		says  string
		start bool // it fails before it is ready
	}{
		{mode: "exit no such file", kind: event.ErrUnavailable, says: "ended before", start: true},
		{mode: "exit error: unknown option '--await-initialize'", kind: event.ErrUnsupported, says: "too old", start: true},
		{mode: "refuse", says: "refused the request", start: true},
		{mode: "hang", kind: event.ErrTimeout, says: "did not answer", start: true},
		{mode: "deaf", kind: event.ErrTimeout, says: "did not answer", start: true},
		{mode: "garbage", says: "no message"},
		{mode: "nothing", says: "no message"},
		{mode: "half", says: "no message"},
		{mode: "dies", kind: event.ErrUnavailable, says: "ended before"},
		{mode: "closes", kind: event.ErrUnavailable, says: "ended before"},
		{mode: "longer", says: "more than 64 MiB"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			opts := standing(c.mode)
			if c.kind == event.ErrTimeout {
				opts = append(opts, StartTimeout(300*time.Millisecond))
			}
			client, err := Open(t.Context(), opts...)
			if c.start != (err != nil) {
				t.Fatal(err)
			}
			if err == nil {
				_, err = turn(t.Context(), client)
				defer client.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || c.kind != "" && !errors.Is(err, c.kind) {
				t.Errorf("%v", err)
			}
			if exit, ok := errors.AsType[*ExitError](err); c.mode == "exit no such file" && (!ok || exit.Code != 3 || exit.Stderr != "no such file\n") {
				t.Errorf("%+v", exit)
			}
		})
	}
}

func TestALineOf64MiB(t *testing.T) {
	t.Parallel()
	if race.On {
		t.Skip("decoding so much takes the race detector twenty seconds, and shows it one goroutine")
	}
	ms, err := turn(t.Context(), open(t, "long"))
	if err != nil || len(ms) != 2 || len(ms[0].(*Assistant).Text()) != MaxLine-200 {
		t.Errorf("%d messages, %v", len(ms), err)
	}
}

func TestAProgramThatNeverAnswersAControlRequest(t *testing.T) {
	t.Parallel()
	c := open(t, "mute", ControlTimeout(200*time.Millisecond))
	if err := c.SetModel(t.Context(), "x"); !errors.Is(err, event.ErrTimeout) {
		t.Error(err)
	}
	// The turn cannot be interrupted, so it ends with the process.
	leave(t, c)
	if !c.process.wait(0) {
		t.Error("the process runs")
	}
}

func TestAProgramThatDoesNotEndByItself(t *testing.T) {
	t.Parallel()
	c := open(t, "stays")
	if err := c.Close(); err != nil || !c.process.wait(0) {
		t.Error("it runs", err)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]Option{
		{Command("/no/such/program")}, {Command(os.Args[0]), Dir("/no/such/folder")}, {Command(t.TempDir())},
	} {
		_, err := Open(t.Context(), opts...)
		if e, ok := errors.AsType[*event.Error](err); !ok || e.Hint == "" || strings.Contains(e.Message, "/no/such") {
			t.Errorf("%v", err)
		}
	}
	if _, err := Find("/no/such/program"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, event.ErrNotFound) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, standing("plain")...); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), append(standing("plain"), Settings(json.RawMessage("[]")))...); !errors.Is(err, event.ErrInvalid) {
		t.Error(err)
	}
}

// All questions are asked at once. The functions that panic refuse, and say nothing of the panic.
func TestQuestionsOfTheProgram(t *testing.T) {
	t.Parallel()
	tool := func(_ context.Context, c ToolCall) (ToolResult, error) { return TextResult(c.ID + string(c.Args)), nil }
	c := open(t, "ask",
		CanUseTool(func(_ context.Context, r *PermissionRequest) (Permission, error) {
			if r.Tool == "Panic" {
				panic("CANARY")
			}
			return Permission{Allow: r.Tool == "Bash"}, nil
		}),
		OnHook(HookMatch{Point: PreToolUse}, func(_ context.Context, in *HookInput) (HookOutput, error) {
			if in.Tool == "Panic" {
				panic("CANARY")
			}
			return HookOutput{Decision: "allow", Reason: "r", Input: json.RawMessage(`{"b":2}`), Context: "c", StopReason: "s", Block: true}, nil
		}),
		InProcess("calc", &ToolServer{Instructions: "Add.", Tools: []Tool{
			{Name: "add", Description: "Adds.", ReadOnly: true, Call: tool},
			{Name: "panic", Call: func(context.Context, ToolCall) (ToolResult, error) { panic("CANARY") }},
		}}))
	ms, err := turn(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for _, m := range ms {
		var a struct {
			Line struct {
				Response json.RawMessage `json:"response"`
			} `json:"line"`
		}
		if err := json.Unmarshal(m.Base().Raw, &a); err == nil && a.Line.Response != nil {
			told.Write(a.Line.Response)
			told.WriteString("\n")
		}
	}
	if strings.Contains(told.String(), "CANARY") {
		t.Error("the text of a panic is told")
	}
	golden(t, "testdata/questions.golden", told.String())
}

// More questions than are answered at once are refused. The program goes on.
func TestAFloodOfQuestions(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := open(t, "flood", OnHook(HookMatch{Point: PreToolUse}, func(ctx context.Context, _ *HookInput) (HookOutput, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return HookOutput{}, nil
	}))
	if _, err := turn(t.Context(), c); err != nil {
		t.Error(err)
	}
	close(release)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	all := []string{"PATH=/bin", "HOME=/h", "DATABASE_URL=secret", "ANTHROPIC_API_KEY=k", "AWS_REGION=r", "GITHUB_TOKEN=t", "LC_ALL=C", "=x", "odd"}
	for _, c := range []struct {
		opts []Option
		want string
	}{
		{nil, "PATH=/bin HOME=/h ANTHROPIC_API_KEY=k AWS_REGION=r LC_ALL=C"},
		{[]Option{CleanEnv(), Env("A=1"), Env("B=2")}, "PATH=/bin A=1 B=2"},
	} {
		var got []string
		for _, v := range newConfig(c.opts).environment(all) {
			if !strings.HasPrefix(v, "CLAUDE_CODE_") && !strings.HasPrefix(v, "BUN_") {
				got = append(got, v)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s, want %s", s, c.want)
		}
	}
}

// What is secret is in no argument of the process.
func TestSecretsAreInNoArgument(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret"
	c := open(t, "args",
		MCP("a", Server{Type: "http", URL: "https://x/" + secret, Headers: map[string]string{"Authorization": secret}}),
		MCP("b", Server{Type: "stdio", Command: "b", Args: []string{secret}, Env: map[string]string{"K": secret}}),
		SystemPrompt(secret), AppendSystemPrompt(secret), Settings(json.RawMessage(`{"env":{"K":"`+secret+`"}}`)),
		ManagedSettings(json.RawMessage(`{"k":"`+secret+`"}`)), Sandbox(json.RawMessage(`{"k":"`+secret+`"}`)),
		Agents(map[string]Agent{"x": {Prompt: secret}}), JSONSchema(json.RawMessage(`{"const":"`+secret+`"}`)), Env("K="+secret),
		DenyTools(secret), Title(secret))
	var told struct {
		Args    []string        `json:"args"`
		Request json.RawMessage `json:"request"`
	}
	if err := json.Unmarshal(c.Setup(), &told); err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(told.Args, " "); strings.Contains(s, secret) || len(told.Args) == 0 {
		t.Error(s)
	}
	if n := bytes.Count(told.Request, []byte(secret)); n != 13 {
		t.Errorf("%d secrets in %s", n, told.Request)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct{ script, want string }{
		"good": {"#!/bin/sh\necho '2.1.332 (Claude Code)'", "2.1.332"}, "odd": {"#!/bin/sh\necho hello", ""}, "bad": {"#!/bin/sh\necho 1.2.3; exit 1", ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.script), 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := Find(path)
		if err != nil {
			if errors.Is(err, exec.ErrNotFound) {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		if v, err := p.Version(t.Context()); v != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, v, err)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2.1.9", "2.1.10", true}, {"2.1.10", "2.1.9", false}, {"2.1", "2.1.0", false}, {"2", "2.0.1", true}, {"x", "1", true}} {
		if Older(c.a, c.b) != c.want {
			t.Errorf("%s, %s", c.a, c.b)
		}
	}
}
