package permission

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/userdata"
)

// Answers reports whether a question was about exactly this call. A question without a hash comes from an earlier
// version and is about no call, because the tool's description at that time is unknown.
func Answers(q *fold.Ask, g *grant.Grant) bool {
	return q.Tool == g.Tool && q.ToolHash == g.ToolHash && same(q.Args, g.Args)
}

// same reports whether arguments are exactly those that Canonical gave.
func same(args, exact json.RawMessage) bool {
	other, err := Canonical(args)
	return err == nil && bytes.Equal(other, exact)
}

// Granted reports whether each of the policies that ask has a grant for the call. Where that
// cannot be found out, a person is asked.
func Granted(ctx context.Context, asking []*Policy, call grant.Grant) bool {
	for _, p := range asking {
		if ok, err := p.Grants.Granted(ctx, call); err != nil || !ok {
			return false
		}
	}
	return true
}

// State is the state of a conversation, as a running call sees it.
type State interface {
	State(key string) (json.RawMessage, bool)
	SetState(key string, value json.RawMessage)
}

// KeyPrefix begins the keys of the state in which a conversation keeps its own grants. No tool
// can write them.
const KeyPrefix = userdata.Reserved + "grant:"

// keyOf returns the key under which the conversation keeps a grant.
func keyOf(g *grant.Grant) string {
	args := string(g.Args)
	if g.AnyArgs {
		args = "" // no JSON is empty
	}
	return KeyPrefix + hashOf(g.User, g.Agent, g.Tool, g.ToolHash, args)
}

// Kept reports whether the conversation has a grant for the call.
func Kept(s State, g *grant.Grant) bool {
	if _, ok := s.State(keyOf(g)); ok {
		return true
	}
	whole := *g
	whole.AnyArgs = true
	_, ok := s.State(keyOf(&whole))
	return ok
}

// Keep keeps a grant with the conversation. It is written with the end of the call.
func Keep(s State, g *grant.Grant) {
	value, err := json.Marshal(struct {
		Tool string `json:"tool"`
		By   string `json:"by,omitempty"`
	}{g.Tool, g.By})
	if err == nil {
		s.SetState(keyOf(g), value)
	}
}
