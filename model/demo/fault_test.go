package demo_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

func TestErrorFaultsGiveTheirKind(t *testing.T) {
	t.Parallel()
	for kind, want := range map[demo.FaultKind]event.ErrorKind{
		"throttled": event.ErrThrottled, "overloaded": event.ErrOverloaded, "unavailable": event.ErrUnavailable,
		"model_error": event.ErrModel, "model_auth": event.ErrModelAuth, "model_not_found": event.ErrModelNotFound,
		"context_overflow": event.ErrContextOverflow, "timeout": event.ErrTimeout, "invalid": event.ErrInvalid,
		demo.FaultCut: event.ErrStreamCut,
	} {
		m := script(t, always(demo.Say("one two three four five six")), demo.Faults(demo.Fault{Kind: kind, RetryAfter: 3 * time.Second}))
		got, err := chunks(t.Context(), m, request(user("go")))
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != want || e.Message == "" {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if kind == demo.FaultCut {
			if len(got) == 0 {
				t.Error("nothing came before the cut")
			}
		} else if len(got) > 0 || e.RetryAfter != 3*time.Second {
			t.Errorf("%s: %d pieces, retry after %v", kind, len(got), e.RetryAfter)
		}
	}
	m := script(t, always(demo.Say("x")), demo.Faults(demo.Fault{Kind: demo.FaultForeignError}))
	_, err := chunks(t.Context(), m, request(user("go")))
	var e *event.Error
	if err == nil || errors.As(err, &e) {
		t.Errorf("foreign error: %v", err)
	}
}

func TestFaultsStrikeByCycleAndAttempt(t *testing.T) {
	t.Parallel()
	s := always(demo.Say("fine"))
	s.Rules = append([]demo.Rule{{
		When: demo.When{User: []string{"weather"}, Round: demo.AnyRound}, Reply: say("sunny"),
		Fault: &demo.Fault{Kind: "overloaded", Attempts: 1},
	}}, s.Rules...)
	m := script(t, s, demo.Faults(
		demo.Fault{Kind: "throttled", Cycle: 2, Attempts: 3},
		demo.Fault{Kind: "model_auth", Cycle: 3},
	))
	for _, tc := range []struct {
		said           string
		cycle, attempt int
		want           event.ErrorKind
	}{
		{"go", 1, 1, ""},
		{"go", 2, 1, event.ErrThrottled},
		{"go", 2, 3, event.ErrThrottled},
		{"go", 2, 4, ""},
		{"go", 3, 99, event.ErrModelAuth},
		{"go", 4, 1, ""},
		{"weather", 1, 1, event.ErrOverloaded},
		{"weather", 1, 2, ""},
		{"weather", 2, 1, event.ErrOverloaded}, // the rule's own takes precedence
		{"weather", 2, 2, event.ErrThrottled},
	} {
		req := request(user(tc.said))
		req.Cycle, req.Attempt = tc.cycle, tc.attempt
		// The model has no state: a second request gets the same answer.
		for range 2 {
			_, _, _, err := collect(t.Context(), m, req)
			if event.KindOf(err) != tc.want {
				t.Errorf("%+v: %v", tc, err)
			}
		}
	}
}

func TestFaultsInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, kind := range []demo.FaultKind{demo.FaultCut, demo.FaultNoStop, "throttled", demo.FaultForeignError} {
		m := script(t, always(demo.Say("one two three four five six")), demo.Faults(demo.Fault{Kind: kind, After: 3}))
		got, err := chunks(t.Context(), m, request(user("go")))
		if len(got) != 3 || (err == nil) != (kind == demo.FaultNoStop) {
			t.Errorf("%s: %d pieces, then %v", kind, len(got), err)
		}
	}
	m := script(t, always(demo.Say("one two")), demo.Faults(demo.Fault{Kind: demo.FaultNoStop}))
	msg, _, _, err := collect(t.Context(), m, request(user("go")))
	if !errors.Is(err, errNoStop) || msg.Text() != "one two" {
		t.Errorf("no stop: %q, %v", msg.Text(), err)
	}
	m = script(t, always(demo.Say("one")), demo.Faults(demo.Fault{Kind: demo.FaultCut, After: 1000}))
	if got, err := chunks(t.Context(), m, request(user("go"))); len(got) != 1 || !errors.Is(err, event.ErrStreamCut) {
		t.Errorf("a cut behind the end: %d pieces, then %v", len(got), err)
	}
}

