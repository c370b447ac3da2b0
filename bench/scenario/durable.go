package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/bench/floor"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// Sizes of the scenarios on disk. A turn is five events of Braid's, and a question and
// an answer by hand.
const (
	shortTalk = 2     // turns: 10 events
	longTalk  = 2_000 // turns: 10,000 events
	// behind is how many turns stand behind the compaction of a long conversation.
	behind = 10
	// writers is how many drivers commit at the same time.
	writers = 64
	// commitsOfCycles is how many commits a run of fewCycles has: one for each step that
	// ends and what begins with it, and the first.
	commitsOfCycles = 2*fewCycles + 2
)

// disk is a folder with a journal and a store by hand, made when it is first needed.
type disk struct {
	mu     sync.Mutex
	folder string
	// journal is durable, and so is byHand.
	journal *sqlite.Store
	byHand  *floor.Store
	names   int
	// long are conversations of longTalk turns, by their place in the pool.
	long []*talk
}

// talk is a conversation and a session by hand of as many turns.
type talk struct {
	id      string
	handle  *braid.Conversation
	session *floor.Session
	// last numbers the rows by hand; from is the one that the tail begins with.
	last, from int64
}

// pool is how many long conversations share the turns: with one it grows by a quarter in the long form.
const pool = 1

// open opens both stores, and fills the long conversations where they are wanted.
func (d *disk) open(long bool) (err error) {
	if d.folder == "" {
		if d.folder, err = os.MkdirTemp("", "braid-bench-"); err != nil {
			return err
		}
		if d.byHand, err = floor.OpenStore(d.folder); err != nil {
			return err
		}
	}
	if long && d.long == nil {
		if err = d.close(); err != nil {
			return err
		}
		// Filling need not wait for the disk.
		if d.journal, err = sqlite.Open(d.folder, sqlite.Options{Relaxed: true}); err != nil {
			return err
		}
		for range pool {
			t := d.talk()
			if err = d.fill(t, longTalk, false); err != nil {
				return err
			}
			d.long = append(d.long, t)
		}
		if err = d.close(); err != nil {
			return err
		}
	}
	if d.journal == nil {
		d.journal, err = sqlite.Open(d.folder, sqlite.Options{})
	}
	return err
}

func (d *disk) close() error {
	if d.journal == nil {
		return nil
	}
	err := d.journal.Close()
	d.journal = nil
	return err
}

// Close closes and removes everything.
func (d *disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.close()
	if d.byHand != nil {
		err = errors.Join(err, d.byHand.Close())
	}
	if d.folder != "" {
		err = errors.Join(err, os.RemoveAll(d.folder))
	}
	d.byHand, d.folder, d.long = nil, "", nil
	return err
}

func (d *disk) talk() *talk {
	d.names++
	return &talk{id: fmt.Sprint("talk-", d.names)}
}

// fill writes turns into the journal and the store by hand; the first of them replaces all
// before it by a summary where compact is set.
func (d *disk) fill(t *talk, turns int, compact bool) error {
	rows := make([][]byte, turns)
	from := t.last + 1
	for i := range turns {
		d.names++
		run := fmt.Sprint("run-", d.names)
		o, err := d.journal.Start(context.Background(), journal.Run{ID: run, Conversation: t.id, Agent: "bench"}, 1<<40)
		if err != nil {
			return err
		}
		bodies := turnOf(o.Run.Turn)
		if compact {
			bodies = append(bodies[:2:2], append([]event.Body{
				&event.Compacted{From: 1, To: o.Last, Summary: say("They went on and on."), Trigger: "limit"},
			}, bodies[2:]...)...)
			t.from, compact = from, false
		}
		if err := d.journal.Commit(context.Background(), o.Lease, journal.Batch{
			Events: events(bodies, &o), Status: event.RunCompleted,
		}); err != nil {
			return err
		}
		if rows[i], err = json.Marshal(byHandTurn(t.id)); err != nil {
			return err
		}
	}
	t.last += int64(turns)
	return d.byHand.AppendRows(t.id, from, rows)
}

