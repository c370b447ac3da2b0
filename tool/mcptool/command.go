package mcptool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errTooLarge is a message over [Options.MessageBytes].
var errTooLarge = errors.New("the message is too large")

// lines is the connection to a child: one JSON-RPC message a line
// (specification 2025-06-18, transports, stdio). It differs from the SDK's own
// in three ways. A line that is no message is kept for the error text and passed
// over, because servers that print to their output are common. A write that
// nobody reads ends with the context of its call. And the child is ended together
// with its group.
type lines struct {
	p    *process
	in   *bufio.Reader
	max  int
	junk *tail

	queue []jsonrpc.Message
	// writing is held by whoever writes, so that giving up means one's own write.
	writing chan struct{}
	once    sync.Once
}

// childTransport connects to a child that runs already.
type childTransport struct {
	p       *process
	max     int
	traffic *traffic
}

// Connect implements [mcp.Transport].
func (t *childTransport) Connect(context.Context) (mcp.Connection, error) {
	return tap(&lines{
		p: t.p, in: bufio.NewReaderSize(t.p.stdout, 64<<10), max: t.max,
		junk: t.p.stderr, writing: make(chan struct{}, 1),
	}, t.traffic), nil
}

// Read implements [mcp.Connection].
func (c *lines) Read(context.Context) (jsonrpc.Message, error) {
	for len(c.queue) == 0 {
		line, err := c.line()
		if err != nil {
			c.p.drain()
			if errors.Is(err, errTooLarge) {
				c.p.tooLarge.Store(true)
				c.p.kill() // it is in the middle of something nobody will read
			}
			return nil, err
		}
		c.take(line)
	}
	m := c.queue[0]
	c.queue = c.queue[1:]
	return m, nil
}

// line reads one line of at most max bytes. What the child said after its last
// line end is no message.
func (c *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		if len(line)+len(part) > c.max {
			return nil, errTooLarge
		}
		if err == nil && line == nil {
			return part, nil
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, io.EOF
		}
	}
}

// take queues the messages of a line. Batches were part of 2025-03-26.
func (c *lines) take(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	batch := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &batch); err != nil {
			batch = []json.RawMessage{line}
		}
	}
	for _, raw := range batch {
		if doubled(raw) {
			_, _ = c.junk.Write([]byte("(an answer that gives its result twice, which is refused)\n"))
			raw = refusal(raw)
		}
		// The line lies in the reader's buffer; messages keep what they are given.
		m, err := jsonrpc.DecodeMessage(bytes.Clone(raw))
		if err != nil || m == nil {
			_, _ = c.junk.Write(append([]byte("(on its output, no message) "), append(raw[:min(len(raw), 500):min(len(raw), 500)], '\n')...))
			continue
		}
		c.queue = append(c.queue, m)
	}
}

// Write implements [mcp.Connection].
func (c *lines) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writing }()
	givenUp := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.p.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(givenUp)
	})
	n, err := c.p.stdin.Write(append(data, '\n'))
	if n > 0 {
		if f := flightOf(ctx); f != nil {
			f.setSent()
		}
	}
	if !stop() {
		<-givenUp
		_ = c.p.stdin.SetWriteDeadline(time.Time{})
	}
	if err != nil && n > 0 {
		// Half a message went out: nothing that follows can be understood.
		c.p.kill()
	}
	return err
}

// Close implements [mcp.Connection]. It does not wait: the SDK holds a lock.
func (c *lines) Close() error {
	c.once.Do(c.p.end)
	return nil
}

// SessionID implements [mcp.Connection]: a child is its own session.
func (c *lines) SessionID() string { return "" }
