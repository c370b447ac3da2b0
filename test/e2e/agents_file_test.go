package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leadScript is a model that hands its work to the agent "counter", which calculates.
const leadScript = `about: Hands work on, and calculates.
rules:
  - name: the other agent answered
    when: {after: Task, round: any}
    reply: "Lead got: ${result}"
  - name: the calculator answered
    when: {after: calculator, round: any}
    reply: "I counted ${result}"
  - name: hand on
    when: {tool: Task}
    reply:
      - call: Task
        args: {description: count, prompt: Count., subagent_type: counter}
  - name: calculate
    when: {tool: calculator}
    reply:
      - call: calculator
        args: {expression: 6 * 7}
  - name: the rest
    when: {round: any}
    reply: "No tool for ${user}"
`

const leadFile = `name: lead
task:
  agents: [{agent: counter, description: Counts.}]
agents:
  - {name: counter, model: "demo:./lead-model.yaml", tools: [calculator]}
`

// agentsFolder is a folder with the model and some files of agents.
func agentsFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["lead-model.yaml"] = leadScript
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The agents of a file answer in the place of the command's own: by the Task tool, in flows, and with permissions.
func TestAgentsOfAFile(t *testing.T) {
	t.Parallel()
	dir := agentsFolder(t, map[string]string{
		"lead.yaml":  leadFile,
		"graph.yaml": "kind: graph\nname: g\nnodes: [{name: count, tool: calculator}]\n",
		"flow.yaml": `kind: loop
name: twice
max: 5
until: {contains: "42"}
members:
  - kind: parallel
    name: both
    merge: {join: " and "}
    members: [{name: one, tools: [calculator]}, {name: two, tools: [clock]}]
`,
	})
	for _, c := range []struct {
		args      []string
		out, errs string
		code      int
	}{
		{[]string{"run", "--agents", "lead.yaml", "go"}, "Lead got: I counted 42", "", 0},
		{[]string{"run", "--agents", "lead.yaml", "--deny", "calculator", "go"}, "Lead got: No tool for Count.", "", 0},
		{[]string{"run", "--agents", "lead.yaml", "--tools", "none", "go"}, "", `lead.yaml: line 5, column 62: there is no tool "calculator"`, 2},
		{[]string{"run", "--agents", "flow.yaml", "go"}, "I counted 42 and No tool for go", "", 0},
		{[]string{"run", "--agents", "graph.yaml", `{"expression":"6*7"}`}, "42", "", 0},
		{[]string{"run", "--agents", "graph.yaml", "--ask", "calculator", `{"expression":"6*7"}`}, "", "because it needs permission", 2},
		{[]string{"run", "--agents", "lead.yaml", "--max-cycles", "1", "go"}, "", "the run reached its limit of model calls", 27},
		{[]string{"run", "--agents", "lead.yaml", "--schema", `{"type":"object"}`, "go"}, "", "--agents and --schema do not go together", 2},
		{[]string{"run", "--agents", "lead.yaml", "--instructions", "Hi.", "go"}, "", "--agents and --instructions do not go together", 2},
		{[]string{"run", "--agents", "lead.yaml", "--server", "http://127.0.0.1:1", "go"}, "", "--agents and --server do not go together", 2},
		{[]string{"chat", "--agents", "lead.yaml", "--server", "http://127.0.0.1:1"}, "", "--agents and --server do not go together", 2},
		{[]string{"run", "--agents", "lead.yaml", "--runtime", "claude", "go"}, "", "--agents and --runtime claude do not go together", 2},
	} {
		args := append([]string{c.args[0], "-q", "--ephemeral", "-m", "demo:./lead-model.yaml"}, c.args[1:]...)
		out, errs, code := shell(t, environment(t), dir, args...)
		if strings.TrimSpace(out) != c.out || !strings.Contains(errs, c.errs) || code != c.code {
			t.Errorf("%q: %q, %d, %s", c.args, out, code, errs)
		}
	}
}

// A conversation with the agents of a file is kept, and goes on with them.
func TestAConversationWithAgentsOfAFile(t *testing.T) {
	t.Parallel()
	dir, env := agentsFolder(t, map[string]string{"lead.yaml": leadFile}), environment(t)
	for _, more := range [][]string{nil, {"--continue"}} {
		args := append([]string{"run", "-q", "-m", "demo:./lead-model.yaml", "--agents", "lead.yaml"}, more...)
		if out, errs, code := shell(t, env, dir, append(args, "go")...); code != 0 || strings.TrimSpace(out) != "Lead got: I counted 42" {
			t.Errorf("%q: %q, %d, %s", more, out, code, errs)
		}
	}
	if out, errs, code := shell(t, env, dir, "doctor", "--agents", "lead.yaml"); code != 0 ||
		!strings.Contains(out, "ok       agents    lead.yaml defines the agent lead; agents with a model: 2") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if out, errs, code := shell(t, env, dir, "show"); code != 0 || strings.Count(out, "Lead got: I counted 42") != 2 {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

// Each mistake of a file is reported with the file, the line, the column and what to do next.
func TestMistakesOfAgentsFiles(t *testing.T) {
	t.Parallel()
	dir, env := agentsFolder(t, map[string]string{}), environment(t)
	for text, want := range map[string][]string{
		"name: x\nmodel: a: b":                 {"bad.yaml: line 2, column 9: the file is not YAML", "correct the text at this place"},
		"name: x\ntools: [calculatr]":          {`bad.yaml: line 2, column 9: there is no tool "calculatr"`, "did you mean calculator?"},
		"name: x\nmodel: demo:tuor":            {"bad.yaml: line 2, column 8: ", "demo:tour"},
		"name: x\nsub_agents: [y]":             {`bad.yaml: line 2, column 14: there is no agent "y"`, "define it under agents"},
		"name: x\ntask: {agents: [x]}":         {`bad.yaml: line 2, column 17: the agent "x" is below itself: x > x`, "remove one of these uses"},
		"name: x\ninstruction: y":              {`bad.yaml: line 2, column 1: there is no key "instruction"`},
		"kind: lop\nname: x":                   {`bad.yaml: line 1, column 7: there is no kind "lop"`, "parallel or loop"},
		"":                                     {"bad.yaml: the file is empty"},
		"name: \"\\e[31m\"\ntools: [\"\\e]\"]": {"there is no tool"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := shell(t, env, dir, "run", "--agents", "bad.yaml", "go")
		for _, w := range want {
			if !strings.Contains(errs, w) || out != "" || code != 2 && code != 12 || strings.Contains(errs, "\x1b") {
				t.Errorf("%q: %q, %d, want %q", text, errs, code, w)
			}
		}
		if out, _, code := shell(t, env, dir, "doctor", "--agents", "bad.yaml"); code == 0 || !strings.Contains(out, "broken   agents    ") {
			t.Errorf("%q: %d, %s", text, code, out)
		}
	}
	for name, want := range map[string]string{"missing.yaml": "there is no file missing.yaml", ".": ". is a folder"} {
		if out, errs, code := shell(t, env, dir, "run", "--agents", name, "go"); code == 0 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: %d, %s%s", name, code, out, errs)
		}
	}
}