func say(text string) []event.Block { return []event.Block{&event.Text{Text: text}} }

// turnOf is the log of one turn, as a driver writes it.
func turnOf(turn int) []event.Body {
	usage := event.Usage{Input: 100, Output: 10, Total: 110}
	return []event.Body{
		&event.RunStarted{Agent: "bench", Model: "bench:scripted", Turn: turn, Session: 1, Tools: []string{"add"}},
		&event.UserMessage{Content: say("go on")},
		&event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "bench:scripted"},
		&event.AssistantMessage{Content: say("the "), Stop: event.StopEndTurn, Usage: usage, Model: "bench:scripted"},
		&event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn, Usage: usage, Cycles: 1},
	}
}

func byHandTurn(session string) []*floor.Event {
	return []*floor.Event{
		{Seq: 1, Session: session, Run: session, Author: "user", Kind: floor.UserSaid, Message: &floor.Message{Role: "user", Text: "go on"}},
		{
			Seq: 2, Session: session, Run: session, Author: "bench", Kind: floor.ModelSaid,
			Message: &floor.Message{Role: "assistant", Text: "the ", Stop: stopEnd, Usage: floor.Usage{Input: 100, Output: 10}},
		},
	}
}

// events puts the bodies behind what was opened.
func events(bodies []event.Body, o *journal.Opened) []*event.Event {
	list := make([]*event.Event, len(bodies))
	for i, b := range bodies {
		e := &event.Event{Header: event.Header{
			Seq: o.Last + int64(i) + 1, Conversation: o.Run.Conversation, Run: o.Run.ID, Author: "bench",
		}, Body: b}
		switch b.(type) {
		case *event.StepBegun, *event.AssistantMessage:
			e.Step, e.Attempt, e.Cycle = "m1", 1, 1
		}
		list[i] = e
	}
	return list
}

// turnsOnDisk is how many turns a batch has: few, so that a tail does not grow by much.
const turnsOnDisk = 8

// prepare gives the conversations for n turns: one for each two turns of a short one, so
// that it stays short, and those of the pool for long ones. A cold one is cut
// behind its last turns, a warm one has had a turn.
func (d *disk) prepare(n, turns int, warm bool) ([]*talk, error) {
	long := turns >= longTalk
	if err := d.open(long); err != nil {
		return nil, err
	}
	if long && warm {
		// What preparing writes is paid for in part by what comes after it, when SQLite
		// moves its log into the file: so as much is written for all.
		for range (n + 1) / 2 {
			if err := d.fill(d.talk(), 2*shortTalk, false); err != nil {
				return nil, err
			}
		}
	}
	var talks []*talk
	for i := range n {
		if long && i < pool {
			t := d.long[i]
			if !warm {
				if err := d.fill(t, behind, true); err != nil {
					return nil, err
				}
			}
			talks = append(talks, t)
			continue
		}
		if long {
			talks = append(talks, d.long[i%pool])
			continue
		}
		if i%2 == 1 {
			talks = append(talks, talks[i-1])
			continue
		}
		t := d.talk()
		if err := d.fill(t, turns, false); err != nil {
			return nil, err
		}
		talks = append(talks, t)
	}
	return talks, nil
}

// onDisk is a side of turns on a conversation in SQLite. warm says that the handle, or the
// session, is in memory already.
func (d *disk) onDisk(
	name string, turns int, warm bool, ready func(*talk) error, turn func(*Work, *talk) error,
) Side {
	return Side{
		Name: name, Most: turnsOnDisk, Each: work([]answer{text(1)}),
		Batch: func(n int) func() (Work, error) {
			d.mu.Lock()
			talks, err := d.prepare(n, turns, warm)
			for i, t := range talks {
				if err == nil && warm && (i == 0 || t != talks[i-1]) {
					err = ready(t)
				}
			}
			return func() (Work, error) {
				defer d.mu.Unlock()
				var w Work
				for _, t := range talks {
					if err != nil {
						break
					}
					err = turn(&w, t)
				}
				return w, err
			}
		},
	}
}

