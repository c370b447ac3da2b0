// Command fallback runs an agent whose first model is overloaded: the next one of its
// list answers, at once, and the events tell of it. Both are servers on this machine
// that speak their vendors' wire.
//
//	go run ./examples/fallback
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fallback:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	const overloaded = 529 // Anthropic's own status
	busy := anthropictest.Start(anthropictest.Error(overloaded, "overloaded_error", "Overloaded"))
	defer busy.Close()
	free := openaitest.Start(openaitest.Text(openaitest.Chat, "Because of ", "Rayleigh."))
	free.Compatible = true
	defer free.Close()

	first, err := anthropic.New(anthropic.Default, secret.New(anthropictest.Key), anthropic.BaseURL(busy.URL), anthropic.HTTPClient(busy.Client()))
	if err != nil {
		return err
	}
	second, err := openai.New("qwen3", secret.Secret{}, openai.BaseURL(free.URL), openai.HTTPClient(free.Client()))
	if err != nil {
		return err
	}
	agent := braid.New("helper", first, braid.Fallback([]event.ErrorKind{event.ErrOverloaded, event.ErrThrottled}, second))
	for e, err := range agent.Stream(ctx, "Why is the sky blue?") {
		if err != nil {
			return err
		}
		if line := told(&e); line != "" {
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// told says of an event what has to do with its model.
func told(e *event.Event) string {
	switch b := e.Body.(type) {
	case *event.StepBegun:
		return fmt.Sprintf("attempt %d asks %s %s", e.Attempt, b.Model, b.Why)
	case *event.StepEnded:
		return fmt.Sprintf("attempt %d: %s; next is %s", e.Attempt, b.Err.Kind, b.Fallback)
	case *event.AssistantMessage:
		return fmt.Sprintf("attempt %d answers: %s", e.Attempt, event.TextOf(b.Content))
	case *event.RunEnded:
		return fmt.Sprintf("%s after %d cycle, %d of usage", b.Status, b.Cycles, b.Usage.Total)
	default:
		return ""
	}
}
