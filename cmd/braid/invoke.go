package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/agentcore"
)

// agentcoreAddress is the address of an agent in an AgentCore container, and of braid serve --agentcore.
const agentcoreAddress = "http://127.0.0.1:8080"

func invokeFlags() []conf.Flag {
	return []conf.Flag{
		{Name: "url", Value: "URL", Help: "the agent's server (" + agentcoreAddress + ", or with --arn the platform's own)"},
		{Name: "arn", Value: "ARN", Help: "the AgentCore runtime, called through AWS's API and signed with your AWS keys"},
		{Name: "qualifier", Value: "NAME", Help: "the runtime's endpoint or version"},
		{Name: "session", Value: "ID", Help: "continue this session; each answer prints its id"},
		{Name: "user", Value: "ID", Help: "the user on whose behalf you call"},
		{Name: "payload", Value: "FILE", Help: "send this JSON instead of a prompt; \"-\" is standard input"},
		{Name: "token-file", Value: "FILE", Help: "file with a bearer token; empty is " + conf.TokenEnv + ", or without --url the data folder's"},
		{Name: "timeout", Value: "TIME", Help: "give up after this long, such as 90s"},
	}
}

// invoke calls an agent and prints its answer as it arrives.
func (p *process) invoke(ctx context.Context, in *conf.Invocation) error {
	cfg, err := p.LoadConfig(nil, "")
	if err != nil {
		return err
	}
	ask := client.Invocation{Session: in.Flags["session"], User: in.Flags["user"]}
	if file, whole := in.Flags["payload"]; whole {
		if len(in.Args) > 1 {
			return term.Invalid("leave the prompt or --payload out", "a payload replaces the prompt")
		}
		if ask.Payload, err = p.readPayload(file); err != nil {
			return err
		}
	} else if ask.Prompt, _, err = p.readPrompt(in.Args[1:]); err != nil {
		return err
	}
	server, err := p.agentcoreServer(ctx, cfg, in)
	if err != nil {
		return err
	}
	if text := in.Flags["timeout"]; text != "" {
		limit, err := time.ParseDuration(text)
		if err != nil || limit <= 0 {
			return term.Invalid("give it as 90s or 5m", "--timeout: %q is not a duration", term.Fit(text, 40))
		}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	ints := p.watchSignals(1)
	defer ints.Stop()
	ctx, release := ints.Guard(ctx)
	defer release()
	err = p.showInvoked(ctx, cfg, in, server, ask)
	if ctx.Err() != nil && ints.Interrupted() && term.KindOf(err) == event.ErrCancelled {
		return term.ErrInterrupted
	}
	return err
}

// maxPayload is the platform's limit: 100 MB.
const maxPayload = 100 << 20

func (p *process) readPayload(file string) ([]byte, error) {
	from := p.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &event.Error{Kind: event.ErrNotFound, Message: "the payload's file cannot be opened", Hint: "check its name", Err: err}
		}
		defer func() { _ = f.Close() }() // it was only read
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, maxPayload+1))
	if err != nil {
		return nil, &event.Error{Kind: event.ErrUnavailable, Message: "the payload cannot be read", Err: err}
	}
	if len(data) > maxPayload {
		return nil, &event.Error{Kind: event.ErrTooLarge, Message: "the payload has more than 100 MB", Hint: "the platform takes no more: send less"}
	}
	return data, nil
}

// agentcoreServer returns the client for the flags, with its credential.
func (p *process) agentcoreServer(ctx context.Context, cfg *conf.Config, in *conf.Invocation) (*client.AgentCore, error) {
	address, arn := in.Flags["url"], in.Flags["arn"]
	o := client.AgentCoreOptions{ARN: arn, Qualifier: in.Flags["qualifier"]}
	if o.Qualifier != "" && arn == "" {
		return nil, term.Invalid("give --arn too", "--qualifier names an endpoint of a runtime")
	}
	own := address == "" && arn == ""
	if own {
		address = agentcoreAddress
	}
	var err error
	switch file := in.Flags["token-file"]; {
	case file != "", own:
		if o.Token, err = p.FindToken(cfg, file, address); err != nil && file == "" {
			err = nil // another program's container may need no token
		}
	case p.Getenv(conf.TokenEnv) != "":
		o.Token = secret.New(p.Getenv(conf.TokenEnv))
	case arn != "":
		o.Sign, err = awsSigner(ctx, arn)
	}
	if err != nil {
		return nil, err
	}
	return client.NewAgentCore(address, o)
}

// showInvoked sends the request and prints the answer in the form of the flags.
func (p *process) showInvoked(
	ctx context.Context, cfg *conf.Config, in *conf.Invocation, server *client.AgentCore, ask client.Invocation,
) error {
	begun := time.Now()
	answer, err := server.Invoke(ctx, ask)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }() // the stream was read to its end
	if in.On("raw") {
		_, err := io.Copy(p.Stdout, answer)
		if err != nil && ctx.Err() != nil {
			return &event.Error{Kind: event.ErrCancelled, Message: "the invocation was cancelled", Err: err}
		}
		return term.OutputError(err)
	}
	out := term.NewOutput(p.Stdout)
	if in.On("json") {
		i := &inspection{out: out, quiet: true, escape: term.IsTerminal(p.Stdout)}
		if err := i.run(answer.Reader()); err != nil {
			return err
		}
		return failed(&i.sum, answer)
	}
	screen := p.NewScreen(p.Stdout, cfg.Color)
	t := &printer.AgentCoreTranscript{Transcript: printer.NewTranscript(out,
		printer.Look{Screen: screen, Thinking: cfg.Thinking}), Reader: answer.Reader()}
	for it, err := range answer.Items() {
		if err != nil {
			return err
		}
		if err := t.Take(it); err != nil {
			return term.OutputError(err)
		}
	}
	if err := t.End(); err != nil {
		return term.OutputError(err)
	}
	notes := p.NewScreen(p.Stderr, cfg.Color)
	line := fmt.Sprintf("%d + %d tokens · model %s · %s · session %s",
		t.Sum.Usage.Input, t.Sum.Usage.Output, printer.Short(t.Sum.Latency), printer.Short(time.Since(begun)), term.CleanLine(answer.Session))
	_, _ = p.Stderr.Write(append(notes.Paint(nil, term.Dim, line), '\n')) // the answer has been printed
	return failed(&t.Sum, answer)
}

// failed returns the error in a stream, or the error for an incomplete stream.
func failed(s *agentcore.Summary, answer *client.Invoked) error {
	switch {
	case s.Error != "":
		return &event.Error{
			Kind: event.ErrModel, Code: s.ErrorType, Message: "the agent failed: " + s.Error, Hint: "look at the agent's logs",
		}
	case !s.Complete && strings.HasPrefix(answer.Type, "text/event-stream"):
		return &event.Error{
			Kind: event.ErrStreamCut, Message: "the stream ended before the agent did",
			Hint: "go on in the same session with --session",
		}
	default:
		return nil
	}
}
