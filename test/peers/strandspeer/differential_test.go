//go:build peers

package strandspeer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
)

const modelID = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

// side is what one of the two made of a scenario.
type side struct {
	// requests are the messages of each call to the model, and history is what the agent holds
	// at the end; paused is the same while it waits for a person.
	requests [][]string
	history  []string
	paused   []string
	stop     string
	failed   string
	// output is the answer as data.
	output string
}

func text(s string) []model.Chunk { return []model.Chunk{{Kind: model.ChunkText, Text: s}} }

// calls are tool calls of one answer: name, arguments, name, arguments.
func calls(pairs ...string) []model.Chunk {
	var list []model.Chunk
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, model.Chunk{Kind: model.ChunkCall, Index: i / 2, ID: fmt.Sprintf("call-%d", i/2), Text: pairs[i]},
			model.Chunk{Kind: model.ChunkCallInput, Index: i / 2, Text: pairs[i+1]})
	}
	return list
}

type turn struct {
	chunks []model.Chunk
	stop   string
}

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type city struct {
	City string `json:"city"`
}

var scenarios = []struct {
	name  string
	turns []turn
	// differs names the rows of the table of differences that hold here.
	differs []string
}{
	{"text", []turn{{text("hello"), "end_turn"}}, nil},
	{"one tool", []turn{{append(text("let me see"), shift(calls("add", `{"a":1,"b":2}`))...), "tool_use"}, {text("3"), "end_turn"}}, nil},
	{"parallel tools", []turn{{calls("add", `{"a":1,"b":2}`, "add", `{"a":3,"b":4}`, "add", `{"a":5,"b":6}`), "tool_use"}, {text("3, 7, 11"), "end_turn"}}, nil},
	{"several cycles", []turn{{calls("add", `{"a":1,"b":2}`), "tool_use"}, {calls("add", `{"a":3,"b":3}`), "tool_use"}, {text("6"), "end_turn"}}, nil},
	{"tool error", []turn{{calls("fail", `{}`), "tool_use"}, {text("sorry"), "end_turn"}}, nil},
	{"unknown tool", []turn{{calls("nope", `{}`), "tool_use"}, {text("sorry"), "end_turn"}}, []string{"D1"}},
	{"wrong arguments", []turn{{calls("add", `{"a":"x"}`), "tool_use"}, {text("sorry"), "end_turn"}}, []string{"D2"}},
	{"max tokens", []turn{{text("on and on"), "max_tokens"}}, []string{"D3"}},
	{"max tokens in a call", []turn{{append(text("let me see"), shift(calls("add", `{"a":1,`))...), "max_tokens"}}, []string{"D3", "D4"}},
	{"stop word", []turn{{text("so far"), "stop_sequence"}}, nil},
	{"guardrail", []turn{{text("I may not say"), "guardrail_intervened"}}, nil},
	{"content filter", []turn{{text("I"), "content_filtered"}}, nil},
	{"interrupt", []turn{{calls("pay", `{}`, "add", `{"a":1,"b":2}`), "tool_use"}, {text("paid"), "end_turn"}}, []string{"D5"}},
	{"structured output", []turn{{calls("%answer", `{"city":"Lisbon"}`), "tool_use"}, {text("never asked for"), "end_turn"}}, []string{"D6"}},
}

func shift(chunks []model.Chunk) []model.Chunk {
	for i := range chunks {
		chunks[i].Index++
	}
	return chunks
}

// answers are the turns as the stand-in gives them; the tool that takes an answer has another
// name on each side.
func answers(turns []turn, answerTool string) []bedrocktest.Answer {
	var list []bedrocktest.Answer
	for n, t := range turns {
		chunks := slices.Clone(t.chunks)
		for i := range chunks {
			if chunks[i].Kind == model.ChunkCall {
				chunks[i].ID = fmt.Sprintf("%s-of-turn-%d", chunks[i].ID, n+1)
			}
			if chunks[i].Text == "%answer" {
				chunks[i].Text = answerTool
			}
		}
		list = append(list, bedrocktest.Stream(chunks, t.stop, event.Usage{Input: 10, Output: 5, Total: 15}))
	}
	return list
}

