package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/agentcore"
)

// agentcoreAddress is where an agent listens in a container of AgentCore, and so does
// braid serve --agentcore.
const agentcoreAddress = "http://127.0.0.1:8080"

func invokeFlags() []flagSpec {
	return []flagSpec{
		{name: "url", value: "URL", help: "the agent's server (" + agentcoreAddress + ", or with --arn the platform's own)"},
		{name: "arn", value: "ARN", help: "the AgentCore runtime: ask through the platform's door, signed with your AWS keys"},
		{name: "qualifier", value: "NAME", help: "the runtime's endpoint or version"},
		{name: "session", value: "ID", help: "go on with this session; an answer tells its id"},
		{name: "user", value: "ID", help: "on whose behalf it is"},
		{name: "payload", value: "FILE", help: "send this JSON instead of a prompt; \"-\" is standard input"},
		{name: "token-file", value: "FILE", help: "file with a bearer token; empty is " + tokenEnv + ", or without --url the data folder's"},
		{name: "timeout", value: "TIME", help: "give up after this long, such as 90s"},
	}
}

// invoke asks an agent and shows its answer as it comes.
func (p *process) invoke(ctx context.Context, in *invocation) error {
	cfg, err := p.loadConfig(nil, "")
	if err != nil {
		return err
	}
	ask := client.Invocation{Session: in.flags["session"], User: in.flags["user"]}
	if file, whole := in.flags["payload"]; whole {
		if len(in.args) > 1 {
			return invalid("leave the prompt or --payload out", "a payload stands in place of a prompt")
		}
		if ask.Payload, err = p.readPayload(file); err != nil {
			return err
		}
	} else if ask.Prompt, _, err = p.readPrompt(in.args[1:]); err != nil {
		return err
	}
	server, err := p.agentcoreServer(ctx, cfg, in)
	if err != nil {
		return err
	}
	if text := in.flags["timeout"]; text != "" {
		limit, err := time.ParseDuration(text)
		if err != nil || limit <= 0 {
			return invalid("give it as 90s or 5m", "--timeout: %q is no length of time", fit(text, 40))
		}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	ints := p.watchSignals(1)
	defer ints.stop()
	ctx, release := ints.guard(ctx)
	defer release()
	err = p.showInvoked(ctx, cfg, in, server, ask)
	if ctx.Err() != nil && ints.interrupted() && kindOf(err) == event.ErrCancelled {
		return errInterrupted
	}
	return err
}

// mostPayload is what the platform takes: 100 MB.
const mostPayload = 100 << 20

func (p *process) readPayload(file string) ([]byte, error) {
	from := p.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &event.Error{Kind: event.ErrNotFound, Message: "the payload's file cannot be opened", Hint: "check its name", Err: err}
		}
		defer func() { _ = f.Close() }() // it was only read
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, mostPayload+1))
	if err != nil {
		return nil, &event.Error{Kind: event.ErrUnavailable, Message: "the payload cannot be read", Err: err}
	}
	if len(data) > mostPayload {
		return nil, &event.Error{Kind: event.ErrTooLarge, Message: "the payload has more than 100 MB", Hint: "the platform takes no more: send less"}
	}
	return data, nil
}

// agentcoreServer is whom the flags tell to ask, with the credential for it.
func (p *process) agentcoreServer(ctx context.Context, cfg *config, in *invocation) (*client.AgentCore, error) {
	address, arn := in.flags["url"], in.flags["arn"]
	o := client.AgentCoreOptions{ARN: arn, Qualifier: in.flags["qualifier"]}
	if o.Qualifier != "" && arn == "" {
		return nil, invalid("give --arn too", "--qualifier names an endpoint of a runtime")
	}
	own := address == "" && arn == ""
	if own {
		address = agentcoreAddress
	}
	var err error
	switch file := in.flags["token-file"]; {
	case file != "", own:
		if o.Token, err = p.findToken(cfg, file, address); err != nil && file == "" {
			err = nil // a container of somebody else's wants none
		}
	case p.getenv(tokenEnv) != "":
		o.Token = secret.New(p.getenv(tokenEnv))
	case arn != "":
		o.Sign, err = awsSigner(ctx, arn)
	}
	if err != nil {
		return nil, err
	}
	return client.NewAgentCore(address, o)
}

// showInvoked asks, and shows the answer in the form that the flags say.
func (p *process) showInvoked(
	ctx context.Context, cfg *config, in *invocation, server *client.AgentCore, ask client.Invocation,
) error {
	begun := time.Now()
	answer, err := server.Invoke(ctx, ask)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }() // all that it has to say has been read
	if in.on("raw") {
		_, err := io.Copy(p.stdout, answer)
		if err != nil && ctx.Err() != nil {
			return &event.Error{Kind: event.ErrCancelled, Message: "the invocation was cancelled", Err: err}
		}
		return outputError(err)
	}
	out := newOutput(p.stdout)
	if in.on("json") {
		i := &inspection{out: out, quiet: true, escape: isTerminal(p.stdout)}
		if err := i.run(answer.Reader()); err != nil {
			return err
		}
		return failed(&i.sum, answer)
	}
	screen := p.newScreen(p.stdout, cfg.Color)
	t := &heard{story: newStory(out, look{screen: screen, thinking: cfg.Thinking}), reader: answer.Reader()}
	for it, err := range answer.Items() {
		if err != nil {
			return err
		}
		if err := t.take(it); err != nil {
			return outputError(err)
		}
	}
	if err := t.end(); err != nil {
		return outputError(err)
	}
	notes := p.newScreen(p.stderr, cfg.Color)
	line := fmt.Sprintf("%d + %d tokens · model %s · %s · session %s",
		t.sum.Usage.Input, t.sum.Usage.Output, short(t.sum.Latency), short(time.Since(begun)), cleanLine(answer.Session))
	_, _ = p.stderr.Write(append(notes.paint(nil, dim, line), '\n')) // the answer is out already
	return failed(&t.sum, answer)
}

// failed is the error that a stream told of, or that it broke off.
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
