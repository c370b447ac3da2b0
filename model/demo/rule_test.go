package demo_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// Each condition alone, with a request that matches and one that does not.
func TestConditions(t *testing.T) {
	t.Parallel()
	offer := func(req *model.Request, names ...string) *model.Request {
		for _, n := range names {
			req.Tools = append(req.Tools, spec(n, twoNumbers))
		}
		return req
	}
	reply := func(text string) event.Message {
		return event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: text}}}
	}
	call := func(id, name string) event.Message {
		return event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: id, Name: name}}}
	}
	at := func(cycle, attempt int) *model.Request {
		req := request(user("go"))
		req.Cycle, req.Attempt = cycle, attempt
		return req
	}
	after := func(name, text string, failed bool) *model.Request {
		return request(user("go"), call("1", name), result("1", name, text, failed))
	}
	for _, tc := range []struct {
		name      string
		when      demo.When
		fits, not *model.Request
	}{
		{"user, in any case of letters", demo.When{User: []string{"weather|rain"}}, request(user("The WEATHER?")), request(user("sun"))},
		{"user, the second pattern", demo.When{User: []string{"^a", "z$"}}, request(user("quiz")), request(user("quit"))},
		{"user, the last message of the person", demo.When{User: []string{"two"}}, request(user("one"), reply("ok"), user("two")), request(user("two"), reply("ok"), user("one"))},
		{"language", demo.When{Language: "ja"}, request(user("テスト")), request(user("test"))},
		{"arithmetic", demo.When{Finds: demo.FindsArithmetic}, request(user("1+2")), request(user("1"))},
		{"operation", demo.When{Finds: demo.FindsOperation}, offer(request(user("1+2")), "add"), offer(request(user("1*2")), "add")},
		{"named tool", demo.When{Finds: demo.FindsTool}, offer(request(user("try dice 1 2")), "dice"), offer(request(user("try luck 1 2")), "dice")},
		{"tool", demo.When{Tool: []string{"a", "b"}}, offer(request(user("go")), "b", "c"), offer(request(user("go")), "c")},
		{"missing", demo.When{Missing: []string{"a", "b"}}, offer(request(user("go")), "a"), offer(request(user("go")), "b", "a")},
		{"after", demo.When{After: []string{"x", "y"}}, after("y", "", false), after("z", "", false)},
		{"after any", demo.When{After: []string{"*"}}, after("z", "", false), request(user("go"))},
		{"failed", demo.When{After: []string{"*"}, Failed: yes()}, after("z", "", true), after("z", "", false)},
		{"not failed", demo.When{After: []string{"*"}, Failed: no()}, after("z", "", false), after("z", "", true)},
		{"result", demo.When{After: []string{"*"}, Result: "^4.$"}, after("z", "42", false), after("z", "24", false)},
		{"round 1 unless said otherwise", demo.When{}, request(user("go")), after("z", "", false)},
		{"round", demo.When{Round: 2}, after("z", "", false), request(user("go"))},
		{"rounds begin anew with the person", demo.When{Round: 1}, request(user("one"), reply("ok"), user("two")), request(user("one"), reply("ok"))},
		{"turn", demo.When{Turn: 2}, request(user("one"), reply("ok"), user("two")), request(user("one"))},
		{"cycle", demo.When{Cycle: 3}, at(3, 1), at(2, 1)},
		{"attempt", demo.When{Attempt: 2}, at(1, 2), at(1, 1)},
	} {
		m := script(t, demo.Script{Rules: []demo.Rule{
			{When: tc.when, Reply: say("fits")},
			{When: demo.When{Round: demo.AnyRound}, Reply: say("else")},
		}})
		if msg, _, _ := whole(t, m, tc.fits); msg.Text() != "fits" {
			t.Errorf("%s: does not fit what it should", tc.name)
		}
		if msg, _, _ := whole(t, m, tc.not); msg.Text() != "else" {
			t.Errorf("%s: fits what it should not", tc.name)
		}
	}
}

