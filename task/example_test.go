package task_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/task"
)

func ExampleNew() {
	finder := braid.New("finder", echo("large", 5), braid.Instructions("Find facts."))
	writer := braid.New("writer", echo("large", 5), braid.Instructions("Write texts."))
	lead := braid.New("lead", lead(
		map[string]any{"subagent_type": "finder", "prompt": "When is high tide?", "model": "haiku"},
		map[string]any{"subagent_type": "writer", "prompt": "Describe a tide."},
	), braid.Tools(task.New(
		task.Options{Models: task.Aliases(map[string]braid.Model{"haiku": echo("small", 1)}), ModelNames: []string{"haiku"}},
		task.Type{Agent: finder, Description: "Finds facts."},
		task.Type{Agent: writer, Description: "Writes texts."},
	)))
	result, err := lead.Run(context.Background(), "Tell me about tides.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: small: When is high tide? | large: Describe a tide.
}
