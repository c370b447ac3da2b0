package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

// city is what answers are in these tests.
type city struct {
	Name   string   `json:"name"`
	People int      `json:"people"`
	Sights []string `json:"sights,omitempty"`
}

const kyoto = `{"name":"Kyōto","people":1463723,"sights":["Kinkaku-ji","Nijō"]}`

// heard is a model that remembers what it was asked, and gives one answer after another.
type heard struct {
	output bool
	check  func(*model.Request) error
	asked  []model.Request
	says   [][]model.Chunk
}

func (m *heard) Info() model.Info {
	return model.Info{Name: "test:heard", Output: m.output}
}

func (m *heard) Check(req *model.Request) error {
	if m.check == nil {
		return nil
	}
	return m.check(req)
}

func (m *heard) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.asked = append(m.asked, *req)
	return chunks(m.says[min(len(m.asked), len(m.says))-1])
}

// forced says of each call what it was made to do: "free" or the tool.
func (m *heard) forced() string {
	var list []string
	for i := range m.asked {
		if c := m.asked[i].ToolChoice; c.Mode == model.ToolsOne {
			list = append(list, c.Tool)
		} else {
			list = append(list, "free"+string(c.Mode))
		}
	}
	return strings.Join(list, " ")
}

func answersWith(args string) []model.Chunk { return asksFor(braid.OutputTool, args) }