// braidOnDisk is a turn with Braid on its own journal.
func (d *disk) braidOnDisk(turns int, warm bool) Side {
	agent := braidAgent(&scripted{answers: braidChunks([]answer{text(1)})})
	return d.onDisk("braid", turns, warm,
		func(t *talk) error {
			if t.handle != nil {
				return nil
			}
			t.handle = braid.Open(d.journal, t.id)
			var w Work
			return readBraid(&w, agent.Stream(context.Background(), "go on", braid.In(t.handle)))
		},
		func(w *Work, t *talk) error {
			handle := t.handle
			if !warm {
				handle = braid.Open(d.journal, t.id)
			}
			return readBraid(w, agent.Stream(context.Background(), "go on", braid.In(handle)))
		})
}

// byHandOnDisk is a turn by hand: what the user said is on the disk before the model is
// called, and the answer before the turn is over.
func (d *disk) byHandOnDisk(turns int, warm bool) Side {
	agent := floor.New("bench", &byHandModel{answers: byHandChunks([]answer{text(1)})}, byHandAdd())
	return d.onDisk("floor", turns, warm,
		func(t *talk) (err error) {
			if t.session == nil {
				t.session, err = d.byHand.Load(t.id, 0)
			}
			return err
		},
		func(w *Work, t *talk) error {
			session := t.session
			if !warm {
				var err error
				if session, err = d.byHand.Load(t.id, t.from); err != nil {
					return err
				}
			}
			return readByHand(w, func(yield func(*floor.Event, error) bool) {
				for e, err := range agent.Stream(context.Background(), session, "go on") {
					if err == nil && e.Message != nil {
						t.last++
						err = d.byHand.Append(t.id, t.last, e)
					}
					if !yield(e, err) || err != nil {
						return
					}
				}
			})
		})
}

// kibibyte is an event of about 1 KiB.
func kibibyte(l *journal.Lease, seq int64) *event.Event {
	return &event.Event{
		Header: event.Header{Seq: seq, Conversation: l.Conversation, Run: l.Run},
		Body:   &event.Notice{Code: "n", Text: strings.Repeat("x", 900)},
	}
}

// grouped is a round of one event of 1 KiB from each of so many drivers, each in a commit of
// its own that is on the disk when it comes back. They do not wait for each other between rounds.
func (d *disk) grouped() Side {
	var leases []journal.Lease
	var last []int64
	return Side{Name: "64 writers", Each: Work{Runs: 1}, Batch: func(n int) func() (Work, error) {
		d.mu.Lock()
		err := d.open(false)
		if leases == nil {
			last = make([]int64, writers)
		}
		for len(leases) < writers && err == nil {
			var o journal.Opened
			t := d.talk()
			o, err = d.journal.Start(context.Background(), journal.Run{ID: "run of " + t.id, Conversation: t.id}, 0)
			leases = append(leases, o.Lease)
		}
		return func() (Work, error) {
			defer d.mu.Unlock()
			if err != nil {
				return Work{}, err
			}
			failed := make([]error, writers)
			var wg sync.WaitGroup
			for i := range leases {
				wg.Go(func() {
					for range n {
						last[i]++
						if failed[i] = d.journal.Commit(context.Background(), leases[i], journal.Batch{
							Events: []*event.Event{kibibyte(&leases[i], last[i])},
						}); failed[i] != nil {
							return
						}
					}
				})
			}
			wg.Wait()
			return Work{Runs: n}, errors.Join(failed...)
		}
	}}
}

