package permission

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/fold"
)

func TestEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, ask, deny, tool string
		want                   Effect
	}{
		{"", "", "", "delete_file", Allow},
		{"", "delete", "", "delete_file", Allow},
		{"get_*", "*", "", "get_file", Allow},
		{"get_*", "*", "", "delete_file", Ask},
		{"delete_file", "", "delete_file*", "delete_file", Allow}, // a name counts before a pattern
		{"delete_*", "delete_*", "delete_*", "delete_file", Deny}, // the strictest of equals
		{"", "delete_*", "*_file", "delete_file", Ask},            // more letters
		{"", "", "[a-d]elete_file", "delete_file", Deny},
	} {
		p, err := New(strings.Fields(c.allow), strings.Fields(c.ask), strings.Fields(c.deny), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Effect(c.tool); got != c.want {
			t.Errorf("allow %q, ask %q, deny %q: %s has effect %d, want %d", c.allow, c.ask, c.deny, c.tool, got, c.want)
		}
	}
	for _, bad := range []string{"", "[", "a b", "a/b", `\d`} {
		if _, err := New(nil, []string{bad}, nil, nil); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q is a pattern: %v", bad, err)
		}
	}
}

// state keeps values in memory.
type state map[string]json.RawMessage

func (s state) State(key string) (json.RawMessage, bool)   { v, ok := s[key]; return v, ok }
func (s state) SetState(key string, value json.RawMessage) { s[key] = value }

func TestKeptGrants(t *testing.T) {
	t.Parallel()
	need := grant.Grant{User: "u", Agent: "a", Tool: "pay", ToolHash: "h", Args: json.RawMessage(`{"sum":1}`)}
	other := need
	other.Args = json.RawMessage(`{"sum":2}`)
	changed := need
	changed.ToolHash = "other"

	s := state{}
	if Keep(s, &need); !Kept(s, &need) || Kept(s, &other) || Kept(s, &changed) {
		t.Error("a grant for one call is not for that call alone")
	}
	for key := range s {
		if !strings.HasPrefix(key, KeyPrefix) {
			t.Errorf("a grant is kept at %s", key)
		}
	}
	all := need
	all.Args, all.AnyArgs = nil, true
	if Keep(s, &all); !Kept(s, &other) || Kept(s, &changed) {
		t.Error("a grant for any arguments is not for the arguments alone")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	need := grant.Grant{Tool: "pay", ToolHash: "h", Args: json.RawMessage(`{"a":1,"b":2}`)}
	for _, c := range []struct {
		tool, hash, args string
		want             bool
	}{
		{"pay", "h", `{ "b": 2, "a": 1 }`, true},
		{"pay", "h", `{"a":1,"b":3}`, false},
		{"pay", "h", `{`, false},
		{"pay", "", `{"a":1,"b":2}`, false},
		{"buy", "h", `{"a":1,"b":2}`, false},
	} {
		q := &fold.Ask{}
		q.Tool, q.ToolHash, q.Args = c.tool, c.hash, json.RawMessage(c.args)
		if got := Answers(q, &need); got != c.want {
			t.Errorf("%s %s %s answers: %v", c.tool, c.hash, c.args, got)
		}
	}
}

// brokenStore cannot be read.
type brokenStore struct{ grant.Store }

func (brokenStore) Granted(context.Context, grant.Grant) (bool, error) {
	return true, errors.New("broken")
}

func TestGranted(t *testing.T) {
	t.Parallel()
	call := grant.Grant{Tool: "pay", Args: json.RawMessage(`{}`)}
	yes, no := &Policy{Grants: &grant.Memory{}}, &Policy{Grants: &grant.Memory{}}
	if err := yes.Grants.Grant(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if !Granted(t.Context(), []*Policy{yes, yes}, call) || Granted(t.Context(), []*Policy{yes, no}, call) {
		t.Error("a call is not granted by all policies that ask")
	}
	if Granted(t.Context(), []*Policy{yes, {Grants: brokenStore{}}}, call) {
		t.Error("a store that cannot be read grants a call")
	}
}
