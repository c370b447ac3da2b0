package demotool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
)

// The built-in scripts with their tools, through the real loop.

func agent(t *testing.T, script, dir string) *braid.Agent {
	t.Helper()
	model, err := demo.Load(script)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	noon := func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
	a := braid.New("assistant", model, braid.Tools(append(tools, Calculator(), ClockAt(noon))...))
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

// trace returns a conversation's texts, calls and results in order.
func trace(t *testing.T, c *braid.Conversation) []string {
	t.Helper()
	messages, err := c.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				out = append(out, string(m.Role)+": "+b.Text)
			case *event.ToolCall:
				out = append(out, "call "+b.Name+" "+string(b.Args))
			case *event.ToolResult:
				word := "result "
				if b.IsError {
					word = "error "
				}
				out = append(out, word+event.TextOf(b.Content))
			}
		}
	}
	return out
}

func TestTourWithRealTools(t *testing.T) {
	t.Parallel()
	c := braid.NewConversation()
	res, err := agent(t, "tour", t.TempDir()).Run(t.Context(), "Show me what you can do.", braid.In(c))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user: Show me what you can do.",
		"assistant: What do 12 lunches of 7 + 3 euros cost, and what time is it? I will ask two tools at once.",
		`call calculator {"expression":"12 * (7 + 3"}`,
		"call clock {}",
		`error Error: a ")" is missing (close every parenthesis)`,
		"result 2026-11-20 12:00:00 UTC (Friday, UTC+00:00)",
		"assistant: I left a parenthesis out. Once more.",
		`call calculator {"expression":"12 * (7 + 3)"}`,
		"result 120",
		"assistant: Lunch for 12 costs 120 euros, and it is 2026-11-20 12:00:00 UTC (Friday, UTC+00:00).\n\n" +
			"(I am a simulated model: these words come from a script. The loop, the tools and their results are real.)",
	}
	if d := cmp.Diff(want, trace(t, c)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if !res.Simulated || res.Metrics.Cycles != 3 || res.Metrics.ToolErrors != 1 {
		t.Errorf("simulated %v, %+v", res.Simulated, res.Metrics)
	}
}

func TestAssistantWithRealTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, step := range []struct{ said, want string }{
		{"3と5を足して", "3と5を足した結果は8です。"},
		{"what is 12*7?", "The result of 12 * 7 is 84."},
		{"(2+3)*4", "The result of (2 + 3) * 4 is 20."},
		{"1を0で割って", "うまくいきませんでした：division by zero (divide by something else)"},
		{"what time is it in Tokyo?", "It is 2026-11-20 21:00:00 JST (Friday, UTC+09:00)."},
		{"write milk to list.txt", "Wrote 4 bytes to list.txt."},
		{"read list.txt", "The file says:\n\nmilk"},
		{"list.txtを読んで", "ファイルの内容です：\n\nmilk"},
		{"list files", "In the folder:\n\nlist.txt (4 bytes)"},
		{"read nothing.txt", "That did not work: there is no file nothing.txt (call list_files for the names)"},
	} {
		res, err := agent(t, "assistant", dir).Run(t.Context(), step.said)
		if err != nil || res.Text() != step.want || res.Stop != event.StopEndTurn {
			t.Errorf("%s: %q, %v", step.said, res.Text(), err)
		}
	}
}

func TestDeletingAsksThePerson(t *testing.T) {
	t.Parallel()
	for answer, want := range map[bool]string{true: "draft.txt is deleted.", false: "The person said no: draft.txt is kept."} {
		dir := t.TempDir()
		a := agent(t, "approval", dir)
		c := braid.NewConversation()
		res, err := a.Run(t.Context(), "Write a draft and delete it again.", braid.In(c))
		if err != nil || res.Stop != event.StopQuestion || len(res.Questions) != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		q := res.Questions[0]
		if q.Prompt != "Delete draft.txt (15 bytes)?" || q.Ask != event.AskApproval || q.Tool != "delete_file" {
			t.Errorf("question %+v", q)
		}
		if err := c.Answer(context.Background(), q.Token, answer); err != nil {
			t.Fatal(err)
		}
		res, err = a.Resume(t.Context(), c)
		if err != nil || res.Text() != want+" (I am a simulated model.)" {
			t.Errorf("%q, %v, stop %s", res.Text(), err, res.Stop)
		}
		list, err := (&box{t: t, dir: dir, tools: toolsIn(t, dir)}).call("list_files", nothing{})
		if err != nil || strings.Contains(list, "draft.txt") == answer {
			t.Errorf("answered %v, and the folder holds %s (%v)", answer, list, err)
		}
	}
}

func toolsIn(t *testing.T, dir string) map[string]braid.Tool {
	t.Helper()
	tools, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]braid.Tool{}
	for _, tool := range tools {
		out[tool.Spec().Name] = tool
	}
	return out
}
