// Command serve serves an agent of its own over the native API, over AgentCore's requests and to a browser.
//
//	go run ./examples/serve
//	go run ./examples/serve -data ./data
//	go run ./examples/serve -postgres "$DATABASE_URL" -tenants
//	go run ./examples/serve -model anthropic:claude-sonnet-5-5
//
// It prints the address of the page, which ends in the operator's token. Without -data and -postgres it keeps everything
// in memory; with -tenants it has tenants with keys of their own, and an API to administer them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/service/directory"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:7421", "where to answer; port 0 is a free one")
	name := flags.String("model", "demo", "the model")
	data := flags.String("data", "", "folder to keep everything in; empty keeps nothing")
	postgres := flags.String("postgres", "", "address of a PostgreSQL database to keep everything in")
	tenants := flags.Bool("tenants", false, "serve many tenants, with keys of their own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	model, err := models.Open(*name)
	if err != nil {
		return err
	}
	agent := braid.New("guide", model, braid.Instructions("You show people around. Answer in one sentence."),
		braid.Func("steps", "how many steps it is to a place", steps))
	o := serve.Options{Agent: agent}
	switch {
	case *postgres != "":
		o.Store = serve.Postgres(*postgres)
	case *data != "":
		o.Store = serve.Folder(*data)
	}
	if *tenants {
		o.Tenants = &directory.Options{}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	s, err := serve.New(ctx, o)
	if err != nil {
		_ = l.Close()
		return err
	}
	fmt.Fprintf(out, "http://%s/#token=%s\n", l.Addr(), s.Token().Reveal())
	return s.Serve(ctx, l)
}

// place is what the model asks for.
type place struct {
	Name string `json:"name" jsonschema:"the name of the place"`
}

func steps(_ context.Context, p place) (int, error) { return 100 * len(p.Name), nil }
