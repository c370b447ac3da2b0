package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	goleak.VerifyTestMain(m)
}

// until waits for a condition. A minute is far more than any machine needs.
func until(t *testing.T, what string, come func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !come(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// openTestModel opens only demo models, whatever the environment.
func openTestModel(ref string) (braid.Model, error) {
	provider, name, _ := strings.Cut(ref, ":")
	if provider != "demo" {
		return nil, &event.Error{Kind: event.ErrModelNotFound, Message: "there is no such model", Hint: "use demo:assistant"}
	}
	return demo.Load(name)
}

func TestRunToTheExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		stdin string
		code  int
		// out and err are parts of the outputs.
		out, err string
	}{
		{"nothing", nil, "", 2, "", "usage: braid COMMAND"},
		{"unknown command", []string{"docter"}, "", 2, "", "braid: there is no command \"docter\"\n  next: did you mean braid doctor?\n"},
		{"a command far from any", []string{"\x1b[31m"}, "", 2, "", "braid help lists the commands"},
		{"help", []string{"--help"}, "", 0, "commands:", ""},
		{"help about nothing", []string{"help", "exitcodes"}, "", 2, "", "did you mean braid help exit-codes?"},
		{"help of a command", []string{"chat", "--help"}, "", 0, "Ctrl-C cancels the run", ""},
		{"version", []string{"-v"}, "", 0, "braid ", ""},
		{"version as JSON", []string{"version", "--json"}, "", 0, `"go":"go1`, ""},
		{"version takes nothing", []string{"version", "now"}, "", 2, "", "takes no arguments"},
		{"unknown flag", []string{"run", "--modell", "x", "hi"}, "", 2, "", "next: did you mean --model?"},
		{"flag behind the prompt", []string{"run", "hi", "--jsn"}, "", 2, "", "did you mean --json?"},
		{"flag without value", []string{"run", "hi", "--model"}, "", 2, "", "--model needs a value"},
		{"switch with a wrong value", []string{"run", "hi", "--json=perhaps"}, "", 2, "", `"perhaps" is neither true nor false`},
		{"wrong value", []string{"run", "hi", "--timeout", "soon"}, "", 2, "", `--timeout: "soon" is no time`},
		{"wrong tool", []string{"run", "hi", "--tools", "clok"}, "", 2, "", `"clok" is not a list of tools: did you mean clock?`},
		{"wrong tools", []string{"run", "hi", "--tools", "hammer"}, "", 2, "", `"hammer" is not a list of tools: use auto, all, none or some of`},
		{"no prompt", []string{"run"}, "", 2, "", "there is no prompt"},
		{"blank prompt", []string{"run", " \n"}, "", 2, "", "there is no prompt"},
		{"prompt that is no UTF-8", []string{"run", "ab\xff"}, "", 2, "", "not UTF-8 text (byte 3)"},
		{"piped prompt that is no UTF-8", []string{"run"}, "\x8c\x76\x8e\x5a", 2, "", "iconv"},
		{"unknown model", []string{"run", "--model", "nope:1", "hi"}, "", 18, "", "braid: there is no such model\n  next: use demo:assistant"},
		{"a prompt that begins with a dash", []string{"run", "-q", "--", "-5", "+", "3"}, "", 0, "-2", ""},
		{"simulated", []string{"run", "hi"}, "", 0, "", "demo:assistant is a simulated model"},
		{"piped prompt", []string{"run", "-q"}, "What is 6 times 7?\n", 0, "42", ""},
		{"piped text behind the prompt", []string{"run", "-q", "What is", "-"}, "6 * 7\n", 0, "42", ""},
		{"piped prompt in Japanese", []string{"run", "-q", "-"}, "3と5を足して\n", 0, "8", ""},
		{"chat takes no prompt", []string{"chat", "hi"}, "", 2, "", "takes no prompt"},
		{"chat at the end of input", []string{"chat"}, "", 0, "", "simulated"},
		{"config", []string{"config", "--max-cycles", "3"}, "", 0, "--max-cycles", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, out, errs := testProcess(t, nil, c.args...)
			p.Stdin = strings.NewReader(c.stdin)
			if code := p.run(t.Context()); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(out.String(), c.out) {
				t.Errorf("no %q in the output:\n%s", c.out, out)
			}
			if !strings.Contains(errs.String(), c.err) {
				t.Errorf("no %q in the errors:\n%s", c.err, errs)
			}
			if strings.ContainsRune(errs.String(), '\x1b') {
				t.Errorf("a control got through: %q", errs)
			}
		})
	}
}

// Every kind of error has a message and the exit code of the table.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	topic := exitTopic()
	for _, k := range event.Kinds() {
		p, _, errs := testProcess(t, nil)
		if code := p.exit(&event.Error{Kind: k.Kind, Message: "it happened", Hint: "do this"}); code != k.Exit || code == 0 {
			t.Errorf("%s exits with %d", k.Kind, code)
		}
		if got, want := errs.String(), "braid: it happened\n  next: do this\n"; got != want {
			t.Errorf("%s writes %q", k.Kind, got)
		}
		if !strings.Contains(topic, string(k.Kind)) {
			t.Errorf("braid help exit-codes does not name %s", k.Kind)
		}
	}
	p, _, errs := testProcess(t, nil)
	if code := p.exit(errors.New("odd\x1b")); code != 1 || errs.String() != "braid: odd␛\n" {
		t.Errorf("a foreign error: %d, %q", code, errs)
	}
	q, _, errs := testProcess(t, nil)
	if code := q.exit(&event.Error{Op: "tool add", Kind: event.ErrInvalid, Err: errors.New("cause")}); code != 2 ||
		errs.String() != "braid: tool add: The request or its configuration is wrong: cause\n" {
		t.Errorf("an error without a message: %d, %q", code, errs)
	}
}

// The help has every flag and every option in its three spellings, and is wrapped.
func TestHelpIsWhole(t *testing.T) {
	t.Parallel()
	text := optionTopic()
	for i := range conf.Options {
		o := &conf.Options[i]
		for _, name := range []string{"  " + o.Name + " ", o.Env(), "--" + o.Flag()} {
			if !strings.Contains(text, name) {
				t.Errorf("braid help options does not name %q", name)
			}
		}
	}
	pages := []string{overview(commands(&process{})), text, exitTopic(), modelTopic()}
	for i, c := range commands(&process{}) {
		if name := allCommands()[i].name; name != c.Name {
			t.Errorf("the command %s is found as %s", c.Name, name)
		}
		page := commandHelp(&c)
		pages = append(pages, page)
		for _, f := range conf.FlagsOf(&c) {
			if !strings.Contains(page, "--"+f.Name) {
				t.Errorf("the help of %s does not name --%s", c.Name, f.Name)
			}
		}
		if len(c.Examples) == 0 || c.Short == "" {
			t.Errorf("the help of %s has no example", c.Name)
		}
		if !strings.Contains(overview(commands(&process{})), "\n  "+c.Name+" ") {
			t.Errorf("braid help does not name %s", c.Name)
		}
	}
	for _, page := range pages {
		for line := range strings.Lines(page) {
			if w := term.Width(strings.TrimRight(line, "\n")); w > 100 {
				t.Errorf("%d columns: %s", w, line)
			}
			if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
				t.Errorf("blanks at the end: %q", line)
			}
		}
	}
}
