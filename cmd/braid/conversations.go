package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func conversationsCommand(p *process) conf.Command {
	return conf.Command{
		Name: "conversations", Short: "list the conversations that are kept",
		About: `The newest conversation is first. A row has its ID, the time of the last message, the
number of turns, the status of the last run, and the first words. The program of an
"interrupted" run has ended; a "waiting" run waits for an answer. Continue both with
braid chat --continue ID.

In a pipe, tabs separate the columns, without a header, and IDs and times are
complete. Another braid may use the folder at the same time.`,
		Examples: []conf.Example{
			{Line: "braid conversations", Says: "the newest 20"},
			{Line: "braid conversations --limit 0 | grep -i lisbon", Says: "look for one among all"},
			{Line: `braid conversations --json | jq -r 'select(.status=="waiting").id'`, Says: "conversations that wait for an answer"},
		},
		Options: true, Some: []string{"data", "color"},
		Flags: append([]conf.Flag{
			{Name: "json", Help: "write one JSON object on each line"},
			{Name: "limit", Short: "n", Value: "N", Help: "list at most N; 0 lists all (20)"},
		}, archivePostgresFlags()...),
		Run: func(ctx context.Context, in *conf.Invocation) error { return conversations(ctx, p, in) },
	}
}

// conversation is a row of the list.
type conversation struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Turns   int       `json:"turns"`
	// Open counts the open runs.
	Open   int    `json:"open,omitempty"`
	Events int64  `json:"events"`
	Status string `json:"status"`
	Agent  string `json:"agent,omitempty"`
	User   string `json:"user,omitempty"`
	// Text is the beginning of the first message; Damaged is set if it cannot be read.
	Text    string `json:"text"`
	Damaged bool   `json:"damaged,omitempty"`
}

func conversations(ctx context.Context, p *process, in *conf.Invocation) error {
	if err := in.NoArguments(); err != nil {
		return err
	}
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	limit := 20
	if text, given := in.Flags["limit"]; given {
		if err := conf.ParseCount(&limit, text); err != nil {
			return term.Invalid("0 lists all", "--limit: %q %s", term.Fit(text, 40), err)
		}
	}
	a, err := p.archiveOf(ctx, cfg, in)
	if err != nil {
		return p.nothingKept(err)
	}
	defer a.Close()
	found, err := a.Conversations(ctx, conf.Tenant, "", limitFor(limit))
	if err != nil {
		return storeError(err)
	}
	more := limit > 0 && len(found) > limit
	if more {
		found = found[:limit]
	}
	working := isWorking(cfg.Data)
	rows := make([]conversation, len(found))
	for i := range found {
		if rows[i], err = rowOf(ctx, a, &found[i], working); err != nil {
			return err
		}
	}
	out := term.NewOutput(p.Stdout)
	screen := p.NewScreen(p.Stdout, cfg.Color)
	switch {
	case in.On("json"):
		err = rowsAsJSON(out, rows)
	case screen.Terminal:
		err = rowsAsTable(out, screen, rows)
	default:
		err = rowsAsTabs(out, rows)
	}
	if err == nil && len(rows) == 0 {
		return p.nothingKept(nil)
	}
	if err == nil && more && screen.Terminal {
		fmt.Fprintln(p.Stderr, "(there are more: --limit 0 lists all)")
	}
	return term.OutputError(err)
}

// limitFor requests one row more than shown, to find out whether there are more.
func limitFor(limit int) int {
	if limit > 0 {
		return limit + 1
	}
	return 0
}

// nothingKept handles an empty list: it prints a note instead of an error. A missing folder is an empty
// list. It returns every other error.
func (p *process) nothingKept(err error) error {
	if err != nil && term.KindOf(err) != event.ErrNotFound {
		return err
	}
	fmt.Fprintln(p.Stderr, "No conversation is kept yet. braid chat begins one.")
	return nil
}

// statusInterrupted is the status of a run whose program ended before the run did.
const statusInterrupted = "interrupted"

// statusWords returns the status of a run. working reports that a process uses the folder: without one, no
// run makes progress.
func statusWords(s event.RunStatus, working bool) string {
	if (s == event.RunRunning || s == event.RunQueued) && !working {
		return statusInterrupted
	}
	return string(s)
}