// inOne is as many rows of 1 KiB in one transaction by hand: what a group commit comes down to.
func (d *disk) inOne() Side {
	var t *talk
	return Side{Name: "64 rows in one", Each: Work{Runs: 1}, Batch: func(n int) func() (Work, error) {
		d.mu.Lock()
		err := d.open(false)
		if t == nil {
			t = d.talk()
		}
		rows := make([][]byte, writers)
		for i := range rows {
			if err == nil {
				rows[i], err = event.AppendJSON(nil, kibibyte(&journal.Lease{Conversation: t.id, Run: "run"}, 1))
			}
		}
		return func() (Work, error) {
			defer d.mu.Unlock()
			for range n {
				if err == nil {
					err = d.byHand.AppendRows(t.id, t.last+1, rows)
				}
				t.last += writers
			}
			return Work{Runs: n}, err
		}
	}}
}

// recorder keeps what a driver commits.
type recorder struct {
	*journal.Memory
	batches []journal.Batch
}

func (r *recorder) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	kept := b
	kept.Events = append([]*event.Event(nil), b.Events...)
	r.batches = append(r.batches, kept)
	return r.Memory.Commit(ctx, l, b)
}

// steps is a run of ten tool cycles on a warm conversation: twenty-one steps.
func (d *disk) steps() Side {
	script := cycles(fewCycles, false)
	agent := braidAgent(&scripted{answers: braidChunks(script)})
	var handle *braid.Conversation
	return Side{Name: "braid", Most: turnsOnDisk, Each: work(script), Batch: func(n int) func() (Work, error) {
		d.mu.Lock()
		err := d.open(false)
		if handle == nil && err == nil {
			handle = braid.Open(d.journal, d.talk().id)
			var w Work
			err = readBraid(&w, agent.Stream(context.Background(), "go", braid.In(handle)))
		}
		return func() (Work, error) {
			defer d.mu.Unlock()
			var w Work
			for range n {
				if err == nil {
					err = readBraid(&w, agent.Stream(context.Background(), "go", braid.In(handle)))
				}
			}
			return w, err
		}
	}}
}

// bare is nothing but the commits of such a run, on the same journal.
func (d *disk) bare() Side {
	script := cycles(fewCycles, false)
	var id string
	var have int64
	return Side{Name: "its commits", Most: turnsOnDisk, Each: work(script), Batch: func(n int) func() (Work, error) {
		d.mu.Lock()
		err := d.open(false)
		if id == "" {
			id = d.talk().id
		}
		var runs []journal.Run
		var batches [][]journal.Batch
		for range n {
			d.names++
			r := &recorder{Memory: &journal.Memory{}}
			agent := braidAgent(&scripted{answers: braidChunks(script)})
			var w Work
			if err == nil {
				err = readBraid(&w, agent.Stream(context.Background(), "go", braid.In(braid.Open(r, id))))
			}
			runs = append(runs, journal.Run{
				ID: fmt.Sprint("run-", d.names), Conversation: id, Agent: "bench",
				Input: []event.Message{{Role: event.RoleUser, Content: say("go")}},
			})
			batches = append(batches, r.batches)
		}
		return func() (Work, error) {
			defer d.mu.Unlock()
			w := work(script)
			w.Runs, w.Deltas, w.Calls, w.Results = n, n*w.Deltas, n*w.Calls, n*w.Results
			for i := range runs {
				if err == nil {
					have, err = d.replay(runs[i], batches[i], have)
				}
			}
			return w, err
		}
	}}
}

// replay commits what a driver did as a run of its own.
func (d *disk) replay(run journal.Run, batches []journal.Batch, have int64) (int64, error) {
	if len(batches) != commitsOfCycles {
		return have, fmt.Errorf("the run has %d commits, not %d", len(batches), commitsOfCycles)
	}
	o, err := d.journal.Start(context.Background(), run, have)
	last := o.Last
	for _, b := range batches {
		for _, e := range b.Events {
			last++
			e.Seq, e.Run = last, run.ID
		}
		if err == nil {
			err = d.journal.Commit(context.Background(), o.Lease, b)
		}
	}
	return last, err
}
