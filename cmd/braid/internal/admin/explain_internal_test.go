package admin

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// Only a server that cannot be reached has to be started. What a server answers keeps its hint.
func TestExplain(t *testing.T) {
	t.Parallel()
	dead := &url.Error{Op: "Get", URL: "http://127.0.0.1:1", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		err  error
		hint string
	}{
		"no server":    {&event.Error{Kind: event.ErrUnavailable, Message: "the server cannot be reached", Err: fmt.Errorf("get: %w", dead)}, "start one with braid serve, or name it with --server"},
		"a busy one":   {&event.Error{Kind: event.ErrUnavailable, Message: "the server is busy", Hint: "try again later"}, "try again later"},
		"a bad report": {&event.Error{Kind: event.ErrUnavailable, Message: "the webhook did not accept it", Hint: "Correct the endpoint."}, "Correct the endpoint."},
	} {
		if _, hint := term.Describe((&admin{}).explain(c.err)); hint != c.hint {
			t.Errorf("%s: the hint is %q, want %q", name, hint, c.hint)
		}
	}
}
