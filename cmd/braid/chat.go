package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

func chatCommand(p *process) conf.Command {
	return conf.Command{
		Name: "chat", Short: "talk to an agent, turn after turn",
		About: `Each line is a turn of one conversation. Ctrl-C cancels the run in progress, not the
program; a second one at the prompt, or Ctrl-D, ends the program. In a pipe each line
is a turn, a tool's question reads the next line, and the end of the input ends the
program with 0.

The conversation is kept in your data folder, unless --ephemeral is given or another
braid uses the folder, which is reported. --continue continues a conversation: it
first finishes an interrupted run and repeats open questions. It does not repeat what
is done, and marks a tool call with an unknown outcome as in doubt.

in the conversation:
` + chatHelp,
		Examples: []conf.Example{
			{Line: "braid chat", Says: "chat; without a key a simulated model answers and says so"},
			{Line: "braid chat --model demo:assistant --trace", Says: "see the reason of each cycle"},
			{Line: `printf '1+1?\n2+2?\n' | braid chat -q`, Says: "two turns from a script"},
			{Line: "braid chat --continue", Says: "continue the newest conversation, also after a crash"},
			{Line: "braid chat --continue k7f2m9", Says: "continue the one whose ID begins with this"},
			{Line: "braid chat --server http://127.0.0.1:7421", Says: "talk to a braid serve"},
		},
		Options: true,
		Flags: append(append(append(
			outputFlags(), continueFlag(), agentsFlag(), schemaFlag(), attachFlag(), runtimeFlag()), recordingFlags()...), conf.ServerFlags()...),
		Run: func(ctx context.Context, in *conf.Invocation) error { return chat(ctx, p, in) },
	}
}

const chatHelp = `  /help         this list
  /attach FILE  attach a file to the next line
  /model [REF]  show the model, or change it
  /trace        show or hide the reason of each cycle
  /reset        begin a new session: the model forgets the old one
  /retry        continue a failed run at the step that failed
  /quit         end
`

// chatCommands are the commands after "/".
var chatCommands = []string{"help", "attach", "model", "trace", "reset", "retry", "quit"}

// chatState is the state of a chat.
type chatState struct {
	p     *process
	in    *conf.Invocation
	cfg   *conf.Config
	setup *agentSetup
	place *place
	ui    *ui
	talk  *repl
	ints  *term.Interrupts
	rec   *recording
	// far is set if a server keeps the conversation; setup, place and talk are nil then.
	far *remote
	// turns counts the turns of this program.
	turns int
	// fresh begins a new session with the next turn.
	fresh bool
	// files go with the next turn.
	files attached
	// aborted is set after a Ctrl-C: a second one at the prompt ends the program.
	aborted bool
}

func chat(ctx context.Context, p *process, in *conf.Invocation) error {
	if at, bare := in.Behind["continue"]; bare && at == 0 {
		in.Flags["continue"], in.Args = in.Args[0], in.Args[1:] // chat takes no prompt, so this is the ID
	}
	if err := in.NoArguments(); err != nil {
		if in.Args[0] != "-" {
			err = term.Invalid(`braid run "…" takes one, braid chat asks for it`, "braid chat takes no prompt")
		}
		return err
	}
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	if cfg.ShowThinking == nil { // a user watches
		cfg.ShowThinking = &cfg.Thinking
	}
	if cfg.Schema, err = schemaOf(in); err != nil {
		return err
	}
	if err := checkAgentsFlag(cfg, in); err != nil {
		return err
	}
	files, err := attachedBy(in)
	if err != nil {
		return err
	}
	ints := p.watchSignals(2)
	defer ints.Stop()
	if _, far := in.Flags["server"]; far {
		if err := noRecording(in); err != nil {
			return err
		}
		return p.chatFar(ctx, cfg, in, ints, "braid chat --server "+in.Flags["server"]+" --continue goes on from here")
	}
	rec, model, err := p.openRecording(cfg, in)
	if err != nil {
		return err
	}
	defer rec.done()
	place, err := p.takePlace(ctx, cfg, in)
	if err != nil {
		return err
	}
	defer place.close()
	others, err := p.fallbacks(&cfg.Settings, model, rec)
	if err != nil {
		return err
	}
	setup, err := p.buildAgent(&cfg.Settings, model, others, place.scratch)
	if err != nil {
		return err
	}
	c := &chatState{p: p, in: in, cfg: cfg, place: place, setup: setup, ints: ints, rec: rec, files: files}
	defer func() { c.setup.close() }()
	if err := p.fileAgent(&cfg.Settings, in, setup, model, others, rec); err != nil {
		return err
	}
	if err := p.saySimulated(&cfg.Settings, setup); err != nil {
		return err
	}
	if err := rec.say(&cfg.Settings); err != nil {
		return err
	}
	c.ui = p.newUI(cfg, in)
	if c.ui.screen.Terminal && term.IsTerminal(p.Stdin) {
		c.say("braid chat with " + term.CleanLine(setup.info().Name) + ". /help lists commands, Ctrl-C cancels a run, Ctrl-D ends.")
	}
	echo := c.ui.asks
	if in.On("json") || in.On("quiet") {
		echo = nil
	}
	lines := p.newLineReader(echo, ints)
	_, edited := lines.(*term.TerminalLines)
	ints.BeSteady(edited)
	defer lines.Close()
	c.talk = (&repl{
		conv: c.place.conv, kept: c.place.store != nil, show: c.ui.show, ints: ints,
		timeout: cfg.Timeout, ask: &asker{lines: lines, out: c.ui.asks, look: c.ui.screen, signIns: setup.signIns},
	}).with(setup)
	if err := c.begin(ctx); err != nil {
		return err
	}
	err = c.loop(ctx, lines)
	if c.turns > 0 && c.talk.kept && c.ui.screen.Terminal && term.IsTerminal(p.Stdin) {
		c.say("(braid chat --continue " + term.CleanLine(printer.ShortID(c.place.conv.ID())) + " goes on from here)")
	}
	return rec.end(err, in.On("quiet"))
}

