package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func conversationsCommand(p *process) command {
	return command{
		name: "conversations", short: "list the conversations that are kept",
		about: `The newest one is first: its ID, when it was last spoken to, its turns, how its
last run stands, and the first words. A run that is "interrupted" was left in
the middle by a program that is gone; "waiting" waits for an answer. Both go on
with braid chat --continue ID.

In a pipe the columns are separated by tabs, without a header and with whole
IDs and times. Another braid may be at work in the folder meanwhile.`,
		examples: []example{
			{"braid conversations", "the newest 20"},
			{"braid conversations --limit 0 | grep -i lisbon", "look for one among all"},
			{`braid conversations --json | jq -r 'select(.status=="waiting").id'`, "those that wait for an answer"},
		},
		options: true, some: []string{"data", "color"},
		flags: append([]flagSpec{
			{name: "json", help: "write one JSON object on each line"},
			{name: "limit", short: "n", value: "N", help: "list at most N; 0 lists all (20)"},
		}, archivePostgresFlags()...),
		run: func(ctx context.Context, in *invocation) error { return conversations(ctx, p, in) },
	}
}

// conversation is a row of the list.
type conversation struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Turns   int       `json:"turns"`
	// Open counts the runs that have not ended.
	Open   int    `json:"open,omitempty"`
	Events int64  `json:"events"`
	Status string `json:"status"`
	Agent  string `json:"agent,omitempty"`
	User   string `json:"user,omitempty"`
	// Text is how it begins; Damaged says that this cannot be read.
	Text    string `json:"text"`
	Damaged bool   `json:"damaged,omitempty"`
}

func conversations(ctx context.Context, p *process, in *invocation) error {
	if err := in.noArguments(); err != nil {
		return err
	}
	cfg, err := p.configOf(in)
	if err != nil {
		return err
	}
	limit := 20
	if text, given := in.flags["limit"]; given {
		if err := parseCount(&limit, text); err != nil {
			return invalid("0 lists all", "--limit: %q %s", fit(text, 40), err)
		}
	}
	a, err := p.archiveOf(ctx, cfg, in)
	if err != nil {
		return p.nothingKept(err)
	}
	defer a.Close()
	found, err := a.Conversations(ctx, tenant, "", limitFor(limit))
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
	out := newOutput(p.stdout)
	screen := p.newScreen(p.stdout, cfg.Color)
	switch {
	case in.on("json"):
		err = rowsAsJSON(out, rows)
	case screen.terminal:
		err = rowsAsTable(out, screen, rows)
	default:
		err = rowsAsTabs(out, rows)
	}
	if err == nil && len(rows) == 0 {
		return p.nothingKept(nil)
	}
	if err == nil && more && screen.terminal {
		fmt.Fprintln(p.stderr, "(there are more: --limit 0 lists all)")
	}
	return outputError(err)
}

// limitFor asks for one more than is shown, to know whether there are more.
func limitFor(limit int) int {
	if limit > 0 {
		return limit + 1
	}
	return 0
}

// nothingKept is an empty list: no error, and a word to a person. A folder that
// is not there is one, too; every other error stays.
func (p *process) nothingKept(err error) error {
	if err != nil && kindOf(err) != event.ErrNotFound {
		return err
	}
	fmt.Fprintln(p.stderr, "No conversation is kept yet. braid chat begins one.")
	return nil
}

// statusInterrupted is a run in the middle of which its program ended.
const statusInterrupted = "interrupted"