// The match does not depend on the length of the text after it, and a rune at the limit is not cut.
func TestPatternsAreFoundInTheFirst8KiB(t *testing.T) {
	t.Parallel()
	const border = 8 << 10
	m := script(t, demo.Script{Rules: []demo.Rule{
		{When: demo.When{User: []string{`needle`}}, Reply: say("needle")},
		{When: demo.When{User: []string{`\x{FFFD}`}}, Reply: say("a cut rune")},
		{When: demo.When{User: []string{`時$`}}, Reply: say("whole rune")},
		{When: demo.When{Language: "ja"}, Reply: say("ja")},
		{When: demo.When{After: []string{"z"}, Result: "needle"}, Reply: say("result")},
		{When: demo.When{Round: demo.AnyRound}, Reply: say("else")},
	}})
	fill := func(n int) string { return strings.Repeat("x", n) }
	result := func(text string) *model.Request {
		return request(user("go"),
			event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "1", Name: "z"}}},
			event.Message{Role: event.RoleUser, Content: []event.Block{
				&event.ToolResult{Call: "1", Name: "z", Content: []event.Block{&event.Text{Text: text}}},
			}})
	}
	for name, tc := range map[string]struct {
		req  *model.Request
		want string
	}{
		"before the border":          {request(user(fill(border-6) + "needle" + fill(100))), "needle"},
		"over the border":            {request(user(fill(border-5) + "needle")), "else"},
		"a rune on the border, 1":    {request(user(fill(border-3-1) + "時時時")), "whole rune"},
		"a rune on the border, 2":    {request(user(fill(border-3-2) + "時時時")), "whole rune"},
		"a rune before the border":   {request(user(fill(border-3) + "時時時")), "whole rune"},
		"a language behind":          {request(user(fill(border) + "時刻")), "else"},
		"a language before":          {request(user("時刻" + fill(border))), "ja"},
		"a result before the border": {result(fill(border-6) + "needle"), "result"},
		"a result over the border":   {result(fill(border-5) + "needle"), "else"},
	} {
		if msg, _, _ := whole(t, m, tc.req); msg.Text() != tc.want {
			t.Errorf("%s: %s, want %s", name, msg.Text(), tc.want)
		}
	}
}

func TestTheFirstRuleThatFitsAnswers(t *testing.T) {
	t.Parallel()
	m := script(t, demo.Script{Rules: []demo.Rule{
		{When: demo.When{User: []string{"b"}}, Reply: say("first")},
		{When: demo.When{User: []string{"a|b"}}, Reply: say("second")},
	}})
	for said, want := range map[string]string{"a": "second", "b": "first"} {
		if msg, _, _ := whole(t, m, request(user(said))); msg.Text() != want {
			t.Errorf("%s: %s", said, msg.Text())
		}
	}
	_, err := chunks(t.Context(), m, request(user("c")))
	if !errors.Is(err, event.ErrModel) || !strings.Contains(err.Error(), "no rule") {
		t.Errorf("no rule fits: %v", err)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	structured := &event.ToolResult{Call: "2", Name: "weather", Structured: []byte(`{"city":"Oslo","sky":{"rain":true},"degrees":-3}`)}
	both := event.Message{Role: event.RoleUser, Content: []event.Block{
		&event.ToolResult{Call: "1", Name: "add", Content: []event.Block{&event.Text{Text: `{"sum":8}`}}}, structured,
	}}
	calls := event.Message{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "1", Name: "add"}, &event.ToolCall{ID: "2", Name: "weather"}}}
	req := request(user("roll 3d6 for Ann"), calls, both)
	req.Cycle, req.Attempt = 7, 3
	req.Tools = []model.ToolSpec{spec("add", "{}"), spec("weather", "{}")}
	expand := func(text string) string {
		t.Helper()
		m := script(t, demo.Script{Rules: []demo.Rule{{
			When:  demo.When{User: []string{`(\d+)d(?P<sides>\d+)(?: for (\w+))?`}, Round: demo.AnyRound, After: []string{"*"}, Tool: []string{"add"}},
			Reply: say(text),
		}}})
		msg, _, _ := whole(t, m, req)
		return msg.Text()
	}
	for text, want := range map[string]string{
		"${user}|${language}|${tool}|${tools}": "roll 3d6 for Ann|en|add|add, weather",
		"${1} ${2} ${sides} ${3}":              "3 6 6 Ann",
		"${turn} ${round} ${cycle} ${attempt}": "1 2 7 3",
		"${result.add}":                        "8",
		"${result.weather.city} ${result.weather.degrees} ${result.weather.sky.rain}": "Oslo -3 true",
		"[${result.none}] [${result.weather.none}] [${expression}]":                   "[] [] []",
		"a $${user} b $5 {user}": "a ${user} b $5 {user}",
	} {
		if got := expand(text); got != want {
			t.Errorf("%s = %q, want %q", text, got, want)
		}
	}
	// A variable keeps its type as an argument, and is text in a longer string.
	m := script(t, demo.Script{Rules: []demo.Rule{{
		When: demo.When{User: []string{`(\d+)d(?P<sides>\d+)`}, Round: demo.AnyRound},
		Reply: []demo.Piece{demo.Call("t", `{"n": "${1|number}", "s": "${1}", "z": ["${result.weather.degrees}", "x${cycle}", "${user|number}"],
			"deep": {"sky": "${result.weather.sky}", "${1}": null, "round": "${round}"}, "big": 12345678901234567890.5, "quote": "\"<>&\u3042\""}`)},
	}}})
	msg, _, _ := whole(t, m, req)
	want := `{"n":3,"s":"3","z":[-3,"x7","roll 3d6 for Ann"],"deep":{"sky":{"rain":true},"${1}":null,"round":2},"big":12345678901234567890.5,"quote":"\"<>&あ\""}`
	if got := string(msg.Calls()[0].Args); got != want {
		t.Errorf("arguments\n got %s\nwant %s", got, want)
	}
}