// chatFar chats with a server. next is the command that continues the conversation afterwards.
func (p *process) chatFar(ctx context.Context, cfg *conf.Config, in *conf.Invocation, ints *term.Interrupts, next string) error {
	files, err := attachedBy(in)
	if err != nil {
		return err
	}
	r, err := p.openRemote(ctx, cfg, in)
	if err != nil {
		return err
	}
	c := &chatState{p: p, in: in, cfg: cfg, ints: ints, far: r, files: files}
	c.ui = p.newUI(cfg, in)
	if c.ui.screen.Terminal && term.IsTerminal(p.Stdin) {
		c.say("braid chat with " + term.CleanLine(in.Flags["server"]) + ". /help lists commands, Ctrl-C cancels a run, Ctrl-D ends.")
	}
	echo := c.ui.asks
	if in.On("json") || in.On("quiet") {
		echo = nil
	}
	lines := p.newLineReader(echo, ints)
	_, edited := lines.(*term.TerminalLines)
	ints.BeSteady(edited)
	defer lines.Close()
	r.show, r.ints, r.ask = c.ui.show, ints, &asker{lines: lines, out: c.ui.asks, look: c.ui.screen}
	err = c.loop(ctx, lines)
	if c.turns > 0 && c.ui.screen.Terminal && term.IsTerminal(p.Stdin) {
		c.say("(" + term.CleanLine(next) + ")")
	}
	return err
}

// begin finishes the open run of a continued conversation.
func (c *chatState) begin(ctx context.Context) error {
	if c.place.before == nil {
		return nil
	}
	if !c.in.On("json") && !c.in.On("quiet") {
		c.say("(" + placeWords(c.place.before, c.p.Now()) + ")")
	}
	return c.told(c.talk.finishOpen(ctx, c.place, c.ui))
}

// loop reads turn after turn until the input ends.
func (c *chatState) loop(ctx context.Context, lines term.LineReader) error {
	for {
		line, err := lines.Line(ctx, "you> ", false)
		switch {
		case errors.Is(err, term.ErrAborted):
			if c.aborted {
				return nil
			}
			c.aborted = true
			c.say("(Ctrl-C again, or Ctrl-D, ends braid)")
			continue
		case errors.Is(err, io.EOF):
			if c.ui.screen.Terminal && term.IsTerminal(c.p.Stdin) {
				c.say("")
			}
			return nil
		case event.KindOf(err) == event.ErrTooLarge:
			term.WriteError(c.p.Stderr, err)
			continue
		case err != nil:
			return term.OutputError(err)
		}
		c.aborted = false
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		lines.Remember(line)
		switch {
		case strings.HasPrefix(text, "//"):
			text = text[1:]
		case text == "/retry":
			if err := c.retry(ctx); err != nil {
				return err
			}
			continue
		case strings.HasPrefix(text, "/"):
			if end := c.command(text[1:]); end {
				return nil
			}
			continue
		}
		if err := c.turn(ctx, text); err != nil {
			return err
		}
	}
}