// What a model says, and how the run goes on from it, for each way of asking.
func TestAnAnswerInItsForm(t *testing.T) {
	t.Parallel()
	unsupported := &event.Error{Kind: event.ErrUnsupported, Message: "it cannot be made to call a tool"}
	cannot := func(req *model.Request) error {
		strict := slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Strict })
		if req.ToolChoice.Mode == model.ToolsOne || req.Output != nil || strict {
			return unsupported
		}
		return nil
	}
	const wrong = `{"name":"Kyōto","people":"many"}`
	for _, c := range []struct {
		name   string
		output bool
		check  func(*model.Request) error
		says   [][]model.Chunk
		limits braid.Limits

		forced string
		stop   event.StopReason
		why    event.Why
		fails  bool
		// news is what the last request ends with.
		news string
	}{
		{name: "the tool at once", says: [][]model.Chunk{answersWith(kyoto)}, forced: "free", stop: event.StopToolUse, why: event.WhyToolStop},
		{
			name: "words, then the tool", says: [][]model.Chunk{says("It is Kyōto."), answersWith(kyoto)},
			forced: "free final_answer", stop: event.StopToolUse, why: event.WhyToolStop, news: "calling the tool final_answer",
		},
		{name: "words that have the form", says: [][]model.Chunk{says("```json\n" + kyoto + "\n```")}, forced: "free", stop: event.StopEndTurn, why: event.WhyEndTurn},
		{
			name: "the tool, and it is wrong", says: [][]model.Chunk{answersWith(wrong), answersWith(`{"name":`), answersWith(kyoto)},
			forced: "free final_answer final_answer", stop: event.StopToolUse, why: event.WhyToolStop, news: "no usable JSON",
		},
		{
			name: "it stays wrong", says: [][]model.Chunk{answersWith(wrong)},
			forced: "free final_answer final_answer final_answer", stop: event.StopLimitAnswers, why: event.WhyLimit, fails: true, news: "people: type",
		},
		{
			name: "it stays wrong, and may be so once", says: [][]model.Chunk{says("It is Kyōto.")}, limits: braid.Limits{OutputRetries: 1},
			forced: "free final_answer", stop: event.StopLimitAnswers, why: event.WhyLimit, fails: true, news: "calling the tool",
		},
		{
			name: "words for ever", says: [][]model.Chunk{says("It is Kyōto.")}, limits: braid.Limits{OutputRetries: -1, Cycles: 9},
			forced: "free" + strings.Repeat(" final_answer", 8), stop: event.StopLimitCycles, why: event.WhyLimit, fails: true, news: "calling the tool",
		},
		{name: "held to it", output: true, says: [][]model.Chunk{says(kyoto)}, forced: "free", stop: event.StopEndTurn, why: event.WhyEndTurn},
		{
			name: "held to it, and wrong", output: true, says: [][]model.Chunk{says(wrong), says(kyoto)},
			forced: "free free", stop: event.StopEndTurn, why: event.WhyEndTurn, news: `people: type: many has type "string", want "integer"`,
		},
		{
			name: "held to it, and wrong for ever", output: true, says: [][]model.Chunk{says(wrong)},
			forced: "free free free free", stop: event.StopLimitAnswers, why: event.WhyLimit, fails: true, news: "as JSON alone",
		},
		{
			name: "a provider that can neither hold nor be made to call", output: true, check: cannot, says: [][]model.Chunk{says("Kyōto."), says(kyoto)},
			forced: "free free", stop: event.StopEndTurn, why: event.WhyEndTurn, news: "is no JSON",
		},
		{
			name: "a provider that cannot hold this schema", output: true,
			check: func(req *model.Request) error {
				if req.Output != nil {
					return unsupported
				}
				return nil
			},
			says: [][]model.Chunk{says("Kyōto."), answersWith(kyoto)}, forced: "free final_answer", stop: event.StopToolUse, why: event.WhyToolStop,
		},
		{
			name: "cut off", says: [][]model.Chunk{append(answersWith(kyoto)[:2], model.Chunk{Kind: model.ChunkStop, Stop: event.StopMaxTokens})},
			forced: "free", stop: event.StopMaxTokens, why: event.WhyMaxTokens, fails: true,
		},
		{
			name: "refused", says: [][]model.Chunk{{{Kind: model.ChunkText, Text: "No."}, {Kind: model.ChunkStop, Stop: event.StopRefusal}}},
			forced: "free", stop: event.StopRefusal, why: event.WhyModelStop, fails: true,
		},
		{
			name: "with another tool beside it", says: [][]model.Chunk{asksFor("add", `{"a":1,"b":2}`, braid.OutputTool, kyoto)},
			forced: "free", stop: event.StopToolUse, why: event.WhyToolStop,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &heard{output: c.output, check: c.check, says: c.says}
			agent := braid.New("guide", m, braid.OutputType[city](), braid.Limit(c.limits), braid.Func("add", "", add))
			conv := braid.NewConversation()
			r, err := agent.Run(t.Context(), "Where?", braid.In(conv))
			if c.fails != (err != nil) || r.Stop != c.stop || r.Why != c.why || r.Status != event.RunCompleted {
				t.Fatalf("%v; %s, %s because %s", err, r.Status, r.Stop, r.Why)
			}
			if got := m.forced(); got != c.forced {
				t.Errorf("asked %s, want %s", got, c.forced)
			}
			got, err := braid.OutputOf[city](r)
			if want := (city{"Kyōto", 1463723, []string{"Kinkaku-ji", "Nijō"}}); !c.fails && (err != nil || !reflect.DeepEqual(got, want)) {
				t.Errorf("the answer is %+v, %v", got, err)
			}
			if c.fails && (!errors.Is(err, event.ErrInvalid) || r.Output != nil) {
				t.Errorf("there is an answer: %s, %v", r.Output, err)
			}
			last := m.asked[len(m.asked)-1]
			if !strings.Contains(lastSaid(last.Messages), c.news) {
				t.Errorf("the last request ends with %q", lastSaid(last.Messages))
			}
			// The conversation goes on, and what a model is shown is valid.
			m.says = [][]model.Chunk{answersWith(kyoto)}
			if c.output && c.check == nil {
				m.says = [][]model.Chunk{says(kyoto)}
			}
			if _, err := agent.Run(t.Context(), "And now?", braid.In(conv), braid.NewSession()); err != nil {
				t.Error(err)
			}
			if _, err := agent.Run(t.Context(), "And now?", braid.In(conv)); err != nil {
				t.Error(err)
			}
			for i := range m.asked {
				if err := braid.ValidMessages(m.asked[i].Messages); err != nil {
					t.Errorf("request %d: %v: %s", i, err, brief(m.asked[i].Messages))
				}
			}
		})
	}
}

// lastSaid is the text of the last message, results too.
func lastSaid(messages []event.Message) string {
	var sb strings.Builder
	for _, b := range messages[len(messages)-1].Content {
		switch b := b.(type) {
		case *event.Text:
			sb.WriteString(b.Text)
		case *event.ToolResult:
			sb.WriteString(event.TextOf(b.Content))
		}
	}
	return sb.String()
}

// What the loop says itself is for the model: the log has it, and no client is shown it.
func TestTheLoopAsksForTheFormInItsOwnName(t *testing.T) {
	t.Parallel()
	m := &heard{says: [][]model.Chunk{says("It is Kyōto."), answersWith(`{}`), answersWith(kyoto)}}
	conv := braid.NewConversation()
	agent := braid.New("guide", m, braid.OutputType[city]())
	if _, err := agent.Run(t.Context(), "Where?", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	said := 0
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.UserMessage); ok && b.Why == event.WhyAnswer {
			said++
			if e.Audience != event.Operator || e.Author != "guide" {
				t.Errorf("it is for %s, by %s", e.Audience, e.Author)
			}
		}
	}
	if got := begun(t, conv); said != 1 || !slices.Equal(got, []string{"input test:heard 1", "answer test:heard 1", "answer test:heard 1"}) {
		t.Errorf("said %d times, and the calls were %v", said, got)
	}
}