func TestTranslations(t *testing.T) {
	t.Parallel()
	m := script(t, always(demo.Piece{Text: "Yes, ${user}.", Translations: map[string]string{"ja": "はい、${user}。"}}))
	for said, want := range map[string]string{"go": "Yes, go.", "行け": "はい、行け。"} {
		if msg, _, _ := whole(t, m, request(user(said))); msg.Text() != want {
			t.Errorf("%s: %s", said, msg.Text())
		}
	}
}

// A failed step of a calculation is requested again.
func TestOperationsCountOnlyResults(t *testing.T) {
	t.Parallel()
	m := script(t, demo.Script{Rules: []demo.Rule{
		{When: demo.When{Finds: demo.FindsOperation, Round: demo.AnyRound}, Reply: []demo.Piece{demo.Call("${tool}", `"${args}"`)}},
		{When: demo.When{After: []string{"*"}}, Reply: say("${result}")},
	}})
	tries := 0
	flaky := adder("add", twoNumbers, func(a, b float64) float64 { return a + b })
	add := flaky.call
	flaky.call = func(args json.RawMessage) (string, error) {
		if tries++; tries == 2 {
			return "", errors.New("busy")
		}
		return add(args)
	}
	lines, _ := converse(t, m, []tool{flaky}, nil, "1+2+3")
	want := []string{
		`call add {"a":1,"b":2}`, "got 3", `call add {"a":3,"b":3}`, "err busy", `call add {"a":3,"b":3}`, "got 6", "say 6",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	m := script(t, demo.Replies("steps", []demo.Piece{demo.Call("clock", "")}, say("done")))
	lines, _ := converse(t, m, []tool{fixed("clock", "{}", "noon")}, nil, "go")
	if d := cmp.Diff([]string{"call clock {}", "got noon", "say done"}, lines); d != "" {
		t.Error(d)
	}
}

func TestStopUsageAndBlocksAreTheScripts(t *testing.T) {
	t.Parallel()
	cite := &event.Citation{Title: "A source"}
	m := script(t, demo.Script{Rules: []demo.Rule{{
		Reply: []demo.Piece{demo.Say("as said"), {Block: cite}}, Stop: event.StopMaxTokens,
		Usage: &event.Usage{Input: 10, Output: 5, CacheRead: 3},
	}}})
	msg, usage, stop := whole(t, m, request(user("go")))
	if stop != event.StopMaxTokens || usage != (event.Usage{Input: 10, Output: 5, CacheRead: 3, Total: 18}) {
		t.Errorf("stop %s, usage %+v", stop, usage)
	}
	if len(msg.Content) != 2 || msg.Content[1] != event.Block(cite) {
		t.Errorf("content %+v", msg.Content)
	}
}

func TestAnswerComputesReplies(t *testing.T) {
	t.Parallel()
	m := demo.Answer("echo", func(req *model.Request) demo.Rule {
		if req.Cycle == 1 {
			return demo.Rule{Reply: []demo.Piece{demo.Think("${hm}"), demo.Say("${not} a variable"), demo.Call("t", `{"x":"${y}"}`)}}
		}
		return demo.Rule{Reply: say("end"), Usage: &event.Usage{Input: 1}, Fault: &demo.Fault{Kind: "throttled", Attempts: 1}}
	})
	if m.Info().Name != "demo:echo" || !m.Info().Simulated {
		t.Errorf("Info %+v", m.Info())
	}
	req := request(user("go"))
	msg, _, stop := whole(t, m, req)
	if msg.Text() != "${not} a variable" || string(msg.Calls()[0].Args) != `{"x":"${y}"}` || stop != event.StopToolUse || msg.Calls()[0].ID == "" {
		t.Errorf("%+v, stop %s", msg, stop)
	}
	req.Cycle = 2
	if _, _, _, err := collect(t.Context(), m, req); !errors.Is(err, event.ErrThrottled) {
		t.Errorf("fault: %v", err)
	}
	req.Attempt = 2
	if msg, usage, stop := whole(t, m, req); msg.Text() != "end" || usage.Input != 1 || stop != event.StopEndTurn {
		t.Errorf("%+v %+v %s", msg, usage, stop)
	}
	bad := demo.Answer("bad", func(*model.Request) demo.Rule { return demo.Rule{Fault: &demo.Fault{Kind: "x"}} })
	if _, _, _, err := collect(t.Context(), bad, req); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a wrong rule: %v", err)
	}
}

