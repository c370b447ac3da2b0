package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/braidrun/braid/bench/scenario"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/sqlite"
)

// crowdRow compares a turn in a database with few conversations and one with many. Each conversation has had a turn.
const crowdRow = "server-crowd"

// crowdSizes returns the numbers of conversations; the short form has fewer.
func crowdSizes(short bool) [2]int {
	if short {
		return [2]int{10, 2_000}
	}
	return [2]int{10, 100_000}
}

// crowdSide returns the name of a side with few or many conversations.
func crowdSide(side string, few bool) string {
	if few {
		return side + ", few conversations"
	}
	return side + ", many conversations"
}

// crowds returns the stores to measure. Each has its own name, because creating so many conversations takes minutes.
func crowds() []struct{ id, side string } {
	return []struct{ id, side string }{
		{crowdRow + "-sqlite", scenario.SideTenantsSQLite}, {crowdRow + "-postgres", scenario.SideTenantsPostgres},
	}
}

// timeCrowd measures turns in databases with few and with many conversations.
func timeCrowd(ctx context.Context, opt *options, rep *report, pl plan, at *homes, begin beginSide, show *progress) error {
	for _, c := range crowds() {
		if len(opt.only) == 0 || !opt.wants(c.id) {
			continue
		}
		side := c.side
		err := crowdTurns().crowd(ctx, rep, side, crowdSizes(opt.short), pl.Server, at, begin, show)
		if skipped(err) {
			rep.skip(crowdRow, side, err)
		} else if err != nil {
			return fmt.Errorf("%s: %s: %w", crowdRow, side, err)
		}
	}
	return nil
}

// crowdTurns returns the turns to measure.
func crowdTurns() *serverRow { return &serverRow{ID: crowdRow, Streams: 16, Rounds: 40, Deltas: 1} }

// crowd measures a row's turns with few and with many conversations.
func (row *serverRow) crowd(
	ctx context.Context, rep *report, side string, sizes [2]int, passes int, at *homes, begin beginSide, show *progress,
) (err error) {
	var places [2]*home
	for i, size := range sizes {
		if places[i], err = at.open(ctx, side); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, places[i].close()) }()
		show.say("%s, %s: %d conversations", crowdRow, side, size)
		if err := fillPlace(ctx, side, places[i], size, begin); err != nil {
			return err
		}
	}
	var micros [2][]float64
	var ratios []float64
	for n := range passes {
		var last [2]float64
		for i := range sizes {
			show.say("pass %d of %d: %s, %s, %d conversations", n+1, passes, crowdRow, side, sizes[i])
			p, err := row.pass(ctx, side, places[i], begin, "")
			if err != nil {
				return err
			}
			last[i] = p.micros
			micros[i] = append(micros[i], p.micros)
		}
		ratios = append(ratios, last[1]/last[0])
	}
	for i, size := range sizes {
		s := served{
			Row: crowdRow, Name: "a turn, " + strconv.Itoa(size) + " conversations", Side: crowdSide(side, i == 0), MicrosEach: spreadOf(micros[i]),
		}
		if i == 1 {
			s.Ratio = spreadOf(ratios)
		}
		rep.Served = append(rep.Served, s)
	}
	return nil
}

// fillPlace creates conversations in a process that then ends, so that none of them is in memory.
func fillPlace(ctx context.Context, side string, h *home, size int, begin beginSide) (err error) {
	s := &scenario.Served{Side: side, Folder: h.folder, Postgres: h.postgres, Deltas: 1}
	proc, err := begin(ctx, s, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proc.end()) }()
	stopped := context.AfterFunc(ctx, func() { _ = proc.end() })
	defer stopped()
	const most = 64
	all, err := h.readers(ctx, s, proc, min(most, size))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLoaders(all)) }()
	return each(len(all), len(all), func(i int) error {
		for n := i; n < size; n += len(all) {
			if n > i { // one exists already
				if err := all[i].begin(); err != nil {
					return err
				}
			}
			if err := all[i].run(0); err != nil {
				return err
			}
		}
		return nil
	})
}

// messagesRow measures how long logging messages takes.
const messagesRow = "server-messages-10000"

const loggedMessages = 10_000

// timeMessages logs messages in one call, as the end of a run does.
func timeMessages(ctx context.Context, opt *options, rep *report, pl plan, at *homes, show *progress) error {
	if len(opt.only) == 0 || !opt.wants(messagesRow) {
		return nil
	}
	for _, side := range []string{scenario.SideSQLite, scenario.SidePostgres} {
		var took []float64
		for n := range pl.Server {
			show.say("pass %d of %d: %s, %s", n+1, pl.Server, messagesRow, side)
			one, err := logMessages(ctx, side, at, loggedMessages)
			if skipped(err) {
				rep.skip(messagesRow, side, err)
				break
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", messagesRow, side, err)
			}
			took = append(took, float64(one.Nanoseconds())/1e6)
		}
		if len(took) > 0 {
			rep.Served = append(rep.Served, served{Row: messagesRow, Name: "10,000 messages logged", Side: side, TookMS: spreadOf(took)})
		}
	}
	return nil
}

func logMessages(ctx context.Context, side string, at *homes, many int) (took time.Duration, err error) {
	h, err := at.open(ctx, side)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	var store interface {
		journal.Journal
		Close() error
	}
	if side == scenario.SidePostgres {
		store, err = postgres.Open(ctx, postgres.Options{URL: h.postgres})
	} else {
		store, err = sqlite.Open(h.folder, sqlite.Options{})
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	run, err := store.Admit(ctx, journal.Run{
		ID: "run", Conversation: "conversation", Tenant: "tenant",
	})
	if err != nil {
		return 0, err
	}
	list := make([]journal.MessageEntry, many)
	for i := range list {
		list[i] = journal.MessageEntry{
			MessagePlace: journal.MessagePlace{Seq: int64(i + 1)}, Type: "assistant", Subtype: "text", Time: time.Now(),
			Content:      []byte(`{"text":"a line of text as an answer has them, number ` + strconv.Itoa(i) + `"}`),
			Conversation: run.Conversation, Run: run.ID, Turn: run.Turn,
		}
	}
	begun := time.Now()
	err = store.KeepMessages(ctx, run.ID, list)
	return time.Since(begun), err
}
