// Command cassette records what a model says to an agent, and plays it again without
// the model: the same events, with no key, no network and no cost. Tests live on such
// files.
//
//	go run ./examples/cassette
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/cassette"
	"github.com/braidrun/braid/secret"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cassette:", err)
		os.Exit(1)
	}
}

// run talks once with a model that is recorded, and once with the recording.
func run(ctx context.Context, out io.Writer) error {
	tape, said, err := record(ctx)
	if err != nil {
		return err
	}
	player, err := cassette.Replay(bytes.NewReader(tape))
	if err != nil {
		return err
	}
	again, err := ask(ctx, player)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "recorded: %s\nreplayed: %s\nlines on the tape: %d, calls left: %d\n",
		said, again, bytes.Count(tape, []byte("\n")), player.Left())
	return err
}

// record asks a server that speaks Anthropic's wire.
func record(ctx context.Context) (tape []byte, said string, err error) {
	server := anthropictest.Start(
		anthropictest.Stream([]model.Chunk{
			{Kind: model.ChunkCall, ID: "toolu_1", Text: "add"},
			{Kind: model.ChunkCallInput, Text: `{"a":3,"b":5}`},
		}, "tool_use", event.Usage{Input: 40, Output: 20}),
		anthropictest.Text("3 + 5 ", "= 8."),
	)
	defer server.Close()
	m, err := anthropic.New(anthropic.Default, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
	if err != nil {
		return nil, "", err
	}
	var file bytes.Buffer
	recorder := cassette.Record(m, &file)
	if said, err = ask(ctx, recorder); err != nil {
		return nil, "", err
	}
	return file.Bytes(), said, recorder.Err()
}

// ask runs the agent: it does not know which of the two its model is.
func ask(ctx context.Context, m braid.Model) (string, error) {
	agent := braid.New("calculator", m, braid.Func("add", "Adds two numbers.", add))
	result, err := agent.Run(ctx, "What is 3 + 5?")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (%d tokens)", result.Text(), result.Usage.Total), nil
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, in numbers) (int, error) { return in.A + in.B, nil }
