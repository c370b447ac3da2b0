package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

// faulty opens a scripted model that fails.
func faulty(f demo.Fault) func(string) (braid.Model, error) {
	return func(string) (braid.Model, error) { return demo.Load("assistant", demo.Faults(f)) }
}

func TestRunsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault demo.Fault
		args  []string
		code  int
		err   string
	}{
		{"time is over", demo.Fault{Kind: demo.FaultStall, After: 1}, []string{"--timeout", "50ms"}, 124, "time"},
		{"key refused", demo.Fault{Kind: "model_auth"}, nil, 21, ""},
		{"provider fails", demo.Fault{Kind: "model_error"}, nil, 20, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, out, errs := testProcess(t, nil, append([]string{"run", "--json", "hi"}, c.args...)...)
			p.openRef = faulty(c.fault)
			if code := p.run(t.Context()); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			var last printer.Summary
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
				t.Fatal(err)
			}
			if last.Kind != "result" || last.Exit != c.code || last.Error == nil || last.Error.Kind.Info().Exit != c.code || !last.Simulated {
				t.Errorf("the last line is %s", lines[len(lines)-1])
			}
			if n := strings.Count(errs.String(), "braid: "); n != 1 || !strings.Contains(errs.String(), c.err) {
				t.Errorf("the errors are %q", errs)
			}
		})
	}
}

// A failed turn does not end the chat.
func TestChatGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	p, out, errs := testProcess(t, nil, "chat")
	p.Stdin = strings.NewReader("hello\nhi\n")
	p.openRef = faulty(demo.Fault{Kind: "model_auth"})
	if code := p.run(t.Context()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if n := strings.Count(errs.String(), "braid: "); n != 2 {
		t.Errorf("%d errors: %s%s", n, errs, out)
	}
}

// Every line of --json except the last is an event that the library can read.
func TestJSONLinesAreEvents(t *testing.T) {
	t.Parallel()
	p, out, _ := testProcess(t, nil, "run", "--json", "--model", "demo:tour", "Show me.\u202e")
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	seen := map[event.Kind]int{}
	for _, line := range lines[:len(lines)-1] {
		e, err := event.Decode([]byte(line))
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if !e.Simulated {
			t.Errorf("not marked as simulated: %s", line)
		}
		seen[e.Body.Kind()]++
		if strings.ContainsRune(line, '\u202e') {
			t.Errorf("a control got through: %s", line)
		}
	}
	for _, k := range []event.Kind{event.KindRunStarted, event.KindUserMessage, event.KindTextDelta, event.KindStepEnded, event.KindRunEnded} {
		if seen[k] == 0 {
			t.Errorf("there is no %s", k)
		}
	}
	if seen[event.KindUserMessage] != 1 || seen[event.KindRunEnded] != 1 {
		t.Errorf("the events are %v", seen)
	}
}

// A lost output cancels the run.
func TestLostOutputCancelsTheRun(t *testing.T) {
	t.Parallel()
	p, _, errs := testProcess(t, nil, "run", "--model", "demo:tour", "Show me.")
	p.Stdout = &brokenWriter{after: 2}
	if code := p.run(t.Context()); code != event.ErrUnavailable.Info().Exit {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if err := term.OutputError(&event.Error{Kind: event.ErrLimit}); !errors.Is(err, event.ErrLimit) {
		t.Errorf("an error with a kind lost it: %v", err)
	}
}

// counting counts the calls of a model.
type counting struct {
	braid.Model
	calls int
}

func (c *counting) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	c.calls++
	return c.Model.Stream(ctx, req)
}

// Nobody reads the output, so the model is not called again.
func TestLostOutputStopsAtOnce(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil, "run", "--model", "demo:tour", "Show me.")
	p.Stdout = &brokenWriter{}
	model, err := demo.Load("tour")
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Model: model}
	p.openRef = func(string) (braid.Model, error) { return c, nil }
	if code := p.run(t.Context()); code != event.ErrUnavailable.Info().Exit || c.calls != 1 {
		t.Errorf("exit code %d after %d calls of the model", code, c.calls)
	}
}

// /reset makes the model forget; before it, the conversation continued.
func TestChatResets(t *testing.T) {
	t.Parallel()
	p, out, _ := testProcess(t, nil, "chat", "-q")
	p.Stdin = strings.NewReader("one\ntwo\n/reset\nthree\n")
	p.openRef = func(string) (braid.Model, error) {
		return demo.Answer("count", func(req *model.Request) demo.Rule {
			return demo.Rule{Reply: []demo.Piece{demo.Say(fmt.Sprintf("%d messages", len(req.Messages)))}}
		}), nil
	}
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if got, want := out.String(), "1 messages\n3 messages\n1 messages\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
