// Command providers runs one agent on every provider that Braid has, and prints what
// happens: the same, whoever answers. No key is needed and nothing leaves the
// machine, because each provider is asked on a server that speaks its vendor's wire
// and refuses what the vendor refuses.
//
//	go run ./examples/providers
//
// From one to the next one string changes, the model's name. Outside of an example
// the keys stand in the environment, and models.Open takes the same string.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/braidrun/braid"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "providers:", err)
		os.Exit(1)
	}
}

// run tells the story of each provider.
func run(ctx context.Context, out io.Writer) error {
	for i := range providers {
		p := &providers[i]
		lines, err := story(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if _, err := fmt.Fprintln(out, strings.TrimSpace(p.name+" "+p.model)); err != nil {
			return err
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(out, "   ", line); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers are what the tool takes.
type numbers struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b" jsonschema:"the second number"`
}

// add is the tool.
func add(_ context.Context, in numbers) (int, error) { return in.A + in.B, nil }

// calculator is the agent, on any model.
func calculator(m braid.Model) *braid.Agent {
	return braid.New(
		"calculator", m,
		braid.Instructions("Use the tool for every sum."),
		braid.Func("add", "Adds two numbers.", add),
	)
}

// story asks one question of one provider and says what happened.
func story(ctx context.Context, p *provider) ([]string, error) {
	m, end, err := p.open(script)
	if err != nil {
		return nil, err
	}
	defer end()
	var t telling
	for e, err := range calculator(m).Stream(ctx, question) {
		if err != nil {
			return nil, err
		}
		t.hear(&e)
	}
	return t.lines, nil
}