func TestTheSameTurnsGiveTheSameHistory(t *testing.T) {
	dir := os.Getenv("BRAID_PEERS_STRANDS")
	if dir == "" {
		t.Fatal("run it by scripts/test-peers strands")
	}
	table, err := os.ReadFile("../../../docs/strands-differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			theirs, ours := strands(t, dir, s.name, answers(s.turns, "strands_structured_output")), braided(t, s.name, answers(s.turns, braid.OutputTool))
			found := map[string]bool{}
			for _, d := range differences(theirs, ours) {
				id := known(s.name, d)
				if id == "" {
					t.Errorf("%s:\n  strands %s\n  braid   %s", d.what, d.theirs, d.ours)
					continue
				}
				found[id] = true
				t.Logf("%s, %s:\n  strands %s\n  braid   %s", id, d.what, d.theirs, d.ours)
				if !bytes.Contains(table, []byte("| "+id+" |")) {
					t.Errorf("the table has no row %s", id)
				}
			}
			for _, id := range s.differs {
				if !found[id] {
					t.Errorf("%s is a difference no more: take it out of the table", id)
				}
			}
			for id := range found {
				if !slices.Contains(s.differs, id) {
					t.Errorf("%s is a difference here too", id)
				}
			}
		})
	}
}

type difference struct{ what, theirs, ours string }

func differences(theirs, ours side) (list []difference) {
	see := func(what, a, b string) {
		if a != b {
			list = append(list, difference{what, a, b})
		}
	}
	see("stop", theirs.stop, ours.stop)
	see("failed", theirs.failed, ours.failed)
	see("output", theirs.output, ours.output)
	see("calls", fmt.Sprint(len(theirs.requests)), fmt.Sprint(len(ours.requests)))
	for i := range min(len(theirs.requests), len(ours.requests)) {
		see("request", strings.Join(theirs.requests[i], "\n"), strings.Join(ours.requests[i], "\n"))
	}
	see("paused", strings.Join(theirs.paused, "\n"), strings.Join(ours.paused, "\n"))
	see("history", strings.Join(theirs.history, "\n"), strings.Join(ours.history, "\n"))
	return list
}

// known gives the row of the table that a difference belongs to; empty for none.
func known(scenario string, d difference) string {
	both := func(a, b string) bool { return strings.Contains(d.theirs, a) && strings.Contains(d.ours, b) }
	// same reports whether nothing differs but these words.
	same := func(a, b string) bool { return strings.Replace(d.theirs, a, b, 1) == d.ours }
	switch scenario {
	case "unknown tool":
		if same("Tool 'nope' not found in registry", `Error: there is no tool called "nope"; the tools are: add, fail, pay.`) {
			return "D1"
		}
	case "wrong arguments":
		if (d.what == "request" || d.what == "history") && both("error", "Error: invalid arguments") {
			return "D2"
		}
	case "max tokens", "max tokens in a call":
		if d.what == "stop" && d.theirs == "" && d.ours == "max_tokens" || d.what == "failed" && d.theirs == "MaxTokensError" && d.ours == "max_tokens" {
			return "D3"
		}
		if d.what == "history" && d.theirs == "user text go" {
			if strings.Contains(d.ours, "was cut off and not run") {
				return "D4"
			}
			if d.ours == "user text go\nassistant text on and on" {
				return "D3"
			}
		}
	case "interrupt":
		if d.what == "stop" && same("interrupt", "question") {
			return "D5"
		}
	case "structured output":
		theirs := strings.Replace(d.theirs, "strands_structured_output", braid.OutputTool, 1)
		if at := strings.LastIndex(theirs, `{"city":"Lisbon"}`); at > 0 && theirs[:at]+"The answer was taken." == d.ours {
			return "D6"
		}
	}
	return ""
}