// Any type with a schema is an answer; what is no object stands under a key of the tool's
// arguments.
func TestAnswersOfAnyType(t *testing.T) {
	t.Parallel()
	agent := func(output bool, answer []model.Chunk) *braid.Agent {
		return braid.New("guide", &heard{output: output, says: [][]model.Chunk{answer}})
	}
	try := func(name string, err error, got, want any) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, output := range []bool{false, true} {
		answer := func(raw string) []model.Chunk {
			if output {
				return says(raw)
			}
			return answersWith(`{"answer":` + raw + `}`)
		}
		n, _, err := braid.RunAs[int](t.Context(), agent(output, answer(`3`)), "How many?")
		try("a number", err, n, 3)
		s, _, err := braid.RunAs[string](t.Context(), agent(output, answer(`"so"`)), "What?")
		try("a text", err, s, "so")
		l, _, err := braid.RunAs[[]city](t.Context(), agent(output, answer(`[{"name":"Nara","people":1}]`)), "Which?")
		try("a list", err, l, []city{{Name: "Nara", People: 1}})
		m, _, err := braid.RunAs[map[string]bool](t.Context(), agent(output, []([]model.Chunk){answersWith(`{"a":true}`), says(`{"a":true}`)}[map[bool]int{true: 1}[output]]), "Which?")
		try("a map", err, m, map[string]bool{"a": true})
		p, _, err := braid.RunAs[*city](t.Context(), agent(output, []([]model.Chunk){answersWith(kyoto), says(kyoto)}[map[bool]int{true: 1}[output]]), "Which?")
		if err != nil || p.Name != "Kyōto" {
			t.Errorf("a pointer: %+v, %v", p, err)
		}
	}
	// Null is no list, and what stands beside the answer is none.
	for _, args := range []string{`{"answer":null}`, `{}`, `[]`, `{"answer":[],"more":1}`} {
		if l, r, err := braid.RunAs[[]city](t.Context(), agent(false, answersWith(args)), "Which?"); !errors.Is(err, event.ErrInvalid) || r.Stop != event.StopLimitAnswers {
			t.Errorf("%s: %v, %s, %v", args, l, r.Stop, err)
		}
	}
	if _, _, err := braid.RunAs[chan int](t.Context(), agent(false, says("x")), "?"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a type without a schema: %v", err)
	}
	taken := braid.New("guide", &heard{says: [][]model.Chunk{says("x")}}, braid.Func(braid.OutputTool, "", add))
	if _, _, err := braid.RunAs[city](t.Context(), taken, "?"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a tool of that name: %v", err)
	}
	if err := taken.Use(braid.OutputType[city]()).Err(); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a tool of that name: %v", err)
	}
	late := braid.New("guide", &heard{says: [][]model.Chunk{says("x")}}, braid.OutputType[city]())
	if err := late.AddTools(braid.Func(braid.OutputTool, "", add)); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a tool of that name that comes later: %v", err)
	}
}

// RunAs goes before what the agent's own answers are held to, for one run; and a run that asked a
// person goes on with the type it is asked for in.
func TestATypeForOneRun(t *testing.T) {
	t.Parallel()
	m := &heard{says: [][]model.Chunk{asksFor("ask", `{}`), answersWith(kyoto)}}
	conv := braid.NewConversation()
	agent := braid.New("guide", m, braid.OutputSchema(json.RawMessage(`{"type":"array"}`)),
		braid.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "Which?") }))
	none, r, err := braid.RunAs[city](t.Context(), agent, "Where?", braid.In(conv))
	if err != nil || r.Stop != event.StopQuestion || none.Name != "" {
		t.Fatalf("%+v, %s, %v", none, r.Stop, err)
	}
	got, r, err := braid.ResumeAs[city](t.Context(), agent, conv, braid.Answers(braid.Answer{Token: r.Questions[0].Token, Value: "the old one"}))
	if err != nil || got.Name != "Kyōto" || r.Text() != kyoto {
		t.Errorf("%+v, %v, %q", got, err, r.Text())
	}
	if _, err := braid.OutputOf[int](r); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("another type: %v", err)
	}
	if _, err := braid.OutputOf[int](nil); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("no result: %v", err)
	}
}

