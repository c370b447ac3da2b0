package native_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// Every code is one kind's, and what the wire says of an error comes back as it.
func TestErrors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range native.Codes() {
		if seen[c.Code] {
			t.Errorf("the code %s is there twice", c.Code)
		}
		seen[c.Code] = true
		err := &event.Error{Kind: c.Kind, Message: "it happened", Hint: "do this", Code: c.Code, RetryAfter: 1500 * time.Millisecond}
		out, status := native.ErrorOf(fmt.Errorf("wrapped: %w", err))
		if out.Code != c.Code || status != c.HTTP {
			t.Errorf("%s of kind %s is sent as %+v with %d", c.Code, c.Kind, out, status)
		}
		back := out.Err()
		if !errors.Is(back, c.Kind) || back.Code != c.Code {
			t.Errorf("%s of kind %s comes back as %+v", c.Code, c.Kind, back)
		}
		if strings.Contains(out.Message+out.Hint, "it happened") && c.Kind == event.ErrInternal {
			t.Errorf("an internal error tells of the inside: %+v", out)
		}
		if c.Code == native.CodeStorageDamaged {
			continue
		}
		if c.Kind == event.ErrInternal {
			if out.Message != event.ErrInternal.Info().Meaning || out.Hint != "" {
				t.Errorf("an internal error says %+v", out)
			}
			continue
		}
		if back.Message != "it happened" || back.Hint != "do this" || back.RetryAfter != 2*time.Second {
			t.Errorf("%s comes back as %+v", c.Code, back)
		}
	}
	for name, c := range map[string]struct {
		err  error
		code string
		http int
	}{
		"a provider's own code":       {&event.Error{Kind: event.ErrModel, Code: "rate_limit_error"}, "SDK_ERROR", 502},
		"a code of another kind":      {&event.Error{Kind: event.ErrModel, Code: native.CodeRunNotFound}, "SDK_ERROR", 502},
		"a kind alone":                {event.ErrLocked, "CONVERSATION_LOCKED", 409},
		"no error of ours":            {errors.New("a secret"), "INTERNAL_ERROR", 500},
		"a kind that nobody knows":    {&event.Error{Kind: "new", Message: "a secret"}, "INTERNAL_ERROR", 500},
		"a damaged journal":           {&event.Error{Kind: event.ErrInternal, Code: native.CodeStorageDamaged, Message: "a secret"}, "STORAGE_DAMAGED", 500},
		"an internal error's code":    {&event.Error{Kind: event.ErrInternal, Code: native.CodeRunNotFound, Message: "a secret"}, "INTERNAL_ERROR", 500},
		"too many bytes":              {&event.Error{Kind: event.ErrQuota, Code: native.CodeTooManyBytes}, "TOO_MANY_BYTES", 429},
		"a busy server":               {&event.Error{Kind: event.ErrUnavailable, Code: native.CodeServerBusy}, "SERVER_BUSY", 503},
		"a large conversation":        {&event.Error{Kind: event.ErrTooLarge, Code: native.CodeConversationTooLarge}, "CONVERSATION_TOO_LARGE", 413},
		"a code that the issue names": {&event.Error{Kind: event.ErrNotFound, Code: native.CodeConversationNotFound}, "CONVERSATION_NOT_FOUND", 404},
	} {
		out, status := native.ErrorOf(c.err)
		if out.Code != c.code || status != c.http || out.Message == "" || out.Message == "a secret" {
			t.Errorf("%s: got %+v with %d", name, out, status)
		}
	}
	if e := (&native.Error{Code: "FROM_THE_FUTURE"}).Err(); !errors.Is(e, event.ErrInternal) || e.Code != "FROM_THE_FUTURE" {
		t.Errorf("got %+v", e)
	}
}