func TestWrongScriptsAreRefused(t *testing.T) {
	t.Parallel()
	one := func(r demo.Rule) demo.Script { return demo.Script{Rules: []demo.Rule{{Reply: say("x")}, r}} }
	piece := func(p demo.Piece) demo.Script {
		return one(demo.Rule{Name: "odd", Reply: []demo.Piece{demo.Say("x"), p}})
	}
	for want, s := range map[string]demo.Script{
		"name: \"a b\" is not a name":                {Name: "a b", Rules: []demo.Rule{{}}},
		"rules: there are none":                      {},
		"prompt: there is no language \"de\"":        {Prompt: map[string]string{"de": "x"}, Rules: []demo.Rule{{}}},
		"rules: there are 1001":                      {Rules: make([]demo.Rule, 1001)},
		"rule 2, when.user: \"(\" is no regular":     one(demo.Rule{When: demo.When{User: []string{"("}}}),
		"when.user: a group is called \"user\"":      one(demo.Rule{When: demo.When{User: []string{"(?P<user>.)"}}}),
		"when.user: the pattern has 1001 bytes":      one(demo.Rule{When: demo.When{User: []string{strings.Repeat("x", 1001)}}}),
		"when.language: there is no language \"fr\"": one(demo.Rule{When: demo.When{Language: "fr"}}),
		"when.finds: \"gold\" cannot be found":       one(demo.Rule{When: demo.When{Finds: "gold"}}),
		"when.tool: a tool's name is empty":          one(demo.Rule{When: demo.When{Tool: []string{""}}}),
		"when.tool: cannot stand beside finds":       one(demo.Rule{When: demo.When{Tool: []string{"a"}, Finds: demo.FindsTool}}),
		"when.failed: needs after":                   one(demo.Rule{When: demo.When{Failed: yes()}}),
		"when.result: needs after":                   one(demo.Rule{When: demo.When{Result: "x"}}),
		"when.result: \"[\" is no regular":           one(demo.Rule{When: demo.When{After: []string{"*"}, Result: "["}}),
		"when.round: must not be negative":           one(demo.Rule{When: demo.When{Round: -2}}),
		"when.turn: must not be negative":            one(demo.Rule{When: demo.When{Turn: -1}}),
		"rule 2 \"odd\", reply 2: needs exactly one": piece(demo.Piece{}),
		"reply 2: needs exactly one of":              piece(demo.Piece{Text: "a", Call: "b"}),
		"reply 2: args and id go with call":          piece(demo.Piece{Text: "a", ID: "b"}),
		"reply 2.text: there is no ${nobody}":        piece(demo.Say("${nobody}")),
		"reply 2.text: there is no ${1}":             piece(demo.Say("${1}")),
		"reply 2.text: there is no ${user.x}":        piece(demo.Say("${user.x}")),
		"reply 2.text: there is no ${result..x}":     piece(demo.Say("${result..x}")),
		"reply 2.text: a ${ has no }":                piece(demo.Say("x ${user")),
		"reply 2.text: there is no filter \"upper\"": piece(demo.Say("${user|upper}")),
		"reply 2.text.ja: there is no ${x}":          piece(demo.Piece{Text: "a", Translations: map[string]string{"ja": "${x}"}}),
		"reply 2.text: there is no language \"xx\"":  piece(demo.Piece{Text: "a", Translations: map[string]string{"xx": "a"}}),
		"reply 2.thinking: there is no ${x}":         piece(demo.Think("${x}")),
		"reply 2.call: has no translations":          piece(demo.Piece{Call: "a", Translations: map[string]string{"ja": "a"}}),
		"reply 2.args: is no JSON":                   piece(demo.Call("a", "{")),
		"reply 2.args: there is no ${x}":             piece(demo.Call("a", `{"a":["${x}"]}`)),
		"reply 2.args: is nested deeper":             piece(demo.Call("a", strings.Repeat("[", 200)+`"${user}"`+strings.Repeat("]", 200))),
		"reply 2.id: there is no ${x}":               piece(demo.Piece{Call: "a", ID: "${x}"}),
		"reply 2.block: is a tool call":              piece(demo.Piece{Block: &event.ToolCall{}}),
		"rule 2, usage: must not be negative":        one(demo.Rule{Usage: &event.Usage{Output: -1}}),
		"rule 2, timing: must not be negative":       one(demo.Rule{Timing: demo.Timing{Rate: -1}}),
		"wrong: timing: must not be negative":        {Timing: demo.Timing{Rate: -1}, Rules: []demo.Rule{{}}},
		"timing: total is shorter":                   one(demo.Rule{Timing: demo.Timing{FirstByte: 2, Total: time.Duration(1)}}),
		"fault.kind: there is no fault \"x\"":        one(demo.Rule{Fault: &demo.Fault{Kind: "x"}}),
		"fault.kind: empty_ids needs a reply":        one(demo.Rule{Reply: say("x"), Fault: &demo.Fault{Kind: demo.FaultEmptyIDs}}),
		"rule 2, reply: there are 1001 pieces":       one(demo.Rule{Reply: make([]demo.Piece, 1001)}),
	} {
		_, err := demo.New(s)
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" || !strings.Contains(e.Message, want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, o := range []demo.Option{demo.Realtime(-1), demo.Characters(-1), demo.Pace(demo.Timing{Rate: -1})} {
		if _, err := demo.New(always(demo.Say("x")), o); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("a wrong option: %v", err)
		}
	}
}

// Changing a script after New has no effect.
func TestNewCopiesTheScript(t *testing.T) {
	t.Parallel()
	s := demo.Script{Prompt: map[string]string{"en": "go"}, Rules: []demo.Rule{{
		When: demo.When{Tool: []string{"a"}}, Reply: []demo.Piece{demo.Call("a", `{"x":1}`)}, Usage: &event.Usage{Input: 5},
	}}}
	m := script(t, s)
	s.Prompt["en"], s.Rules[0].When.Tool[0], s.Rules[0].Usage.Input = "stop", "b", 9
	s.Rules[0].Reply[0].Args[1] = 'X'
	req := request(user("go"))
	req.Tools = []model.ToolSpec{spec("a", "{}")}
	msg, usage, _ := whole(t, m, req)
	if m.Prompt("en") != "go" || usage.Input != 5 || string(msg.Calls()[0].Args) != `{"x":1}` {
		t.Errorf("%q %+v %s", m.Prompt("en"), usage, msg.Calls()[0].Args)
	}
}