func TestFaultsInTheContent(t *testing.T) {
	t.Parallel()
	ask := func(f demo.Fault, pieces ...demo.Piece) event.Message {
		t.Helper()
		msg, _, _ := whole(t, script(t, always(pieces...), demo.Faults(f)), request(user("go")))
		return msg
	}
	two := []demo.Piece{demo.Call("add", `{"a":3,"b":5}`), demo.Call("sub", "")}

	calls := ask(demo.Fault{Kind: demo.FaultBadArguments}, two...).Calls()
	if json.Valid(calls[0].Args) || len(calls[0].Args) == 0 {
		t.Errorf("bad arguments: %s", calls[0].Args)
	}
	calls = ask(demo.Fault{Kind: demo.FaultUnknownTool}, two...).Calls()
	if calls[0].Name != "no_such_tool" || string(calls[0].Args) != `{"a":3,"b":5}` {
		t.Errorf("unknown tool: %+v", calls[0])
	}
	calls = ask(demo.Fault{Kind: demo.FaultDuplicateIDs}, two...).Calls()
	if len(calls) != 2 || calls[0].ID != calls[1].ID || calls[0].ID == "" {
		t.Errorf("duplicate ids: %+v", calls)
	}
	calls = ask(demo.Fault{Kind: demo.FaultDuplicateIDs}, two[0]).Calls()
	if len(calls) != 2 || calls[0].ID != calls[1].ID || calls[1].Name != "add" {
		t.Errorf("one call twice: %+v", calls)
	}
	calls = ask(demo.Fault{Kind: demo.FaultEmptyIDs}, two...).Calls()
	if calls[0].ID != "" || calls[1].ID != "" {
		t.Errorf("empty ids: %+v", calls)
	}
	calls = ask(demo.Fault{Kind: demo.FaultHugeArguments}, two...).Calls()
	for _, c := range calls {
		if len(c.Args) < 10<<20 || !json.Valid(c.Args) {
			t.Errorf("huge arguments of %s: %d bytes", c.Name, len(c.Args))
		}
	}
	calls = ask(demo.Fault{Kind: demo.FaultHugeArguments, Size: 100}, two...).Calls()
	if got := string(calls[0].Args); got != `{"a":3,"b":5,"padding":"`+strings.Repeat("x", 100)+`"}` {
		t.Errorf("hundred bytes more: %s", got)
	}
	msg := ask(demo.Fault{Kind: demo.FaultInvalidUTF8}, demo.Say("three pieces here"))
	if utf8.ValidString(msg.Text()) || !strings.HasPrefix(msg.Text(), "three pieces") {
		t.Errorf("invalid UTF-8: %q", msg.Text())
	}
	if msg = ask(demo.Fault{Kind: demo.FaultInvalidUTF8}, two...); utf8.ValidString(msg.Text()) {
		t.Errorf("invalid UTF-8 beside calls: %q", msg.Text())
	}
	// Faults in calls do not change a reply without calls.
	for _, kind := range []demo.FaultKind{demo.FaultBadArguments, demo.FaultUnknownTool, demo.FaultDuplicateIDs, demo.FaultEmptyIDs, demo.FaultHugeArguments} {
		if msg = ask(demo.Fault{Kind: kind}, demo.Say("fine")); msg.Text() != "fine" || len(msg.Content) != 1 {
			t.Errorf("%s in a text: %+v", kind, msg)
		}
	}
}

// Faults of one script do not affect another.
func TestFaultsLeaveTheScriptAlone(t *testing.T) {
	t.Parallel()
	m := script(t, always(demo.Say("hello"), demo.Call("add", `{"a":1}`)), demo.Faults(
		demo.Fault{Kind: demo.FaultInvalidUTF8, Attempts: 1}, demo.Fault{Kind: demo.FaultBadArguments, Attempts: 2},
	))
	for range 2 {
		for attempt := 1; attempt <= 3; attempt++ {
			req := request(user("go"))
			req.Attempt = attempt
			msg, _, _ := whole(t, m, req)
			clean := utf8.ValidString(msg.Text()) && string(msg.Calls()[0].Args) == `{"a":1}`
			if clean != (attempt == 3) {
				t.Errorf("attempt %d: %q %s", attempt, msg.Text(), msg.Calls()[0].Args)
			}
		}
	}
}

func TestUnknownFaultsAreRefused(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]demo.Fault{
		"there is no fault":            {Kind: "explode"},
		"attempts: must not be":        {Kind: demo.FaultCut, Attempts: -1},
		"cycle: must not be":           {Kind: demo.FaultCut, Cycle: -1},
		"after: must not be":           {Kind: demo.FaultCut, After: -1},
		"retry_after: must not be":     {Kind: demo.FaultCut, RetryAfter: -1},
		"size: must be at most":        {Kind: demo.FaultHugeArguments, Size: 1 << 40},
		"size: must not be negative (": {Kind: demo.FaultHugeArguments, Size: -1},
	} {
		_, err := demo.New(always(demo.Say("x")), demo.Faults(f))
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", f, err)
		}
		m := demo.Answer("x", func(*model.Request) demo.Rule { return demo.Rule{} }, demo.Faults(f))
		if _, err := chunks(t.Context(), m, request(user("go"))); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%+v in Answer: %v", f, err)
		}
	}
}
