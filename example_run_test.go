package braid_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

// Run works on one input until there is an answer.
func ExampleAgent_Run() {
	agent := braid.New("guide", plays(requesting("weather", `{"city":"Porto"}`), saying("Take an umbrella.")),
		braid.Instructions("You advise travellers."),
		braid.Func("weather", "Reports the weather of a city.", weather))
	r, err := agent.Run(context.Background(), "What do I pack for Porto?")
	showResult(r, err)
	fmt.Println(r.Stop, r.Metrics.ModelCalls)
	// Output:
	// Take an umbrella.
	// end_turn 2
}

// In continues a conversation: the model sees all of it.
func ExampleIn() {
	ctx, conv := context.Background(), braid.NewConversation()
	agent := braid.New("guide", plays(saying("Hello, Ann."), saying("You are Ann.")))
	for _, input := range []string{"I am Ann.", "Who am I?"} {
		showResult(agent.Run(ctx, input, braid.In(conv)))
	}
	messages, err := conv.Messages(ctx)
	fmt.Println(len(messages), err)
	// Output:
	// Hello, Ann.
	// You are Ann.
	// 4 <nil>
}

// Attach adds an image, a document or another block to the text of the input.
func ExampleAttach() {
	png := []byte("\x89PNG\r\n\x1a\n")
	agent := braid.New("clerk", plays(saying("It is a receipt.")))
	r, err := agent.Run(context.Background(), "What is this?", braid.Attach(event.ImageData(png)))
	showResult(r, err)
	messages, err := r.Conversation.Messages(context.Background())
	for _, b := range messages[0].Content {
		fmt.Println(b.BlockKind())
	}
	fmt.Println(err)
	// Output:
	// It is a receipt.
	// text
	// image
	// <nil>
}

// History continues a conversation that was kept elsewhere.
func ExampleHistory() {
	call := &event.ToolCall{ID: "call_1", Name: "weather", Args: []byte(`{"city":"Porto"}`)}
	agent := braid.New("guide", plays(saying("An umbrella.")), braid.Func("weather", "Reports the weather.", weather))
	r, err := agent.Run(context.Background(), "What do I pack?", braid.History(
		event.UserText("How is the weather in Porto?"),
		event.AssistantBlocks(call), event.UserBlocks(event.ResultText(call, "rain")),
		event.AssistantText("It rains."),
	))
	showResult(r, err)
	messages, err := r.Conversation.Messages(context.Background())
	fmt.Println(len(messages), err)
	// Output:
	// An umbrella.
	// 6 <nil>
}

// Options that begin with With change one run; the agent stays as it is.
func ExampleWithInstructions() {
	agent := braid.New("guide", plays(saying("Emportez un parapluie.")),
		braid.Instructions("You advise travellers."),
		braid.On(func(_ context.Context, e *hook.BeforeModel) error {
			fmt.Printf("%q, %d tools, at most %d tokens\n", e.Request.Instructions, len(e.Request.Tools), e.Request.Options.MaxTokens)
			return nil
		}))
	r, err := agent.Run(context.Background(), "What do I pack for Porto?",
		braid.WithInstructions("Answer in French."),
		braid.WithLimits(braid.Limits{Cycles: 3}),
		braid.WithModelOptions(model.Options{MaxTokens: 200}),
		braid.WithTools(braid.Func("weather", "Reports the weather of a city.", weather)))
	showResult(r, err)
	fmt.Println(len(agent.Tools()))
	// Output:
	// "You advise travellers.\n\nAnswer in French.", 1 tools, at most 200 tokens
	// Emportez un parapluie.
	// 0
}

// WithToolChoice makes the model call a tool before it may answer.
func ExampleWithToolChoice() {
	agent := braid.New("guide", plays(requesting("weather", `{"city":"Porto"}`), saying("Take an umbrella.")),
		braid.Func("weather", "Reports the weather of a city.", weather))
	ctx := context.Background()
	r, err := agent.Run(ctx, "What do I pack?", braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsOne, Tool: "weather"}))
	showResult(r, err)
	fmt.Println(agent.Check(braid.WithToolChoice(model.ToolChoice{Mode: model.ToolsOne, Tool: "wether"})))
	// Output:
	// Take an umbrella.
	// run: the model must call the tool "wether", which the agent does not have (did you mean "weather"?)
}

// WithAnswers answers the questions of a run as they come, so that the run does not wait.
func ExampleWithAnswers() {
	agent := braid.New("clerk", plays(requesting("refund", `{"order":"A1"}`), saying("It is refunded.")),
		braid.Func("refund", "Refunds an order.", func(ctx context.Context, in struct {
			Order string `json:"order"`
		},
		) (string, error) {
			sure, err := braid.Ask[bool](ctx, "Refund "+in.Order+"?")
			return fmt.Sprint("refunded: ", sure), err
		}))
	r, err := agent.Run(context.Background(), "Refund order A1.",
		braid.WithAnswers(func(_ context.Context, q braid.Question) (any, error) {
			fmt.Println(q.Prompt)
			return true, nil
		}))
	showResult(r, err)
	// Output:
	// Refund A1?
	// It is refunded.
}
