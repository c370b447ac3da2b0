package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

func showCommand(p *process) conf.Command {
	return conf.Command{
		Name: "show", Args: "[ID]", Short: "show what happened in a conversation, step by step",
		About: `Prints the timeline of a conversation's events, each with its number and time: runs,
the reason of each cycle and of its end, every attempt of every step, tools with their
effect and result, questions and answers, tokens and durations. Long texts are cut;
--json has them complete.

ID may be the beginning of an ID, if only one begins with it. "latest", or no ID, is
the newest conversation.

--follow continues with events that another braid commits. It ends, with 0, when no
run is open, or no process works on the open run. Ctrl-C ends it sooner. Text that a
model is still streaming is not in the log yet; it appears when it is complete.

--graph draws the outermost graph of the newest run that has one, with the path that the
run took: as Graphviz's dot, as Mermaid, or as an SVG image.`,
		Examples: []conf.Example{
			{Line: "braid show", Says: "the newest conversation"},
			{Line: "braid show k7f2m9 | grep -i doubt", Says: "find calls with an unknown outcome"},
			{Line: "braid show --follow", Says: "watch another braid"},
			{Line: "braid show --graph svg > run.svg", Says: "draw the graph of a run"},
			{Line: `braid show --json | jq -r 'select(.kind=="step_ended") | .outcome'`, Says: "events for a program, as package event writes them"},
		},
		Options: true, Some: []string{"data", "color", "thinking"},
		Flags: append([]conf.Flag{
			{Name: "json", Help: "write each event as JSON on a line, exactly as package event writes it"},
			{Name: "follow", Short: "f", Help: "continue with new events until no run is open"},
			{Name: "graph", Value: "FORM", Help: "draw the graph of the newest run that has one: dot, mermaid or svg"},
		}, archivePostgresFlags()...),
		Run: func(ctx context.Context, in *conf.Invocation) error { return show(ctx, p, in) },
	}
}