// statusWords is how a run stands. working says that a process has the folder:
// without one nothing runs, whatever the log says.
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
	// The first run begins with its own record, what it was asked comes next.
	const early = 8
	events, err := a.Read(ctx, c.ID, 0, early)
	switch {
	case kindOf(err) == event.ErrInternal, kindOf(err) == event.ErrInvalid:
		row.Damaged = true // it spoils its own row only
	case err != nil:
		return row, storeError(err)
	}
	for _, e := range events {
		if m, ok := e.Body.(*event.UserMessage); ok && e.Scope == "" {
			row.Text = firstWords(m.Content)
			return row, nil
		}
	}
	if len(events) > 0 || row.Damaged {
		return row, nil
	}
	// It was asked something and has not begun.
	runs, err := a.Runs(ctx, c.ID, 0, 0)
	if err != nil {
		return row, storeError(err)
	}
	if len(runs) > 0 && len(runs[0].Input) > 0 {
		row.Text = firstWords(runs[0].Input[len(runs[0].Input)-1].Content)
	}
	return row, nil
}

func rowsAsJSON(out *output, rows []conversation) error {
	for i := range rows {
		line, err := json.Marshal(&rows[i])
		if err != nil {
			return err
		}
		out.buf = append(cleanJSON(out.buf, line), '\n')
	}
	return out.flush()
}

const damagedWords = "(damaged: it cannot be read)"

func rowsAsTabs(out *output, rows []conversation) error {
	for i := range rows {
		r := &rows[i]
		text := r.Text
		if r.Damaged {
			text = damagedWords
		}
		out.buf = append(out.buf, strings.Join([]string{
			cleanLine(r.ID), r.Updated.Format(time.RFC3339), strconv.Itoa(r.Turns), r.Status, cleanLine(text),
		}, "\t")...)
		out.buf = append(out.buf, '\n')
	}
	return out.flush()
}

// rowsAsTable writes columns, each line within the screen.
func rowsAsTable(out *output, s screen, rows []conversation) error {
	if len(rows) == 0 {
		return nil
	}
	ids := shortIDs(rows)
	wide, turns, status := len("ID"), len("TURNS"), len("STATUS")
	for i := range rows {
		wide = max(wide, textWidth(ids[i]))
		turns = max(turns, len(strconv.Itoa(rows[i].Turns)))
		status = max(status, len(rows[i].Status))
	}
	const when = "2006-01-02 15:04"
	head := fmt.Sprintf("%-*s  %-*s  %*s  %-*s  %s", wide, "ID", len(when), "WHEN", turns, "TURNS", status, "STATUS", "FIRST WORDS")
	out.buf = append(s.paint(out.buf, dim, fit(head, s.width)), '\n')
	styles := map[string]style{
		string(event.RunFailed): red, string(event.RunWaiting): yellow, statusInterrupted: yellow,
		string(event.RunRunning): cyan, string(event.RunQueued): cyan,
	}
	for i := range rows {
		r := &rows[i]
		pad := strings.Repeat(" ", wide-textWidth(ids[i]))
		left := fmt.Sprintf("%s%s  %s  %*d  ", ids[i], pad, r.Updated.Local().Format(when), turns, r.Turns)
		room := s.width - textWidth(left)
		out.buf = append(out.buf, fit(left, s.width)...)
		out.buf = s.paint(out.buf, styles[r.Status], fit(fmt.Sprintf("%-*s", status, r.Status), room))
		text, st := cleanLine(r.Text), plain
		if r.Damaged {
			text, st = damagedWords, red
		}
		if room -= status + 2; room > 0 {
			out.buf = s.paint(append(out.buf, "  "...), st, fit(text, room))
		}
		out.buf = append(out.buf, '\n')
	}
	return out.flush()
}

// shortIDs are the beginnings of the IDs, all as long as it takes to tell them apart.
func shortIDs(rows []conversation) []string {
	short := make([]string, len(rows))
	longest := 0
	for i := range rows {
		longest = max(longest, len(rows[i].ID))
	}
	for n := shortIDLength; ; n++ {
		seen := map[string]bool{}
		for i := range rows {
			id := rows[i].ID
			short[i] = cleanLine(id[:min(len(id), n)])
			seen[short[i]] = true
		}
		if len(seen) == len(rows) || n >= longest {
			return short
		}
	}
}
