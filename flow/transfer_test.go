package flow

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// router is a model that follows orders in the newest words of a user: "@name" hands over to an agent of that name, once for each
// agent, and everything else is answered with what it sees.
type router struct{ name string }

func (m *router) Info() model.Info { return model.Info{Name: "test:" + m.name} }

func (m *router) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		orders := ""
		for _, msg := range slices.Backward(req.Messages) {
			if text := msg.Text(); msg.Role == event.RoleUser && text != "" {
				_, orders, _ = strings.Cut(text, "@"+m.name+">")
				orders, _, _ = strings.Cut(orders, " ")
				break
			}
		}
		last := req.Messages[len(req.Messages)-1]
		failed := strings.Contains(wordsOf(last), "Error")
		chunks := []model.Chunk{{Kind: model.ChunkText, Text: m.name + " sees " + seen(req.Messages)}, {Kind: model.ChunkStop, Stop: event.StopEndTurn}}
		if orders != "" && !failed && !strings.Contains(last.Text(), "gives the conversation back") {
			chunks = []model.Chunk{
				{Kind: model.ChunkCall, ID: "c1", Text: TransferTool},
				{Kind: model.ChunkCallInput, Text: `{"agent_name":"` + orders + `","message":"be quick"}`},
				{Kind: model.ChunkStop, Stop: event.StopToolUse},
			}
		}
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// seen shows the messages of a request.
func seen(messages []event.Message) string {
	var list []string
	for _, m := range messages {
		var blocks []string
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				text, _, _ := strings.Cut(b.Text, " sees ")
				blocks = append(blocks, text)
			case *event.ToolCall:
				blocks = append(blocks, "call")
			case *event.ToolResult:
				blocks = append(blocks, "result")
			}
		}
		list = append(list, string(m.Role[:1])+"("+strings.Join(blocks, "|")+")")
	}
	return strings.Join(list, " ")
}

// support is a team of two levels: a lead, billing with its own member refunds, and tech.
func support(o TeamOptions, change func(billing *Sub)) *braid.Agent {
	llm := func(name string) *braid.Agent { return braid.New(name, &router{name}) }
	billing := Sub{Agent: Team(llm("billing"), o, Sub{Agent: llm("refunds"), Description: "Pays back."}), Description: "Bills."}
	if change != nil {
		change(&billing)
	}
	return Team(llm("lead"), o, billing, Sub{Agent: llm("tech"), Description: "Repairs."})
}

// path runs the inputs in one conversation, and returns who had it.
func path(t *testing.T, a *braid.Agent, inputs ...string) (had []string, last *braid.Result) {
	t.Helper()
	store := journal.NewMemory(journal.MemoryOptions{})
	for _, input := range inputs {
		r, err := a.Run(t.Context(), input, braid.In(braid.Open(store, "c"))) // as in another process
		if err != nil {
			t.Fatal(input, err)
		}
		who, _, _ := strings.Cut(r.Text(), " ")
		had, last = append(had, who), r
	}
	return had, last
}

func TestTransfers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o      TeamOptions
		change func(*Sub)
		inputs []string
		want   string
	}{
		"nobody":           {inputs: []string{"hi"}, want: "lead"},
		"to a child":       {inputs: []string{"@lead>billing hi", "and?"}, want: "billing billing"},
		"to a grandchild":  {inputs: []string{"@lead>billing @billing>refunds hi", "and?"}, want: "refunds refunds"},
		"to a peer":        {inputs: []string{"@lead>billing @billing>tech hi", "and?"}, want: "tech tech"},
		"to the parent":    {inputs: []string{"@lead>billing hi", "@billing>lead back"}, want: "billing lead"},
		"later":            {inputs: []string{"hi", "@lead>tech go", "on", "@tech>lead back", "on"}, want: "lead tech tech lead lead"},
		"return":           {TeamOptions{Control: Return}, nil, []string{"@lead>billing hi", "and?"}, "billing lead"},
		"once":             {TeamOptions{Control: Once}, nil, []string{"@lead>billing hi", "and?"}, "lead lead"},
		"no parent":        {change: func(m *Sub) { m.NoParent = true }, inputs: []string{"@lead>billing hi", "and?"}, want: "billing lead"},
		"below no parent":  {change: func(m *Sub) { m.NoParent = true }, inputs: []string{"@lead>billing @billing>refunds hi", "and?"}, want: "refunds lead"},
		"no parent, tries": {change: func(m *Sub) { m.NoParent = true }, inputs: []string{"@lead>billing @billing>lead hi"}, want: "billing"},
		"no peers":         {change: func(m *Sub) { m.NoPeers = true }, inputs: []string{"@lead>billing @billing>tech hi"}, want: "billing"},
		"unknown":          {inputs: []string{"@lead>nobody hi"}, want: "lead"},
		"in a circle":      {TeamOptions{Max: 3}, nil, []string{"@lead>billing @billing>lead hi"}, "billing"},
	} {
		had, r := path(t, support(c.o, c.change), c.inputs...)
		if got := strings.Join(had, " "); got != c.want {
			t.Errorf("%s: %s, want %s: %q", name, got, c.want, r.Text())
		}
	}
}