func show(ctx context.Context, p *process, in *conf.Invocation) error {
	word := ""
	switch len(in.Args) {
	case 0:
	case 1:
		word = in.Args[0]
	default:
		return term.Invalid("show one conversation at a time", "braid show takes one ID")
	}
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	if in.Flags["graph"] != "" && (in.On("follow") || in.On("json")) {
		return term.Invalid("leave out one of them", "--graph draws one picture, and neither follows nor prints JSON")
	}
	if in.On("follow") && (in.Flags["postgres"] != "" || in.Flags["postgres-file"] != "") {
		return term.Invalid("attach to a server for that: braid chat --server URL --continue ID",
			"--follow looks into a data folder, not into a database")
	}
	a, err := p.archiveOf(ctx, cfg, in)
	if err != nil {
		if term.KindOf(err) == event.ErrNotFound {
			err = noneKept()
		}
		return err
	}
	defer a.Close()
	c, err := findConversation(ctx, a, word)
	if err != nil {
		return err
	}
	out := term.NewOutput(p.Stdout)
	if form := in.Flags["graph"]; form != "" {
		return showGraph(ctx, a, c.ID, form, out)
	}
	look := printer.Look{Screen: p.NewScreen(p.Stdout, cfg.Color), Thinking: cfg.Thinking}
	w := &watch{p: p, archive: a, id: c.ID, there: c.Last, out: out, folder: cfg.Data}
	if in.On("json") {
		w.events = &eventLines{out: out, clean: look.Terminal}
	} else {
		w.line = printer.NewTimeline(out, look)
		w.events = w.line
		w.line.Title(c)
	}
	if !in.On("follow") {
		if _, err := w.catchUp(ctx); err != nil {
			return err
		}
		return w.closing(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return w.follow(ctx)
}

// eventPrinter prints committed events.
type eventPrinter interface{ Event(*event.Event) error }

// watch reads and prints the log of one conversation.
type watch struct {
	p       *process
	archive archive
	id      string
	folder  string
	out     *term.Output
	events  eventPrinter
	// line is the timeline, or nil for JSON.
	line *printer.Timeline
	// last is the Seq of the last printed event, there the Seq up to which the log must be complete.
	last, there int64
}

// watchPage is the number of events per read.
const watchPage = 256

// catchUp prints new events. It reports whether there were any.
func (w *watch) catchUp(ctx context.Context) (more bool, err error) {
	for {
		events, err := w.archive.Read(ctx, w.id, w.last, watchPage)
		if err != nil {
			return more, storeError(err)
		}
		if w.line != nil && w.last == 0 {
			if err := w.redactions(ctx, events); err != nil {
				return more, err
			}
		}
		for _, e := range events {
			if err := w.events.Event(e); err != nil {
				return more, err
			}
			w.last, more = e.Seq, true
		}
		if err := w.out.Flush(); err != nil {
			return more, term.OutputError(err)
		}
		if len(events) < watchPage {
			break
		}
	}
	if w.last < w.there {
		return more, storeError(&event.Error{
			Kind: event.ErrInternal, Message: "the journal is damaged: the end of the conversation's log is missing", Hint: "restore a backup",
		})
	}
	return more, nil
}

// redactions collects the redactions in the log before anything is printed. first are the first events; it
// reads the rest after them.
func (w *watch) redactions(ctx context.Context, first []*event.Event) error {
	events := first
	for {
		for _, e := range events {
			if r, ok := e.Body.(*event.Redacted); ok {
				w.line.Hidden[r.Target] = r
			}
		}
		if len(events) < watchPage {
			return nil
		}
		var err error
		if events, err = w.archive.Read(ctx, w.id, events[len(events)-1].Seq, watchPage); err != nil {
			return storeError(err)
		}
	}
}

// pollEvery is the interval of reads of a growing log.
const pollEvery = 150 * time.Millisecond

// follow prints the log as it grows.
func (w *watch) follow(ctx context.Context) error {
	for {
		// Check for a working process before the read, so that the read includes its last events.
		working := isWorking(w.folder)
		more, err := w.catchUp(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() == nil && !more {
			open, err := openRuns(ctx, w.archive, w.id)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if err == nil && (len(open) == 0 || !working) {
				return w.closing(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return term.Shown{Err: term.ErrInterrupted}
		case <-time.After(pollEvery):
		}
	}
}

// closing prints the state of an open run after a timeline.
func (w *watch) closing(ctx context.Context) error {
	if w.line == nil {
		return nil
	}
	open, err := openRuns(ctx, w.archive, w.id)
	if err != nil || len(open) == 0 {
		return err
	}
	pid, working := sqlite.Owner(w.folder)
	w.line.Stands(&open[0], pid, working)
	return term.OutputError(w.out.Flush())
}

func isWorking(folder string) bool {
	_, working := sqlite.Owner(folder)
	return working
}

// openRuns lists the open runs of a conversation, the oldest first.
func openRuns(ctx context.Context, list listing, conversation string) ([]journal.Run, error) {
	runs, err := list.Runs(ctx, conversation, 0, 0)
	if err != nil {
		return nil, storeError(err)
	}
	var open []journal.Run
	for i := range runs {
		switch runs[i].Status {
		case event.RunQueued, event.RunRunning, event.RunWaiting: // unknown statuses count as ended
			open = append(open, runs[i])
		}
	}
	return open, nil
}

// eventLines prints one JSON object per line, byte for byte as package event writes it. On a terminal it
// escapes control characters.
type eventLines struct {
	out   *term.Output
	clean bool
}

func (j *eventLines) Event(e *event.Event) error {
	before := len(j.out.Buf)
	line, err := event.AppendJSON(j.out.Buf, e)
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	j.out.Buf = line
	if j.clean {
		j.out.Buf = term.CleanJSON(line[:before:before], line[before:])
	}
	j.out.Buf = append(j.out.Buf, '\n')
	return nil
}
