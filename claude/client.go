package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"os"
	"sync"
	"time"
)

// Client is a running program. It keeps the session between turns. Turns run one after another; everything else may be
// called concurrently, also while a turn runs. It must be closed.
type Client struct {
	config  *config
	process *process
	control control
	queue   *queue
	// setup is the answer to the first request.
	setup json.RawMessage

	writing chan struct{}
	turn    chan struct{}
	tasks   tasks

	// closing is closed by the first Close; read when the reader has ended.
	closing chan struct{}
	once    sync.Once
	read    chan struct{}

	mu     sync.Mutex
	broken error
}

// grace is how long a program may take to end by itself, and again after a signal.
const grace = 2 * time.Second

func keys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// Open starts the program and waits until it is ready for prompts. ctx bounds the start only.
func Open(ctx context.Context, opts ...Option) (*Client, error) {
	config := newConfig(opts)
	setup, err := config.initialize()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := startProcess(config)
	if err != nil {
		return nil, err
	}
	c := &Client{
		config: config, process: p, queue: newQueue(),
		control: control{sent: map[string]chan controlAnswer{}, asked: map[string]context.CancelFunc{}},
		writing: make(chan struct{}, 1), turn: make(chan struct{}, 1), closing: make(chan struct{}), read: make(chan struct{}),
	}
	go c.readAll()
	if c.setup, err = c.request(ctx, "initialize", setup, config.process.starting); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// Setup returns what the program told when it was ready: commands, models, agents and the account, as JSON.
func (c *Client) Setup() json.RawMessage { return c.setup }

// PID is the process id of the program.
func (c *Client) PID() int { return c.process.cmd.Process.Pid }

// Close ends the program with all that it started, and waits for that. A running turn ends with [ErrClosed]. It returns
// within some seconds, and does nothing the second time.
func (c *Client) Close() error {
	c.shut(grace)
	return nil
}

// Kill ends the program with all that it started at once, and waits for that. It is for a session that is of no use any more.
func (c *Client) Kill() { c.kill() }

func (c *Client) kill() {
	c.process.kill()
	c.shut(0)
}

func (c *Client) shut(grace time.Duration) {
	c.once.Do(func() { close(c.closing) })
	c.process.close(grace)
	<-c.read
}

// Done is closed when the program has ended.
func (c *Client) Done() <-chan struct{} { return c.process.done }

// readAll reads what the program writes until its end.
func (c *Client) readAll() {
	defer close(c.read)
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		if err := c.readLines(); !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
			c.fail(err)
			c.process.kill()
		}
		if !c.process.wait(grace) {
			c.process.kill() // it says nothing any more
		}
	}()
	<-c.process.done
	select {
	case <-lines:
	case <-time.After(2 * time.Second):
		// A process that the system does not let us end holds the pipe.
	}
	_ = c.process.out.Close()
	<-lines
	c.process.once.Do(func() { _ = c.process.in.Close() })
	c.fail(endedEarly(c.process.exit))
	c.control.end()
	c.queue.fail(c.endError())
}

// fail keeps the first reason for which the client is of no use.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
}

// endError returns why the client is of no use.
func (c *Client) endError() error {
	select {
	case <-c.closing:
		return ErrClosed
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		return ErrClosed
	}
	return c.broken
}

// readLines passes each line to what waits for it, until an error: at least io.EOF.
func (c *Client) readLines() error {
	r := bufio.NewReaderSize(c.process.out, 64<<10)
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		kind, sub := kindOf(line)
		switch kind {
		case "control_response":
			err = c.control.answered(line)
		case "control_request":
			err = c.asked(line)
		case "control_cancel_request":
			c.control.cancelled(line)
		case "keep_alive":
		default:
			var m Message
			if m, err = decode(line, kind, sub); err == nil {
				c.queue.put(m, c.closing)
			}
		}
		if err != nil {
			return err
		}
	}
}

// write sends a line to the program. Lines are never mixed.
func (c *Client) write(ctx context.Context, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return invalid("a request cannot be encoded", "See that raw values are JSON.", err)
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.writing }()
	// A program that does not read would block the write. Half a line would break the protocol, so it ends the program.
	stop := context.AfterFunc(ctx, func() { _ = c.process.in.SetWriteDeadline(time.Unix(1, 0)) })
	n, err := c.process.in.Write(append(line, '\n'))
	if !stop() {
		_ = c.process.in.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case n > 0:
		c.fail(endedEarly(&ExitError{Code: -1}))
		c.process.kill()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.process.wait(grace) {
		c.fail(endedEarly(c.process.exit))
	}
	return c.endError()
}
