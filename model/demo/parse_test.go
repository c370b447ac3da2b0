package demo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
)

const everything = `
# Every field of the format.
about: All of it.
prompt: {en: Go., ja: どうぞ。}
timing: {first_byte: 100ms, rate: 2.5}
rules:
  - name: full
    when:
      user: [^go, "stop$"]
      language: en
      finds: arithmetic
      tool: calculator
      missing: [x, y]
      after: "*"
      failed: false
      result: "[0-9]"
      round: 2
      turn: 1
      cycle: 2
      attempt: 1
    reply:
      - thinking: {en: Hm., ja: ふむ。}
      - text: Well.
      - plain text
      - call: calculator
        id: call-1
        args:
          expression: 1 + ${result}
          list: [1, 2.50, -3e2, 0x1f, true, null, "5", 2026-11-20, ~]
          z: {b: 1, a: {}}
    stop: tool_use
    usage: {input: 1, output: 2, total: 3, cache_read: 4, cache_write: 5, reasoning: 6}
    timing: {first_byte: 1s, total: 2.5s, rate: 10}
    fault: {kind: throttled, cycle: 1, attempts: 2, after: 3, retry_after: 4s, size: 5}
  - when: {round: any}
    reply: Just text.
    fault: cut
`

func TestParseReadsEveryField(t *testing.T) {
	t.Parallel()
	got, err := demo.Parse("all", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	want := demo.Script{
		Name: "all", About: "All of it.", Prompt: map[string]string{"en": "Go.", "ja": "どうぞ。"}, Timing: demo.Timing{FirstByte: 100 * time.Millisecond, Rate: 2.5},
		Rules: []demo.Rule{{
			Name: "full",
			When: demo.When{
				User: []string{"^go", "stop$"}, Language: "en", Finds: demo.FindsArithmetic, Tool: []string{"calculator"},
				Missing: []string{"x", "y"}, After: []string{"*"}, Failed: no(), Result: "[0-9]", Round: 2, Turn: 1, Cycle: 2, Attempt: 1,
			},
			Reply: []demo.Piece{
				{Thinking: "Hm.", Translations: map[string]string{"ja": "ふむ。"}},
				{Text: "Well."},
				{Text: "plain text"},
				{Call: "calculator", ID: "call-1", Args: []byte(`{"expression":"1 + ${result}","list":[1,2.50,-3e2,31,true,null,"5","2026-11-20",null],"z":{"b":1,"a":{}}}`)},
			},
			Stop:   event.StopToolUse,
			Usage:  &event.Usage{Input: 1, Output: 2, Total: 3, CacheRead: 4, CacheWrite: 5, Reasoning: 6},
			Timing: demo.Timing{FirstByte: time.Second, Total: 2500 * time.Millisecond, Rate: 10},
			Fault:  &demo.Fault{Kind: "throttled", Cycle: 1, Attempts: 2, After: 3, RetryAfter: 4 * time.Second, Size: 5},
		}, {
			When: demo.When{Round: demo.AnyRound}, Reply: []demo.Piece{{Text: "Just text."}}, Fault: &demo.Fault{Kind: demo.FaultCut},
		}},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(demo.Rule{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := demo.New(got); err != nil {
		t.Error(err)
	}
}

func TestParseNamesLineAndField(t *testing.T) {
	t.Parallel()
	rule := func(s string) string {
		return "rules:\n  - reply: x\n  - " + strings.ReplaceAll(s, "\n", "\n    ") + "\n"
	}
	for src, want := range map[string]string{
		"":                                      "it is empty",
		"# only a comment\n":                    "it is empty",
		"rules: [":                              "line 1",
		"rules: []\n---\nrules: []\n":           "more than one YAML document",
		"- a\n":                                 "line 1, script: must be a list of \"key: value\"",
		"rule: []\n":                            "line 1, script: there is no \"rule\"; there are about, prompt, rules, timing",
		"rules: []\nrules: []\n":                "line 2, script: \"rules\" stands twice",
		"about: &a x\nprompt: *a\n":             "line 2, script: aliases are not allowed",
		"rules: x\n":                            "line 1, rules: must be a list",
		"rules:\n  - x\n":                       "line 2, rule 1: must be a list of",
		"prompt: {ja: やあ}\n":                    "line 1, prompt: has no \"en\"",
		"about:\n":                              "line 1, about: is empty",
		rule("nme: x"):                          "line 3, rule 2: there is no \"nme\"; there are fault, name, reply",
		rule("name: [x]"):                       "line 3, rule 2, name: must be text",
		rule("reply: {text: x}"):                "line 3, rule 2, reply: must be a list",
		rule("reply:\n  - says: x"):             "line 4, rule 2, reply 1: there is no \"says\"",
		rule("reply:\n  - text: {fr: x}"):       "line 4, rule 2, reply 1.text: there is no \"fr\"",
		rule("reply:\n  - text: !!binary eA=="): "reply 1.text: must be text",
		rule("reply:\n  - call: x\n    args: *y"):                 "unknown anchor",
		rule("reply:\n  - call: x\n    args: {a: 1, a: 2}"):       "line 5, rule 2, reply 1.args: \"a\" stands twice",
		rule("reply:\n  - call: x\n    args: {a: .inf}"):          "reply 1.args: \".inf\" has no form in JSON",
		rule("reply:\n  - call: x\n    args: {a: !x y}"):          "reply 1.args: the tag \"!x\" is not allowed",
		rule("reply:\n  - call: x\n    args: {a: !!binary eA==}"): "the tag \"!!binary\" is not allowed",
		rule("reply:\n  - call: x\n    args: {? [a] : b}"):        "a key must be text",
		rule("reply:\n  - call: x\n    args: {<<: {a: 1}}"):       "a key must be text",
		rule("when: {round: first}"):                              "line 3, rule 2, when.round: must be a whole number",
		rule("when: {round: 0}"):                                  "when.round: must be a number from 1, or any",
		rule("when: {after: x, failed: maybe}"):                   "when.failed: must be true or false",
		rule("when: {user: {a: b}}"):                              "when.user: must be a list",
		rule("usage: {inputs: 1}"):                                "rule 2, usage: there is no \"inputs\"",
		rule("usage: {input: lots}"):                              "rule 2, usage.input: must be a whole number",
		rule("timing: {total: 5}"):                                "timing.total: must be a time such as 300ms",
		rule("timing: {rate: .nan}"):                              "timing.rate: must be a number above 0",
		rule("fault: {kind: cut, times: 3}"):                      "rule 2, fault: there is no \"times\"",
		"rules:\n" + strings.Repeat("  - {}\n", 1001):             "there are more than 1000",
		// The errors of New.
		rule("name: odd\nreply: ${nobody}"): "rule 2 \"odd\" (line 3), reply 1.text: there is no ${nobody}",
		rule("when: {user: '('}"):           "rule 2 (line 3), when.user: \"(\" is no regular expression",
		rule("fault: explode"):              "rule 2 (line 3), fault.kind: there is no fault \"explode\"",
		"about: x\n":                        "rules: there are none",
	} {
		s, err := demo.Parse("s", []byte(src))
		if err == nil {
			_, err = demo.New(s)
		}
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrInvalid || !strings.Contains(e.Message, want) {
			t.Errorf("%q\nwant %s\n got %v", src, want, err)
		}
	}
	if _, err := demo.Parse("s", make([]byte, demo.MaxScript+1)); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func TestLoadNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	_, err := demo.Load("tuor")
	if !errors.Is(err, event.ErrModelNotFound) || !strings.Contains(err.Error(), "assistant, ") || !strings.Contains(err.Error(), "tuor") {
		t.Errorf("%v", err)
	}
	if _, err = demo.Load("../scripts/tour"); !errors.Is(err, event.ErrModelNotFound) {
		t.Errorf("a path: %v", err)
	}
	m := load(t, "")
	if m.Info().Name != "demo:assistant" {
		t.Errorf("the default is %s", m.Info().Name)
	}
}

// A valid script never breaks the contract of models, for any request.
func FuzzScript(f *testing.F) {
	for _, name := range demo.Scripts() {
		src, err := demo.Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, "3と5を足して")
	}
	f.Add([]byte(everything), "go 1+2")
	f.Add([]byte("rules: [{reply: [{call: a, args: {x: '${user}'}}]}]"), "\xff")
	f.Fuzz(func(t *testing.T, src []byte, said string) {
		s, err := demo.Parse("fuzz", src)
		if err == nil {
			var m *demo.Model
			if m, err = demo.New(s); err == nil {
				req := request(user(said))
				req.Tools = append(req.Tools, spec("add", twoNumbers), spec("calculator", "{}"))
				stops := 0
				for c, err := range m.Stream(stalled(t), req) {
					if err != nil {
						if stops > 0 {
							t.Fatal("an error behind the end")
						}
						return
					}
					if stops > 0 {
						t.Fatal("a piece behind the end")
					}
					if c.Stop != "" {
						stops++
					}
				}
				return
			}
		}
		var e *event.Error
		if !errors.As(err, &e) || e.Message == "" {
			t.Fatalf("error %v", err)
		}
	})
}

// stalled returns a context that ends an answer that stalls.
func stalled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}