// turn runs one turn. It prints errors of the run. It returns an error if the output failed or a signal
// ends the program.
func (c *chatState) turn(ctx context.Context, text string) error {
	if err := checkText("the line", text); err != nil {
		term.WriteError(c.p.Stderr, err)
		return nil
	}
	if c.ui.story != nil {
		c.ui.story.Look.Screen = c.p.NewScreen(c.p.Stdout, c.cfg.Color) // the window may have changed
	}
	var err error
	if c.far != nil {
		err = c.far.turn(ctx, text, c.fresh, c.files)
	} else {
		var opts []braid.RunOption
		if opts, err = c.files.options(c.setup); err != nil {
			c.files = nil
			return c.told(err)
		}
		if c.fresh {
			opts = append(opts, braid.NewSession())
		}
		err = c.talk.turn(ctx, text, opts...)
	}
	c.fresh, c.files = false, nil
	c.turns++
	return c.told(err)
}

// retry continues the last failed run.
func (c *chatState) retry(ctx context.Context) error {
	if c.ui.story != nil {
		c.ui.story.Look.Screen = c.p.NewScreen(c.p.Stdout, c.cfg.Color)
	}
	c.fresh = false
	if c.far != nil {
		return c.told(c.far.retry(ctx))
	}
	return c.told(c.talk.retry(ctx))
}

// told prints the error of a run, and returns it only if it ends the program.
func (c *chatState) told(err error) error {
	switch {
	case c.ints.MustEnd():
		return term.ErrInterrupted
	case err == nil:
	case c.ui.failed():
		return err
	default:
		c.aborted = errors.Is(err, term.ErrInterrupted)
		term.WriteError(c.p.Stderr, err)
	}
	return nil
}

// command executes a line with "/"; end ends the program.
func (c *chatState) command(line string) (end bool) {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch word {
	case "help", "?":
		c.say(strings.TrimRight(chatHelp, "\n"))
	case "quit", "exit", "q":
		return true
	case "reset":
		c.fresh = true
		c.say("(the model forgets what was said)")
	case "attach":
		c.attach(arg)
	case "trace":
		c.trace()
	case "model":
		c.model(arg)
	default:
		term.WriteError(c.p.Stderr, term.Invalid(term.DidYouMean(word, chatCommands, "/", "/help lists the commands; // begins a line with /"),
			"there is no command /%s", term.CleanLine(term.Fit(word, 40))))
	}
	return false
}

// attach keeps a file for the next turn.
func (c *chatState) attach(name string) {
	files, err := c.files.add(name)
	if err != nil {
		term.WriteError(c.p.Stderr, err)
		return
	}
	c.files = files
	one := &files[len(files)-1]
	c.say(fmt.Sprintf("(%s, %d bytes, goes with the next line)", term.CleanLine(one.Name), len(one.Data)))
}

// trace switches the trace on or off.
func (c *chatState) trace() {
	switch s := c.ui.story; {
	case s == nil:
		term.WriteError(c.p.Stderr, term.Invalid("start again with --trace", "the trace cannot be changed beside --json or --quiet"))
	case s.Look.Trace:
		s.Look.Trace = false
		c.say("(trace off)")
	default:
		s.Look.Trace = true
		c.say("(trace on)")
	}
}

// model changes the model, or prints the current one. The conversation continues.
func (c *chatState) model(ref string) {
	if c.far != nil {
		if ref != "" {
			c.far.model = ref // the next turn reports an unknown model
		}
		c.say("(" + term.CleanLine(cmp.Or(c.far.model, "the server's own model")) + ")")
		return
	}
	if ref == "" {
		c.say("(" + modelWords(c.setup.info()) + ")")
		return
	}
	next := c.cfg.Settings
	next.Model = ref
	model, err := c.rec.open(ref)
	if err != nil {
		term.WriteError(c.p.Stderr, err)
		return
	}
	others, err := c.p.fallbacks(&next, model, c.rec)
	if err != nil {
		term.WriteError(c.p.Stderr, err)
		return
	}
	// The conversation keeps its files.
	setup, err := c.p.buildAgent(&next, model, others, c.place.scratch)
	if err != nil {
		term.WriteError(c.p.Stderr, err)
		return
	}
	if err := c.p.fileAgent(&next, c.in, setup, model, others, c.rec); err != nil {
		setup.close()
		term.WriteError(c.p.Stderr, err)
		return
	}
	c.setup.close()
	c.setup, c.cfg.Settings = setup, next
	c.talk.with(setup)
	c.talk.ask.signIns = setup.signIns
	c.say("(" + modelWords(setup.info()) + ")")
}

// say prints a line of the program itself.
func (c *chatState) say(text string) { fmt.Fprintln(c.ui.asks, text) }
