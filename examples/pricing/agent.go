package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/tool/demotool"
	"github.com/braidrun/braid/tool/mcptool"
)

// serverName is what the agent calls the server.
const serverName = "pricing"

// connect reaches the server: over its standard input and output, as a process of its
// own, or over HTTP.
func connect(ctx context.Context, transport string) (servers *mcptool.Servers, end func(), err error) {
	config, stop := mcptool.Config{Name: serverName}, func() {}
	switch transport {
	case "stdio":
		if config.Command, err = os.Executable(); err != nil {
			return nil, nil, err
		}
		config.Args = []string{serveArgument}
	case "http":
		if config.URL, stop, err = serveHTTP(ctx); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, fmt.Errorf("there is no transport %q; use stdio or http", transport)
	}
	// It is our own server: what it says of its tools, that they only read, counts. So a
	// call that a crash cut off is simply made again.
	servers, err = mcptool.Connect(ctx, mcptool.Options{Commands: true, Trusted: []string{serverName}}, config)
	if err != nil {
		stop()
		return nil, nil, errors.Join(err, said(err))
	}
	return servers, func() { _ = servers.Close(); stop() }, nil
}

// said is what a program wrote before it could not be reached; nil where that is nothing.
func said(err error) error {
	if text := mcptool.Stderr(err); text != "" {
		return errors.New(text)
	}
	return nil
}

// newAgent makes the agent. All that it knows is the model, these instructions, what the
// server says of itself, and the list of tools: the server's, and one for the sum.
func newAgent(model braid.Model, servers *mcptool.Servers) *braid.Agent {
	return braid.New(
		"estimator", model,
		braid.Instructions("You work out what things cost. Take prices from the tools alone, and calculate with the calculator."),
		braid.From(servers),
		braid.Tools(demotool.Calculator()),
	)
}
