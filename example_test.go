package braid_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/tool"
)

// The example of seed 2: two model calls and one tool between them. The model
// follows a script with the seed's own answers.
func Example() {
	model, err := demo.Load("seed2")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("calc", model, braid.Func("add", "Adds two numbers.", add))
	result, err := agent.Run(context.Background(), "3と5を足して")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	fmt.Println(result.Stop, result.Usage.Input, result.Usage.Output, result.Usage.Total)
	// Output:
	// 3と5を足した結果は8です。
	// end_turn 1452 94 1546
}

func ExampleAgent_Stream() {
	model, err := demo.Load("seed2")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("calc", model, braid.Func("add", "Adds two numbers.", add))
	var text strings.Builder
	for ev, err := range agent.Stream(context.Background(), "3と5を足して") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch b := ev.Body.(type) {
		case *event.TextDelta:
			text.WriteString(b.Text)
		case *event.AssistantMessage:
			fmt.Printf("%s %d/%d/%d\n", b.Stop, b.Usage.Input, b.Usage.Output, b.Usage.Total)
		case *event.StepEnded:
			fmt.Println(b.Result.Name, "gave", event.TextOf(b.Result.Content))
		}
	}
	fmt.Println(text.String())
	// Output:
	// tool_use 680/79/759
	// add gave 8
	// end_turn 772/15/787
	// 3と5を足し算します。3と5を足した結果は8です。
}

func ExampleAsk() {
	refund := braid.Func("refund", "Pays an order back.", func(ctx context.Context, in struct {
		Order string `json:"order" jsonschema:"the order's number"`
	},
	) (string, error) {
		yes, err := braid.Ask[bool](ctx, "Refund order "+in.Order+"?")
		if err != nil {
			return "", err
		}
		if !yes {
			return "declined", nil
		}
		return "paid back, key " + tool.CallOf(ctx).Key(), nil
	})
	script := demo.Replies("refund",
		[]demo.Piece{demo.Call("refund", `{"order":"A-7"}`)},
		[]demo.Piece{demo.Say("It is done.")})
	model, err := demo.New(script)
	if err != nil {
		fmt.Println(err)
		return
	}
	desk := braid.New("desk", model, refund)

	ctx, conv := context.Background(), braid.NewConversation()
	result, err := desk.Run(ctx, "I want my money back for A-7.", braid.In(conv))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Stop, "-", result.Questions[0].Prompt)

	// Days later, in any process that opens the same log:
	if err := conv.Answer(ctx, result.Questions[0].Token, true); err != nil {
		fmt.Println(err)
		return
	}
	result, err = desk.Resume(ctx, conv)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// question - Refund order A-7?
	// It is done.
}

func ExampleAsTool() {
	writer, err := demo.New(demo.Replies("writer", []demo.Piece{demo.Say("An old pond.")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	editor, err := demo.New(demo.Replies("editor",
		[]demo.Piece{demo.Call("writer", `{"input":"a line about a pond"}`)},
		[]demo.Piece{demo.Say("Good: it stays.")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("editor", editor, braid.AsTool(braid.New("writer", writer), "Writes a line."))
	for ev, err := range agent.Stream(context.Background(), "I need a line about a pond.") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if m, ok := ev.Body.(*event.AssistantMessage); ok && len(event.CallsOf(m.Content)) == 0 {
			fmt.Println(ev.Author+":", event.TextOf(m.Content))
		}
	}
	// Output:
	// writer: An old pond.
	// editor: Good: it stays.
}

// Seed 2's times come out of the loop's own clock when the script runs in real time.
func TestSeed2InRealTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, err := demo.Load("seed2", demo.Realtime(1))
		if err != nil {
			t.Fatal(err)
		}
		agent := braid.New("calc", model, braid.Func("add", "Adds two numbers.", add))
		want := []time.Duration{1299, 969, 814, 708}
		var got []time.Duration
		for e, err := range agent.Stream(t.Context(), "3と5を足して") {
			if err != nil {
				t.Fatal(err)
			}
			if !e.Simulated {
				t.Errorf("%s is not labelled simulated", e.Body.Kind())
			}
			if m, ok := e.Body.(*event.AssistantMessage); ok {
				got = append(got, m.Latency/time.Millisecond, m.TimeToFirstByte/time.Millisecond)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("latencies are %v, want %v", got, want)
		}
	})
}

// A person is asked before a tool runs, and says yes to this call for the whole conversation.
func ExamplePermit() {
	ctx := context.Background()
	read := func(_ context.Context, in file) (string, error) { return "the text of " + in.Name, nil }
	remove := func(_ context.Context, in file) (string, error) { return "removed " + in.Name, nil }
	model := answers(asksFor("read_file", `{"name":"a.txt"}`, "delete_file", `{"name":"a.txt"}`), says("It is gone."))
	agent := braid.New("clerk", model,
		braid.Func("read_file", "Reads a file.", read), braid.Func("delete_file", "Removes a file.", remove),
		braid.Permit(braid.Permissions{Allow: []string{"read_*"}, Ask: []string{"*"}, Deny: []string{"format_disk"}}))

	result, err := agent.Run(ctx, "Remove a.txt.")
	for err == nil && result.Stop == event.StopQuestion {
		for _, q := range result.Questions {
			fmt.Println(q.Prompt, string(q.Args))
			yes := event.Approval{Approved: true, Lasts: event.LastsConversation}
			if err := result.Conversation.AnswerAs(ctx, "ann", q.Token, yes); err != nil {
				fmt.Println(err)
				return
			}
		}
		result, err = agent.Resume(ctx, result.Conversation)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// May clerk run delete_file? {"name":"a.txt"}
	// It is gone.
}

type file struct {
	Name string `json:"name"`
}
