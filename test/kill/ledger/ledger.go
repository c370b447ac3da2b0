// Package ledger is the outside world of the tests that kill processes: it
// writes down whatever a worker does to it, in the order in which it happened,
// and answers when it is asked what became of something. It lives in the test's own
// process, which nobody kills, and speaks JSON lines over a Unix socket.
package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
)

// Op says what an entry is about.
type Op string

// What a worker tells and asks.
const (
	// Effect is a tool that does something to the world.
	Effect Op = "effect"
	// Reconcile asks what became of a call.
	Reconcile Op = "reconcile"
	// Shown is a model that is called, with what it is shown; Billed the same
	// call when the model has said its last word, with what it cost.
	Shown  Op = "shown"
	Billed Op = "billed"
	// Fate is a call that asks whether it is to end its process now, or fail its run.
	Fate Op = "fate"
)

// Entry is one line of the ledger.
type Entry struct {
	Op Op `json:"op"`
	// Process numbers the processes of a test, from 1.
	Process      int    `json:"process"`
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run"`
	Scope        string `json:"scope,omitempty"`
	Cycle        int    `json:"cycle,omitempty"`
	Step         string `json:"step,omitempty"`
	Attempt      int    `json:"attempt"`
	// Call, Key, Tool and Class go with tools: the model's id of the call, the
	// key that names it to the world, and what repeating it does in truth.
	Call  string       `json:"call,omitempty"`
	Key   string       `json:"key,omitempty"`
	Tool  string       `json:"tool,omitempty"`
	Class event.Effect `json:"class,omitempty"`
	// Request is what a plan calls a call, whichever run makes it, and Most how often it is to end its process.
	Request string `json:"request,omitempty"`
	Most    int    `json:"most,omitempty"`
	// Dies is the ledger's own: it has told the call of Fate that it is to.
	Dies bool `json:"-"`
	// Kind goes with models: what kind of step called it.
	Kind event.StepKind `json:"kind,omitempty"`
	// Answer is what a person answered before the effect.
	Answer string `json:"answer,omitempty"`
	// Usage goes with Billed.
	Usage event.Usage `json:"usage,omitzero"`
	// Doubts are the calls whose results the model is told to be in doubt, Marks
	// the messages that it is shown, Sums the summaries that stand in the place of
	// others, each in their order. Broken says why no provider would take such a history.
	Doubts []string `json:"doubts,omitempty"`
	Marks  []string `json:"marks,omitempty"`
	Sums   []string `json:"sums,omitempty"`
	Broken string   `json:"broken,omitempty"`
}

// Reply is the ledger's answer.
type Reply struct {
	// Known says that the key's effect has happened.
	Known bool `json:"known,omitempty"`
	// Dies says that the process is to end.
	Dies bool `json:"dies,omitempty"`
}

// Ledger is the world's side. Make it with [Listen].
type Ledger struct {
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	open    map[net.Conn]bool
	entries []Entry
	// applied counts effects by key, deaths those of a request.
	applied map[string]int
	deaths  map[string]int
	hook    Hook
}

// Hook stands between a worker and the ledger. before is called with an entry that has
// not happened, and drop makes it one that never will; after is called with one
// that has, before the worker is told. Either may be nil. A worker that is not
// to get an answer is told so by stay false.
type Hook struct {
	Before func(Entry) (happens bool)
	After  func(Entry) (stay bool)
}

// Listen opens a ledger at a socket.
func Listen(ctx context.Context, path string) (*Ledger, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{listener: listener, applied: map[string]int{}, deaths: map[string]int{}, open: map[net.Conn]bool{}}
	l.changed = sync.NewCond(&l.mu)
	l.work.Go(l.accept)
	return l, nil
}

// Set has the hook stand between from now on.
func (l *Ledger) Set(h Hook) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hook = h
}

// Settle waits until everything that a dead process has sent is written down: its
// connections are read to their ends. Without it, a deed of the dead could
// happen after its successor has asked for it.
func (l *Ledger) Settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) > 0 {
		l.changed.Wait()
	}
}

// Entries copies what was written down.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// Close ends the ledger and waits for all who still speak to it.
func (l *Ledger) Close() error {
	err := l.listener.Close()
	l.mu.Lock()
	for c := range l.open {
		err = errors.Join(err, c.Close())
	}
	l.mu.Unlock()
	l.work.Wait()
	return err
}

func (l *Ledger) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		l.open[c] = true
		l.mu.Unlock()
		l.work.Go(func() {
			l.serve(c)
			_ = c.Close()
			l.mu.Lock()
			delete(l.open, c)
			l.changed.Broadcast()
			l.mu.Unlock()
		})
	}
}

// serve answers one connection until it ends. A line that was cut off by the
// death of who wrote it has not happened.
func (l *Ledger) serve(c net.Conn) {
	in, out := bufio.NewReader(c), json.NewEncoder(c)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var e Entry
		if json.Unmarshal(line, &e) != nil {
			return
		}
		reply, stay := l.enter(e)
		if !stay {
			// Who is about to be killed waits for an answer that never comes.
			_, _ = io.Copy(io.Discard, in)
			return
		}
		if err := out.Encode(reply); err != nil {
			return
		}
	}
}

func (l *Ledger) enter(e Entry) (Reply, bool) {
	l.mu.Lock()
	hook := l.hook
	l.mu.Unlock()
	if hook.Before != nil && !hook.Before(e) {
		return Reply{}, false
	}
	l.mu.Lock()
	l.entries = append(l.entries, e)
	var reply Reply
	switch e.Op {
	case Effect:
		l.applied[e.Key]++
		reply.Known = true
	case Reconcile:
		reply.Known = l.applied[e.Key] > 0
	case Fate:
		if reply.Dies = l.deaths[e.Request] < e.Most; reply.Dies {
			l.deaths[e.Request]++
			l.entries[len(l.entries)-1].Dies = true
		}
	case Shown, Billed:
	}
	l.mu.Unlock()
	return reply, hook.After == nil || hook.After(e)
}

// Client is a worker's side: any number of calls at once.
type Client struct {
	path    string
	process int

	mu   sync.Mutex
	idle []*connection
}

type connection struct {
	net.Conn
	in *bufio.Reader
}

// Dial prepares to speak to the ledger at a socket, in the name of a process.
func Dial(path string, process int) *Client { return &Client{path: path, process: process} }

// Enter writes an entry down and waits until it is there, also where ctx ends: what
// was begun outside cannot be taken back.
func (c *Client) Enter(ctx context.Context, e Entry) (Reply, error) {
	e.Process = c.process
	conn, err := c.take(context.WithoutCancel(ctx))
	if err != nil {
		return Reply{}, err
	}
	reply, err := conn.enter(&e)
	if err != nil {
		return Reply{}, errors.Join(err, conn.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, conn)
	return reply, nil
}

// Close gives the idle connections back.
func (c *Client) Close() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.idle {
		err = errors.Join(err, conn.Close())
	}
	c.idle = nil
	return err
}

func (c *Client) take(ctx context.Context) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		conn := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return conn, nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", c.path)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *connection) enter(e *Entry) (reply Reply, err error) {
	line, err := json.Marshal(e)
	if err != nil {
		return reply, err
	}
	// One write: a process that dies has sent all of it or nothing that counts.
	if _, err = c.Write(append(line, '\n')); err != nil {
		return reply, err
	}
	answer, err := c.in.ReadString('\n')
	if err != nil {
		return reply, err
	}
	err = json.NewDecoder(strings.NewReader(answer)).Decode(&reply)
	return reply, err
}