func rowOf(ctx context.Context, a archive, c *journal.Summary, working bool) (conversation, error) {
	row := conversation{
		ID: c.ID, Created: c.Created.UTC(), Updated: c.Updated.UTC(), Turns: c.Turns, Open: c.Open, Events: c.Last,
		Status: statusWords(c.Status, working), Agent: c.Agent, User: c.User,
	}
	// The first event is the start of the run; its input follows.
	const early = 8
	events, err := a.Read(ctx, c.ID, 0, early)
	switch {
	case term.KindOf(err) == event.ErrInternal, term.KindOf(err) == event.ErrInvalid:
		row.Damaged = true // it affects only its own row
	case err != nil:
		return row, storeError(err)
	}
	for _, e := range events {
		if m, ok := e.Body.(*event.UserMessage); ok && e.Scope == "" {
			row.Text = printer.FirstWords(m.Content)
			return row, nil
		}
	}
	if len(events) > 0 || row.Damaged {
		return row, nil
	}
	// The conversation has an input, and its first run has not begun.
	runs, err := a.Runs(ctx, c.ID, 0, 0)
	if err != nil {
		return row, storeError(err)
	}
	if len(runs) > 0 && len(runs[0].Input) > 0 {
		row.Text = printer.FirstWords(runs[0].Input[len(runs[0].Input)-1].Content)
	}
	return row, nil
}

func rowsAsJSON(out *term.Output, rows []conversation) error {
	for i := range rows {
		line, err := json.Marshal(&rows[i])
		if err != nil {
			return err
		}
		out.Buf = append(term.CleanJSON(out.Buf, line), '\n')
	}
	return out.Flush()
}

const damagedWords = "(damaged: it cannot be read)"

func rowsAsTabs(out *term.Output, rows []conversation) error {
	for i := range rows {
		r := &rows[i]
		text := r.Text
		if r.Damaged {
			text = damagedWords
		}
		out.Buf = append(out.Buf, strings.Join([]string{
			term.CleanLine(r.ID), r.Updated.Format(time.RFC3339), strconv.Itoa(r.Turns), r.Status, term.CleanLine(text),
		}, "\t")...)
		out.Buf = append(out.Buf, '\n')
	}
	return out.Flush()
}

// rowsAsTable prints columns and cuts each line to the screen.
func rowsAsTable(out *term.Output, s term.Screen, rows []conversation) error {
	if len(rows) == 0 {
		return nil
	}
	ids := shortIDs(rows)
	wide, turns, status := len("ID"), len("TURNS"), len("STATUS")
	for i := range rows {
		wide = max(wide, term.Width(ids[i]))
		turns = max(turns, len(strconv.Itoa(rows[i].Turns)))
		status = max(status, len(rows[i].Status))
	}
	const when = "2006-01-02 15:04"
	head := fmt.Sprintf("%-*s  %-*s  %*s  %-*s  %s", wide, "ID", len(when), "WHEN", turns, "TURNS", status, "STATUS", "FIRST WORDS")
	out.Buf = append(s.Paint(out.Buf, term.Dim, term.Fit(head, s.Width)), '\n')
	styles := map[string]term.Style{
		string(event.RunFailed): term.Red, string(event.RunWaiting): term.Yellow, statusInterrupted: term.Yellow,
		string(event.RunRunning): term.Cyan, string(event.RunQueued): term.Cyan,
	}
	for i := range rows {
		r := &rows[i]
		pad := strings.Repeat(" ", wide-term.Width(ids[i]))
		left := fmt.Sprintf("%s%s  %s  %*d  ", ids[i], pad, r.Updated.Local().Format(when), turns, r.Turns)
		room := s.Width - term.Width(left)
		out.Buf = append(out.Buf, term.Fit(left, s.Width)...)
		out.Buf = s.Paint(out.Buf, styles[r.Status], term.Fit(fmt.Sprintf("%-*s", status, r.Status), room))
		text, st := term.CleanLine(r.Text), term.Plain
		if r.Damaged {
			text, st = damagedWords, term.Red
		}
		if room -= status + 2; room > 0 {
			out.Buf = s.Paint(append(out.Buf, "  "...), st, term.Fit(text, room))
		}
		out.Buf = append(out.Buf, '\n')
	}
	return out.Flush()
}

// shortIDs returns the shortest beginnings of equal length that tell the IDs apart.
func shortIDs(rows []conversation) []string {
	short := make([]string, len(rows))
	longest := 0
	for i := range rows {
		longest = max(longest, len(rows[i].ID))
	}
	for n := printer.ShortIDLength; ; n++ {
		seen := map[string]bool{}
		for i := range rows {
			id := rows[i].ID
			short[i] = term.CleanLine(id[:min(len(id), n)])
			seen[short[i]] = true
		}
		if len(seen) == len(rows) || n >= longest {
			return short
		}
	}
}
