package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

func showCommand(p *process) command {
	return command{
		name: "show", args: "[ID]", short: "show what happened in a conversation, step by step",
		about: `The timeline of a conversation's events, each with its number and time: the runs,
why the loop went on to each cycle and why it ended, every attempt of every
step, the tools with what repeating them would do and how they ended, questions
and answers, tokens and durations. Long texts are cut; --json has them whole.

ID may be the beginning of one, if it is the only one that begins so; "latest",
and no ID, is the newest conversation.

--follow goes on with what another braid commits meanwhile. Like the logs of a
container it ends, with 0, when there is nothing to wait for: no run is open, or
no process works on the one that is. Ctrl-C ends it sooner. What a model is
still saying is not in the log yet: it comes when it is whole.`,
		examples: []example{
			{"braid show", "the newest conversation"},
			{"braid show k7f2m9 | grep -i doubt", "has anything been left in doubt?"},
			{"braid show --follow", "watch what another braid is doing"},
			{`braid show --json | jq -r 'select(.kind=="step_ended") | .outcome'`, "events for a program, as package event writes them"},
		},
		options: true, some: []string{"data", "color", "thinking"},
		flags: append([]flagSpec{
			{name: "json", help: "write each event as JSON on a line, exactly as package event writes it"},
			{name: "follow", short: "f", help: "go on with events as they are committed, until no run is open"},
		}, archivePostgresFlags()...),
		run: func(ctx context.Context, in *invocation) error { return show(ctx, p, in) },
	}
}

func show(ctx context.Context, p *process, in *invocation) error {
	word := ""
	switch len(in.args) {
	case 0:
	case 1:
		word = in.args[0]
	default:
		return invalid("show one after another", "braid show takes one ID")
	}
	cfg, err := p.configOf(in)
	if err != nil {
		return err
	}
	if in.on("follow") && (in.flags["postgres"] != "" || in.flags["postgres-file"] != "") {
		return invalid("attach to a server for that: braid chat --server URL --continue ID", "--follow looks into a data folder, not into a database")
	}
	a, err := p.archiveOf(ctx, cfg, in)
	if err != nil {
		if kindOf(err) == event.ErrNotFound {
			err = noneKept()
		}
		return err
	}
	defer a.Close()
	c, err := findConversation(ctx, a, word)
	if err != nil {
		return err
	}
	out := newOutput(p.stdout)
	look := look{screen: p.newScreen(p.stdout, cfg.Color), thinking: cfg.Thinking}
	w := &watch{p: p, archive: a, id: c.ID, there: c.Last, out: out, folder: cfg.Data}
	if in.on("json") {
		w.events = &eventLines{out: out, clean: look.terminal}
	} else {
		w.line = newTimeline(out, look)
		w.events = w.line
		w.line.title(c)
	}
	if !in.on("follow") {
		if _, err := w.catchUp(ctx); err != nil {
			return err
		}
		return w.closing(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return w.follow(ctx)
}

// teller shows committed events.
type teller interface{ event(*event.Event) error }

// watch reads one conversation's log and shows it.
type watch struct {
	p       *process
	archive archive
	id      string
	folder  string
	out     *output
	events  teller
	// line is the timeline, nil where a program reads.
	line *timeline
	// last is the Seq of the last event that has been shown, there that of the last
	// one that must be there.
	last, there int64
}

// watchPage is how many events are read and written at a time.
const watchPage = 256

// catchUp shows what is committed. It tells whether there was anything new.
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
			if err := w.events.event(e); err != nil {
				return more, err
			}
			w.last, more = e.Seq, true
		}
		if err := w.out.flush(); err != nil {
			return more, outputError(err)
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

// redactions looks ahead for what is not to be shown. first are the first events,
// which the rest of the log is read behind.
func (w *watch) redactions(ctx context.Context, first []*event.Event) error {
	events := first
	for {
		for _, e := range events {
			if r, ok := e.Body.(*event.Redacted); ok {
				w.line.hidden[r.Target] = r
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

// pollEvery is how often the log is looked at for more.
const pollEvery = 150 * time.Millisecond

// follow shows the log as it grows.
func (w *watch) follow(ctx context.Context) error {
	for {
		// Whether anybody works there is asked first: what they then still
		// committed is read after it.
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
			return errShown{errInterrupted}
		case <-time.After(pollEvery):
		}
	}
}

// closing says under a timeline how an open run stands.
func (w *watch) closing(ctx context.Context) error {
	if w.line == nil {
		return nil
	}
	open, err := openRuns(ctx, w.archive, w.id)
	if err != nil || len(open) == 0 {
		return err
	}
	pid, working := sqlite.Owner(w.folder)
	w.line.stands(&open[0], pid, working)
	return outputError(w.out.flush())
}

func isWorking(folder string) bool {
	_, working := sqlite.Owner(folder)
	return working
}

// openRuns lists the runs of a conversation that have not ended, the oldest first.
func openRuns(ctx context.Context, list listing, conversation string) ([]journal.Run, error) {
	runs, err := list.Runs(ctx, conversation, 0, 0)
	if err != nil {
		return nil, storeError(err)
	}
	var open []journal.Run
	for i := range runs {
		switch runs[i].Status {
		case event.RunQueued, event.RunRunning, event.RunWaiting: // and not what somebody wrote by hand
			open = append(open, runs[i])
		}
	}
	return open, nil
}

// eventLines writes events as they are: one JSON text a line, byte for byte what
// package event writes. On a terminal alone, what would act on it is escaped.
type eventLines struct {
	out   *output
	clean bool
}

func (j *eventLines) event(e *event.Event) error {
	before := len(j.out.buf)
	line, err := event.AppendJSON(j.out.buf, e)
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	j.out.buf = line
	if j.clean {
		j.out.buf = cleanJSON(line[:before:before], line[before:])
	}
	j.out.buf = append(j.out.buf, '\n')
	return nil
}
