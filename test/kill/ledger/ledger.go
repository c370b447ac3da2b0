// Package ledger is the outside world of the tests that kill processes. It records what workers
// do to it, in order, and tells them what became of a call. It lives in the test's own process,
// which nobody kills, and speaks JSON lines over a Unix socket.
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

// Op is the purpose of an entry.
type Op string

// The purposes of entries.
const (
	// Effect is a tool's effect on the world.
	Effect Op = "effect"
	// Reconcile queries the outcome of a call.
	Reconcile Op = "reconcile"
	// Shown is a model call with the request that the model received; Billed is the end of that
	// call with its cost.
	Shown  Op = "shown"
	Billed Op = "billed"
	// Fate is a call that asks whether to end its process now or to fail its run.
	Fate Op = "fate"
)

// Entry is one line of the ledger.
type Entry struct {
	Op Op `json:"op"`
	// Process is the number of the process, from 1.
	Process      int    `json:"process"`
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run"`
	Scope        string `json:"scope,omitempty"`
	Cycle        int    `json:"cycle,omitempty"`
	Step         string `json:"step,omitempty"`
	Attempt      int    `json:"attempt"`
	// Call is the model's id of a tool call, Key its idempotency key, and Class the true effect
	// of repeating the tool.
	Call  string       `json:"call,omitempty"`
	Key   string       `json:"key,omitempty"`
	Tool  string       `json:"tool,omitempty"`
	Class event.Effect `json:"class,omitempty"`
	// Request is the plan's name of a call, whichever run makes it. Most is how often the call
	// ends its process.
	Request string `json:"request,omitempty"`
	Most    int    `json:"most,omitempty"`
	// Dies is set by the ledger after it told the call of Fate to end its process.
	Dies bool `json:"-"`
	// Kind is the kind of the step that called a model.
	Kind event.StepKind `json:"kind,omitempty"`
	// Answer is the user's answer before the effect.
	Answer string `json:"answer,omitempty"`
	// Usage goes with Billed.
	Usage event.Usage `json:"usage,omitzero"`
	// Doubts are the calls whose results the model is told to be in doubt. Marks are the
	// messages that it is shown, and Sums the summaries that replace others, each in order.
	// Broken is the reason why no provider would accept such a history.
	Doubts []string `json:"doubts,omitempty"`
	Marks  []string `json:"marks,omitempty"`
	Sums   []string `json:"sums,omitempty"`
	Broken string   `json:"broken,omitempty"`
}

// Reply is the ledger's answer to an entry.
type Reply struct {
	// Known reports whether the key's effect has happened.
	Known bool `json:"known,omitempty"`
	// Dies tells the worker to end its process.
	Dies bool `json:"dies,omitempty"`
}

// Ledger is the server side. Make it with [Listen].
type Ledger struct {
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	open    map[net.Conn]bool
	entries []Entry
	// applied counts effects by key, and deaths by request.
	applied map[string]int
	deaths  map[string]int
	hook    Hook
}

// Hook intercepts entries between a worker and the ledger. before is called with an entry that
// has not been recorded; drop discards it. after is called with a recorded entry before the
// worker gets its reply; if stay is false, the worker gets none. Either may be nil.
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

// Set installs the hook.
func (l *Ledger) Set(h Hook) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hook = h
}

// Settle waits until everything that a dead process has sent is recorded, by reading its
// connections to their ends. Otherwise a dead process's effect could be recorded after its
// successor has asked for it.
func (l *Ledger) Settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) > 0 {
		l.changed.Wait()
	}
}

// Entries returns a copy of the recorded entries.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// Close closes the ledger and waits for its connections.
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

// serve reads one connection to its end. It ignores a line that the death of its writer has cut.
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
			// A worker that is about to be killed gets no reply.
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

// Client is a worker's side. It is safe for concurrent use.
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

// Dial returns a client of the ledger at a socket for a process. It connects at the first entry.
func Dial(path string, process int) *Client { return &Client{path: path, process: process} }

// Enter records an entry and waits until that is done, even if ctx ends, because an effect
// outside cannot be undone.
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

// Close closes the idle connections.
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
	// Write once: a process that dies has sent either the whole line or nothing that counts.
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
