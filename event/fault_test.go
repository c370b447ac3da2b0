package event_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// Every kind of error that the source declares has exactly one row, and the
// rows can be told apart where they have to be.
func TestKinds(t *testing.T) {
	t.Parallel()
	declared := constants(t, "ErrorKind")
	rows := map[event.ErrorKind]int{}
	exits, codes := map[int]event.ErrorKind{}, map[string]event.ErrorKind{}
	agentCore := map[string]bool{ // the exceptions that the platform's page names
		"ValidationException": true, "ServiceQuotaExceededException": true, "AccessDeniedException": true,
		"ResourceNotFoundException": true, "RetryableConflictException": true, "RuntimeClientError": true,
		"ThrottlingException": true, "InternalServerException": true,
	}
	for i, k := range event.Kinds() {
		rows[k.Kind]++
		if (i == 0) != (k.Kind == event.ErrInternal) {
			t.Errorf("row %d is %s", i, k.Kind)
		}
		if k.HTTP < 400 || k.HTTP > 599 {
			t.Errorf("%s: HTTP status %d is no error", k.Kind, k.HTTP)
		}
		if k.Exit < 1 || k.Exit > 255 {
			t.Errorf("%s: exit code %d", k.Kind, k.Exit)
		}
		if other, taken := exits[k.Exit]; taken {
			t.Errorf("%s has the exit code of %s", k.Kind, other)
		}
		exits[k.Exit] = k.Kind
		if other, taken := codes[k.Code]; taken || k.Code == "" || strings.ToUpper(k.Code) != k.Code {
			t.Errorf("%s: code %q, %s", k.Kind, k.Code, other)
		}
		codes[k.Code] = k.Kind
		if !agentCore[k.AgentCore] {
			t.Errorf("%s: AgentCore knows no %q", k.Kind, k.AgentCore)
		}
		if k.ADK == "" || !strings.HasSuffix(k.Meaning, ".") {
			t.Errorf("%s: ADK %q, meaning %q", k.Kind, k.ADK, k.Meaning)
		}
		if got := k.Kind.Info(); got != k {
			t.Errorf("Info of %s = %+v", k.Kind, got)
		}
	}
	for name, kind := range declared {
		if n := rows[event.ErrorKind(kind)]; n != 1 {
			t.Errorf("%s has %d rows", name, n)
		}
	}
	if len(rows) != len(declared) {
		t.Errorf("%d kinds in the table, %d in the source", len(rows), len(declared))
	}
	// What seed 4 fixes.
	for kind, want := range map[event.ErrorKind]string{
		event.ErrLocked: "CONVERSATION_LOCKED", event.ErrModel: "SDK_ERROR", event.ErrTimeout: "TIMEOUT",
		event.ErrInternal: "INTERNAL_ERROR", event.ErrModelNotFound: "MODEL_NOT_FOUND",
	} {
		if got := kind.Info().Code; got != want {
			t.Errorf("code of %s = %s, want %s", kind, got, want)
		}
	}
	// A caller's copy of the table is its own.
	event.Kinds()[0].HTTP = 1
	if event.ErrInternal.Info().HTTP == 1 {
		t.Error("Kinds hands out the table itself")
	}
	if got := event.ErrorKind("from the future").Info(); got.Kind != event.ErrInternal {
		t.Errorf("an unknown kind counts as %s", got.Kind)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  *event.Error
		want string
	}{
		{&event.Error{}, "internal"},
		{&event.Error{Kind: event.ErrLimit}, "limit"},
		{&event.Error{Kind: event.ErrLimit, Err: io.EOF}, "limit: EOF"},
		{&event.Error{Kind: event.ErrLimit, Message: "too many", Err: io.EOF}, "too many"},
		{&event.Error{Op: "run", Kind: event.ErrLimit, Message: "too many", Hint: "ask for less"}, "run: too many (ask for less)"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
	wrapped := fmt.Errorf("outer: %w", &event.Error{Kind: event.ErrThrottled, RetryAfter: time.Second, Err: io.EOF})
	if !errors.Is(wrapped, event.ErrThrottled) || errors.Is(wrapped, event.ErrLimit) || !errors.Is(wrapped, io.EOF) {
		t.Error("errors.Is does not find kind and cause")
	}
	if !errors.Is(&event.Error{}, event.ErrInternal) {
		t.Error("no kind does not count as internal")
	}
	for _, tt := range []struct {
		err  error
		want event.ErrorKind
	}{
		{nil, ""},
		{io.EOF, event.ErrInternal},
		{wrapped, event.ErrThrottled},
		{fmt.Errorf("x: %w", event.ErrGone), event.ErrGone},
		{&event.Error{}, event.ErrInternal},
	} {
		if got := event.KindOf(tt.err); got != tt.want {
			t.Errorf("KindOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// docs/errors.md is the table for people.
func TestErrorsDocument(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`# Errors

Every error of Braid has a kind. The kind determines the HTTP status before the
first byte, the command's exit code, the native API's code, AgentCore's exception
and ADK's errorCode. After the first byte, an error is an event of the stream with
the same words.

` + "`go test ./event -run TestErrorsDocument -update`" + ` writes this file from the table in
` + "`event/fault.go`" + `. In Go, ` + "`errors.Is(err, event.ErrThrottled)`" + ` tests for a kind.
"Retry" means that the same request may succeed later.

| kind | what it means | HTTP | exit | code | AgentCore | ADK | retry |
|---|---|---|---|---|---|---|---|
`)
	for _, k := range event.Kinds() {
		retry := "no"
		if k.Retry {
			retry = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | `%s` | `%s` | `%s` | %s |\n", k.Kind, k.Meaning, k.HTTP, k.Exit, k.Code, k.AgentCore, k.ADK, retry)
	}
	b.WriteString(`
Exit codes follow the shell's conventions: 124 is a timeout, 130 an interrupt, 0
success. An error that is not Braid's own counts as ` + "`internal`" + `.
`)
	generated(t, "../docs/errors.md", []byte(b.String()))
}
