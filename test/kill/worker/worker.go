// Package worker is the process that the tests of package kill kill: a journal on
// disk, an engine, a hub, and an agent whose tools act on the ledger outside.
// The command braid, built with the changes of test/instrument, has it as the hidden command
// [Command]. It takes orders as JSON lines, and tells as JSON lines what it
// did and what its watchers see. It ends when its input does.
package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/test/instrument/failpoint"
	"github.com/braidrun/braid/test/instrument/planted"
	"github.com/braidrun/braid/test/kill/ledger"
)

// Command is the word after "braid".
const Command = "drive-failpoint"

// The worker's conversations are all one person's.
const (
	Tenant = "acme"
	User   = "ann"
)

// Main runs the worker and gives the exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(errOut)
	data := flags.String("data", "", "the folder of the journal")
	socket := flags.String("ledger", "", "the socket of the ledger")
	process := flags.Int("process", 1, "which process of the test this is")
	term := flags.Duration("term", 3*time.Second, "how long a lease lasts")
	deadly := flags.Bool("deadly", false, "drive the agent whose tools end the process")
	lie := flags.String("lie", "", "what the worker does wrong on purpose")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if bug, ok := strings.CutPrefix(*lie, LiePlanted); ok {
		planted.Plant(bug)
	}
	w := &worker{
		out: out, lie: Lie(*lie), ledger: ledger.Dial(*socket, *process),
		talks: map[string]*braid.Conversation{},
		log:   slog.New(slog.NewTextHandler(errOut, nil)),
	}
	w.agent = newAgent(w.ledger, w.lie)
	if *deadly {
		w.agent, w.deadly = newDeadlyAgent(w.ledger), true
	}
	if err := w.serve(*data, *term, in); err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

type worker struct {
	ledger *ledger.Client
	store  *sqlite.Store
	hub    *live.Hub
	engine *engine.Local
	agent  *braid.Agent
	lie    Lie
	deadly bool
	log    *slog.Logger

	mu  sync.Mutex
	out io.Writer

	// talks are the handles: a driver and a sender share the one of their conversation.
	handles sync.Mutex
	talks   map[string]*braid.Conversation
}

func (w *worker) serve(folder string, term time.Duration, in io.Reader) (err error) {
	ctx := context.Background()
	if w.store, err = sqlite.Open(folder, sqlite.Options{Term: term}); err != nil {
		return err
	}
	w.hub = live.NewHub(live.HubOptions{})
	if err := w.agent.Err(); err != nil {
		return err
	}
	failpoint.Hit("worker/opened")
	begun, err := w.open(ctx)
	if err != nil {
		return err
	}
	w.engine = engine.NewLocal(w.store, w.drive, engine.Options{Sweep: time.Second, Log: w.log})
	if err := w.engine.Start(ctx); err != nil {
		return err
	}
	w.tell(&Told{Begun: begun})

	var orders, clients sync.WaitGroup
	watching, leave := context.WithCancel(ctx)
	defer leave()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var o Order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("an order that nobody understands: %w", err)
		}
		if o.Do == DoWatch {
			clients.Go(func() { w.watch(watching, &o) })
			continue
		}
		orders.Go(func() { w.obey(ctx, &o) })
	}
	if err := lines.Err(); err != nil {
		return err
	}
	orders.Wait()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := w.engine.Drain(ctx); err != nil {
		return err
	}
	leave()
	clients.Wait()
	if err := w.hub.Close(); err != nil {
		return err
	}
	if err := w.store.Close(); err != nil {
		return err
	}
	return w.ledger.Close()
}

// open lists what has not ended, and what it asks.
func (w *worker) open(ctx context.Context) (*Begun, error) {
	b := &Begun{}
	talks, err := w.store.Conversations(ctx, Tenant, "", 0)
	if err != nil {
		return nil, err
	}
	for i := range talks {
		if talks[i].Open == 0 {
			continue
		}
		runs, err := w.store.Runs(ctx, talks[i].ID, 0, 0)
		if err != nil {
			return nil, err
		}
		for j := range runs {
			if !runs[j].Status.Ended() {
				b.Open = append(b.Open, Place{Conversation: talks[i].ID, Run: runs[j].ID})
			}
		}
		questions, err := w.talk(talks[i].ID).Questions(ctx)
		if err != nil {
			return nil, err
		}
		for j := range questions {
			b.Questions = append(b.Questions, Asking{Conversation: talks[i].ID, Token: questions[j].Token})
		}
	}
	return b, nil
}

// talk gives the handle on a conversation.
func (w *worker) talk(id string) *braid.Conversation {
	w.handles.Lock()
	defer w.handles.Unlock()
	c := w.talks[id]
	if c == nil {
		c = braid.Open(w.store, id)
		w.talks[id] = c
	}
	return c
}

