//go:build unix

package nodes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
)

// cutter is a proxy between a server and its database. Once it is armed for a statement, it waits for a transaction
// with this statement, withholds the answer to its COMMIT, and breaks that connection.
type cutter struct {
	address string // of the database, through the cutter

	mu sync.Mutex
	// names are the prepared statements by name. All connections give the same name to the same text.
	names map[string]string
	// armed is part of the statement's text; empty cuts nothing. cuts counts the broken connections.
	armed string
	cuts  int
}

func newCutter(t *testing.T, b *base) *cutter {
	t.Helper()
	config, err := pgx.ParseConfig(b.server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	there := url.URL{
		Scheme: "postgres", User: url.UserPassword(server, plantedPassword), Host: listener.Addr().String(), Path: "/" + b.name,
		RawQuery: "sslmode=disable",
	}
	c := &cutter{address: there.String(), names: map[string]string{}}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", config.Host+"/.s.PGSQL."+strconv.Itoa(int(config.Port)))
			if err != nil {
				_ = near.Close()
				continue
			}
			go (&cutConn{cutter: c, near: near, far: far}).run()
		}
	}()
	return c
}

// arm cuts the next transaction with the statement.
func (c *cutter) arm(statement string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = statement
}

func (c *cutter) cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// cutConn is a connection through a cutter.
type cutConn struct {
	*cutter

	near, far net.Conn
	// meant is set once this connection has sent the armed statement.
	meant bool
}

func (c *cutConn) run() {
	defer c.near.Close()
	defer c.far.Close()
	go func() {
		defer c.far.Close()
		from := bufio.NewReader(c.near)
		// The first message has no type before its length.
		head, err := from.Peek(4)
		if err != nil {
			return
		}
		if _, err := io.CopyN(c.far, from, int64(binary.BigEndian.Uint32(head))); err != nil {
			return
		}
		_ = messages(from, c.far, c.sent)
	}()
	_ = messages(bufio.NewReader(c.far), c.near, c.answered)
}

var errCut = errors.New("the connection is cut")

// messages copies messages of the protocol until see returns an error.
func messages(from *bufio.Reader, to io.Writer, see func(letter byte, body []byte) error) error {
	for {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return err
		}
		message := make([]byte, 1+binary.BigEndian.Uint32(head[1:]))
		copy(message, head[:])
		if _, err := io.ReadFull(from, message[5:]); err != nil {
			return err
		}
		if err := see(head[0], message[5:]); err != nil {
			return err
		}
		if _, err := to.Write(message); err != nil {
			return err
		}
	}
}

// sent inspects the server's messages.
func (c *cutConn) sent(letter byte, body []byte) error {
	parts := bytes.SplitN(body, []byte{0}, 3)
	if len(parts) < 3 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch letter {
	case 'P': // Parse: the name, the text
		c.names[string(parts[0])] = string(parts[1])
	case 'B': // Bind: the portal, the name
		if c.armed != "" && strings.Contains(c.names[string(parts[1])], c.armed) {
			c.armed, c.meant = "", true
		}
	}
	return nil
}

// answered inspects the database's messages.
func (c *cutConn) answered(letter byte, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.meant && letter == 'C' && string(body) == "COMMIT\x00" {
		c.meant = false
		c.cuts++
		return errCut
	}
	return nil
}

// A server's connection to the database breaks before the answer to a statement of a run arrives. The run continues
// at once: a lease is longer than this test, so a server that waited for its expiry would fail it.
func TestADroppedConnectionDelaysNoRun(t *testing.T) {
	t.Parallel()
	b := migrated(t, needed(t))
	b.noteLeases(t)
	c := newCutter(t, b)
	l := newLedger(t)
	token, mcp := tokenFile(t), l.config(t)
	n := serve(t, []string{"BRAID_POSTGRES_URL=" + c.address}, "--token-file", token, "--mcp", mcp, "--lease", "10m")
	serve(t, []string{"BRAID_POSTGRES_URL=" + b.server}, "--token-file", token, "--mcp", mcp, "--lease", "10m")
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	for i, one := range []struct {
		name, statement string
		// again reports that the lease itself was lost and acquired again.
		again bool
	}{
		{name: "nothing"},
		{name: "the lease is given", statement: "UPDATE conversation SET epoch", again: true},
		{name: "events are written", statement: "INSERT INTO log"},
		{name: "the lease is given for another run", statement: "UPDATE conversation SET epoch", again: true},
	} {
		before := c.cut()
		conv, err := n.client().Create(ctx, client.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		c.arm(one.statement)
		mark := fmt.Sprint("m", i)
		r, err := n.client().Run(ctx, conv.ID, "pay "+mark, client.RunOptions{Key: mark})
		if err != nil || r.Status != event.RunCompleted {
			t.Errorf("%s: %+v, %v", one.name, r, err)
		}
		if cuts := c.cut() - before; cuts != min(len(one.statement), 1) {
			t.Errorf("%s: %d connections were cut", one.name, cuts)
		}
		if paid := l.count(effect{"pay", mark, "first"}); paid != 1 {
			t.Errorf("%s: it was paid %d times", one.name, paid)
		}
		notes := b.leases(t, conv.ID)
		epochs := map[int64]int64{}
		for _, note := range notes {
			if _, known := epochs[note.Epoch]; !known {
				epochs[note.Epoch] = note.Until
			}
		}
		if one.again && (len(epochs) != 2 || len(notes) < 2 || notes[1].Epoch != 2 || notes[1].At >= notes[0].Until) {
			t.Errorf("%s: the lease that was lost was not taken again before its end: %+v", one.name, notes)
		}
	}
}
