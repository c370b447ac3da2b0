package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/bench/floor"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
	"github.com/braidrun/braid/journal/sqlite"
)

// openedPrior is how many messages a conversation has that is opened by its id, about 10,000. As many events as there can be
// follow the stored fold: the next turn would store it anew.
const openedPrior = 10_086

// window is how many messages a model is shown of a conversation that was compacted.
const window = 40

// The stores whose openings are timed.
const (
	inMemory   = "memory"
	inSQLite   = "sqlite"
	inPostgres = "postgres"
)

// library is a store with one long conversation, made when it is first needed.
type library struct {
	kind      string
	compacted bool

	mu     sync.Mutex
	store  journal.Store
	byHand *floor.Store
	folder string
	// rows counts those by hand.
	rows  int64
	close []func() error
}

func (l *library) Close() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.close {
		err = errors.Join(err, c())
	}
	l.store, l.byHand, l.close = nil, nil, nil
	return err
}

// open opens the store as after a restart, with the conversation in it.
func (l *library) open() (err error) {
	if l.store != nil {
		return nil
	}
	ctx := context.Background()
	if l.folder, err = os.MkdirTemp("", "braid-bench-"); err != nil {
		return err
	}
	l.close = append(l.close, func() error { return os.RemoveAll(l.folder) })
	switch l.kind {
	case inSQLite:
		// Filling need not wait for the disk.
		filling, err := sqlite.Open(l.folder, sqlite.Options{Relaxed: true})
		if err != nil {
			return err
		}
		if err := errors.Join(l.fill(filling), filling.Close()); err != nil {
			return err
		}
		s, err := sqlite.Open(l.folder, sqlite.Options{})
		if err != nil {
			return err
		}
		l.store, l.close = s, append([]func() error{s.Close}, l.close...)
	case inPostgres:
		server, err := postgrestest.New(ctx)
		if err != nil {
			return err
		}
		l.close = append([]func() error{server.Close}, l.close...)
		url, err := PreparePostgres(ctx, server, "opening")
		if err != nil {
			return err
		}
		s, err := postgres.Open(ctx, postgres.Options{URL: url})
		if err != nil {
			return err
		}
		l.store, l.close = s, append([]func() error{s.Close}, l.close...)
		if err := l.fill(s); err != nil {
			return err
		}
	default:
		l.store = journal.NewMemory(journal.MemoryOptions{})
		if err := l.fill(l.store); err != nil {
			return err
		}
	}
	if l.byHand, err = floor.OpenStore(l.folder); err != nil {
		return err
	}
	l.close = append([]func() error{l.byHand.Close}, l.close...)
	return l.fillByHand()
}

// question is what a user says in each turn: a message of a common size.
var question = "go on, " + strings.Repeat("and tell me more of it ", 8)

// reply is how many pieces the answers have that a conversation is filled with.
const reply = 40

func (l *library) fill(store journal.Store) error {
	m := &scripted{answers: braidChunks([]answer{text(reply)})}
	conv := braid.Open(store, "c")
	talk := func(agent *braid.Agent, turns int) error {
		for range turns {
			if _, err := agent.Run(context.Background(), question, braid.In(conv)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := talk(braidAgent(m), openedPrior/2); err != nil || !l.compacted {
		return err
	}
	return talk(braid.New("bench", m, unlimited(), braid.Manage(braid.Management{By: braid.SlidingWindow(window)})), window)
}

// fillByHand writes as many messages of the same size by hand.
func (l *library) fillByHand() error {
	turn := byHandTurn("c")
	turn[0].Message.Text, turn[1].Message.Text = question, strings.Repeat("the ", reply)
	row, err := json.Marshal(turn)
	if err != nil {
		return err
	}
	rows := make([][]byte, openedPrior/2)
	for i := range rows {
		rows[i] = row
	}
	l.rows = int64(len(rows))
	return l.byHand.AppendRows("c", 1, rows)
}

// opens is what a program does with a conversation by its id, in a handle that has nothing in memory: it looks at the state,
// the open questions and whether a run can be repeated.
func (l *library) opens() Side {
	return Side{Name: "braid", Each: Work{Runs: 1}, Batch: l.batch(func(w *Work) error {
		conv := braid.Open(l.store, "c")
		_, err := conv.Questions(context.Background())
		w.Runs++
		return err
	})}
}

// loads is the opening by hand: all messages are read.
func (l *library) loads() Side {
	return Side{Name: "floor", Each: Work{Runs: 1}, Batch: l.batch(func(w *Work) error {
		s, err := l.byHand.Load("c", 0)
		if err == nil && s == nil {
			err = errors.New("there is no session")
		}
		w.Runs++
		return err
	})}
}

func (l *library) batch(one func(*Work) error) Batch {
	return func(n int) func() (Work, error) {
		l.mu.Lock()
		err := l.open()
		return func() (Work, error) {
			defer l.mu.Unlock()
			var w Work
			for range n {
				if err == nil {
					err = one(&w)
				}
			}
			return w, err
		}
	}
}

// turns is a turn in such a handle. The model is shown all that is left of the conversation.
func (l *library) turns() Side {
	script := []answer{text(1)}
	agent := braidAgent(&scripted{answers: braidChunks(script)})
	return Side{Name: "braid", Each: work(script), Most: turnsOnDisk, Batch: l.batch(func(w *Work) error {
		return readBraid(w, agent.Stream(context.Background(), "go on", braid.In(braid.Open(l.store, "c"))))
	})}
}

// turnsByHand is such a turn by hand.
func (l *library) turnsByHand() Side {
	script := []answer{text(1)}
	agent := floor.New("bench", &byHandModel{answers: byHandChunks(script)}, byHandAdd())
	return Side{Name: "floor", Each: work(script), Most: turnsOnDisk, Batch: l.batch(func(w *Work) error {
		session, err := l.byHand.Load("c", 0)
		if err != nil {
			return err
		}
		return readByHand(w, func(yield func(*floor.Event, error) bool) {
			for e, err := range agent.Stream(context.Background(), session, "go on") {
				if err == nil && e.Message != nil {
					l.rows++
					err = l.byHand.Append("c", l.rows, e)
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
		})
	})}
}

// openingPairs are the rows of openings, for each store. Those on PostgreSQL are left out where no server is to be started.
func openingPairs() []Pair {
	var pairs []Pair
	for _, kind := range []string{inMemory, inSQLite, inPostgres} {
		if kind == inPostgres && os.Getenv("BRAID_POSTGRES") == "" {
			continue
		}
		for _, compacted := range []bool{false, true} {
			id, name := "e-open-"+kind, "open 10000 messages by id, "+kind
			if compacted {
				id, name = id+"-compacted", "the same, compacted"
			}
			l := &library{kind: kind, compacted: compacted}
			pairs = append(pairs, Pair{ID: id, Name: name, Base: l.loads(), Subject: l.opens(), Close: l.Close})
		}
		if kind != inMemory {
			l := &library{kind: kind}
			pairs = append(pairs, Pair{
				ID: "e-cold-" + kind, Name: "the first turn after 10000 messages, all shown, " + kind, Base: l.turnsByHand(), Subject: l.turns(),
				Close: l.Close,
			})
		}
	}
	return pairs
}