// drive is the engine's way into the loop.
func (w *worker) drive(ctx context.Context, work engine.Work) (engine.Outcome, error) {
	publisher := w.hub.Publisher(live.Key{Tenant: work.Run.Tenant, Conversation: work.Run.Conversation})
	defer publisher.Close()
	sink := func(e event.Event) {
		publisher.Publish(e)
		if !e.Live() {
			w.tell(&Told{Event: sightOf(&e)})
		}
	}
	talk := w.talk(work.Run.Conversation)
	if w.deadly {
		talk = braid.Open(&unreadableStore{w.store, w.ledger}, work.Run.Conversation)
		at := &Place{Conversation: work.Run.Conversation, Run: work.Run.ID}
		w.tell(&Told{Takes: at})
		defer w.tell(&Told{Leaves: at})
	}
	r, err := w.agent.Drive(ctx, talk, work.Run.ID,
		braid.Work{Sink: sink, Mail: work.Mail, Draining: work.Draining})
	if err != nil {
		return engine.Outcome{}, err
	}
	return engine.Outcome{Status: r.Status, WakeAt: r.WakeAt}, nil
}

// obey carries an order out, and says so once it is done.
func (w *worker) obey(ctx context.Context, o *Order) {
	done := &Done{ID: o.ID}
	if w.lie == LieEarly {
		// Says so before it is.
		w.tell(&Told{Done: done})
	}
	var err error
	switch o.Do {
	case DoSubmit:
		err = w.submit(ctx, o, done)
	case DoSend:
		err = w.send(ctx, o, done)
	case DoAnswer:
		if err = w.talk(o.Conversation).Answer(ctx, o.Token, o.Text); err == nil {
			err = w.wake(ctx, o.Conversation)
		}
	case DoRetry:
		err = w.retry(ctx, o, done)
	case DoLook:
		done.Open, err = w.open(ctx)
	default:
		err = fmt.Errorf("nobody knows how to %q", o.Do)
	}
	if err != nil {
		done.Error, done.Says = event.KindOf(err), err.Error()
	}
	failpoint.Hit("worker/obeyed")
	if w.lie != LieEarly {
		w.tell(&Told{Done: done})
	}
}

func (w *worker) submit(ctx context.Context, o *Order, done *Done) error {
	row, err := w.engine.Submit(ctx, journal.Run{
		ID: o.Key, Conversation: o.Conversation, Tenant: Tenant, User: User, Agent: w.agent.Name(),
		Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: o.Text}}}},
	})
	done.Run = row.ID
	return err
}

// retry continues a failed run. A repeated order finds the run that it began.
func (w *worker) retry(ctx context.Context, o *Order, done *Done) error {
	runs, err := w.store.Runs(ctx, o.Conversation, 0, 0)
	if err != nil {
		return err
	}
	for i := range runs {
		if runs[i].ID == o.Key {
			done.Run = o.Key
			return nil
		}
	}
	failed, err := w.talk(o.Conversation).Retryable(ctx)
	if err != nil || failed == "" {
		return err
	}
	row, err := w.engine.Submit(ctx, journal.Run{
		ID: o.Key, Conversation: o.Conversation, Tenant: Tenant, User: User, Agent: w.agent.Name(),
		Metadata: map[string]string{journal.ContinuesLabel: failed},
	})
	done.Run = row.ID
	return err
}

func (w *worker) send(ctx context.Context, o *Order, done *Done) error {
	key := o.Key
	if w.lie == LieTwice {
		key += fmt.Sprint("-", time.Now().UnixNano())
	}
	sent, err := w.agent.Send(ctx, w.talk(o.Conversation), o.Text,
		braid.During(o.Policy), braid.Key(key), braid.For(Tenant, User))
	if err != nil {
		return err
	}
	done.Run, done.Joined = sent.Run, sent.Joined
	return w.wake(ctx, o.Conversation)
}

// watch is a client that follows a conversation from where it was.
func (w *worker) watch(ctx context.Context, o *Order) {
	log := func(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
		return w.store.Read(ctx, o.Conversation, after, limit)
	}
	key := live.Key{Tenant: Tenant, Conversation: o.Conversation}
	f, err := live.Follow(ctx, w.hub, key, log, live.FollowOptions{After: o.After, Poll: time.Second})
	if err != nil {
		w.tell(&Told{Trouble: err.Error()})
		return
	}
	defer f.Close()
	items := make([]live.Item, 64)
	for {
		n, err := f.Read(ctx, items)
		if err != nil {
			if ctx.Err() == nil {
				w.tell(&Told{Trouble: err.Error()})
			}
			return
		}
		for _, item := range items[:n] {
			if item.Event != nil && !item.Event.Live() {
				w.tell(&Told{Seen: sightOf(item.Event)})
			}
		}
	}
}

// wake has the engine look at all that is open in a conversation.
func (w *worker) wake(ctx context.Context, conversation string) error {
	runs, err := w.store.Runs(ctx, conversation, 0, 0)
	if err != nil {
		return err
	}
	for i := range runs {
		if runs[i].Status.Ended() {
			continue
		}
		if err := w.engine.Wake(ctx, runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// tell writes a line, in one write: a process that dies has told all of it or
// nothing that counts.
func (w *worker) tell(t *Told) {
	line, err := json.Marshal(t)
	if err != nil {
		line = fmt.Appendf(nil, `{"trouble":%q}`, err.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Who does not listen any more has closed the input as well.
	_, _ = w.out.Write(append(line, '\n'))
}