// An agent that is used as a tool is held to its own schema: its JSON is the call's result.
func TestAnAgentAsAToolAnswersInItsForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		says [][]model.Chunk
		want string
		bad  bool
	}{
		{"with the tool", [][]model.Chunk{says("It is Kyōto."), answersWith(kyoto)}, kyoto, false},
		{"in words", [][]model.Chunk{says(kyoto)}, kyoto, false},
		{"never", [][]model.Chunk{says("It is Kyōto.")}, "Error", true},
	} {
		child := braid.New("child", &heard{says: c.says}, braid.OutputType[city]())
		root := &heard{says: [][]model.Chunk{asksFor("child", `{"input":"where?"}`), says("done")}}
		if _, err := braid.New("root", root, braid.AsTool(child, "")).Run(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		r := lastResults(&root.asked[1])[0]
		if !strings.Contains(event.TextOf(r.Content), c.want) || r.IsError != c.bad || !c.bad && string(r.Structured) != kyoto {
			t.Errorf("%s: the result is %s", c.name, raw(r))
		}
	}
}

// Where a hook answers in the model's place, no model is asked for the form of it. A hook after
// the tool that takes the answer can refuse it.
func TestHooksAroundAnAnswer(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]braid.Part{
		"before the run": braid.On(func(_ context.Context, e *hook.BeforeRun) error { e.Cancel = "Not that."; return nil }),
		"before the model": braid.On(func(_ context.Context, e *hook.BeforeModel) error {
			e.Cancel = "Not that."
			return nil
		}),
	} {
		m := &heard{says: [][]model.Chunk{answersWith(kyoto)}}
		r, err := braid.New("guide", m, braid.OutputType[city](), part).Run(t.Context(), "Where?")
		if len(m.asked) != 0 || !errors.Is(err, event.ErrInvalid) || r.Text() != "Not that." || r.Output != nil || r.Stop != event.StopEndTurn {
			t.Errorf("%s: %q, %s, %v, after %d calls", name, r.Text(), r.Stop, err, len(m.asked))
		}
	}
	m := &heard{says: [][]model.Chunk{answersWith(`{"name":"Nara","people":1}`), answersWith(kyoto)}}
	choosy := braid.On(func(_ context.Context, e *hook.AfterTool) error {
		if strings.Contains(string(e.Result.Structured), "Nara") {
			e.Result.IsError, e.Result.Content = true, []event.Block{&event.Text{Text: "Error: not Nara."}}
		}
		return nil
	})
	got, _, err := braid.RunAs[city](t.Context(), braid.New("guide", m, choosy), "Where?")
	if err != nil || got.Name != "Kyōto" || m.forced() != "free final_answer" {
		t.Errorf("%+v, %v, %s", got, err, m.forced())
	}
	// A model that a hook puts in the place of another is asked in its own way.
	other := &heard{output: true, says: [][]model.Chunk{says(kyoto)}}
	m = &heard{says: [][]model.Chunk{says("?")}}
	swap := braid.On(func(_ context.Context, e *hook.BeforeModel) error { e.Model = other; return nil })
	if _, _, err := braid.RunAs[city](t.Context(), braid.New("guide", m, swap), "Where?"); err != nil || len(m.asked) != 0 ||
		other.asked[0].Output == nil || len(other.asked[0].Tools) != 0 {
		t.Errorf("%v: %+v", err, other.asked)
	}
}

// A driver that dies at any event of such a run leaves it to one that comes to the same answer.
func TestAnAnswerAfterACrash(t *testing.T) {
	t.Parallel()
	run := func() (*braid.Agent, *heard) {
		m := &heard{}
		return braid.New("guide", m, braid.OutputType[city]()), m
	}
	agent, m := run()
	m.says = [][]model.Chunk{says("It is Kyōto."), answersWith(`{}`), answersWith(kyoto)}
	conv := braid.PlanConversation()
	if _, err := agent.Run(t.Context(), "Where?", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	var log []*event.Event
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, e)
	}
	for cut := 2; cut < len(log); cut++ {
		agent, m := run()
		asked, answered := 0, 0
		for _, e := range log[:cut] {
			switch e.Body.(type) {
			case *event.AssistantMessage:
				answered++
			case *event.UserMessage:
				asked++
			}
		}
		m.says = [][]model.Chunk{says("It is Kyōto."), answersWith(`{}`), answersWith(kyoto)}[answered:]
		if len(m.says) == 0 {
			m.says = [][]model.Chunk{says("nobody should ask")}
		}
		torn, err := braid.CutLog(log[:cut], []string{"Where?"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := agent.Resume(t.Context(), torn)
		if err != nil || string(r.Output) != kyoto || r.Stop != event.StopToolUse || len(m.asked) != 3-answered {
			t.Errorf("cut behind event %d: %v, %s, %s, after %d calls", cut, err, r.Output, r.Stop, len(m.asked))
			continue
		}
		for i := range m.asked {
			if want := answered+i > 0; want != (m.asked[i].ToolChoice.Mode == model.ToolsOne) {
				t.Errorf("cut behind event %d: call %s is made to answer: %v", cut, strconv.Itoa(i), !want)
			}
		}
	}
}
