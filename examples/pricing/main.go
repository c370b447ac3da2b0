// Command pricing runs an agent that knows prices from an MCP server: it is given the
// tools that the server lists, and works out a cost in several cycles. While it works its
// words and its tools are printed; afterwards the log says why the loop went on each
// time, and why it ended.
//
//	go run ./examples/pricing
//	go run ./examples/pricing -transport http
//	go run ./examples/pricing -model bedrock:us.amazon.nova-pro-v1:0
//
// The server is a program of its own (this one, started again) or is reached over HTTP.
// Its prices are made up. Without -model a script answers, and nothing leaves the machine.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/models"
)

// serveArgument makes this program the server.
const serveArgument = "serve"

// question is what the agent is asked where nobody asks anything else.
const question = "What do 2 small servers in Tokyo cost for 730 hours?"

//go:embed pricing.yaml
var script []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pricing:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 1 && args[0] == serveArgument {
		return serveStdio(ctx)
	}
	flags := flag.NewFlagSet("pricing", flag.ContinueOnError)
	name := flags.String("model", "", "the model, such as bedrock:us.amazon.nova-pro-v1:0; empty is a script")
	transport := flags.String("transport", "stdio", "how the server is reached: stdio or http")
	if err := flags.Parse(args); err != nil {
		return err
	}
	model, err := openModel(*name)
	if err != nil {
		return err
	}
	ask := strings.Join(flags.Args(), " ")
	if ask == "" {
		ask = question
	}
	return run(ctx, out, model, *transport, ask)
}

// openModel opens the model of that name; without one, the script of this folder.
func openModel(name string) (braid.Model, error) {
	if name != "" {
		return models.Open(name)
	}
	s, err := demo.Parse("pricing", script)
	if err != nil {
		return nil, err
	}
	return demo.New(s)
}

// run asks the agent, and prints what happens and then the log.
func run(ctx context.Context, out io.Writer, model braid.Model, transport, ask string) error {
	servers, end, err := connect(ctx, transport)
	if err != nil {
		return err
	}
	defer end()
	if info := model.Info(); info.Simulated {
		if _, err := fmt.Fprintf(out, "%s is a simulated model: its words follow a script, its tools are real.\n\n", info.Name); err != nil {
			return err
		}
	}
	conversation := braid.NewConversation()
	var r reader
	for e, err := range newAgent(model, servers).Stream(ctx, ask, braid.In(conversation)) {
		if err != nil {
			return err
		}
		r.event(&e)
		if _, err := r.out.WriteTo(out); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(out, "\nThe log:\n"); err != nil {
		return err
	}
	return writeLog(ctx, out, conversation)
}
