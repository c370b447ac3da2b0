package flow

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// hands is a model that hands the work on, the first times as often as it has arguments, and then answers.
type hands struct {
	name string
	args []string
	// asked are the inputs that it got.
	asked *[]string
	turn  int
}

func (m *hands) Info() model.Info { return model.Info{Name: "test:" + m.name} }

func (m *hands) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if m.asked != nil {
			*m.asked = append(*m.asked, m.name+": "+last.Text()+wordsOf(last))
		}
		chunks := []model.Chunk{{Kind: model.ChunkText, Text: m.name + " is done"}, {Kind: model.ChunkStop, Stop: event.StopEndTurn}}
		if m.turn < len(m.args) {
			chunks = []model.Chunk{
				{Kind: model.ChunkCall, ID: "c" + m.name, Text: handoffName},
				{Kind: model.ChunkCallInput, Text: m.args[m.turn]},
				{Kind: model.ChunkStop, Stop: event.StopToolUse},
			}
		}
		m.turn++
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func to(agent, rest string) string {
	return `{"agent_name":"` + agent + `","message":"go on, ` + agent + `"` + rest + `}`
}

// ends is a member that hands on as args say.
func member(asked *[]string, name string, args ...string) Member {
	return Member{Agent: braid.New(name, &hands{name: name, args: args, asked: asked}), Description: "does " + name}
}

func TestASwarmHandsOn(t *testing.T) {
	t.Parallel()
	var asked []string
	s := Swarm{Name: "team", Members: []Member{
		member(&asked, "a", to("b", `,"context":{"z":1,"facts":["x"]}`)), member(&asked, "b", to("c", `,"context":{"z":2}`)), member(&asked, "c"),
	}}
	conv := braid.NewConversation()
	r, err := s.Agent().Run(t.Context(), "start", braid.In(conv))
	if err != nil || r.Text() != "c is done" || r.Metrics.ModelCalls != 3 {
		t.Fatalf("%q, %v", r.Text(), err)
	}
	want := []string{
		"a: start", "b: go on, b\nContext:\n{\n  \"z\": 1,\n  \"facts\": [\n    \"x\"\n  ]\n}", "c: go on, c\nContext:\n{\n  \"z\": 2,\n  \"facts\": [\n    \"x\"\n  ]\n}",
	}
	if got := strings.Join(asked, ";"); got != strings.Join(want, ";") {
		t.Errorf("%q", asked)
	}
	var authors []string
	for e, err := range conv.Events(t.Context(), 0) {
		if _, ok := e.Body.(*event.AssistantMessage); err == nil && ok {
			authors = append(authors, e.Author)
		}
	}
	if got := strings.Join(authors, " "); got != "a a b b c team" {
		t.Errorf("authors %s", got)
	}
}

// With Brief a member also sees the request and who worked before.
func TestASwarmWithABrief(t *testing.T) {
	t.Parallel()
	var asked []string
	s := Swarm{Name: "team", Brief: true, Members: []Member{member(&asked, "a", to("b", "")), member(&asked, "b")}}
	if _, err := s.Agent().Run(t.Context(), "start"); err != nil || asked[1] != "b: go on, b\nUser request:\nstart\nAgents that worked on it before: a" {
		t.Errorf("%q, %v", asked, err)
	}
}

// Bounds end a swarm with an error that says which.
func TestTheBoundsOfASwarm(t *testing.T) {
	t.Parallel()
	many := func(agent string) (list []string) {
		for range 30 {
			list = append(list, to(agent, ""))
		}
		return list
	}
	for name, c := range map[string]struct {
		swarm Swarm
		want  string
		calls int
	}{
		"steps":         {Swarm{Steps: 3}, "worked 3 turns", 3},
		"hand-offs":     {Swarm{Handoffs: 3}, "handed the work on 3 times", 4},
		"the defaults":  {Swarm{}, "worked 20 turns", 20},
		"ping-pong":     {Swarm{PingPong: PingPong{Window: 6, Agents: 3}}, "ping-pong: 2 agents worked in the last 6 turns (a, b, a, b, a, b)", 6},
		"without bound": {Swarm{Steps: -1, Handoffs: -1}, "", 61},
	} {
		s := c.swarm
		s.Name, s.Members = "team", []Member{member(nil, "a", many("b")...), member(nil, "b", many("a")...), member(nil, "c")}
		r, err := s.Agent().Run(t.Context(), "start")
		switch {
		case c.want == "" && (err != nil || r.Text() != "a is done"):
			t.Errorf("%s: %q, %v", name, r.Text(), err)
		case c.want != "" && (!errors.Is(err, event.ErrLimit) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", name, err)
		}
		if r.Metrics.ModelCalls != c.calls {
			t.Errorf("%s: %d model calls, want %d", name, r.Metrics.ModelCalls, c.calls)
		}
	}
}

// A hand-off to somebody else is refused, and the member goes on.
func TestAHandOffThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"a stranger": to("x", ""), "itself": to("a", ""), "no message": `{"agent_name":"b","message":" "}`, "no agent": `{"message":"go"}`,
	} {
		var asked []string
		s := Swarm{Name: "team", Members: []Member{member(&asked, "a", args), member(&asked, "b")}}
		if r, err := s.Agent().Run(t.Context(), "start"); err != nil || r.Text() != "a is done" || len(asked) != 2 || !strings.Contains(asked[1], "rror") {
			t.Errorf("%s: %q, %q, %v", name, r.Text(), asked, err)
		}
	}
}

func TestASwarmThatIsMadeWrong(t *testing.T) {
	t.Parallel()
	taken := member(nil, "a")
	_ = Swarm{Name: "other", Members: []Member{taken, member(nil, "z")}}.Agent()
	for want, s := range map[string]Swarm{
		"no members": {}, "member 1 is nil": {Members: []Member{{}}}, `two members are called "a"`: {Members: []Member{member(nil, "a"), member(nil, "a")}},
		`"x", which is no member`: {Members: []Member{member(nil, "a")}, Start: "x"}, "has the name of the swarm": {Members: []Member{member(nil, "team")}},
		"can never be met":  {Members: []Member{member(nil, "a")}, PingPong: PingPong{Window: 2, Agents: 3}},
		"in one swarm only": {Members: []Member{taken, member(nil, "b")}},
		"negative":          {Members: []Member{member(nil, "a")}, Timeout: -1},
	} {
		s.Name = "team"
		_, err := s.Agent().Run(t.Context(), "go")
		e, _ := errors.AsType[*event.Error](err)
		if e == nil || e.Kind != event.ErrInvalid || !strings.Contains(e.Message+e.Hint, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
