package main

import (
	"context"
	"io"
)

func runCommand(p *process) command {
	return command{
		name: "run", args: "PROMPT", short: "run an agent on one prompt and show the answer as it comes",
		about: `The prompt is the arguments joined by spaces; "-" stands for standard input, and
without arguments a pipe is read. The answer is streamed with the model's
thinking and a card for each tool call; away from a terminal it is plain text
without colours. Where a tool asks a question, the answer is the next line of
standard input. Ctrl-C cancels the run.

The run is kept in your data folder, unless --ephemeral is given or another
braid is at work there, which is told. --continue goes on with what was said: a
run that was interrupted, or that waits for an answer, is taken to its end
first, without a prompt it alone; what it has done is not done again. A word
right behind --continue is an ID if a conversation's begins with it and it has
6 characters or more; --continue=ID is one always.`,
		examples: []example{
			{`braid run "What is 6 times 7?"`, "ask; without a key a simulated model answers and says so"},
			{`braid run --model demo:tour "Show me what you can do."`, "watch thinking, tools at once, a failure, a retry"},
			{`answer=$(braid run -q "What is 6 times 7?")`, "the answer alone, for a script"},
			{`braid run "Sum this up:" - < notes.txt`, "text from a file behind the prompt"},
			{`braid run --trace "…"`, "why each cycle went on, what it cost"},
			{`braid run --json "…" | jq -r 'select(.kind=="result").text'`, "events for a program, the result last"},
			{`yes | braid run "…"`, "say yes to whatever a tool asks"},
			{`braid run --continue "And in dollars?"`, "go on with the newest conversation"},
			{`braid run --continue`, "finish what was interrupted"},
			{`braid run --record talk.jsonl "…"`, "record what the model says; --replay talk.jsonl plays it again"},
			{`braid run --server http://127.0.0.1:7421 "…"`, "let a braid serve answer"},
		},
		options: true,
		flags:   append(append(append(outputFlags(), continueFlag(), schemaFlag()), tapeFlags()...), serverFlags()...),
		run:     func(ctx context.Context, in *invocation) error { return runOnce(ctx, p, in) },
	}
}

func outputFlags() []flagSpec {
	return []flagSpec{
		{name: "json", help: "write one event as JSON on each line, and a last line of kind \"result\""},
		{name: "quiet", short: "q", help: "write only the answer"},
	}
}

func runOnce(ctx context.Context, p *process, in *invocation) error {
	cfg, err := p.configOf(in)
	if err != nil {
		return err
	}
	if cfg.Schema, err = schemaOf(in); err != nil {
		return err
	}
	if _, far := in.flags["server"]; far {
		if err := noTape(in); err != nil {
			return err
		}
		return p.runFar(ctx, cfg, in)
	}
	_, goesOn := in.flags["continue"]
	_, replays := in.flags["replay"]
	var prompt string
	var fromStdin bool
	if !goesOn && (!replays || len(in.args) > 0) {
		if prompt, fromStdin, err = p.readPrompt(in.args); err != nil {
			return err
		}
	}
	ints := p.watchSignals(1)
	defer ints.stop()
	tape, model, err := p.openTape(cfg, in)
	if err != nil {
		return err
	}
	defer tape.done()
	asks := tape.inputs()
	if replays && prompt == "" && asks == nil {
		if prompt, fromStdin, err = p.readPrompt(in.args); err != nil {
			return err
		}
	}
	place, err := p.takePlace(ctx, cfg, in)
	if err != nil {
		return err
	}
	defer place.close()
	others, err := p.fallbacks(&cfg.settings, model, tape)
	if err != nil {
		return err
	}
	crew, err := p.buildAgent(&cfg.settings, model, others, place.scratch)
	if err != nil {
		return err
	}
	defer crew.close()
	open, err := place.open(ctx)
	if err != nil {
		return err
	}
	if goesOn && (len(in.args) > 0 || len(open) == 0) {
		if prompt, fromStdin, err = p.readPrompt(in.args); err != nil {
			return err
		}
	}
	if err := p.saySimulated(&cfg.settings, crew); err != nil {
		return err
	}
	if err := tape.say(&cfg.settings); err != nil {
		return err
	}

	ui := p.newUI(cfg, in)
	t := (&talk{
		conv: place.conv, kept: place.store != nil, show: ui.show, ints: ints,
		timeout: cfg.Timeout, ask: &asker{out: ui.asks, look: ui.screen},
	}).with(crew.agent)
	if fromStdin {
		t.ask.lines = nothingMore{}
	} else {
		t.ask.lines = &lateLines{open: func() lineReader { return p.newLineReader(ui.asks, ints) }}
		defer t.ask.lines.close()
	}
	err = t.finishOpen(ctx, place, ui)
	switch {
	case err != nil:
	case prompt != "":
		err = t.turn(ctx, prompt)
	case replays:
		err = t.replayed(ctx, asks)
	}
	return tape.end(err, in.on("quiet"))
}