// What the new agent sees.
func TestWhatIsSeenAfterATransfer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sees Sees
		want []string
	}{
		"all": {SeesAll, []string{
			"billing sees u(@lead>billing hi) a(call) u(result)",
			"billing sees u(@lead>billing hi) a(call) u(result) a(billing) u(and?)",
		}},
		"context": {SeesContext, []string{
			"billing sees u(@lead>billing hi|For context:|[lead] called tool `transfer_to_agent` with parameters: {\"agent_name\":\"billing\",\"message\":\"be quick\"}|" +
				"For context:|[lead] `transfer_to_agent` tool returned result: The agent billing takes over.)",
			"billing sees u(@lead>billing hi) a(call) u(result) a(billing) u(and?)",
		}},
		"a brief": {SeesBrief, []string{
			"billing sees u(@lead>billing hi|[lead] hands over to you: be quick)",
			"billing sees u(@lead>billing hi) a(call) u(result) a(billing) u(and?)",
		}},
	} {
		a, conv := support(TeamOptions{Sees: c.sees}, nil), braid.NewConversation()
		for i, input := range []string{"@lead>billing hi", "and?"} {
			if r, err := a.Run(t.Context(), input, braid.In(conv)); err != nil || r.Text() != c.want[i] {
				t.Errorf("%s: %q\nwant %q, %v", name, r.Text(), c.want[i], err)
			}
		}
	}
}

// The log has each transfer, and events have the agent that has the conversation as their author.
func TestTheEventsOfATransfer(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	a := support(TeamOptions{Control: Once}, nil)
	if _, err := a.Run(t.Context(), "@lead>billing hi", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	var list []string
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.AssistantMessage:
			list = append(list, e.Author+" speaks")
		case *event.Transferred:
			list = append(list, fmt.Sprintf("%s: %s>%s %s %q %s", e.Author, b.From, b.To, b.Policy, b.Brief, e.Step))
		case *event.ScopeOpened:
			t.Error("a scope was opened")
		}
	}
	want := []string{"lead speaks", `lead: lead>billing once "be quick" t1.0`, "billing speaks", `billing: billing>lead  "" `, "lead speaks"}
	if !slices.Equal(list, want) {
		t.Errorf("%q\nwant %q", list, want)
	}
}

// A team goes on after a crash at each commit, and after a reset the root agent begins.
func TestATeamGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	for _, o := range []TeamOptions{{}, {Control: Once, Sees: SeesContext}, {Control: Return, Sees: SeesBrief}} {
		store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
		want, err := support(o, nil).Run(t.Context(), "@lead>billing @billing>refunds go", braid.In(braid.Open(store, "c")))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range store.ends[:len(store.ends)-1] {
			again := journal.NewMemory(journal.MemoryOptions{})
			run := journal.Run{ID: store.log[0].Run, Conversation: "c", Agent: "lead", Input: []event.Message{
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "@lead>billing @billing>refunds go"}}},
			}}
			if _, err := again.Admit(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			opened, err := again.Acquire(t.Context(), run.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Commit(t.Context(), opened.Lease, journal.Batch{Events: store.log[:n], Release: true}); err != nil {
				t.Fatal(err)
			}
			got, err := support(o, nil).Resume(t.Context(), braid.Open(again, "c"))
			if err != nil || got.Text() != want.Text() {
				t.Errorf("%+v, cut after event %d: %q, want %q, %v", o, n, got.Text(), want.Text(), err)
			}
		}
	}
	conv := braid.NewConversation()
	a := support(TeamOptions{}, nil)
	for i, c := range []struct {
		input, want string
		opts        []braid.RunOption
	}{
		{"@lead>billing hi", "billing", nil}, {"and?", "billing", nil}, {"new", "lead", []braid.RunOption{braid.NewSession()}},
	} {
		r, err := a.Run(t.Context(), c.input, append(c.opts, braid.In(conv))...)
		if err != nil || !strings.HasPrefix(r.Text(), c.want+" ") {
			t.Errorf("%d: %q, %v", i, r.Text(), err)
		}
	}
}

// A team is a tool and a part of a flow: it hands over inside its scope.
func TestATeamInsideAFlow(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	s := Sequence("s", support(TeamOptions{}, nil), agent("z"))
	r, err := s.Run(t.Context(), "@lead>tech hi", braid.In(conv))
	if err != nil || !strings.HasPrefix(r.Text(), "z(tech sees") {
		t.Errorf("%q, %v", r.Text(), err)
	}
	if err := Team(agent("a"), TeamOptions{}, Sub{Agent: s}).Err(); err == nil || !strings.Contains(err.Error(), "cannot be in a team") {
		t.Error(err)
	}
}
