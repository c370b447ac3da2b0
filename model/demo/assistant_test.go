package demo_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
)

func TestAssistantAddsWithTheToolThatThereIs(t *testing.T) {
	t.Parallel()
	plus := func(a, b float64) float64 { return a + b }
	times := func(a, b float64) float64 { return a * b }
	xy := `{"type":"object","properties":{"x":{"type":"number"},"y":{"type":["null","number"]},"note":{"type":"string"}},"required":["x","y"]}`
	optional := `{"type":"object","properties":{"digits":{"type":"integer"},"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`
	list := `{"type":"object","properties":{"numbers":{"type":"array","items":{"type":"number"}}},"required":["numbers"]}`
	for _, tc := range []struct {
		name  string
		tools []tool
		said  string
		want  []string
	}{
		{"the seed's sum", []tool{adder("add", twoNumbers, plus)}, "3と5を足して", []string{
			"say 3と5を足し算します。", `call add {"a":3,"b":5}`, "got 8", "say 3と5を足した結果は8です。",
		}},
		{"in English", []tool{adder("add", twoNumbers, plus)}, "what is 3 plus 5?", []string{
			"say I will work out 3 + 5.", `call add {"a":3,"b":5}`, "got 8", "say The result of 3 + 5 is 8.",
		}},
		{"other names", []tool{adder("calc_sum", xy, plus)}, "add 1.5 and 2", []string{
			"say I will work out 1.5 + 2.", `call calc_sum {"x":1.5,"y":2}`, "got 3.5", "say The result of 1.5 + 2 is 3.5.",
		}},
		{"what is not required stands behind", []tool{adder("add", optional, plus)}, "add 3 and 5", []string{
			"say I will work out 3 + 5.", `call add {"a":3,"b":5}`, "got 8", "say The result of 3 + 5 is 8.",
		}},
		{"a list of numbers", []tool{fixed("sum", list, `{"sum":8}`)}, "3 + 5", []string{
			"say I will work out 3 + 5.", `call sum {"numbers":[3,5]}`, `got {"sum":8}`, "say The result of 3 + 5 is 8.",
		}},
		{"two tools one after another", []tool{adder("plus", twoNumbers, plus), adder("multiplyNumbers", twoNumbers, times)}, "(2+3)*4", []string{
			"say I will work out (2 + 3) * 4.", `call plus {"a":2,"b":3}`, "got 5",
			`call multiplyNumbers {"a":5,"b":4}`, "got 20", "say The result of (2 + 3) * 4 is 20.",
		}},
		{"no tool for it", []tool{adder("add", twoNumbers, plus)}, "3 * 5", []string{
			"say I found the calculation 3 * 5, but no tool that can do it. (I am a simulated model and do not calculate myself.)",
		}},
		{"integers only", []tool{adder("add", twoNumbers, plus)}, "add 1.5 and 2", []string{
			"say I found the calculation 1.5 + 2, but no tool that can do it. (I am a simulated model and do not calculate myself.)",
		}},
		{"the calculator first", []tool{adder("add", twoNumbers, plus), fixed("calculator", `{}`, "84")}, "what is 12*7?", []string{
			"think This is a calculation. The calculator is exact, so I will use it.",
			"say I will work out 12 * 7.", `call calculator {"expression":"12 * 7"}`, "got 84", "say The result of 12 * 7 is 84.",
		}},
		{"a failure", []tool{{spec("calculator", `{}`), func(json.RawMessage) (string, error) { return "", errors.New("division by zero") }}}, "1を0で割って", []string{
			"think 計算の依頼です。正確な計算機を使います。", "say 1を0で割り算します。",
			`call calculator {"expression":"1 / 0"}`, "err division by zero", "say うまくいきませんでした：division by zero",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, _ := converse(t, load(t, "assistant"), tc.tools, nil, tc.said)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func files() []tool {
	name := `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	return []tool{
		fixed("write_file", `{"type":"object","properties":{"name":{"type":"string"},"content":{"type":"string"}},"required":["name","content"]}`, "Written."),
		fixed("read_file", name, "milk"), fixed("list_files", `{"type":"object"}`, "list.txt"),
		fixed("delete_file", name, "Deleted."), fixed("clock", `{"type":"object"}`, "noon"),
	}
}

func TestAssistantUsesFilesAndClock(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"write milk to list.txt":                      `call write_file {"name":"list.txt","content":"milk"}`,
		`Save "3 + 5 eggs" in a file called eggs.txt`: `call write_file {"name":"eggs.txt","content":"3 + 5 eggs"}`,
		"list.txtに牛乳と書いて":                             `call write_file {"name":"list.txt","content":"牛乳"}`,
		"list.txtに「牛乳を買う」と書いて":                        `call write_file {"name":"list.txt","content":"牛乳を買う"}`,
		"「牛乳」をlist.txtに保存して":                          `call write_file {"name":"list.txt","content":"牛乳"}`,
		"read list.txt":                               `call read_file {"name":"list.txt"}`,
		"What is in the file list.txt?":               `call read_file {"name":"list.txt"}`,
		"list.txtを読んで":                                `call read_file {"name":"list.txt"}`,
		"list files":                                  `call list_files {}`,
		"Which files are there?":                      `call list_files {}`,
		"ファイルの一覧を見せて":                                 `call list_files {}`,
		"please delete list.txt":                      `call delete_file {"name":"list.txt"}`,
		"list.txtを削除して":                               `call delete_file {"name":"list.txt"}`,
		"What time is it?":                            `call clock {}`,
		"what's the date":                             `call clock {}`,
		"今何時？":                                        `call clock {}`,
		"What time is it in Tokyo?":                   `call clock {"zone":"Asia/Tokyo"}`,
		"東京は今何時？":                                     `call clock {"zone":"Asia/Tokyo"}`,
		"time in Europe/Lisbon please":                `call clock {"zone":"Europe/Lisbon"}`,
	} {
		lines, _ := converse(t, load(t, "assistant"), files(), nil, said)
		if got := strings.Join(lines, "\n"); !strings.Contains(got, want+"\n") {
			t.Errorf("%q: want %s in\n%s", said, want, got)
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "say ") {
			t.Errorf("%q ends with %s", said, last)
		}
	}
}

func TestAssistantSaysThatItIsSimulated(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"hello", "help", "What are you?", "Write me a poem about rain", "1 * 2", "", "delete everything", "\xff"} {
		lines, _ := converse(t, load(t, "assistant"), nil, nil, said)
		if got := strings.Join(lines, "\n"); !strings.Contains(got, "simulated model") {
			t.Errorf("%q: %s", said, got)
		}
	}
	for _, said := range []string{"こんにちは", "ヘルプ", "詩を書いて", "1かける2"} {
		lines, _ := converse(t, load(t, "assistant"), nil, nil, said)
		if got := strings.Join(lines, "\n"); !strings.Contains(got, "シミュレーションのモデル") {
			t.Errorf("%q: %s", said, got)
		}
	}
}

func TestAssistantCallsAToolByItsName(t *testing.T) {
	t.Parallel()
	str := func(names ...string) string {
		props := []string{}
		for _, n := range names {
			props = append(props, `"`+n+`":{"type":"string"}`)
		}
		req, _ := json.Marshal(names)
		return `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":` + string(req) + `}`
	}
	dice := `{"type":"object","properties":{"sides":{"type":"integer"},"loaded":{"type":"boolean"}},"required":["sides"]}`
	unit := `{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","kelvin"]}},"required":["city","unit"]}`
	for _, tc := range []struct{ name, schema, said, want string }{
		{"weather", str("city"), "weather in Paris?", `{"city":"Paris"}`},
		{"weather", str("city"), "use weather for Paris", `{"city":"Paris"}`},
		{"get_weather", str("city"), `Get weather with city: Paris`, `{"city":"Paris"}`},
		{"getWeather", str("city"), `please getWeather {"city": "Oslo"}`, `{"city": "Oslo"}`},
		{"weather", unit, `weather for "New York" in kelvin`, `{"city":"New York","unit":"kelvin"}`},
		{"roll", dice, "roll a die with 20 sides", `{"sides":20}`},
		{"roll", dice, "roll sides=6 loaded=true", `{"sides":6,"loaded":true}`},
		{"greet", str("first", "last"), `greet "Ann" "Lee"`, `{"first":"Ann","last":"Lee"}`},
		{"translate", str("text"), "translate「こんにちは」", `{"text":"こんにちは"}`},
		{"ping", `{"type":"object"}`, "ping!", `{}`},
		{"roll", dice, "roll it", ""}, // no value for sides
		{"roll", dice, "rolling stones", ""},
		{"broken", `[`, "use broken", `{}`},
	} {
		lines, _ := converse(t, load(t, "assistant"), []tool{fixed(tc.name, tc.schema, "fine")}, nil, tc.said)
		got := ""
		if rest, ok := strings.CutPrefix(lines[0], "call "+tc.name+" "); ok {
			got = rest
		}
		if got != tc.want {
			t.Errorf("%q with %s%s: called with %q, want %q", tc.said, tc.name, tc.schema, got, tc.want)
		}
	}
}

func TestAssistantGoesOnInOneConversation(t *testing.T) {
	t.Parallel()
	m := load(t, "assistant")
	tools := []tool{adder("add", twoNumbers, func(a, b float64) float64 { return a + b })}
	_, history := converse(t, m, tools, nil, "3と5を足して")
	lines, history := converse(t, m, tools, history, "add 1 and 2")
	if got := lines[len(lines)-1]; got != "say The result of 1 + 2 is 3." {
		t.Errorf("second answer: %s", got)
	}
	lines, _ = converse(t, m, tools, history, "hello")
	if len(lines) != 1 || !strings.Contains(lines[0], "Hello") {
		t.Errorf("third answer: %q", lines)
	}
}

func TestTourThinksFailsAndTriesAgain(t *testing.T) {
	t.Parallel()
	calculator := tool{spec("calculator", `{}`), func(args json.RawMessage) (string, error) {
		if !strings.Contains(string(args), ")") {
			return "", errors.New("a parenthesis is missing")
		}
		return "120", nil
	}}
	m := load(t, "tour")
	lines, _ := converse(t, m, []tool{calculator, fixed("clock", `{}`, "noon")}, nil, m.Prompt("en"))
	kinds := make([]string, len(lines))
	for i, l := range lines {
		kinds[i], _, _ = strings.Cut(l, " ")
	}
	want := strings.Join([]string{"think", "say", "call", "call", "err", "got", "think", "say", "call", "got", "say"}, " ")
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("the tour goes %q, want %q", got, want)
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "costs 120 euros") || !strings.Contains(last, "noon") || !strings.Contains(last, "simulated") {
		t.Errorf("last: %s", last)
	}
	lines, _ = converse(t, m, []tool{calculator, fixed("clock", `{}`, "正午")}, nil, m.Prompt("ja"))
	if last := lines[len(lines)-1]; !strings.Contains(last, "120ユーロ") || !strings.Contains(last, "正午") {
		t.Errorf("last: %s", last)
	}
	lines, _ = converse(t, m, []tool{calculator}, nil, "go")
	if len(lines) != 1 || !strings.Contains(lines[0], "needs the tools") {
		t.Errorf("without a clock: %q", lines)
	}
}

func TestApprovalWritesAndDeletes(t *testing.T) {
	t.Parallel()
	m := load(t, "approval")
	lines, _ := converse(t, m, files(), nil, m.Prompt("en"))
	got := strings.Join(lines[1:], "\n")
	want := `call write_file {"name":"draft.txt","content":"A first draft.\n"}
got Written.
say The draft is there. Before it is deleted, you will be asked.
call delete_file {"name":"draft.txt"}
got Deleted.
say Deleted. (I am a simulated model.)`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A result may have no tool name; its call has one.
func TestResultsFindTheirToolByTheCall(t *testing.T) {
	t.Parallel()
	_, history := converse(t, load(t, "assistant"), files(), nil, "what time is it?")
	for i, b := range history[2].Content {
		r := *b.(*event.ToolResult)
		r.Name = ""
		history[2].Content[i] = &r
	}
	msg, _, _ := whole(t, load(t, "assistant"), request(history[:3]...))
	if got := msg.Text(); got != "It is noon." {
		t.Errorf("answer: %s", got)
	}
}

// The tool that begins a message is meant, even if the message names another one, or one with a longer name.
func TestAssistantCallsTheToolThatBeginsAMessage(t *testing.T) {
	t.Parallel()
	task := fixed("Task", `{"type":"object","properties":{"kind":{"type":"string"},"prompt":{"type":"string"}},"required":["kind","prompt"]}`, "done")
	for said, want := range map[string]string{
		`Task kind=clerk prompt="get_order id=7"`: `call Task {"kind":"clerk","prompt":"get_order id=7"}`,
		`Please use get_order for the Task id=7`:  `call get_order {"id":7}`,
	} {
		order := fixed("get_order", `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`, "lost")
		for _, tools := range [][]tool{{task, order}, {order, task}} {
			got, _ := converse(t, load(t, "assistant"), tools, nil, said)
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q, want %s", said, got, want)
			}
		}
	}
}