// runFar is the command against a server.
func (p *process) runFar(ctx context.Context, cfg *config, in *invocation) error {
	prompt, fromStdin, err := p.readPrompt(in.args)
	if err != nil {
		return err
	}
	ints := p.watchSignals(1)
	defer ints.stop()
	r, err := p.openRemote(ctx, cfg, in)
	if err != nil {
		return err
	}
	ui := p.newUI(cfg, in)
	r.show, r.ints, r.ask = ui.show, ints, &asker{out: ui.asks, look: ui.screen}
	if fromStdin {
		r.ask.lines = nothingMore{}
	} else {
		r.ask.lines = &lateLines{open: func() lineReader { return p.newLineReader(ui.asks, ints) }}
		defer r.ask.lines.close()
	}
	return r.turn(ctx, prompt, false)
}

// ui is how a command shows a conversation.
type ui struct {
	show   printer
	screen screen
	out    *output
	// story is the printer where the story is told, nil otherwise.
	story *story
	// asks is where questions are written: among the answer, unless a program
	// reads that.
	asks io.Writer
}

// newUI follows --json, --quiet and the options on output.
func (p *process) newUI(cfg *config, in *invocation) *ui {
	s := p.newScreen(p.stdout, cfg.Color)
	out := newOutput(p.stdout)
	u := &ui{screen: s, out: out, asks: p.stderr}
	switch {
	case in.on("json"):
		u.show = &jsonLines{out: out, trace: cfg.Trace}
	case in.on("quiet"):
		u.show = &answerOnly{out: out, screen: s}
	default:
		u.asks = p.stdout
		u.story = newStory(out, look{screen: s, thinking: cfg.Thinking, trace: cfg.Trace})
		u.show = u.story
		return u
	}
	if cfg.Trace {
		u.show = printers{newTracer(newOutput(p.stderr), p.newScreen(p.stderr, cfg.Color)), u.show}
	}
	return u
}

// failed reports whether the output has been lost.
func (u *ui) failed() bool { return u.out.err != nil }

// lateLines opens a line reader when the first question comes: until then the
// terminal stays as it is.
type lateLines struct {
	open  func() lineReader
	lines lineReader
}

func (l *lateLines) line(ctx context.Context, prompt string, secret bool) (string, error) {
	if l.lines == nil {
		l.lines = l.open()
	}
	return l.lines.line(ctx, prompt, secret)
}

func (l *lateLines) remember(line string) {
	if l.lines != nil {
		l.lines.remember(line)
	}
}

func (l *lateLines) close() {
	if l.lines != nil {
		l.lines.close()
	}
}

// nothingMore is a line reader whose input has been used up by the prompt.
type nothingMore struct{}

func (nothingMore) line(context.Context, string, bool) (string, error) { return "", io.EOF }
func (nothingMore) remember(string)                                    {}
func (nothingMore) close()                                             {}
