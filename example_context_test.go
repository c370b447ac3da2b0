package braid_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
)

// Manage says what the model no longer sees of a long conversation. The log keeps all of it.
func ExampleManage() {
	ctx, conv := context.Background(), braid.NewConversation()
	agent := braid.New("guide", plays(saying("Yes.")),
		braid.Manage(braid.Management{By: braid.SlidingWindow(4)}),
		braid.On(func(_ context.Context, e *hook.BeforeModel) error {
			fmt.Print(len(e.Request.Messages), " ")
			return nil
		}))
	for _, input := range []string{"one", "two", "three", "four"} {
		showResult(agent.Run(ctx, input, braid.In(conv)))
	}
	// Output:
	// 1 Yes.
	// 3 Yes.
	// 3 Yes.
	// 3 Yes.
}

// Offload keeps large results out of the model's context. The model sees their beginning, and can read on.
func ExampleOffload() {
	book := braid.Func("book", "Returns a book.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("word ", 2000), nil
	})
	agent := braid.New("reader", plays(requesting("book", `{}`), saying("A long book.")), book,
		braid.Offload(braid.Offloading{Over: 1000, Preview: 100}))
	r, err := agent.Run(context.Background(), "Read the book.")
	showResult(r, err)
	messages, err := r.Conversation.Messages(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	result := messages[2].Content[0].(*event.ToolResult)
	fmt.Println(len(event.TextOf(result.Content)) < 1000)
	// Output:
	// A long book.
	// true
}
