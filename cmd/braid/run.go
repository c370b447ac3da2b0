package main

import (
	"context"
	"io"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

func runCommand(p *process) conf.Command {
	return conf.Command{
		Name: "run", Args: "PROMPT", Short: "run an agent on one prompt and show the answer as it comes",
		About: `The prompt is the arguments joined by spaces; "-" is replaced by standard input. Without
arguments the command reads a pipe. It prints the answer as it arrives, with the
model's thinking and a card for each tool call; without a terminal it prints plain
text. If a tool asks a question, the next line of standard input is the answer. Ctrl-C
cancels the run.

The run is kept in your data folder, unless --ephemeral is given or another braid uses
the folder, which is reported. --continue continues a conversation: it first finishes
an interrupted or waiting run, and does not repeat what is done. Without a prompt it
does only that. A word after --continue is an ID if it has 6 characters or more and a
conversation's ID begins with it; --continue=ID is always one.`,
		Examples: []conf.Example{
			{Line: `braid run "What is 6 times 7?"`, Says: "ask; without a key a simulated model answers and says so"},
			{Line: `braid run --model demo:tour "Show me what you can do."`, Says: "watch thinking, tools at once, a failure, a retry"},
			{Line: `answer=$(braid run -q "What is 6 times 7?")`, Says: "the answer alone, for a script"},
			{Line: `braid run "Sum this up:" - < notes.txt`, Says: "a prompt followed by a file"},
			{Line: `braid run --attach report.pdf "Sum this up."`, Says: "let the model read a file; images and texts, too"},
			{Line: `braid run --agents team.yaml "…"`, Says: "let the agents of a file work together"},
			{Line: `braid run --trace "…"`, Says: "the reason and the cost of each cycle"},
			{Line: `braid run --json "…" | jq -r 'select(.kind=="result").text'`, Says: "events for a program, the result last"},
			{Line: `yes | braid run "…"`, Says: "answer yes to every question of a tool"},
			{Line: `braid run --continue "And in dollars?"`, Says: "continue the newest conversation"},
			{Line: `braid run --continue`, Says: "finish an interrupted run"},
			{Line: `braid run --record talk.jsonl "…"`, Says: "record the model's answers; --replay talk.jsonl replays them"},
			{Line: `braid run --server http://127.0.0.1:7421 "…"`, Says: "let a braid serve answer"},
		},
		Options: true,
		Flags: append(append(append(
			outputFlags(), continueFlag(), agentsFlag(), schemaFlag(), attachFlag(), runtimeFlag()), recordingFlags()...), conf.ServerFlags()...),
		Run: func(ctx context.Context, in *conf.Invocation) error { return runOnce(ctx, p, in) },
	}
}

func outputFlags() []conf.Flag {
	return []conf.Flag{
		{Name: "json", Help: "write one event as JSON on each line, and a last line of kind \"result\""},
		{Name: "quiet", Short: "q", Help: "write only the answer"},
	}
}

func runOnce(ctx context.Context, p *process, in *conf.Invocation) error {
	cfg, err := p.Config(in)
	if err != nil {
		return err
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
	if _, far := in.Flags["server"]; far {
		if err := noRecording(in); err != nil {
			return err
		}
		return p.runFar(ctx, cfg, in, files)
	}
	_, goesOn := in.Flags["continue"]
	_, replays := in.Flags["replay"]
	var prompt string
	var fromStdin bool
	if !goesOn && (!replays || len(in.Args) > 0) {
		if prompt, fromStdin, err = p.readPrompt(in.Args); err != nil {
			return err
		}
	}
	ints := p.watchSignals(1)
	defer ints.Stop()
	rec, model, err := p.openRecording(cfg, in)
	if err != nil {
		return err
	}
	defer rec.done()
	asks := rec.inputs()
	if replays && prompt == "" && asks == nil {
		if prompt, fromStdin, err = p.readPrompt(in.Args); err != nil {
			return err
		}
	}
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
	defer setup.close()
	if err := p.fileAgent(&cfg.Settings, in, setup, model, others, rec); err != nil {
		return err
	}
	open, err := place.open(ctx)
	if err != nil {
		return err
	}
	if goesOn && (len(in.Args) > 0 || len(open) == 0) {
		if prompt, fromStdin, err = p.readPrompt(in.Args); err != nil {
			return err
		}
	}
	if err := files.needPrompt(prompt); err != nil {
		return err
	}
	opts, err := files.options(setup)
	if err != nil {
		return err
	}
	if err := p.saySimulated(&cfg.Settings, setup); err != nil {
		return err
	}
	if err := rec.say(&cfg.Settings); err != nil {
		return err
	}

	ui := p.newUI(cfg, in)
	t := (&repl{
		conv: place.conv, kept: place.store != nil, show: ui.show, ints: ints,
		timeout: cfg.Timeout, ask: &asker{out: ui.asks, look: ui.screen, signIns: setup.signIns},
	}).with(setup)
	if fromStdin {
		t.ask.lines = nothingMore{}
	} else {
		t.ask.lines = &lateLines{open: func() term.LineReader { return p.newLineReader(ui.asks, ints) }}
		defer t.ask.lines.Close()
	}
	err = t.finishOpen(ctx, place, ui)
	switch {
	case err != nil:
	case prompt != "":
		err = t.turn(ctx, prompt, opts...)
	case replays:
		err = t.replayed(ctx, asks)
	}
	return rec.end(err, in.On("quiet"))
}

// runFar is the command with --server.
func (p *process) runFar(ctx context.Context, cfg *conf.Config, in *conf.Invocation, files attached) error {
	prompt, fromStdin, err := p.readPrompt(in.Args)
	if err != nil {
		return err
	}
	ints := p.watchSignals(1)
	defer ints.Stop()
	r, err := p.openRemote(ctx, cfg, in)
	if err != nil {
		return err
	}
	ui := p.newUI(cfg, in)
	r.show, r.ints, r.ask = ui.show, ints, &asker{out: ui.asks, look: ui.screen}
	if fromStdin {
		r.ask.lines = nothingMore{}
	} else {
		r.ask.lines = &lateLines{open: func() term.LineReader { return p.newLineReader(ui.asks, ints) }}
		defer r.ask.lines.Close()
	}
	return r.turn(ctx, prompt, false, files)
}

// ui is the display of a command.
type ui struct {
	show   printer.Printer
	screen term.Screen
	out    *term.Output
	// story is the transcript, or nil if another printer is used.
	story *printer.Transcript
	// asks receives questions: the output, unless a program reads it.
	asks io.Writer
}

// newUI returns the display for --json, --quiet and the options of output.
func (p *process) newUI(cfg *conf.Config, in *conf.Invocation) *ui {
	s := p.NewScreen(p.Stdout, cfg.Color)
	out := term.NewOutput(p.Stdout)
	u := &ui{screen: s, out: out, asks: p.Stderr}
	switch {
	case in.On("json"):
		u.show = &printer.JSONLines{Out: out, Trace: cfg.Trace}
	case in.On("quiet"):
		u.show = &printer.AnswerOnly{Out: out, Screen: s}
	default:
		u.asks = p.Stdout
		u.story = printer.NewTranscript(out, printer.Look{Screen: s, Thinking: cfg.Thinking, Trace: cfg.Trace})
		u.show = u.story
		return u
	}
	if cfg.Trace {
		u.show = printer.Printers{printer.NewTracer(term.NewOutput(p.Stderr), p.NewScreen(p.Stderr, cfg.Color)), u.show}
	}
	return u
}

// failed reports that the output failed.
func (u *ui) failed() bool { return u.out.Err != nil }

// lateLines opens a line reader at the first question, and leaves the terminal unchanged before.
type lateLines struct {
	open  func() term.LineReader
	lines term.LineReader
}

func (l *lateLines) Line(ctx context.Context, prompt string, secret bool) (string, error) {
	if l.lines == nil {
		l.lines = l.open()
	}
	return l.lines.Line(ctx, prompt, secret)
}

func (l *lateLines) Remember(line string) {
	if l.lines != nil {
		l.lines.Remember(line)
	}
}

func (l *lateLines) Close() {
	if l.lines != nil {
		l.lines.Close()
	}
}

// nothingMore is the line reader after the prompt has used standard input.
type nothingMore struct{}

func (nothingMore) Line(context.Context, string, bool) (string, error) { return "", io.EOF }
func (nothingMore) Remember(string)                                    {}
func (nothingMore) Close()                                             {}