// braided runs a scenario with Braid.
func braided(t *testing.T, scenario string, turns []bedrocktest.Answer) side {
	t.Helper()
	server := bedrocktest.Start(turns...)
	defer server.Close()
	model, err := bedrock.New(modelID, bedrocktest.Config(), bedrock.BaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	parts := []braid.Part{
		braid.Func("add", "Adds.", func(_ context.Context, in pair) (string, error) { return fmt.Sprint("the sum is ", in.A+in.B), nil }),
		braid.Func("fail", "Fails.", func(context.Context, struct{}) (string, error) { return "", fmt.Errorf("no luck") }),
		braid.Func("pay", "Pays.", func(ctx context.Context, _ struct{}) (string, error) {
			said, err := braid.Ask[string](ctx, "Pay?")
			return "said " + said, err
		}),
	}
	if scenario == "structured output" {
		parts = append(parts, braid.OutputType[city]())
	}
	agent := braid.New("peer", model, parts...)
	conv := braid.NewConversation()
	result, err := agent.Run(t.Context(), "go", braid.In(conv))
	out := side{stop: string(result.Stop), output: string(result.Output)}
	if result.Stop == event.StopQuestion {
		out.paused = history(t, conv)
		result, err = agent.Run(t.Context(), "", braid.In(conv), braid.Answers(braid.Answer{Token: result.Questions[0].Token, Value: "yes"}))
		out.stop += ", " + string(result.Stop)
	}
	if err != nil {
		out.failed = string(event.KindOf(err))
	}
	out.history, out.requests = history(t, conv), requests(t, server)
	return out
}

func history(t *testing.T, conv *braid.Conversation) (list []string) {
	t.Helper()
	messages, err := conv.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		line := string(m.Role)
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				line += " text " + b.Text
			case *event.ToolCall:
				line += fmt.Sprintf(" call %s %s %s", b.ID, b.Name, compact(b.Args))
			case *event.ToolResult:
				line += fmt.Sprintf(" result %s %s %s", b.Call, map[bool]string{true: "error", false: "success"}[b.IsError], event.TextOf(b.Content))
			default:
				t.Fatalf("the history has a %T", b)
			}
		}
		list = append(list, line)
	}
	return list
}

// strands runs it with the other one.
func strands(t *testing.T, dir, scenario string, turns []bedrocktest.Answer) side {
	t.Helper()
	server := bedrocktest.Start(turns...)
	defer server.Close()
	program, err := os.ReadFile("strands.mjs")
	if err != nil {
		t.Fatal(err)
	}
	// Node looks for packages beside the program.
	path := filepath.Join(dir, "strands.mjs")
	if err := os.WriteFile(path, program, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", path, scenario, server.URL, bedrocktest.Region, bedrocktest.KeyID, bedrocktest.Secret, bedrocktest.Token, modelID)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var said struct {
		Stop       string          `json:"stop"`
		Error      string          `json:"error"`
		Structured json.RawMessage `json:"structured"`
		Messages   []message       `json:"messages"`
		Paused     []message       `json:"paused"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	out := side{stop: snake(said.Stop), failed: said.Error, history: lines(said.Messages), paused: lines(said.Paused), requests: requests(t, server)}
	if string(said.Structured) != "null" {
		out.output = compact(said.Structured)
	}
	return out
}

// message is one of Converse's form, which Strands keeps its history in too.
type message struct {
	Role    string `json:"role"`
	Content []struct {
		Text    *string `json:"text"`
		ToolUse *struct {
			ID    string          `json:"toolUseId"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		} `json:"toolUse"`
		ToolResult *struct {
			ID      string `json:"toolUseId"`
			Status  string `json:"status"`
			Content []struct {
				Text *string         `json:"text"`
				JSON json.RawMessage `json:"json"`
			} `json:"content"`
		} `json:"toolResult"`
		CachePoint json.RawMessage `json:"cachePoint"`
	} `json:"content"`
}

func lines(messages []message) (list []string) {
	for _, m := range messages {
		line := m.Role
		for _, b := range m.Content {
			switch {
			case b.Text != nil:
				line += " text " + *b.Text
			case b.ToolUse != nil:
				line += fmt.Sprintf(" call %s %s %s", b.ToolUse.ID, b.ToolUse.Name, compact(b.ToolUse.Input))
			case b.ToolResult != nil:
				status := b.ToolResult.Status
				if status == "" {
					status = "success"
				}
				line += fmt.Sprintf(" result %s %s ", b.ToolResult.ID, status)
				for _, c := range b.ToolResult.Content {
					if c.Text != nil {
						line += *c.Text
					} else {
						line += compact(c.JSON)
					}
				}
			case b.CachePoint != nil:
			default:
				line += " something else"
			}
		}
		list = append(list, line)
	}
	return list
}

func requests(t *testing.T, server *bedrocktest.Server) (all [][]string) {
	t.Helper()
	for _, r := range server.Asked() {
		if r.Refused != "" {
			t.Errorf("the stand-in refused: %s", r.Refused)
		}
		var body struct {
			Messages []message `json:"messages"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		all = append(all, lines(body.Messages))
	}
	return all
}

func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// snake writes endTurn as end_turn.
func snake(s string) string {
	var sb strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			sb.WriteByte('_')
			r += 'a' - 'A'
		}
		sb.WriteRune(r)
	}
	return sb.String()
}
